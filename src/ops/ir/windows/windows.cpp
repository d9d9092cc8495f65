#include "ops/ir/windows/windows.h"

#include <algorithm>

namespace updraft::ir {
namespace {

/// The values for spatial dimensions.
Dims spatial_of(const Op& op, const char* name, const Dims& values, int spatial, bool last) {
  const auto n = static_cast<size_t>(spatial);
  if (values.size() == 1) return Dims(n, values[0]);
  if (values.size() == n) return values;
  op.require(values.size() == n + 2, "attribute {} has {} values, want {} or {}", name, values.size(), n, n + 2);
  const auto first = values.begin() + (last ? 1 : 2);
  op.require(values[0] == 1 && values[last ? n + 1 : 1] == 1,
             "attribute {} is {} for batches and {} for channels: want 1", name, values[0], values[last ? n + 1 : 1]);
  return Dims(first, first + static_cast<std::ptrdiff_t>(n));
}

}  // namespace

Padding padding_of(const Op& op, const char* name, std::string_view word) {
  op.require(word == "CALCULATED" || word == "SAME" || word == "VALID",
             "attribute {} is \"{}\", want CALCULATED, SAME or VALID", name, word);
  return word == "SAME" ? Padding::Same : word == "VALID" ? Padding::Valid : Padding::Given;
}

Windows windows_of(const Op& op, int spatial, const TensorView& x, const char* format, const Attributes& a) {
  op.require(x.rank == spatial + 2, "x is {}, want {} dimensions", describe(x), spatial + 2);
  Windows w;
  w.layout = layout_of(op, spatial, format);
  w.x = w.layout.first(x);
  const auto n = static_cast<size_t>(spatial);
  w.dilations = a.dilation.empty() ? Dims(n, 1) : spatial_of(op, "dilation", a.dilation, spatial, w.layout.last);
  if (a.global) {
    w.kernel = Dims(w.x.dims + 2, w.x.dims + w.x.rank);
    w.strides = Dims(n, 1);
  } else {
    w.kernel = spatial_of(op, "ksize", a.ksize, spatial, w.layout.last);
    w.strides = spatial_of(op, "strides", a.strides, spatial, w.layout.last);
  }
  Dims pads = a.pads;
  if (pads.size() == 1) pads.assign(2 * n, pads[0]);
  if (pads.empty() || a.padding != Padding::Given || a.global) pads.assign(2 * n, 0);
  op.require(pads.size() == 2 * n, "attribute pads has {} values, want {}", pads.size(), 2 * n);
  for (size_t d = 0; d < n; ++d) {
    const int64_t size = w.x.dims[d + 2], step = w.strides[d], reach = (w.kernel[d] - 1) * w.dilations[d] + 1;
    op.require(w.kernel[d] >= 1 && w.dilations[d] >= 1, "a window is {} with a dilation of {}, want 1 or more",
               w.kernel[d], w.dilations[d]);
    op.require(step >= 1 && reach >= 1, "attributes ksize and strides are {} and {}, want 1 or more", w.kernel[d],
               step);
    int64_t front = pads[2 * d], behind = pads[2 * d + 1];
    if (a.padding == Padding::Same) {
      const int64_t outputs = (size + step - 1) / step, all = std::max<int64_t>(0, (outputs - 1) * step + reach - size);
      front = all / 2;
      behind = all - front;
    }
    op.require(front >= 0 && behind >= 0, "attribute pads has a negative value");
    const int64_t room = size + front + behind - reach;
    op.require(room >= 0, "a window of {} does not fit into {} with {} and {} around it", reach, size, front, behind);
    int64_t outputs = room / step + 1;
    if (a.ceil_mode && room % step != 0 && outputs * step < size + front) ++outputs;
    w.sizes.push_back(outputs);
    w.before.push_back(front);
    w.after.push_back(behind);
  }
  return w;
}

}  // namespace updraft::ir
