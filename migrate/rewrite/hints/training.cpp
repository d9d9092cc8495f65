// What makes the host wait in a training loop, and loaders that keep the device waiting.
#include <algorithm>
#include <array>
#include <set>

#include "migrate/rewrite/hints/hints.h"

namespace updraft::migrate::rewrite::hint {
namespace {

NodeId loop_around(const syntax::Tree& tree, NodeId node) {
  for (NodeId up = tree.parent(node); up != kNone; node = up, up = tree.parent(up)) {
    const Kind kind = tree.kind(up);
    if (kind == Kind::Function || kind == Kind::Lambda) return kNone;
    if ((kind == Kind::For || kind == Kind::While) && tree[node].field == Field::Body) return up;
  }
  return kNone;
}

/// if step % 100 == 0: what waits there waits seldom.
bool seldom(const syntax::Tree& tree, NodeId node, NodeId loop) {
  for (NodeId up = tree.parent(node); up != kNone && up != loop; up = tree.parent(up)) {
    if (tree.kind(up) != Kind::If && tree.kind(up) != Kind::Elif && tree.kind(up) != Kind::Else) continue;
    const std::string_view condition = tree.text(tree.child(up, Field::Condition));
    if (tree.kind(up) == Kind::Else || condition.find('%') != std::string_view::npos ||
        condition.find("log") != std::string_view::npos || condition.find("print") != std::string_view::npos ||
        condition.find("debug") != std::string_view::npos)
      return true;
  }
  return false;
}

}  // namespace

void Waits::call(Walk& w, NodeId call) {
  static constexpr std::array<std::string_view, 9> known = {"item",        "tolist", "cpu",      "numpy",     "synchronize",
                                                            "empty_cache", "equal",  "allclose", "contiguous"};
  const syntax::Tree& tree = w.tree;
  const std::string_view last = w.callee(call);
  if (last == "backward") {
    if (const NodeId loop = loop_around(tree, call); loop != kNone) trained_.push_back(loop);
    return;
  }
  if (last == "zero_grad") {
    if (const NodeId keep = w.argument(call, "set_to_none", 0); tree.kind(keep) == Kind::False) {
      rules::Rule rule;
      rule.id = "PT711";
      rule.category = Category::Performance;
      rule.message = {"set_to_none=False writes zeros over every gradient; the default gives them up, which is faster",
                      "set_to_none=False 会将所有梯度写零；默认值直接释放梯度，速度更快"};
      if (!w.s.kept(call)) w.s.add(rule, call, Confidence::Likely, "torch.optim.Optimizer.zero_grad");
    }
    return;
  }
  if (std::find(known.begin(), known.end(), last) == known.end()) return;
  const NodeId function = tree.child(call, Field::Function);
  if (tree.kind(function) != Kind::Attribute) return;
  const Value v = w.s.module.local(function);
  std::string name;
  if (v.what == What::Api) {
    name = v.name;
    if (name != "torch.cuda.synchronize" && name != "torch.cuda.empty_cache" && name != "torch.npu.synchronize" &&
        name != "torch.npu.empty_cache" && name != "torch.equal" && name != "torch.allclose")
      return;
  } else {
    if (last != "item" && last != "tolist" && last != "cpu" && last != "numpy" && last != "contiguous") return;
    // x.cpu().numpy(), x.cpu().item(): once is enough
    const NodeId up = tree.parent(call);
    if (tree.kind(up) == Kind::Attribute && tree.kind(tree.parent(up)) == Kind::Call) {
      const std::string_view next = tree.text(tree.child(up, Field::Attribute));
      if (next == "numpy" || next == "item" || next == "tolist" || next == "cpu" || next == "view") return;
    }
    name = "torch.Tensor." + std::string(last);
  }
  waiting_.emplace_back(call, std::move(name));
}

void Waits::tell(Walk& w) const {
  std::set<std::pair<NodeId, std::string>> said;
  for (const auto& [call, name] : waiting_) {
    const NodeId loop = loop_around(w.tree, call);
    // loops inside the training step count as well
    bool trains = false;
    NodeId outer = loop;
    for (; outer != kNone && !trains; outer = trains ? outer : loop_around(w.tree, outer)) {
      trains = std::find(trained_.begin(), trained_.end(), outer) != trained_.end();
      if (trains) break;
    }
    if (!trains || seldom(w.tree, call, outer) || !said.emplace(outer, name).second) continue;
    w.advise(name, call, Confidence::Likely);
  }
}

void loader(Walk& w, NodeId call) {
  if (w.callee(call) != "DataLoader" || w.has_stars(call)) return;
  const std::string name = w.resolved(call);
  if (name != "torch.utils.data.DataLoader" && name != "torch.utils.data.dataloader.DataLoader") return;
  const NodeId workers = w.argument(call, "num_workers", 5), pinned = w.argument(call, "pin_memory", 7);
  if (workers == kNone || w.tree.text(workers) == "0")
    w.advise("pattern:dataloader_num_workers", call, Confidence::Likely);
  else if (w.argument(call, "persistent_workers", -1) == kNone)
    w.advise("pattern:dataloader_persistent_workers", call, Confidence::Review);
  // a loader that shuffles is one that trains
  if (w.tree.kind(w.argument(call, "shuffle", 2)) == Kind::True && w.argument(call, "drop_last", 8) == kNone &&
      w.argument(call, "batch_sampler", 4) == kNone)
    w.advise("torch.utils.data.DataLoader", call, Confidence::Likely);
  if (pinned == kNone || w.tree.kind(pinned) == Kind::False)
    w.advise("pattern:dataloader_pin_memory", call, Confidence::Likely);
}

}  // namespace updraft::migrate::rewrite::hint
