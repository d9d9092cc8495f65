// Windows of images and volumes side by side in the channels, as TensorFlow has them.
#include <cstring>

#include "ops/index/indices.h"
#include "ops/ir/windows/windows.h"

namespace updraft {
namespace {

using ir::Dims;
using ir::Windows;

constexpr int32_t kNchw = 0, kNcdhw = 30;

struct Volume {
  int64_t size[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1};
  int64_t dilation[3] = {1, 1, 1}, before[3] = {0, 0, 0};
  int64_t points() const { return out[0] * out[1] * out[2]; }
  int64_t window() const { return kernel[0] * kernel[1] * kernel[2]; }
};
Volume volume_of(const Windows& w) {
  Volume v;
  const size_t n = w.kernel.size(), first = 3 - n;  // an image is a volume of one layer
  for (size_t d = 0; d < n; ++d) {
    v.size[first + d] = w.x.dims[d + 2];
    v.out[first + d] = w.sizes[d];
    v.kernel[first + d] = w.kernel[d];
    v.stride[first + d] = w.strides[d];
    v.dilation[first + d] = w.dilations[d];
    v.before[first + d] = w.before[d];
  }
  return v;
}

/// One window of an image whose pixels have `pixel` bytes; what lies outside is 0.
void copy_window(const Volume& v, const char* image, int64_t point, int64_t pixel, char* to) {
  const int64_t at[3] = {point / (v.out[1] * v.out[2]), point / v.out[2] % v.out[1], point % v.out[2]};
  for (int64_t k = 0; k < v.window(); ++k, to += pixel) {
    const int64_t in[3] = {k / (v.kernel[1] * v.kernel[2]), k / v.kernel[2] % v.kernel[1], k % v.kernel[2]};
    int64_t from = 0;
    bool inside = true;
    for (int d = 0; d < 3; ++d) {
      const int64_t i = at[d] * v.stride[d] - v.before[d] + in[d] * v.dilation[d];
      inside &= i >= 0 && i < v.size[d];
      from = from * v.size[d] + i;
    }
    if (inside) std::memcpy(to, image + from * pixel, static_cast<size_t>(pixel));
    else std::memset(to, 0, static_cast<size_t>(pixel));
  }
}

void plan_patches(Op& op, int spatial, const In& x, const Ints& ksizes, const Ints& strides, const Dims& rates,
                  const char* padding, const Out& y) {
  const auto rank = static_cast<size_t>(spatial) + 2;
  op.require(ksizes.size() == rank && strides.size() == rank,
             "attributes ksizes and strides have {} and {} values, want {}", ksizes.size(), strides.size(), rank);
  op.require(rates.empty() || rates.size() == rank, "attribute rates has {} values, want {}", rates.size(), rank);
  const ir::Padding how = ir::padding_of(op, "padding", padding);
  op.require(how != ir::Padding::Given, "attribute padding is \"{}\", want SAME or VALID", padding);
  const bool second = x.handle->format == kNchw || x.handle->format == kNcdhw;
  const Windows w = ir::windows_of(op, spatial, *x,
                                   spatial == 2 ? second ? "NCHW" : "NHWC"
                                   : second     ? "NCDHW"
                                                : "NDHWC",
                                   {*ksizes, *strides, {}, rates, how});
  Dims dims = w.outputs();
  dims[1] *= ir::count_of(w.kernel);
  ir::result(op, "y", *y, w.layout.own(dims), x->dtype);
  op.require(y->dtype == x->dtype, "y is {}, want the type of x, {}", describe(*y), describe(*x));
  if (op.inferring() || y->empty()) return;
  const TensorView from = ir::channels_last(w.layout, *x), to = ir::channels_last(w.layout, *y);
  op.kernel_scratch(contiguous_bytes(from) + contiguous_bytes(to));
  op.launch([from, to, v = volume_of(w)] {
    ScratchScope scratch;
    const TensorView read = contiguous_in(from, scratch);
    TensorView made = to;
    if (!to.is_contiguous()) made = TensorView::contiguous(scratch.take<char>(to.bytes()), to.dtype, to.dims, to.rank);
    const auto pixel = from.dims[from.rank - 1] * static_cast<int64_t>(size_of(from.dtype));
    const int64_t image = v.size[0] * v.size[1] * v.size[2] * pixel, patch = v.window() * pixel;
    parallel_for(from.dims[0] * v.points(), std::max<int64_t>(1, 65536 / patch), [&](int64_t begin, int64_t end) {
      for (; begin < end; ++begin)
        copy_window(v, read.as<char>() + begin / v.points() * image, begin % v.points(), pixel,
                    made.as<char>() + begin * patch);
    });
    if (!to.is_contiguous()) copy_elements(to, made);
  });
}

}  // namespace

ABOUT(ExtractImagePatches, Vector, "Windows of images, side by side in the channels", "取图像的各窗口，并排置于通道维")
IR_OP(ExtractImagePatches, ExtractImagePatches, (In, x), (Out, y), (Ints, ksizes), (Ints, strides), (Ints, rates),
      (Text, padding)) {
  plan_patches(op, 2, x, ksizes, strides, *rates, padding, y);
}
ABOUT(ExtractVolumePatches, Vector, "Windows of volumes, side by side in the channels",
      "取体数据的各窗口，并排置于通道维")
IR_OP(ExtractVolumePatches, ExtractVolumePatches, (In, x), (Out, y), (Ints, ksizes), (Ints, strides), (Text, padding)) {
  plan_patches(op, 3, x, ksizes, strides, {}, padding, y);
}

}  // namespace updraft
