// Devices in a converted script: each process has its own card, so a fixed index must go.
#include <algorithm>
#include <array>
#include <cctype>

#include "migrate/rewrite/distributed/conversion.h"
#include "migrate/rewrite/distributed/layout.h"

namespace updraft::migrate::rewrite {
namespace {

using distributed::Argument;
using distributed::argument;

/// What holds a card's number, by its name.
bool names_card(const syntax::Tree& tree, NodeId node) {
  if (tree.kind(node) == Kind::Integer) return true;
  std::string_view text = tree.text(node);
  if (tree.kind(node) == Kind::Subscript) text = tree.text(tree.child(node, std::size_t{0}));
  else if (tree.kind(node) != Kind::Identifier && tree.kind(node) != Kind::Attribute) return false;
  const std::string_view last = text.substr(text.rfind('.') + 1);
  static constexpr std::array<std::string_view, 11> known = {"gpu",          "gpu_id",     "gpu_ids",   "gpus",
                                                             "gpu_idx",      "cuda_id",    "device_id", "device_ids",
                                                             "device_index", "local_rank", "gpuid"};
  return std::find(known.begin(), known.end(), last) != known.end();
}

/// The literal with what is put into it: "cuda:%d" % n, "cuda:{}".format(n), "cuda:" + str(n).
NodeId whole(const syntax::Tree& tree, NodeId literal) {
  const NodeId up = tree.parent(literal);
  if (tree.kind(up) == Kind::Binary && tree.child(up, Field::Left) == literal) return up;
  if (tree.kind(up) == Kind::Attribute && tree.text(tree.child(up, Field::Attribute)) == "format" &&
      tree.kind(tree.parent(up)) == Kind::Call)
    return tree.parent(up);
  return literal;
}

/// The literal or attribute that a finding is about. Nodes lie in the order of their beginnings.
NodeId node_at(const syntax::Tree& tree, const Finding& f) {
  NodeId low = 0, high = tree.size();
  while (low < high) {
    const NodeId middle = low + (high - low) / 2;
    if (tree[middle].begin < f.begin) low = middle + 1;
    else high = middle;
  }
  for (NodeId id = low; id < tree.size() && tree[id].begin == f.begin; ++id)
    if (tree[id].end == f.end && (tree.kind(id) == Kind::String || tree.kind(id) == Kind::Attribute)) return id;
  return kNone;
}

}  // namespace

void Conversion::add(Sites& s) const {
  const auto at = files_.find(s.module.path());
  if (at == files_.end()) return;
  const File& file = at->second;
  const syntax::Tree& tree = s.tree();
  std::vector<Finding> ours = file.findings;
  if (converted_) {
    const auto rank_at = [&](NodeId node) {
      const bool inside = tree.ancestor(node, Kind::Function) != kNone || tree[node].begin >= file.ranked_at;
      return inside ? file.local_rank : std::string();
    };
    const Text text = {"each process works on its own card, not on a fixed one",
                       "每个进程使用各自的 NPU，不能固定设备编号"};
    std::vector<Finding> kept;
    for (Finding& f : s.findings) {
      if (f.edits.empty() || f.category != Category::Change || f.confidence == Confidence::Review) {
        kept.push_back(std::move(f));
        continue;
      }
      const NodeId node = node_at(tree, f);
      bool replaced = false;
      if (tree.kind(node) == Kind::String) {
        const std::string_view literal = tree.text(node);
        const std::size_t colon = literal.find("cuda:");
        const NodeId all = whole(tree, node);
        const bool key = tree[node].field == Field::Key;
        if (f.api == "CUDA_VISIBLE_DEVICES") {
          // os.environ["CUDA_VISIBLE_DEVICES"] = "0" would leave one card to all processes
          const NodeId statement = tree.statement(node);
          const NodeId assignment = tree.child(statement, std::size_t{0});
          if (tree.kind(assignment) == Kind::Assignment && tree.inside(node, tree.child(assignment, Field::Left))) {
            Finding g = f;
            g.rule = "PT350";
            g.message = {"run_distributed_npu.sh chooses the cards; here this would leave one card to all processes",
                         "由 run_distributed_npu.sh 选择 NPU；保留此行会使所有进程只能使用同一张卡"};
            g.edits = {{tree[statement].begin, tree[statement].end, "pass"}};
            ours.push_back(std::move(g));
            replaced = true;
          }
        } else if (colon != std::string_view::npos && !key &&
                   (all != node || colon + 5 < literal.size() - 1 || literal.find('{') != std::string_view::npos)) {
          Finding g = f;
          const std::string rank = rank_at(node);
          g.rule = "PT350";
          g.message = text;
          g.edits = {{tree[all].begin, tree[all].end, rank.empty() ? "\"npu\"" : "f\"npu:{" + rank + "}\""}};
          ours.push_back(std::move(g));
          replaced = true;
        } else if (colon == std::string_view::npos) {
          // torch.device("cuda", 0)
          const NodeId list = tree.parent(node);
          const NodeId index = tree.child(list, std::size_t{1});
          if (tree.kind(list) == Kind::ArgumentList && tree.child(list, std::size_t{0}) == node && index != kNone &&
              tree.text(tree.child(tree.parent(list), Field::Function)).ends_with("device") &&
              names_card(tree, index)) {
            Finding g = f;
            const std::string rank = rank_at(node);
            g.rule = "PT350";
            g.message = text;
            g.edits = {rank.empty() ? Edit{tree[node].end, tree[index].end, ""} : s.replace(index, rank)};
            ours.push_back(std::move(g));
          }
        }
      } else if (tree.kind(node) == Kind::Attribute) {
        // .cuda(0), torch.cuda.set_device(args.gpu)
        const NodeId call = tree.call_of(node);
        const std::string_view name = tree.text(tree.child(node, Field::Attribute));
        const Argument device = call != kNone ? argument(tree, call, "device", 0) : Argument{};
        if (device && (name == "cuda" || name == "set_device") &&
            (name == "set_device" || names_card(tree, device.value))) {
          Finding g = f;
          const std::string rank = rank_at(node);
          g.rule = "PT350";
          g.message = text;
          std::string now = !rank.empty() ? rank : name == "cuda" ? "" : file.torch + ".npu.current_device()";
          if (tree.kind(device.whole) == Kind::KeywordArgument && !now.empty()) now = "device=" + now;
          std::uint32_t end = tree[device.whole].end;
          if (const NodeId next = tree[device.whole].next; now.empty() && next != kNone) end = tree[next].begin;
          g.edits = {{tree[device.whole].begin, end, now}};
          if (!file.torch.empty() || !now.empty() || name == "cuda") ours.push_back(std::move(g));
        }
      }
      if (!replaced) kept.push_back(std::move(f));
    }
    s.findings = std::move(kept);
    // what we replace others do not edit
    const auto within = [&](const Finding& f) {
      return std::any_of(ours.begin(), ours.end(), [&](const Finding& o) {
        return std::any_of(o.edits.begin(), o.edits.end(), [&](const Edit& a) {
          return a.begin < a.end && std::any_of(f.edits.begin(), f.edits.end(),
                                                [&](const Edit& b) { return b.begin < a.end && a.begin < b.end; });
        });
      });
    };
    std::erase_if(s.findings, within);
  }
  for (Finding& f : ours) s.findings.push_back(std::move(f));
}

}  // namespace updraft::migrate::rewrite
