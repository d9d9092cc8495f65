// -a: NPU-affine APIs in place of the framework's where the result is the same. Optimizers that update all parameters
// by fused operators take fewer arguments than torch's: they are taken where a call gives no others.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "migrate/rewrite/options/options.h"
#include "migrate/support/affinity.h"

namespace updraft::migrate::rewrite {
namespace {

struct Optimizer {
  std::string_view api;
  std::size_t positions;  ///< of torch's parameters, those that stand at the same place
  std::span<const std::string_view> parameters;
  bool needs_lr = false;
};

using Names = std::string_view;
constexpr Names kAdam[] = {"params", "lr", "betas", "eps", "weight_decay", "amsgrad"};
constexpr Names kSgd[] = {"params", "lr", "momentum", "dampening", "weight_decay", "nesterov"};
constexpr Names kRmsprop[] = {"params", "lr", "alpha", "eps", "weight_decay", "momentum", "centered"};
constexpr Names kAdadelta[] = {"params", "lr", "rho", "eps", "weight_decay"};
// as torch_npu 2.13 has them; tests/migrate/test_options.py holds them against the wheel
constexpr Optimizer kOptimizers[] = {{"torch.optim.Adam", 6, kAdam},
                                     {"torch.optim.AdamW", 6, kAdam},
                                     {"torch.optim.SGD", 6, kSgd, true},
                                     {"torch.optim.RMSprop", 7, kRmsprop},
                                     {"torch.optim.Adadelta", 5, kAdadelta}};

/// The argument that the fused optimizer does not have; empty where it has them all.
std::string unknown_argument(const syntax::Tree& tree, NodeId call, const Optimizer& known) {
  std::size_t position = 0;
  bool lr = false;
  for (NodeId argument : tree.children(tree.child(call, Field::Arguments))) {
    const Kind kind = tree.kind(argument);
    if (kind == Kind::ListSplat || kind == Kind::DictionarySplat) return std::string(tree.text(argument));
    if (kind == Kind::KeywordArgument) {
      const std::string_view name = tree.text(tree.child(argument, Field::Name));
      if (std::find(known.parameters.begin(), known.parameters.end(), name) == known.parameters.end())
        return std::string(name);
      lr = lr || name == "lr";
    } else if (++position > known.positions) {
      return std::string(tree.text(argument));
    }
  }
  return known.needs_lr && !lr && position < 2 ? "lr (missing)" : "";
}

const rules::Rule& rule() {
  static const rules::Rule fused = [] {
    rules::Rule r;
    r.id = "PT831";
    return r;
  }();
  return fused;
}

bool sets_to_none(std::string_view text) {
  const std::size_t at = text.find("set_to_none");
  return at != std::string_view::npos && text.substr(at, 24).find("True") != std::string_view::npos;
}

/// An optimizer that was exchanged: optimizer = torch.optim.SGD(model.parameters(), …).
struct Made {
  NodeId target = kNone, model = kNone;
};

/// MODEL of MODEL.parameters(); kNone for anything else.
NodeId model_of(const syntax::Tree& tree, NodeId call) {
  const NodeId callee = tree.child(call, Field::Function);
  if (tree.kind(call) != Kind::Call || tree.kind(callee) != Kind::Attribute ||
      tree.text(tree.child(callee, Field::Attribute)) != "parameters" ||
      tree.child(tree.child(call, Field::Arguments), std::size_t{0}) != kNone)
    return kNone;
  const NodeId object = tree.child(callee, Field::Object);
  const Kind kind = tree.kind(object);
  return kind == Kind::Identifier || kind == Kind::Attribute ? object : kNone;
}

/// Whether two expressions are one variable that is bound once: the same name of one scope, or the same attribute of
/// self in one class.
bool same_variable(const Sites& s, NodeId a, NodeId b, bool once) {
  const syntax::Tree& tree = s.tree();
  if (tree.text(a) != tree.text(b)) return false;
  const names::Scopes& scopes = s.module.scopes();
  NodeId base_a = a, base_b = b;
  while (tree.kind(base_a) == Kind::Attribute) base_a = tree.child(base_a, Field::Object);
  while (tree.kind(base_b) == Kind::Attribute) base_b = tree.child(base_b, Field::Object);
  if (tree.kind(base_a) != Kind::Identifier || tree.kind(base_b) != Kind::Identifier) return false;
  if (base_a != a) {
    const names::ScopeId cls = scopes.class_of_self(tree.text(base_a), scopes.of(base_a));
    if (cls == names::kNoScope || cls != scopes.class_of_self(tree.text(base_b), scopes.of(base_b))) return false;
    if (tree.kind(tree.child(a, Field::Object)) != Kind::Identifier) return false;
    const auto set = scopes[cls].attributes.find(tree.text(tree.child(a, Field::Attribute)));
    return set != scopes[cls].attributes.end() && (!once || set->second.size() == 1);
  }
  const auto* bindings = scopes.lookup(tree.text(a), scopes.of(a));
  if (!bindings || bindings != scopes.lookup(tree.text(b), scopes.of(b))) return false;
  return !once || bindings->size() == 1;
}

/// torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0): a fused optimizer of the same parameters has them in one
/// piece, and clips them in one.
void clip(Sites& s, const Use& use, const std::vector<Made>& made, const std::string& model) {
  const syntax::Tree& tree = s.tree();
  const NodeId list = tree.child(use.call, Field::Arguments), first = tree.child(list, std::size_t{0}),
               second = tree.child(list, std::size_t{1});
  const NodeId clipped = model_of(tree, first);
  if (use.call == kNone || clipped == kNone || second == kNone) return;
  for (NodeId a : tree.children(list)) {
    const Kind kind = tree.kind(a);
    if (kind == Kind::ListSplat || kind == Kind::DictionarySplat) return;
    if (kind != Kind::KeywordArgument) continue;
    const std::string_view name = tree.text(tree.child(a, Field::Name));
    if (name != "max_norm" && name != "norm_type") return;
  }
  for (const Made& optimizer : made) {
    if (!same_variable(s, optimizer.model, clipped, false)) continue;
    // where the optimizer is known by its name
    const names::Scopes& scopes = s.module.scopes();
    const bool attribute = tree.kind(optimizer.target) == Kind::Attribute;
    if (attribute) {
      const NodeId self = tree.child(optimizer.target, Field::Object);
      const names::ScopeId cls = scopes.class_of_self(tree.text(self), scopes.of(self));
      if (cls == names::kNoScope || cls != scopes.class_of_self(tree.text(self), scopes.of(use.node))) continue;
    } else if (scopes.lookup(tree.text(optimizer.target), scopes.of(use.node)) !=
               scopes.lookup(tree.text(optimizer.target), scopes.of(optimizer.target))) {
      continue;
    }
    if (!same_variable(s, optimizer.target, optimizer.target, true)) continue;
    Finding& f = s.add(rule(), use.node, Confidence::Likely, use.value.name);
    f.suggestion = std::string(tree.text(optimizer.target)) + ".clip_grad_norm_fused_";
    f.message = {fmt::format("the fused optimizer has these gradients in one piece: {} clips them to the same norm in "
                             "one (-a {})",
                             f.suggestion, model),
                 fmt::format("融合优化器已将这些梯度合并存放：{} 一次完成同样的裁剪（-a {}）", f.suggestion, model)};
    f.edits = {s.replace(use.node, f.suggestion), {tree[first].begin, tree[second].begin, ""}};
    s.done[use.node] = true;
    return;
  }
}

}  // namespace

void affine(Sites& s, const std::string& model) {
  const syntax::Tree& tree = s.tree();
  std::vector<Made> made;
  const bool to_none = sets_to_none(tree.text());
  for (const Use& use : uses_under(s, {"torch"})) {
    if (s.done[use.node] || s.kept(use.node)) continue;
    const Affinity row = lookup_affinity(use.value.name);
    if (row.npu.empty() || row.npu == use.value.name) continue;
    const auto known = std::find_if(std::begin(kOptimizers), std::end(kOptimizers),
                                    [&](const Optimizer& o) { return o.api == use.value.name; });
    const bool optimizer = known != std::end(kOptimizers);
    if (!optimizer && !row.certain) continue;
    std::string hindrance;
    if (optimizer && use.call == kNone) hindrance = "it is not called here";
    else if (optimizer) hindrance = unknown_argument(tree, use.call, *known);
    if (hindrance.empty() && optimizer && to_none) hindrance = "zero_grad(set_to_none=True)";
    const Confidence sure = !hindrance.empty() ? Confidence::Review
                            : optimizer        ? Confidence::Likely
                                               : Confidence::Certain;
    Finding& f = s.add(rule(), use.node, use.value.sure ? sure : lower(sure, Confidence::Likely), use.value.name);
    f.suggestion = row.npu;
    f.message = hindrance.empty()
                    ? Text{fmt::format("{} gives the same result faster (-a {}); gradients stay allocated, zero_grad "
                                       "fills them with zeros",
                                       row.npu, model),
                           fmt::format("{} 结果相同且更快（-a {}）；梯度内存保留，zero_grad 以 0 填充", row.npu, model)}
                    : Text{fmt::format("{} would be faster (-a {}), but does not have: {}", row.npu, model, hindrance),
                           fmt::format("{} 更快（-a {}），但不支持：{}", row.npu, model, hindrance)};
    if (hindrance.empty()) {
      f.edits.push_back(s.replace(use.node, std::string(row.npu)));
      s.done[use.node] = true;
      const NodeId assignment = tree.parent(use.call);
      const NodeId parameters = model_of(tree, tree.child(tree.child(use.call, Field::Arguments), std::size_t{0}));
      if (tree.kind(assignment) == Kind::Assignment && tree[use.call].field == Field::Right && parameters != kNone) {
        const NodeId target = tree.child(assignment, Field::Left);
        const bool plain =
            tree.kind(target) == Kind::Identifier ||
            (tree.kind(target) == Kind::Attribute && tree.kind(tree.child(target, Field::Object)) == Kind::Identifier);
        if (plain) made.push_back({target, parameters});
      }
    }
  }
  if (made.empty()) return;
  for (const Use& use : uses_under(s, {"torch"}))
    if (!s.done[use.node] && !s.kept(use.node) &&
        (use.value.is_api("torch.nn.utils.clip_grad_norm_") ||
         use.value.is_api("torch.nn.utils.clip_grad.clip_grad_norm_")))
      clip(s, use, made, model);
}

}  // namespace updraft::migrate::rewrite
