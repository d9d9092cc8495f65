#include "kernels/convolution/filter_blocks.h"

#include <algorithm>

#include "base/parallel.h"
#include "kernels/table.h"

namespace updraft {
namespace {
constexpr int64_t kTurned = 4096;  // floats that are turned at a time, in the first cache
}

int64_t block_of_outputs(const dnnl::memory::desc& d) {
  const dnnl::memory::dims dims = d.get_dims();
  if (d.get_data_type() != dnnl::memory::data_type::f32 || dims.size() != 4 || d.get_inner_nblks() != 1 ||
      d.get_inner_idxs()[0] != 0 || d.get_submemory_offset() != 0)
    return 0;
  const int64_t block = d.get_inner_blks()[0], row = dims[1] * block;
  const dnnl::memory::dims want = {dims[3] * dims[2] * row, block, dims[3] * row, row}, strides = d.get_strides();
  for (size_t i = 0; i < want.size(); ++i)
    if (strides[i] != want[i] && (i == 0 ? dims[0] > block : dims[i] > 1)) return 0;
  return dims[2] * dims[3] * block <= kTurned ? block : 0;
}

void pack_outputs(const TensorView& weight, int64_t block, float* to) {
  const int64_t outputs = weight.dims[0], inputs = weight.dims[1], places = weight.dims[2] * weight.dims[3];
  const int64_t step = places == 1 ? 256 : kTurned / (places * block), blocks = (outputs + block - 1) / block,
                pieces = (inputs + step - 1) / step;
  const int64_t row = inputs * places;
  parallel_for(blocks * pieces, 1, [&](int64_t begin, int64_t end) {
    float turned[kTurned];
    for (int64_t p = begin; p < end; ++p) {
      const int64_t first = p / pieces * block, i = p % pieces * step;
      const int64_t rows = std::min(block, outputs - first), count = std::min(step, inputs - i);
      float *const at = to + first * row + i * block, *const by = places == 1 ? at : turned;
      kernels().transpose_2d(by, block, weight.as<float>() + first * row + i * places, row, rows, count * places,
                             sizeof(float));
      for (int64_t c = 0; rows < block && c < count * places; ++c)
        std::fill_n(by + c * block + rows, block - rows, 0.0F);
      for (int64_t c = 0; places > 1 && c < count * places; ++c)
        std::copy_n(turned + c * block, block, at + (c % places * inputs + c / places) * block);
    }
  });
}

}  // namespace updraft
