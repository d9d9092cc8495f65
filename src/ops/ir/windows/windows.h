// Windows that move over an image or a volume, by the attributes of pooling and its kin: a value for each dimension of
// the tensors, or for each spatial one; pads have two for each spatial dimension.
#pragma once
#include <algorithm>

#include "base/parallel.h"
#include "ops/ir/shape/layout.h"
#include "ops/linalg/dense.h"

namespace updraft::ir {

/// x as N, C, … and the windows on it.
struct Windows {
  TensorView x;
  Dims kernel, strides, dilations, before, after;
  Dims sizes;  ///< of the result
  Layout layout;

  bool even() const { return before == after; }
  Dims outputs() const {
    Dims dims = {x.dims[0], x.dims[1]};
    dims.insert(dims.end(), sizes.begin(), sizes.end());
    return dims;
  }
  /// The shape of the result in the client's order.
  Dims client_outputs() const { return layout.own(outputs()); }
  TensorView own(const TensorView& v) const { return layout.first(v); }
};

enum class Padding { Given, Same, Valid };
Padding padding_of(const Op& op, const char* name, std::string_view word);

struct Attributes {
  Dims ksize, strides, pads, dilation;
  Padding padding = Padding::Given;
  bool ceil_mode = false, global = false;
};

Windows windows_of(const Op& op, int spatial, const TensorView& x, const char* format, const Attributes& a);

/// v with the channels last.
inline TensorView channels_last(const Layout& layout, const TensorView& v) {
  if (layout.last) return v;
  Dims order = all_axes(v.rank);
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return permute(v, order);
}

/// Calls f(image, first channel, end of channels) for all, some in each thread: for sums at places that windows share.
template <class F>
void each_part(int64_t images, int64_t channels, F&& f) {
  constexpr int64_t kChannels = 64;  // two lines of the cache or more
  const int64_t parts = (channels + kChannels - 1) / kChannels;
  parallel_for(images * parts, 1, [&](int64_t begin, int64_t end) {
    for (; begin < end; ++begin) {
      const int64_t first = begin % parts * kChannels;
      f(begin / parts, first, std::min(first + kChannels, channels));
    }
  });
}

/// Calls f.template operator()<T>() with the type in which elements of type t are compared and added.
template <class F>
void visit_numbers(DType t, F&& f) {
  if (t == DType::Double) return f.template operator()<double>();
  if (is_floating(t)) return f.template operator()<float>();
  return f.template operator()<int64_t>();
}

}  // namespace updraft::ir
