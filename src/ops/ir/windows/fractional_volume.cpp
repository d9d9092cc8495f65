// Pooling of volumes over windows of one size whose places a random number of each dimension decides, as PyTorch's
// fractional_max_pool3d.
#include <array>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

/// The dimensions of a tensor as images, channels, depth, height, width.
struct Volume {
  std::array<int64_t, 5> dims{}, at{};  ///< at: which dimension of the tensor
  Volume(const Op& op, const char* name, const TensorView& v, const char* data_format) {
    const std::string_view format = data_format;
    op.require(format == "NCDHW" || format == "NDHWC", "attribute data_format is \"{}\", want NCDHW or NDHWC", format);
    op.require(v.rank == 5 && is_floating(v.dtype), "{} is {}, want 5 dimensions of numbers with a fraction", name,
               describe(v));
    at = format == "NCDHW" ? std::array<int64_t, 5>{0, 1, 2, 3, 4} : std::array<int64_t, 5>{0, 4, 1, 2, 3};
    for (size_t d = 0; d < 5; ++d) dims[d] = v.dims[at[d]];
  }
  int64_t planes() const { return dims[0] * dims[1]; }
  int64_t plane() const { return dims[2] * dims[3] * dims[4]; }
  /// A tensor of that order seen as [N, C, D, H, W].
  TensorView own(const TensorView& v) const {
    TensorView made = v;
    for (size_t d = 0; d < 5; ++d) made.dims[d] = v.dims[at[d]], made.strides[d] = v.strides[at[d]];
    return made;
  }
  Dims client(const std::array<int64_t, 5>& own) const {
    Dims made(5);
    for (size_t d = 0; d < 5; ++d) made[static_cast<size_t>(at[d])] = own[d];
    return made;
  }
};

/// Where the windows of one dimension begin.
Dims begins(double sample, int64_t size, int64_t windows, int64_t kernel) {
  Dims at(static_cast<size_t>(windows), size - kernel);
  if (windows < 2) return at;
  const double step = static_cast<double>(size - kernel) / static_cast<double>(windows - 1);
  for (int64_t i = 0; i + 1 < windows; ++i)
    at[static_cast<size_t>(i)] =
        static_cast<int64_t>((static_cast<double>(i) + sample) * step) - static_cast<int64_t>(sample * step);
  return at;
}

}  // namespace

ABOUT(CustFractionalMaxPool3DWithFixedKsize, AICPU,
      "Largest of windows of a volume at places that random numbers decide",
      "三维分数步长最大池化：窗口位置由随机数决定")
