#include "ops/ir/shape/layout.h"

#include <algorithm>

namespace updraft::ir {
namespace {

constexpr int32_t kNchw = 0, kNhwc = 1, kNcdhw = 30;

/// Places of N, C, … in N, …, C.
Dims channels_first(size_t rank) {
  Dims order = all_axes(static_cast<int>(rank));
  std::rotate(order.begin() + 1, order.end() - 1, order.end());
  return order;
}
/// Places of outputs, inputs, … in …, inputs, outputs.
Dims outputs_first(size_t rank) {
  Dims order = {static_cast<int64_t>(rank) - 1, static_cast<int64_t>(rank) - 2};
  for (size_t d = 0; d + 2 < rank; ++d) order.push_back(static_cast<int64_t>(d));
  return order;
}

Dims taken(const Dims& dims, const Dims& order) {
  Dims to;
  for (int64_t d : order) to.push_back(dims[static_cast<size_t>(d)]);
  return to;
}
Dims put_back(const Dims& dims, const Dims& order) {
  Dims to(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) to[static_cast<size_t>(order[d])] = dims[d];
  return to;
}

}  // namespace

TensorView Layout::first(const TensorView& v) const {
  return last && v.rank >= 3 ? permute(v, channels_first(static_cast<size_t>(v.rank))) : v;
}
Dims Layout::first(const Dims& dims) const {
  return last && dims.size() >= 3 ? taken(dims, channels_first(dims.size())) : dims;
}
TensorView Layout::filter(const TensorView& v, int32_t format) const {
  if (!last || v.rank < 3 || format == kNchw || format == kNcdhw) return v;
  return format == kNhwc ? first(v) : permute(v, outputs_first(static_cast<size_t>(v.rank)));
}
Dims Layout::own(const Dims& dims) const { return last ? put_back(dims, channels_first(dims.size())) : dims; }

Layout layout_of(const Op& op, int spatial, std::string_view format) {
  const std::string_view first = spatial == 2 ? "NCHW" : "NCDHW", last = spatial == 2 ? "NHWC" : "NDHWC";
  op.require(format == first || format == last, "attribute data_format is \"{}\", want {} or {}", format, first, last);
  return {format == last};
}

}  // namespace updraft::ir
