// Rows of a weight matrix by number, the gradient of that, and the limit on their norms.
#include <cmath>
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "ops/elementwise/elementwise.h"
#include "ops/index/rows.h"

namespace updraft {
namespace {

// The last dimension of v is the row, those before are positions of the index.
TensorView row_of(const TensorView& v) { return last_dims(v, 1); }

// Offsets of the rows of v, for each position; null when they are regular.
const int64_t* row_offsets(const TensorView& v, int64_t& stride, ScratchScope& scratch) {
  const TensorView positions = first_dims(v, v.rank - 1);
  const TensorView* views[] = {&positions};
  const StridedLoop<1> loop(views);
  stride = loop.strides[0][0];
  if (loop.rank == 1) return nullptr;
  const int64_t n = positions.numel();
  auto* at = scratch.take<int64_t>(static_cast<size_t>(n));
  loop.rows(0, n, [&](const int64_t(&o)[1], int64_t linear, int64_t count) {
    for (int64_t i = 0; i < count; ++i) at[linear + i] = o[0] + i * loop.strides[0][loop.rank - 1];
  });
  return at;
}

}  // namespace

SAMPLE(aclnnEmbedding, "weight=f32[N,M] indices=i64[5] out=f32[5,M]")
ABOUT(aclnnEmbedding, Vector, "out[...] = the row of weight that indices[...] names",
      "out[...] = weight 中由 indices[...] 指定的行")
ACLNN(aclnnEmbedding, (In, weight), (In, indices), (Out, out)) {
  require_index(op, "indices", *indices);
  op.require(weight->rank == 2, "weight is {}, want a matrix", describe(*weight));
  int64_t dims[kMaxDims + 1];
  std::copy_n(indices->dims, indices->rank, dims);
  dims[indices->rank] = weight->dims[1];
  op.result("out", *out, dims, indices->rank + 1, weight->dtype);
  op.require(weight->dtype == out->dtype, "out is {}, want the type of weight, {}", describe(*out), describe(*weight));
  if (out->empty()) return;
  op.kernel_scratch(index_bytes(*indices) + static_cast<size_t>(indices->numel()) * (out->is_contiguous() ? 8 : 16));
  op.launch([weight = *weight, index = *indices, out = *out] {
    ScratchScope scratch;
    Rows r;
    r.n = index.numel();
    auto* at = scratch.take<int64_t>(static_cast<size_t>(r.n));
    index_offsets(at, index, weight.dims[0], weight.strides[0], 0, false, false);
    r.at = at;
    r.table = row_of(weight);
    r.values = row_of(out);
    r.value_at = row_offsets(out, r.value_stride, scratch);
    gather_rows(r);
  });
}

SAMPLE(aclnnEmbeddingDenseBackward, "grad=f32[5,M] indices=i64[5] numWeights=4 paddingIdx=0 out=f32[4,M]")
ABOUT(aclnnEmbeddingDenseBackward, Vector,
      "Gradient of the embedding's weight: rows of grad summed by index, padding left out",
      "embedding 对权重的反向梯度：按索引累加 grad 的行，忽略 paddingIdx")
ACLNN(aclnnEmbeddingDenseBackward, (In, grad), (In, indices), (UInt, numWeights), (UInt, paddingIdx),
      (Bool, scaleGradByFreq), (Out, out)) {
  require_index(op, "indices", *indices);
  if (grad->rank > 0) op.suggest(*out, {static_cast<int64_t>(numWeights), grad->dims[grad->rank - 1]}, grad->dtype);
  op.require(out->rank == 2 && out->dims[0] == static_cast<int64_t>(numWeights), "out is {}, want {} rows",
             describe(*out), numWeights);
  op.require(
      grad->rank > 0 && grad->dims[grad->rank - 1] == out->dims[1] && grad->numel() == indices->numel() * out->dims[1],
      "grad is {}, want {} for each of the indices {}", describe(*grad), out->dims[1], describe(*indices));
  op.require(grad->dtype == out->dtype, "grad is {}, want the type of out, {}", describe(*grad), describe(*out));
  if (out->empty()) return;
  op.work(out->numel() + 4 * grad->numel());
  op.kernel_scratch(index_bytes(*indices) + static_cast<size_t>(indices->numel()) * (grad->is_contiguous() ? 16 : 24));
  op.launch([=, grad = *grad, index = *indices, out = *out] {
    fill_zero(out);
    if (index.empty()) return;
    const int64_t n = index.numel(), padding = static_cast<int64_t>(paddingIdx);
    ScratchScope scratch;
    const int64_t* id = read_indices(index, scratch);
    Rows r;
    r.table = row_of(out);
    r.values = row_of(grad);
    const int64_t* from = row_offsets(grad, r.value_stride, scratch);
    auto* at = scratch.take<int64_t>(static_cast<size_t>(n) * 2);
    int64_t* value_at = at + n;
    std::vector<float> scale;
    std::vector<int64_t> count;
    if (scaleGradByFreq) count.resize(static_cast<size_t>(out.dims[0]));
    for (int64_t i = 0; i < n; ++i) {
      if (id[i] == padding) continue;
      const int64_t row = checked_index(id[i], out.dims[0], 0, false);
      if (scaleGradByFreq) ++count[static_cast<size_t>(row)];
      at[r.n] = row * out.strides[0];
      value_at[r.n++] = from ? from[i] : i * r.value_stride;
    }
    if (scaleGradByFreq) {
      scale.resize(static_cast<size_t>(r.n));
      for (size_t i = 0; i < scale.size(); ++i)
        scale[i] = 1.0f / static_cast<float>(count[static_cast<size_t>(at[i] / out.strides[0])]);
      r.scale = scale.data();
    }
    r.at = at;
    r.value_at = value_at;
    add_rows(r, nullptr);
  });
}

// In place; a row that occurs several times is scaled once.
SAMPLE(aclnnEmbeddingRenorm, "selfRef=f32[N,M] indices=i64[5] maxNorm=0.5 normType=2")
ABOUT(aclnnEmbeddingRenorm, Vector, "Scales the named rows of selfRef in place to a norm of at most maxNorm",
      "原地将 indices 指定的行缩放到范数不大于 maxNorm")
ACLNN(aclnnEmbeddingRenorm, (InOut, selfRef), (In, indices), (Double, maxNorm), (Double, normType)) {
  require_index(op, "indices", *indices);
  op.require(selfRef->rank == 2, "self is {}, want a matrix", describe(*selfRef));
  op.require(is_floating(selfRef->dtype), "self is {}, want a floating type", describe(*selfRef));
  if (selfRef->empty() || indices->empty()) return;
  op.work(8 * indices->numel() * selfRef->dims[1]);
  op.launch([=, self = *selfRef, index = *indices] {
    ScratchScope scratch;
    const int64_t* id = read_indices(index, scratch);
    std::vector<int64_t> rows(id, id + index.numel());
    for (int64_t row : rows) checked_index(row, self.dims[0], 0, false);
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    const int64_t length = self.dims[1], step = self.strides[1];
    parallel_for(static_cast<int64_t>(rows.size()), std::max<int64_t>(1, 4096 / length), [&](int64_t b, int64_t e) {
      (void)visit_type(self.dtype, [&]<class T>() {  // floating, as the plan has checked
        if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, Half> ||
                      std::is_same_v<T, BFloat16>) {
          for (; b < e; ++b) {
            T* row = self.as<T>() + rows[static_cast<size_t>(b)] * self.strides[0];
            double norm = 0;
            for (int64_t i = 0; i < length; ++i) {
              const double x = std::abs(static_cast<double>(row[i * step]));
              if (normType == 2) norm += x * x;
              else if (normType == 1) norm += x;
              else if (std::isinf(normType)) norm = normType > 0 ? std::max(norm, x) : (i ? std::min(norm, x) : x);
              else if (normType == 0) norm += x != 0;
              else norm += std::pow(x, normType);
            }
            if (normType == 2) norm = std::sqrt(norm);
            else if (normType != 1 && normType != 0 && !std::isinf(normType)) norm = std::pow(norm, 1 / normType);
            if (!(norm > maxNorm)) continue;
            const double scale = maxNorm / (norm + 1e-7);
            for (int64_t i = 0; i < length; ++i) {
              if constexpr (std::is_same_v<T, double>) row[i * step] *= scale;
              else row[i * step] = T(static_cast<float>(row[i * step]) * static_cast<float>(scale));
            }
          }
        }
      });
    });
  });
}

}  // namespace updraft
