// The process group: joined before anything else happens, left when all is done.
#include <algorithm>
#include <array>
#include <cctype>

#include "migrate/rewrite/distributed/conversion.h"
#include "migrate/rewrite/distributed/program.h"
#include "migrate/rewrite/strings.h"

namespace updraft::migrate::rewrite::distributed {
namespace {

/// if __name__ == "__main__":
NodeId guard(const syntax::Tree& tree) {
  for (NodeId s : tree.children(0)) {
    if (tree.kind(s) != Kind::If) continue;
    const std::string_view condition = tree.text(tree.child(s, Field::Condition));
    if (condition.find("__name__") != std::string_view::npos && condition.find("__main__") != std::string_view::npos) {
      const NodeId block = tree.child(s, Field::Consequence);
      if (last_of(tree, block) != kNone) return block;
    }
  }
  return kNone;
}

bool binds(const Source& s, std::string_view name) {
  for (names::ScopeId scope = 0; scope < s.module->scopes().size(); ++scope)
    if (s.module->scopes()[scope].names.contains(name)) return true;
  return s.identifiers.contains(name);
}

/// Whether module-level code before an offset already builds the model.
bool built_before(const Source& main, const std::vector<Model>& models, std::uint32_t offset) {
  return std::any_of(models.begin(), models.end(), [&](const Model& m) {
    return m.source == &main && function_of(main, m.last) == kNone && main.tree()[m.last].begin < offset;
  });
}

/// Statements of the module up to the last of the leading imports, and the first import of torch.
NodeId after_imports(const syntax::Tree& tree) {
  NodeId last = kNone;
  bool leading = true;
  for (NodeId s : tree.children(0)) {
    bool imports =
        tree.kind(s) == Kind::Import || tree.kind(s) == Kind::ImportFrom || tree.kind(s) == Kind::FutureImport;
    if (tree.kind(s) == Kind::Try)
      for (NodeId id = s; id < tree[s].last; ++id)
        imports = imports || tree.kind(id) == Kind::Import || tree.kind(id) == Kind::ImportFrom;
    if (imports && (leading || (last != kNone && tree.text(s).find("import torch") != std::string_view::npos &&
                                tree.text().substr(0, tree[last].end).find("import torch") == std::string_view::npos)))
      last = s;
    leading = leading && (is_literal_statement(tree, s) || imports);
  }
  return last;
}

/// sys.exit(main()), raise SystemExit(main()): nothing after it runs, so the status is kept first.
bool leave_by_status(Source& s, NodeId last, const std::string& status, const Lines& end, Finding& f) {
  const syntax::Tree& tree = s.tree();
  const NodeId expression = tree.child(last, std::size_t{0});
  if (tree.kind(expression) != Kind::Call) return false;
  const std::string_view callee = tree.text(tree.child(expression, Field::Function));
  if (callee != "sys.exit" && callee != "exit" && callee != "SystemExit" && callee != "quit") return false;
  const NodeId argument = tree.child(tree.child(expression, Field::Arguments), std::size_t{0});
  if (argument == kNone) {
    f.edits.push_back(before(tree, last, end));
    return true;
  }
  if (!alone(tree, last)) return false;
  const std::string next = newline(tree.text()) + indent(tree, last);
  std::string text = status + " = ";
  const std::string call(tree.text().substr(tree[last].begin, tree[argument].begin - tree[last].begin));
  f.edits.push_back({tree[last].begin, tree[argument].begin, text});
  text.clear();
  for (const std::string& line : end) text += next + line;
  text += next + call + status;
  f.edits.push_back({tree[argument].end, tree[argument].end, text});
  return true;
}

}  // namespace

Entry entry(Program& program, const std::vector<Model>& models) {
  Source& s = program.main();
  const syntax::Tree& tree = s.tree();
  Entry e;
  e.local_rank = "local_rank";
  while (binds(s, e.local_rank)) e.local_rank = "npu_" + e.local_rank;
  std::string status = "status";
  while (binds(s, status)) status += "_";
  const std::string torch = s.name_of("torch", 0), os = s.name_of("os", 0);
  if (torch.empty() || os.empty()) return e;

  NodeId block = guard(tree);
  if (block != kNone && built_before(s, models, tree[block].begin)) block = kNone;
  const Lines begin = {
      "# One process for each NPU, as torchrun starts them; started alone, this is the only one.",
      e.local_rank + " = int(" + os + ".environ.get(\"LOCAL_RANK\", 0))",
      torch + ".npu.set_device(" + e.local_rank + ")",
      torch + ".distributed.init_process_group(backend=\"hccl\", init_method=\"env://\" if \"MASTER_ADDR\" in " + os +
          ".environ else \"tcp://127.0.0.1:0\", rank=int(" + os + ".environ.get(\"RANK\", 0)), world_size=int(" + os +
          ".environ.get(\"WORLD_SIZE\", 1)))"};
  const Lines end = {torch + ".distributed.barrier(device_ids=[" + e.local_rank + "])",
                     torch + ".distributed.destroy_process_group()"};

  NodeId where = block == kNone ? after_imports(tree) : tree.child(block, std::size_t{0});
  if (where == kNone) where = tree.child(0, std::size_t{0});
  if (where == kNone) return e;
  NodeId anchor = where;
  if (block == kNone)  // a finding's place decides among insertions at one offset: after `import torch_npu`
    for (NodeId next : tree.children(0))
      if (next > where) {
        anchor = next;
        break;
      }
  Finding& f = s.add("PT351", Category::Change, anchor, rules::told("PT351"), "torch.distributed.init_process_group");
  if (block == kNone) {
    const bool is_import = tree.kind(where) == Kind::Import || tree.kind(where) == Kind::ImportFrom ||
                           tree.kind(where) == Kind::FutureImport || tree.kind(where) == Kind::Try;
    f.edits.push_back(is_import ? after(tree, where, begin) : at_start(tree, 0, begin));
    e.block = 0;
    e.ready = f.edits.back().end;
  } else {
    f.edits.push_back(at_start(tree, block, begin));
    e.block = block;
    e.ready = f.edits.back().end;
  }

  NodeId guarded = guard(tree);
  const NodeId last = last_of(tree, guarded != kNone ? guarded : 0);
  Finding& g =
      s.add("PT351", Category::Change, last, rules::told("PT351.end"), "torch.distributed.destroy_process_group");
  if (!leave_by_status(s, last, status, end, g)) g.edits.push_back(after(tree, last, end));
  return e;
}

}  // namespace updraft::migrate::rewrite::distributed

// Devices in a converted script: each process has its own card, so a fixed index must go.
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
    const Text text = rules::told("PT350");
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
            g.message = rules::told("PT350.launcher");
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
