// Attention to parts of the keys, computed in several places, as one.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

struct Parts {
  std::vector<TensorView> lse, out;
};

void update(const Parts& parts, const TensorView& out, const TensorView& lse_out) {
  const int64_t rows = parts.lse[0].numel(), size = row_length(out);
  std::vector<std::vector<float>> lse, part;
  for (const TensorView& v : parts.lse) lse.push_back(floats_of(v));
  for (const TensorView& v : parts.out) part.push_back(floats_of(v));
  std::vector<float> result(static_cast<size_t>(rows * size), 0.0f), total(static_cast<size_t>(rows));
  parallel_for(rows, std::max<int64_t>(1, 2048 / std::max<int64_t>(1, size)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const auto row = static_cast<size_t>(r);
      float most = lse[0][row], sum = 0;
      for (const auto& l : lse) most = std::max(most, l[row]);
      for (const auto& l : lse) sum += std::exp(l[row] - most);
      total[row] = most + std::log(sum);
      for (size_t p = 0; p < part.size(); ++p) {
        const float weight = std::exp(lse[p][row] - total[row]);
        for (int64_t c = r * size; c < (r + 1) * size; ++c)
          result[static_cast<size_t>(c)] += part[p][static_cast<size_t>(c)] * weight;
      }
    }
  });
  write_all(out, result);
  if (given(lse_out)) write_all(lse_out, total);
}

}  // namespace

SAMPLE(aclnnAttentionUpdate,
       "lse=f32[N];f32[N];f32[N] localOut=f32[N,M];f32[N,M];f32[N,M] updateType=1 out=f32[N,M] lseOut=f32[N]")
ABOUT(aclnnAttentionUpdate, Vector,
      "lseOut = log(sum of exp(lse)), out = sum of localOut * exp(lse - lseOut), over the parts",
      "lseOut = log(Σexp(lse))，out = Σ localOut * exp(lse - lseOut)，对各分段求和")
ACLNN(aclnnAttentionUpdate, (Tensors, lse), (Tensors, localOut), (Int, updateType), (Out, out), (OptOut, lseOut)) {
  op.require(updateType == 0 || updateType == 1, "updateType is {}, want 0, or 1 for lseOut as well", updateType);
  op.require(lse.size() > 0 && lse.size() == localOut.size(), "lse has {} parts and localOut {}, want as many of both",
             lse.size(), localOut.size());
  const TensorView &row = lse[0], &part = localOut[0];
  op.require(row.rank == 1 && part.rank == 2 && part.dims[0] == row.dims[0],
             "lse is {} and localOut {}, want one dimension, and a row for each of it", describe(row), describe(part));
  op.require(row.dtype == DType::Float && compute_of(part.dtype) == Compute::F32,
             "lse is {} and localOut {}, want FLOAT, and FLOAT, FLOAT16 or BFLOAT16", describe(row), describe(part));
  Parts parts;
  for (size_t i = 0; i < lse.size(); ++i) {
    op.require_same_shape("lse", lse[i], "its first part", row);
    op.require_same_shape("localOut", localOut[i], "its first part", part);
    op.require(lse[i].dtype == row.dtype && localOut[i].dtype == part.dtype,
               "part {} is {} and {}, want the types of the first, {} and {}", i, describe(lse[i]),
               describe(localOut[i]), name_of(row.dtype), name_of(part.dtype));
    parts.lse.push_back(lse[i]), parts.out.push_back(localOut[i]);
  }
  op.require(updateType == 0 || lseOut, "lseOut is null, want a tensor with updateType 1");
  op.result_like("out", *out, part, part.dtype);
  if (lseOut) op.result_like("lseOut", *lseOut, row, DType::Float);
  if (part.empty()) return;
  op.work(part.numel() * static_cast<int64_t>(lse.size()) * 2);
  op.launch([parts = std::move(parts), out = *out, lse_out = lseOut ? *lseOut : TensorView{}] {
    update(parts, out, lse_out);
  });
}

}  // namespace updraft
