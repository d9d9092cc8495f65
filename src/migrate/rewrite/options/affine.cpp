// -a: NPU-affine APIs in place of the framework's where the result is the same. Optimizers that update all parameters
// by fused operators take fewer arguments than torch's: they are taken where a call gives no others.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

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

}  // namespace

void affine(Sites& s, const std::string& model) {
  const syntax::Tree& tree = s.tree();
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
    }
  }
}

}  // namespace updraft::migrate::rewrite
