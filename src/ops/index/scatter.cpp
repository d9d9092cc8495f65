// scatter, scatter_add and scatter_reduce, and updates of slices that caches use.
#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "ops/index/elements.h"
#include "ops/index/rows.h"

namespace updraft {
namespace {

TensorView as_vector(const TensorView& v) {
  TensorView r = v;
  if (r.rank == 0) append_dim(r, 1, 1);
  return r;
}

/// Checks that index goes within self, in dimensions other than d, and within src, which may be absent.
void require_within(const Op& op, const TensorView& self, const TensorView& index, const TensorView* src, int d) {
  require_index(op, "index", index);
  const TensorView t = as_vector(self), i = as_vector(index), s = src ? as_vector(*src) : i;
  bool fits = t.rank == i.rank && s.rank == i.rank;
  for (int k = 0; fits && k < i.rank; ++k) fits = (k == d || i.dims[k] <= t.dims[k]) && i.dims[k] <= s.dims[k];
  if (src)
    op.require(fits, "index is {}: it exceeds self, {}, or src, {}", describe(index), describe(self), describe(*src));
  else op.require(fits, "index is {}: it exceeds self, {}", describe(index), describe(self));
}

/// out = self, and the numbers `source(index)` at index; index is a vector at least.
template <class Source>
void launch_scatter(Op& op, const TensorView& self, int d, const TensorView& index, Reduce how, bool include_self,
                    const TensorView& out, Source source) {
  op.work(out.numel() + 4 * index.numel());
  op.kernel_scratch(scatter_bytes(out, index, how, include_self));
  op.launch([=, index = as_vector(index)] {
    if (out.data != self.data) copy_elements(out, self);
    if (!index.empty()) scatter_elements(as_vector(out), d, index, source(index), how, include_self);
  });
}

void plan_scatter(Op& op, const TensorView& self, int64_t dim, const TensorView& index, const TensorView& src,
                  int64_t reduction, bool include_self, const TensorView& out) {
  const int d = self.wrap_dim(dim);
  op.require(reduction >= 0 && reduction <= 5, "reduction is {}, want 0 to 5", reduction);
  op.result_like("out", out, self, self.dtype);
  op.require(self.dtype == out.dtype, "out is {}, want the type of self, {}", describe(out), describe(self));
  if (out.empty()) return;
  if (!index.empty()) {
    op.require(self.dtype == src.dtype, "src is {}, want the type of self, {}", describe(src), describe(self));
    require_within(op, self, index, &src, d);
    op.require(!is_complex(self.dtype) || reduction < 3 || reduction == 5, "complex numbers have no order: self is {}",
               describe(self));
  }
  launch_scatter(op, self, d, index, static_cast<Reduce>(reduction), include_self, out, [src](const TensorView& i) {
    TensorView part = as_vector(src);
    std::copy_n(i.dims, i.rank, part.dims);
    return part;
  });
}

void plan_scatter_value(Op& op, const TensorView& self, int64_t dim, const TensorView& index, const aclScalar& value,
                        int64_t reduction, const TensorView& out) {
  const int d = self.wrap_dim(dim);
  op.require(reduction >= 0 && reduction <= 2, "reduction is {}, want 0 to 2", reduction);
  op.result_like("out", out, self, self.dtype);
  op.require(self.dtype == out.dtype, "out is {}, want the type of self, {}", describe(out), describe(self));
  if (out.empty()) return;
  if (!index.empty()) require_within(op, self, index, nullptr, d);
  launch_scatter(op, self, d, index, static_cast<Reduce>(reduction), true, out,
                 [value = Element(self.dtype, value)](const TensorView& i) { return value.view().expand_as(i); });
}

// self[b, ..., at : at + length of updates along axis, ...] = updates[b]; indices hold `at` for each b, or pairs (b,
// at).
void plan_cache_update(Op& op, std::vector<TensorView> caches, const TensorView& indices, const TensorView& updates,
                       int d, const TensorView* mask) {
  require_index(op, "indices", indices);
  const bool pairs = indices.rank == 2;
  op.require(indices.rank == 1 || (pairs && indices.dims[1] == 2), "indices is {}, want [n] or [n,2]",
             describe(indices));
  op.require(updates.rank > 0 && updates.dims[0] == indices.dims[0], "updates is {}, want one for each of indices, {}",
             describe(updates), describe(indices));
  if (updates.empty()) return;
  op.kernel_scratch(index_bytes(indices));
  op.launch([=, caches = std::move(caches), flags = mask ? *mask : TensorView(), masked = mask != nullptr] {
    ScratchScope scratch;
    const int64_t* at = read_indices(indices, scratch);
    for (int64_t i = 0; i < updates.dims[0]; ++i) {
      if (masked && !flags.as<const uint8_t>()[i * flags.strides[0]]) continue;
      const int64_t b = checked_index(pairs ? at[2 * i] : i, static_cast<int64_t>(caches.size()), 0, false);
      const TensorView from = drop_dim(narrow(updates, 0, i, 1), 0);
      const TensorView& cache = caches[static_cast<size_t>(b)];
      const int64_t start = pairs ? at[2 * i + 1] : at[i], count = from.dims[d];
      checked_index(start, cache.dims[d], d, false);
      if (count > 0) checked_index(start + count - 1, cache.dims[d], d, false);
      copy_elements(narrow(cache, d, start, count), from);
    }
  });
}

}  // namespace

SAMPLE(aclnnScatter, "index=i64[N,1]:2..3 src=f32[N,1]")
ABOUT(aclnnScatter, Vector, "out = self with src written at index along dim; reduction 1 adds, 2 multiplies",
      "将 src 按 index 沿 dim 写入 self 的副本，reduction 为 1 累加、2 累乘")
ACLNN(aclnnScatter, (In, self), (Int, dim), (In, index), (In, src), (Int, reduction), (Out, out)) {
  plan_scatter(op, *self, dim, *index, *src, reduction, true, *out);
}
SAMPLE(aclnnInplaceScatter, "index=i64[N,1]:2..3 src=f32[N,1]")
ABOUT(aclnnInplaceScatter, Vector, "Writes src to selfRef at index along dim; reduction 1 adds, 2 multiplies",
      "原地将 src 按 index 沿 dim 写入 selfRef，reduction 为 1 累加、2 累乘")
ACLNN(aclnnInplaceScatter, (InOut, selfRef), (Int, dim), (In, index), (In, src), (Int, reduction)) {
  plan_scatter(op, *selfRef, dim, *index, *src, reduction, true, *selfRef);
}
SAMPLE(aclnnScatterAdd, "index=i64[N,3] src=f32[N,3]")
ABOUT(aclnnScatterAdd, Vector, "out = self with src added at index along dim",
      "将 src 按 index 沿 dim 累加到 self 的副本")
ACLNN(aclnnScatterAdd, (In, self), (Int, dim), (In, index), (In, src), (Out, out)) {
  plan_scatter(op, *self, dim, *index, *src, 1, true, *out);
}
SAMPLE(aclnnScatterReduce, "index=i64[N,1]:2..3 src=f32[N,1] includeSelf=true")
ABOUT(aclnnScatterReduce, Vector,
      "Joins src into self at index along dim by reduction, with or without self's own elements",
      "按 reduction 将 src 沿 dim 归约到 index 位置，includeSelf 决定是否计入 self")
ACLNN(aclnnScatterReduce, (In, self), (Int, dim), (In, index), (In, src), (Int, reduction), (Bool, includeSelf),
      (Out, out)) {
  plan_scatter(op, *self, dim, *index, *src, reduction, includeSelf, *out);
}
SAMPLE(aclnnInplaceScatterReduce, "index=i64[N,1]:2..3 src=f32[N,1] includeSelf=true")
ABOUT(aclnnInplaceScatterReduce, Vector, "Joins src into selfRef at index along dim by reduction, in place",
      "原地按 reduction 将 src 沿 dim 归约到 selfRef 的 index 位置")
ACLNN(aclnnInplaceScatterReduce, (InOut, selfRef), (Int, dim), (In, index), (In, src), (Int, reduction),
      (Bool, includeSelf)) {
  plan_scatter(op, *selfRef, dim, *index, *src, reduction, includeSelf, *selfRef);
}
SAMPLE(aclnnScatterValue, "index=i64[N,3]")
ABOUT(aclnnScatterValue, Vector, "out = self with a scalar written at index along dim; reduction 1 adds, 2 multiplies",
      "将标量 value 按 index 沿 dim 写入 self 的副本，reduction 为 1 累加、2 累乘")
ACLNN(aclnnScatterValue, (In, self), (Int, dim), (In, index), (Scalar, value), (Int, reduction), (Out, out)) {
  plan_scatter_value(op, *self, dim, *index, *value, reduction, *out);
}
SAMPLE(aclnnInplaceScatterValue, "index=i64[N,3]")
ABOUT(aclnnInplaceScatterValue, Vector, "Writes a scalar to selfRef at index along dim; reduction 1 adds, 2 multiplies",
      "原地将标量 value 按 index 沿 dim 写入 selfRef，reduction 为 1 累加、2 累乘")
ACLNN(aclnnInplaceScatterValue, (InOut, selfRef), (Int, dim), (In, index), (Scalar, value), (Int, reduction)) {
  plan_scatter_value(op, *selfRef, dim, *index, *value, reduction, *selfRef);
}

SAMPLE(aclnnInplaceScatterUpdate, "data=f32[2,3,N,M] indices=i64[2]:0..1 updates=f32[2,3,1,M] axis=-2")
ABOUT(aclnnInplaceScatterUpdate, Vector,
      "Writes updates of each batch to data from position indices along axis on (caches)",
      "将每个批次的 updates 从 axis 的 indices 位置起写入 data（KV 缓存更新）")
ACLNN(aclnnInplaceScatterUpdate, (InOut, data), (In, indices), (In, updates), (Int, axis)) {
  const int d = data->wrap_dim(axis);
  op.require(data->rank == updates->rank && d > 0,
             "updates is {}, want as many dimensions as data, {}, and axis {} not the first", describe(*updates),
             describe(*data), axis);
  op.require(data->dtype == updates->dtype, "updates is {}, want the type of data, {}", describe(*updates),
             describe(*data));
  for (int k = 1; k < data->rank; ++k)
    op.require(k == d || data->dims[k] == updates->dims[k], "updates is {}, want the shape of data, {}, beyond axis {}",
               describe(*updates), describe(*data), d);
  std::vector<TensorView> caches;
  for (int64_t b = 0; b < data->dims[0]; ++b) caches.push_back(drop_dim(narrow(*data, 0, b, 1), 0));
  plan_cache_update(op, std::move(caches), *indices, *updates, d - 1, nullptr);
}

ABOUT(aclnnScatterList, Vector,
      "Writes updates[i] to varRef[i] from position indice along axis on; mask leaves some out",
      "将 updates[i] 从 axis 的 indice 位置起写入 varRef[i]，mask 可跳过部分张量")
ACLNN(aclnnScatterList, (InOutTensors, varRef), (In, indice), (In, updates), (OptIn, mask), (Text, reduce),
      (Int, axis)) {
  op.require(reduce && !std::strcmp(reduce, "update"), "reduce is {}, want update", reduce ? reduce : "null");
  const int d = updates->wrap_dim(axis);
  op.require(d > 0, "axis is {}, want a dimension of a list's element", axis);
  std::vector<TensorView> caches;
  for (size_t i = 0; i < varRef.size(); ++i) {
    const TensorView& v = varRef[i];
    bool fits = v.dtype == updates->dtype && v.rank == updates->rank - 1;
    for (int k = 0; fits && k < v.rank; ++k) fits = k == d - 1 || v.dims[k] == updates->dims[k + 1];
    op.require(fits, "varRef[{}] is {}: updates is {}", i, describe(v), describe(*updates));
    caches.push_back(v);
  }
  if (mask) {
    op.require(size_of(mask->dtype) == 1 && mask->rank == 1 && mask->dims[0] == updates->dims[0],
               "mask is {}, want a flag for each of updates, {}", describe(*mask), describe(*updates));
    plan_cache_update(op, std::move(caches), *indice, *updates, d - 1, &*mask);
  } else {
    plan_cache_update(op, std::move(caches), *indice, *updates, d - 1, nullptr);
  }
}

// self[indices[..., 0], indices[..., 1], ...] = updates[...].
SAMPLE(aclnnScatterNdUpdate, "indices=i64[1,1]:2..3 updates=f32[1,M]")
CARD(aclnnScatterNdUpdate, on("varRef updates", kFloats | kBool | kI64 | kI8, kA2))
ABOUT(aclnnScatterNdUpdate, Vector, "varRef[indices[..., 0], indices[..., 1], ...] = updates[...], in place",
      "原地执行 varRef[indices[..., 0], indices[..., 1], ...] = updates[...]")
ACLNN(aclnnScatterNdUpdate, (InOut, varRef), (In, indices), (In, updates)) {
  require_index(op, "indices", *indices);
  op.require(indices->rank >= 1 && indices->dims[indices->rank - 1] <= varRef->rank,
             "indices is {}, want at most {} numbers a place", describe(*indices), varRef->rank);
  op.require(varRef->dtype == updates->dtype, "updates is {}, want the type of varRef, {}", describe(*updates),
             describe(*varRef));
  const int depth = static_cast<int>(indices->dims[indices->rank - 1]);
  int64_t dims[2 * kMaxDims];
  int rank = 0;
  for (int k = 0; k + 1 < indices->rank; ++k) dims[rank++] = indices->dims[k];
  const int places = rank;
  for (int k = depth; k < varRef->rank; ++k) dims[rank++] = varRef->dims[k];
  op.require_shape("updates", *updates, dims, rank);
  if (updates->empty()) return;
  op.kernel_scratch(index_bytes(*indices) + static_cast<size_t>(indices->numel() / std::max(depth, 1)) * 16);
  op.launch([=, self = *varRef, indices = *indices, updates = *updates] {
    Rows r;
    r.table.data = self.data;
    r.values.data = updates.data;
    r.table.dtype = r.values.dtype = self.dtype;
    for (int k = depth; k < self.rank; ++k) append_dim(r.table, self.dims[k], self.strides[k]);
    TensorView spots;
    for (int k = 0; k < updates.rank; ++k)
      append_dim(k < places ? spots : r.values, updates.dims[k], updates.strides[k]);
    r.n = spots.numel();
    ScratchScope scratch;
    const int64_t* id = read_indices(indices, scratch);
    auto* at = scratch.take<int64_t>(static_cast<size_t>(r.n) * 2);
    for (int64_t i = 0; i < r.n; ++i) {
      at[i] = 0;
      for (int k = 0; k < depth; ++k)
        at[i] += checked_index(id[i * depth + k], self.dims[k], k, true) * self.strides[k];
      at[r.n + i] = spots.offset_of(i);
    }
    r.at = at;
    r.value_at = at + r.n;
    put_rows(r);
  });
}

}  // namespace updraft
