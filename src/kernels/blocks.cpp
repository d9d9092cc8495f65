#include "kernels/blocks.h"

#include <optional>

#include "base/parallel.h"

namespace updraft {
namespace {
constexpr int64_t kSumBlock = 16 * kBlockElements;
}

BlockSum sum_elementwise(BlockFn fn, Compute compute, const TensorView* in, int inputs, const int64_t* dims, int rank,
                         const Params& params) {
  constexpr int kMaxInputs = 6;
  int64_t n = 1;
  for (int d = 0; d < rank; ++d) n *= dims[d];
  const int64_t blocks = (n + kSumBlock - 1) / kSumBlock;
  std::vector<BlockSum> partial(static_cast<size_t>(blocks));
  parallel_for(blocks, 1, [&](int64_t first, int64_t last) {
    std::optional<BlockReader> reader[kMaxInputs];
    BlockBuffer buffers[kMaxInputs];
    alignas(64) char result[kBlockElements * 8];
    const void* from[kMaxInputs];
    for (int k = 0; k < inputs; ++k) {
      reader[k].emplace(in[k].expand(dims, rank), compute);
      if (reader[k]->constant()) from[k] = reader[k]->read(0, std::min(n, kBlockElements), buffers[k].bytes);
    }
    void* to[1] = {result};
    for (int64_t b = first; b < last; ++b) {
      const int64_t stop = std::min(n, (b + 1) * kSumBlock);
      for (int64_t at = b * kSumBlock; at < stop; at += kBlockElements) {
        const int64_t count = std::min(kBlockElements, stop - at);
        for (int k = 0; k < inputs; ++k)
          if (!reader[k]->constant()) from[k] = reader[k]->read(at, count, buffers[k].bytes);
        fn(from, to, count, params);
        BlockSum& sum = partial[static_cast<size_t>(b)];
        if (compute == Compute::F32) {
          sum.real += kernels().block_sum_f32(reinterpret_cast<float*>(result), count);
        } else if (compute == Compute::F64) {
          sum.real += kernels().block_sum_f64(reinterpret_cast<double*>(result), count);
        } else {
          auto total = static_cast<uint64_t>(sum.integer);
          for (int64_t i = 0; i < count; ++i) total += static_cast<uint64_t>(reinterpret_cast<int64_t*>(result)[i]);
          sum.integer = static_cast<int64_t>(total);
        }
      }
    }
  });
  BlockSum total;
  for (const BlockSum& p : partial) {
    total.real += p.real;
    total.integer = static_cast<int64_t>(static_cast<uint64_t>(total.integer) + static_cast<uint64_t>(p.integer));
  }
  return total;
}

void store_one(const TensorView& to, double value) {
  const bool wide = compute_of(to.dtype) != Compute::F32;
  const float narrow = static_cast<float>(value);
  kernels().store[static_cast<int>(wide ? Compute::F64 : Compute::F32)][static_cast<int>(to.dtype)](
      to.data, 1, wide ? static_cast<const void*>(&value) : &narrow, 1);
}
void store_one(const TensorView& to, int64_t value) {
  kernels().store[static_cast<int>(Compute::I64)][static_cast<int>(to.dtype)](to.data, 1, &value, 1);
}
double load_one(const TensorView& from) {
  double value;
  kernels().load[static_cast<int>(from.dtype)][static_cast<int>(Compute::F64)](&value, from.data, 1, 1);
  return value;
}
int64_t load_one_int(const TensorView& from) {
  int64_t value;
  kernels().load[static_cast<int>(from.dtype)][static_cast<int>(Compute::I64)](&value, from.data, 1, 1);
  return value;
}

}  // namespace updraft