IR_OP(CustFractionalMaxPool3DWithFixedKsize, CustFractionalMaxPool3DWithFixedKsize, (In, x), (In, random_samples),
      (Out, y), (Out, argmax), (Ints, ksize), (Ints, output_shape), (Text, data_format, "NCDHW")) {
  const Volume v(op, "x", *x, data_format);
  op.require(ksize.size() == 3 && output_shape.size() == 3,
             "attributes ksize and output_shape have {} and {} values, want 3 each", ksize.size(), output_shape.size());
  const std::array<int64_t, 3> kernel = {ksize[0], ksize[1], ksize[2]},
                               windows = {output_shape[0], output_shape[1], output_shape[2]};
  for (size_t d = 0; d < 3; ++d)
    op.require(kernel[d] > 0 && windows[d] > 0 && windows[d] + kernel[d] - 1 <= v.dims[d + 2],
               "{} windows of {} do not fit into {}, of x {}", windows[d], kernel[d], v.dims[d + 2], describe(*x));
  op.require(random_samples->rank == 3 && random_samples->numel() == v.planes() * 3 && random_samples->dims[2] == 3,
             "random_samples is {}, want [{}, {}, 3]", describe(*random_samples), v.dims[0], v.dims[1]);
  const Dims dims = v.client({v.dims[0], v.dims[1], windows[0], windows[1], windows[2]});
  ir::result(op, "y", *y, dims, x->dtype);
  ir::result(op, "argmax", *argmax, dims, DType::Int64);
  if (op.inferring() || y->empty()) return;
  op.work(y->numel() * kernel[0] * kernel[1] * kernel[2]);
  op.launch([=, from = v.own(*x), samples = *random_samples, to = v.own(*y), places = v.own(*argmax)] {
    const std::vector<double> all = gathered<double>(from), u = gathered<double>(samples);
    std::vector<double> largest(static_cast<size_t>(to.numel()));
    std::vector<int64_t> where(largest.size());
    const int64_t per = windows[0] * windows[1] * windows[2];
    parallel_for(v.planes(), 1, [&](int64_t plane, int64_t end) {
      for (; plane < end; ++plane) {
        const double* pixels = all.data() + plane * v.plane();
        std::array<Dims, 3> at;
        for (size_t d = 0; d < 3; ++d)
          at[d] = begins(u[static_cast<size_t>(plane * 3) + d], v.dims[d + 2], windows[d], kernel[d]);
        for (int64_t w = 0; w < per; ++w) {
          const int64_t d0 = at[0][static_cast<size_t>(w / (windows[1] * windows[2]))],
                        h0 = at[1][static_cast<size_t>(w / windows[2] % windows[1])],
                        w0 = at[2][static_cast<size_t>(w % windows[2])];
          double best = -std::numeric_limits<double>::infinity();
          int64_t place = (d0 * v.dims[3] + h0) * v.dims[4] + w0;
          for (int64_t z = d0; z < d0 + kernel[0]; ++z)
            for (int64_t r = h0; r < h0 + kernel[1]; ++r)
              for (int64_t c = w0; c < w0 + kernel[2]; ++c) {
                const int64_t i = (z * v.dims[3] + r) * v.dims[4] + c;
                if (pixels[i] > best || std::isnan(pixels[i])) best = pixels[i], place = i;
              }
          largest[static_cast<size_t>(plane * per + w)] = best;
          where[static_cast<size_t>(plane * per + w)] = place;
        }
      }
    });
    write_all(to, largest);
    write_all(places, where);
  });
}
ABOUT(CustFractionalMaxPool3DGradWithFixedKsize, AICPU, "Gradient of CustFractionalMaxPool3DWithFixedKsize",
      "CustFractionalMaxPool3DWithFixedKsize 的反向梯度")
IR_OP(CustFractionalMaxPool3DGradWithFixedKsize, CustFractionalMaxPool3DGradWithFixedKsize, (In, origin_input),
      (In, out_backprop), (In, argmax), (Out, y), (Text, data_format, "NCDHW")) {
  const Volume v(op, "origin_input", *origin_input, data_format), g(op, "out_backprop", *out_backprop, data_format);
  op.require(g.dims[0] == v.dims[0] && g.dims[1] == v.dims[1],
             "out_backprop is {}, want images and channels of origin_input, {}", describe(*out_backprop),
             describe(*origin_input));
  op.require_same_shape("argmax", *argmax, "out_backprop", *out_backprop);
  op.result_like("y", *y, *origin_input, out_backprop->dtype);
  if (op.inferring() || y->empty()) return;
  op.work(y->numel() + 2 * out_backprop->numel());
  op.launch([=, by = v.own(*out_backprop), places = v.own(*argmax), to = v.own(*y)] {
    const std::vector<double> slopes = gathered<double>(by);
    const std::vector<int64_t> where = integers_of(places);
    std::vector<double> made(static_cast<size_t>(to.numel()));
    for (size_t i = 0; i < slopes.size(); ++i) {
      if (where[i] < 0 || where[i] >= v.plane())
        fail_kernel(fmt::format("argmax has {}, want 0 to {}", where[i], v.plane() - 1));
      made[i / static_cast<size_t>(g.plane()) * static_cast<size_t>(v.plane()) + static_cast<size_t>(where[i])] +=
          slopes[i];
    }
    write_all(to, made);
  });
}

}  // namespace updraft
