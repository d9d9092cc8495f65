// An element for each element of the index: gather along a dimension, take and put in the flat tensor.
#include <vector>

#include "base/parallel.h"
#include "kernels/copy.h"
#include "kernels/table.h"
#include "ops/index/rows.h"

namespace updraft {
namespace {

void gather(const TensorView& self, int d, const TensorView& index, const TensorView& out) {
  // self as the index walks it, standing still along d.
  TensorView base = index;
  base.data = self.data;
  for (int k = 0; k < index.rank; ++k) base.strides[k] = k == d ? 0 : self.strides[k];
  const TensorView* views[] = {&out, &index, &base};
  const StridedLoop<3> loop(views);
  const int inner = loop.rank - 1;
  const int64_t os = loop.strides[0][inner], is = loop.strides[1][inner], bs = loop.strides[2][inner];
  const int64_t size = self.size(d), stride = self.stride(d);
  const bool wide = index.dtype == DType::Int64;
  const auto bytes = static_cast<int64_t>(size_of(self.dtype));
  parallel_for(index.numel(), 16384, [&](int64_t begin, int64_t end) {
    const KernelTable& t = kernels();
    loop.rows(begin, end, [&](const int64_t(&at)[3], int64_t, int64_t n) {
      const char* from = at_element(index, at[1]);
      const int64_t good = t.gather_elements(at_element(out, at[0]), os, at_element(self, at[2]), bs, from, is, wide,
                                             size, stride, n, bytes);
      if (good == n) return;
      // Negative ones count from the end, as on a card; they are rare, so that only rows that have them are copied.
      std::vector<int64_t> counted(static_cast<size_t>(n));
      for (int64_t i = 0; i < n; ++i)
        counted[static_cast<size_t>(i)] = checked_index(
            wide ? reinterpret_cast<const int64_t*>(from)[i * is] : reinterpret_cast<const int32_t*>(from)[i * is],
            size, d, true);
      t.gather_elements(at_element(out, at[0]), os, at_element(self, at[2]), bs, counted.data(), 1, true, size, stride,
                        n, bytes);
    });
  });
}

// Offsets of the elements of `self` in row-major order, and their number at `at`.
Rows flat_rows(const TensorView& self, const TensorView& index, const TensorView& values, ScratchScope& scratch) {
  Rows r;
  r.n = index.numel();
  auto* at = scratch.take<int64_t>(static_cast<size_t>(r.n));
  const int64_t size = self.numel();
  index_offsets(at, index, size, 1, 0, true, false);
  if (!self.is_contiguous())
    parallel_for(r.n, 4096, [&](int64_t b, int64_t e) {
      for (; b < e; ++b) at[b] = self.offset_of(at[b]);
    });
  r.at = at;
  r.table = TensorView::contiguous(self.data, self.dtype, nullptr, 0);
  r.values = TensorView::contiguous(values.data, values.dtype, nullptr, 0);
  r.value_stride = 1;
  return r;
}

}  // namespace

SAMPLE(aclnnGather, "index=i64[N,3] out=f32[N,3]")
ABOUT(aclnnGather, Vector, "out[i][j][k] = self[index[i][j][k]][j][k] (for dim 0); negative ones count from the end",
      "沿 dim 按 index 逐元素取值，负索引从末尾计")
ACLNN(aclnnGather, (In, self), (Int, dim), (In, index), (Out, out)) {
  const int d = self->wrap_dim(dim);
  op.result_like("out", *out, *index, self->dtype);
  op.require(self->dtype == out->dtype, "out is {}, want the type of self, {}", describe(*out), describe(*self));
  if (out->empty()) return;  // an empty index may have any type, as PyTorch has it
  op.require(index->dtype == DType::Int64 || index->dtype == DType::Int32, "index is {}, want INT64 or INT32",
             describe(*index));
  op.require(std::max(self->rank, 1) == std::max(index->rank, 1), "index is {}, want as many dimensions as self, {}",
             describe(*index), describe(*self));
  TensorView from = *self, at = *index, to = *out;
  for (TensorView* v : {&from, &at, &to})
    if (v->rank == 0) append_dim(*v, 1, 1);
  for (int k = 0; k < from.rank; ++k)
    op.require(k == d || at.dims[k] <= from.dims[k], "index is {}: dimension {} exceeds that of self, {}",
               describe(*index), k, describe(*self));
  op.work(4 * out->numel());
  op.launch([from, d, at, to] { gather(from, d, at, to); });
}

// Slices of `self` along `dim` (TensorFlow's gather); the first batch_dims dimensions of both go together.
SAMPLE(aclnnGatherV3, "index=i64[3] batchDims=0 out=f32[N,3]")
ABOUT(aclnnGatherV3, Vector, "Slices of self along dim by index; the first batchDims dimensions of both go together",
      "沿 dim 按 index 取 self 的切片，前 batchDims 维逐批对应")
ACLNN(aclnnGatherV3, (In, self), (Int, dim), (In, index), (Int, batchDims), (Int, mode), (Out, out)) {
  (void)mode;
  require_index(op, "index", *index);
  const int d = self->wrap_dim(dim);
  const int batch = static_cast<int>(batchDims < 0 ? batchDims + index->rank : batchDims);
  op.require(batch >= 0 && batch <= d && batch <= index->rank, "batchDims is {}, want at most dim, {}", batchDims, d);
  int64_t dims[2 * kMaxDims];
  int rank = 0;
  for (int k = 0; k < d; ++k) dims[rank++] = self->dims[k];
  for (int k = batch; k < index->rank; ++k) dims[rank++] = index->dims[k];
  for (int k = d + 1; k < self->rank; ++k) dims[rank++] = self->dims[k];
  op.require(rank <= kMaxDims, "the result has {} dimensions, the most is {}", rank, kMaxDims);
  op.result("out", *out, dims, rank, self->dtype);
  op.require(self->dtype == out->dtype, "out is {}, want the type of self, {}", describe(*out), describe(*self));
  for (int k = 0; k < batch; ++k)
    op.require(self->dims[k] == index->dims[k], "self is {} and index is {}: want equal leading dimensions",
               describe(*self), describe(*index));
  if (out->empty()) return;
  op.kernel_scratch(static_cast<size_t>(index->numel()) * 16 + index_bytes(*index));
  op.launch([=, self = *self, index = *index, out = *out] {
    int64_t batches = 1;
    for (int k = 0; k < batch; ++k) batches *= self.dims[k];
    for (int64_t b = 0; b < batches; ++b) {
      TensorView table, at, to;
      table.dtype = to.dtype = self.dtype;
      at.dtype = index.dtype;
      int64_t rest = b, ts = 0, is = 0, os = 0;
      for (int k = batch - 1; k >= 0; --k) {
        const int64_t x = rest % self.dims[k];
        rest /= self.dims[k];
        ts += x * self.strides[k];
        is += x * index.strides[k];
        os += x * out.strides[k];
      }
      table.data = at_element(self, ts);
      at.data = at_element(index, is);
      to.data = at_element(out, os);
      for (int k = batch; k < index.rank; ++k) append_dim(at, index.dims[k], index.strides[k]);
      Rows r;
      r.n = at.numel();
      ScratchScope scratch;
      auto* offsets = scratch.take<int64_t>(static_cast<size_t>(r.n));
      index_offsets(offsets, at, self.dims[d], self.strides[d], d, true, false);
      r.at = offsets;
      r.outer = d - batch;
      TensorView places;
      for (int k = batch; k < d; ++k) append_dim(table, self.dims[k], self.strides[k]);
      for (int k = d + 1; k < self.rank; ++k) append_dim(table, self.dims[k], self.strides[k]);
      for (int k = batch; k < out.rank; ++k) {
        const bool indexed = k >= d && k < d + at.rank;
        append_dim(indexed ? places : to, out.dims[k], out.strides[k]);
      }
      const TensorView* views[] = {&places};
      const StridedLoop<1> loop(views);
      auto* value_at = scratch.take<int64_t>(static_cast<size_t>(r.n));
      loop.rows(0, r.n, [&](const int64_t(&o)[1], int64_t linear, int64_t n) {
        for (int64_t i = 0; i < n; ++i) value_at[linear + i] = o[0] + i * loop.strides[0][loop.rank - 1];
      });
      r.value_at = value_at;
      r.table = table;
      r.values = to;
      gather_rows(r);
    }
  });
}

SAMPLE(aclnnTake, "index=i64[5] out=f32[5]")
ABOUT(aclnnTake, Vector, "out = elements of the flattened self at index", "按 index 从展平的 self 中取元素")
ACLNN(aclnnTake, (In, self), (In, index), (Out, out)) {
  require_index(op, "index", *index);
  op.result_like("out", *out, *index, self->dtype);
  op.require(self->dtype == out->dtype, "out is {}, want the type of self, {}", describe(*out), describe(*self));
  if (out->empty()) return;
  op.kernel_scratch(static_cast<size_t>(index->numel()) * 8 + index_bytes(*index) + contiguous_bytes(*out));
  op.launch([self = *self, index = *index, out = *out] {
    ScratchScope scratch;
    if (out.is_contiguous()) return gather_rows(flat_rows(self, index, out, scratch));
    const TensorView flat = TensorView::contiguous(scratch.take(out.bytes()), out.dtype, out.dims, out.rank);
    gather_rows(flat_rows(self, index, flat, scratch));
    copy_elements(out, flat);
  });
}

SAMPLE(aclnnInplacePut, "index=i64[1]:2..3 source=f32[1]")
ABOUT(aclnnInplacePut, Vector, "Writes source to the flattened selfRef at index; accumulate: adds it",
      "将 source 写入展平的 selfRef 的 index 位置，accumulate 为真时累加")
ACLNN(aclnnInplacePut, (InOut, selfRef), (In, index), (In, source), (Bool, accumulate)) {
  require_index(op, "index", *index);
  op.require(index->numel() == source->numel(), "source is {}, want as many elements as index, {}", describe(*source),
             describe(*index));
  op.require(selfRef->dtype == source->dtype, "source is {}, want the type of self, {}", describe(*source),
             describe(*selfRef));
  if (index->empty()) return;
  op.work(4 * index->numel());
  op.kernel_scratch(static_cast<size_t>(index->numel()) * 8 + index_bytes(*index) + contiguous_bytes(*source));
  op.launch([self = *selfRef, index = *index, source = *source, accumulate] {
    ScratchScope scratch;
    const Rows r = flat_rows(self, index, contiguous_in(source, scratch), scratch);
    if (accumulate) add_rows(r, nullptr);
    else put_rows(r);
  });
}

}  // namespace updraft
