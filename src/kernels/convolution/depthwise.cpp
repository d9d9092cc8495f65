#include "kernels/convolution/depthwise.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "kernels/table.h"
#include "tensor/view_algebra.h"

namespace updraft::depthwise {

bool takes(const ConvolutionShape& s, const TensorView& src, const TensorView& weight, const TensorView& dst,
           DType type, bool last) {
  constexpr int64_t kLeastChannels = 8;
  return last && s.spatial == 2 && type == DType::Float && s.groups >= kLeastChannels && src.dims[1] == s.groups &&
         dst.dims[1] == s.groups && weight.dims[1] == 1;
}

void arrange_filters(const TensorView& weight, float* to) {
  gather_to(to, DType::Float, permute(weight, {2, 3, 1, 0}));
}

void forward(const ConvolutionShape& s, const TensorView& src, const float* filters, const TensorView& weight,
             const packed::Tail& tail, const TensorView& dst) {
  constexpr int64_t kWork = 16384, kUnit = 16;  // of a part: multiplications, and channels of the widest vector
  DepthwiseShape shape{};
  shape.channels = s.groups;
  for (int d = 0; d < 2; ++d) {
    shape.in[d] = src.dims[d + 2], shape.out[d] = dst.dims[d + 2], shape.kernel[d] = weight.dims[d + 2];
    shape.stride[d] = s.stride[d], shape.dilation[d] = s.dilation[d], shape.padding[d] = s.padding[d];
  }
  const int64_t channels = s.groups, lines = dst.dims[0] * shape.out[0], line = shape.out[1] * channels;
  const int64_t image = shape.in[0] * shape.in[1] * channels;
  // few lines are cut by their channels, too
  const int64_t wanted = (4 * parallel_width() + lines - 1) / lines;
  const int64_t cut = std::max(((channels + wanted - 1) / wanted + kUnit - 1) / kUnit * kUnit, 2 * kUnit);
  const int64_t cuts = (channels + cut - 1) / cut;
  const int64_t work = shape.out[1] * std::min(cut, channels) * shape.kernel[0] * shape.kernel[1];
  parallel_for(lines * cuts, std::max<int64_t>(1, kWork / work), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = i / cuts, first = i % cuts * cut;
      packed::Tail own = tail;
      if (own.add) own.add += at * line;
      kernels().depthwise_row(shape, src.as<float>() + at / shape.out[0] * image, filters, own, at % shape.out[0],
                              first, std::min(first + cut, channels), dst.as<float>() + at * line);
    }
  });
}

}  // namespace updraft::depthwise
