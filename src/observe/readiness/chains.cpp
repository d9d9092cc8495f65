#include "observe/readiness/chains.h"

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
    const int root = before(latest, last, 1, "aclnnRsqrt");
    if (root >= 0) {
      const int mean = before(latest, root, 3, "aclnnMean*");
      if (mean >= 0 && before(latest, mean, 2, "aclnnPow*") >= 0) return "rms_norm";
    }
    const int joined = before(latest, last, 2, "aclnnCat");
    if (joined >= 0 && before(latest, joined, 2, "aclnnNeg") >= 0) return "rotary";
  }
  if (is_quotient(name))
    for (int i = last - 1; i >= 0 && i >= last - 5 && !is_quotient(latest[static_cast<size_t>(i)]); --i)
      if (latest[static_cast<size_t>(i)].ends_with("Sqrt")) return "adam";
  return {};
}

}  // namespace updraft::readiness
