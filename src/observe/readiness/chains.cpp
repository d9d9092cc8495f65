#include "observe/readiness/chains.h"

#include <initializer_list>
#include <iterator>
#include <string_view>

namespace updraft::readiness {
namespace {

/// Where, before `end`, the latest of these operators is, `reach` places back at most; -1: none. A name that ends with
/// * stands for all that begin so.
int before(const std::deque<std::string>& latest, int end, int reach, std::string_view name) {
  const bool open = name.ends_with('*');
  if (open) name.remove_suffix(1);
  for (int i = end - 1; i >= 0 && i >= end - reach; --i) {
    const std::string_view there = latest[static_cast<size_t>(i)];
    if (open ? there.starts_with(name) : there == name) return i;
  }
  return -1;
}

bool is_product(std::string_view name) { return name == "aclnnBatchMatMul" || name == "aclnnMatmul"; }
bool is_quotient(std::string_view name) { return name.find("Addcdiv") != name.npos; }
bool is_mul(std::string_view name) { return name == "aclnnMul" || name == "aclnnMuls" || name == "aclnnInplaceMul"; }

/// There is one among the `reach` operators before `end`, and, behind it, the others in this order.
bool in_order(const std::deque<std::string>& latest, int end, int reach,
              std::initializer_list<std::string_view> names) {
  int at = end;
  for (auto name = std::rbegin(names); name != std::rend(names); ++name) {
    const int found = before(latest, at, at - (end - reach), *name);
    if (found < 0) return false;
    at = found;
  }
  return true;
}

/// The steps of a normalisation by hand end with a product by the root's inverse, or a quotient by the root. The mean
/// that is taken off tells layer_norm from rms_norm.
std::string normalisation(const std::deque<std::string>& latest, int last, int root) {
  if (in_order(latest, root, 8, {"aclnnMean*", "aclnnVar*"}) ||
      in_order(latest, root, 8, {"aclnnSub", "aclnnPow*", "aclnnMean*"}))
    return "layer_norm";
  const int mean = before(latest, root, 3, "aclnnMean*");
  if (is_mul(latest[static_cast<size_t>(last)]) && mean >= 0 && before(latest, mean, 2, "aclnnPow*") >= 0)
    return "rms_norm";
  return {};
}

}  // namespace

std::string chain_that_ends(const std::deque<std::string>& latest) {
  const int last = static_cast<int>(latest.size()) - 1;
  const std::string_view name = latest.back();
  if (is_product(name)) {
    const int softmax = before(latest, last, 4, "aclnnSoftmax");
    if (softmax >= 0)
      for (int i = softmax - 1; i >= 0 && i >= softmax - 5; --i)
        if (is_product(latest[static_cast<size_t>(i)])) return "attention";
  }
  if (is_mul(name)) {
    if (before(latest, last, 3, "aclnnSilu") >= 0) return "swiglu";
    if (before(latest, last, 1, "aclnnRsqrt") >= 0) return normalisation(latest, last, last - 1);
    if (name == "aclnnMul" && before(latest, last, 1, "aclnnGelu*") >= 0) return "geglu";
    if (name == "aclnnMul" && before(latest, last, 1, "aclnnAdds") >= 0) {
      if (before(latest, last - 1, 1, "aclnnErf") >= 0) return "gelu";
      if (before(latest, last - 1, 1, "aclnnTanh") >= 0 && before(latest, last - 2, 5, "aclnnPow*") >= 0)
        return "gelu_tanh";
    }
    const int joined = before(latest, last, 2, "aclnnCat");
    if (joined >= 0 && before(latest, joined, 2, "aclnnNeg") >= 0) return "rotary";
  }
  if (name == "aclnnDiv" && before(latest, last, 1, "aclnnSqrt") >= 0) return normalisation(latest, last, last - 1);
  if (name == "aclnnTopk" && before(latest, last, 1, "aclnnSoftmax") >= 0) return "gating";
  if (name == "aclnnSilu" && before(latest, last, 1, "aclnnGroupNorm") >= 0) return "group_norm_silu";
  if (name == "aclnnLinalgVectorNorm" && in_order(latest, last, 2, {"aclnnForeachNorm", "aclnnStack"})) return "clip";
  // behind the softmax, so that it is none of an attention
  if (before(latest, last, 1, "aclnnSoftmax") >= 0 && before(latest, last - 1, 1, "aclnnAdd") >= 0 &&
      before(latest, last - 2, 1, "aclnnMuls") >= 0 && !is_product(name) && name != "aclnnInplaceCopy" &&
      name != "aclnnCast" && name.find("Dropout") == name.npos)
    return "masked_softmax";
  if (name.starts_with("aclnnForeachAddList") && before(latest, last, 1, "aclnnForeachAddList*") >= 0 &&
      before(latest, last - 1, 1, "aclnnForeachMulScalar*") >= 0)
    return "sgd";
  if (is_quotient(name))
    for (int i = last - 1; i >= 0 && i >= last - 5 && !is_quotient(latest[static_cast<size_t>(i)]); --i)
      if (latest[static_cast<size_t>(i)].ends_with("Sqrt")) return "adam";
  return {};
}

}  // namespace updraft::readiness
