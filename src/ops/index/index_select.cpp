// Whole slices along one dimension: selected, copied, added, filled.
#include <atomic>
#include <vector>

#include "base/parallel.h"
#include "kernels/copy.h"
#include "kernels/table.h"
#include "ops/elementwise/elementwise.h"
#include "ops/index/rows.h"

namespace updraft {
namespace {

// index is a vector or a scalar, `source` has its length in dimension `dim` and else self's shape.
int check_slices(const Op& op, const TensorView& self, int64_t dim, const TensorView& index, const char* name,
                 const TensorView& source) {
  const int d = self.wrap_dim(dim);
  require_index(op, "index", index);
  op.require(index.rank <= 1, "index is {}, want a vector", describe(index));
  op.require(self.dtype == source.dtype, "{} is {}, want the type of self, {}", name, describe(source), describe(self));
  bool fits = source.rank == self.rank && source.size(d) == index.numel();
  for (int k = 0; fits && k < self.rank; ++k) fits = k == d || self.dims[k] == source.dims[k];
  // A scalar stands for a vector of one element.
  fits = fits || (source.numel() == 1 && index.numel() == 1 && self.numel() >= 1 && self.rank <= 1);
  op.require(fits, "{} is {}, want self's shape with {} elements in dimension {} (self is {})", name, describe(source),
             index.numel(), d, describe(self));
  return d;
}

Rows slices(const TensorView& self, int d, const TensorView& index, const TensorView& source, ScratchScope& scratch) {
  if (source.rank == self.rank) return rows_of(self, d, index, source, false, scratch);
  TensorView line = TensorView::contiguous(source.data, source.dtype, nullptr, 0);
  if (self.rank == 1) append_dim(line, 1, 1);
  return rows_of(self, d, index, line, false, scratch);
}

void plan_index_add(Op& op, const TensorView& self, int64_t dim, const TensorView& index, const TensorView& source,
                    const aclScalar& alpha, const TensorView& out) {
  const int d = check_slices(op, self, dim, index, "source", source);
  op.result_like("out", out, self, self.dtype);
  op.require(self.dtype == out.dtype, "out is {}, want the type of self, {}", describe(out), describe(self));
  if (out.empty()) return;
  op.work(out.numel() + 4 * source.numel());
  op.kernel_scratch(rows_bytes(index));
  op.launch([=] {
    ScratchScope scratch;
    if (out.data != self.data) copy_elements(out, self);
    if (!source.empty()) add_rows(slices(out, d, index, source, scratch), &alpha);
  });
}

void plan_index_copy(Op& op, const TensorView& self, int64_t dim, const TensorView& index, const TensorView& source,
                     const TensorView& out) {
  const int d = check_slices(op, self, dim, index, "source", source);
  op.result_like("out", out, self, self.dtype);
  if (out.empty()) return;
  op.kernel_scratch(rows_bytes(index));
  op.launch([=] {
    ScratchScope scratch;
    if (out.data != self.data) copy_elements(out, self);
    if (!source.empty()) put_rows(slices(out, d, index, source, scratch));
  });
}

/// Elements of a vector by places as they lie in the index. False where an index is no such place, or the three are not
/// vectors: nothing is promised of out then.
bool take(const TensorView& self, const TensorView& index, const TensorView& out) {
  const bool wide = index.dtype == DType::Int64;
  if (self.rank != 1 || index.rank != 1 || out.rank != 1 || (!wide && index.dtype != DType::Int32)) return false;
  std::atomic<bool> plain{true};
  parallel_for(out.dims[0], 16384, [&](int64_t begin, int64_t end) {
    const int64_t n = end - begin, os = out.strides[0], is = index.strides[0];
    if (kernels().gather_elements(at_element(out, begin * os), os, self.data, 0, at_element(index, begin * is), is,
                                  wide, self.dims[0], self.strides[0], n,
                                  static_cast<int64_t>(size_of(self.dtype))) != n)
      plain.store(false, std::memory_order_relaxed);
  });
  return plain;
}

// index: a tensor, or numbers that the plan keeps.
template <class Index>
void plan_index_fill(Op& op, const TensorView& self, int64_t dim, Index index, int64_t count, const aclScalar& value,
                     const TensorView& out) {
  const int d = self.wrap_dim(dim);
  op.result_like("out", out, self, self.dtype);
  if (out.empty()) return;
  op.launch([=, index = std::move(index), value = Element(out.dtype, value)] {
    if (out.data != self.data) copy_elements(out, self);
    if (count == 0) return;
    TensorView positions, values = value.view().expand_as(out);
    if constexpr (std::is_same_v<Index, TensorView>) {
      positions = index;
    } else {
      positions = TensorView::contiguous(const_cast<int64_t*>(index.data()), DType::Int64, &count, 1);
    }
    ScratchScope scratch;
    Rows r = rows_of(out, d, positions, values, true, scratch);
    r.value_stride = 0;
    put_rows(r);
  });
}

}  // namespace

SAMPLE(aclnnIndexSelect, "index=i64[3] out=f32[N,3]")
ABOUT(aclnnIndexSelect, Vector, "out = slices of self along dim in the order of index",
      "沿 dim 按 index 顺序选取 self 的切片")
ACLNN(aclnnIndexSelect, (In, self), (Int, dim), (In, index), (Out, out)) {
  if (op.inferring()) {
    TensorView selected = *self;
    if (self->rank) selected.dims[self->wrap_dim(dim)] = index->numel();
    op.suggest_like(*out, selected, self->dtype);
  }
  const int d = check_slices(op, *self, dim, *index, "out", *out);
  if (out->empty()) return;
  op.kernel_scratch(rows_bytes(*index));
  op.launch([=, self = *self, index = *index, out = *out] {
    if (take(self, index, out)) return;
    ScratchScope scratch;
    gather_rows(slices(self, d, index, out, scratch));
  });
}

SAMPLE(aclnnIndexAdd, "index=i64[3] source=f32[N,3]")
ABOUT(aclnnIndexAdd, Vector, "out = self with alpha * source added to the slices index of dim",
      "out = self，并在 dim 的 index 切片上累加 alpha * source")
ACLNN(aclnnIndexAdd, (In, self), (Int, dim), (In, index), (In, source), (Scalar, alpha), (Out, out)) {
  plan_index_add(op, *self, dim, *index, *source, *alpha, *out);
}
SAMPLE(aclnnIndexAddV2, "index=i64[3] source=f32[N,3]")
ABOUT(aclnnIndexAddV2, Vector, "As aclnnIndexAdd; mode is accepted and not read",
      "与 aclnnIndexAdd 相同，mode 不影响结果")
ACLNN(aclnnIndexAddV2, (In, self), (Int, dim), (In, index), (In, source), (Scalar, alpha), (Int, mode), (Out, out)) {
  (void)mode;  // precision or speed: the result is exact either way
  plan_index_add(op, *self, dim, *index, *source, *alpha, *out);
}
SAMPLE(aclnnIndexCopy, "index=i64[1]:2..3 source=f32[N,1]")
ABOUT(aclnnIndexCopy, Vector, "out = self with the slices index of dim replaced by source",
      "out = self，并将 dim 的 index 切片替换为 source")
ACLNN(aclnnIndexCopy, (In, self), (Int, dim), (In, index), (In, source), (Out, out)) {
  plan_index_copy(op, *self, dim, *index, *source, *out);
}
SAMPLE(aclnnInplaceIndexCopy, "index=i64[1]:2..3 source=f32[N,1]")
ABOUT(aclnnInplaceIndexCopy, Vector, "Replaces the slices index of dim of selfRef by source, in place",
      "原地将 selfRef 在 dim 的 index 切片替换为 source")
ACLNN(aclnnInplaceIndexCopy, (InOut, selfRef), (Int, dim), (In, index), (In, source)) {
  plan_index_copy(op, *selfRef, dim, *index, *source, *selfRef);
}

SAMPLE(aclnnIndexFill, "index=i64[3]")
ABOUT(aclnnIndexFill, Vector, "out = self with the slices index of dim filled with value",
      "out = self，并将 dim 的 index 切片填充为 value")
ACLNN(aclnnIndexFill, (In, self), (Int, dim), (In, index), (Scalar, value), (Out, out)) {
  require_index(op, "index", *index);
  plan_index_fill(op, *self, dim, *index, index->numel(), *value, *out);
}
SAMPLE(aclnnInplaceIndexFill, "index=i64[3]")
ABOUT(aclnnInplaceIndexFill, Vector, "Fills the slices index of dim of selfRef with value, in place",
      "原地将 selfRef 在 dim 的 index 切片填充为 value")
ACLNN(aclnnInplaceIndexFill, (InOut, selfRef), (Int, dim), (In, index), (Scalar, value)) {
  require_index(op, "index", *index);
  plan_index_fill(op, *selfRef, dim, *index, index->numel(), *value, *selfRef);
}
SAMPLE(aclnnIndexFillTensor, "index=1,3")
ABOUT(aclnnIndexFillTensor, Vector, "As aclnnIndexFill, with index an array of the host",
      "与 aclnnIndexFill 相同，index 为主机侧整型数组")
ACLNN(aclnnIndexFillTensor, (In, self), (Int, dim), (Ints, index), (Scalar, value), (Out, out)) {
  plan_index_fill(op, *self, dim, *index, static_cast<int64_t>(index.size()), *value, *out);
}
SAMPLE(aclnnInplaceIndexFillTensor, "index=1,3")
ABOUT(aclnnInplaceIndexFillTensor, Vector, "As aclnnInplaceIndexFill, with index an array of the host",
      "与 aclnnInplaceIndexFill 相同，index 为主机侧整型数组")
ACLNN(aclnnInplaceIndexFillTensor, (InOut, selfRef), (Int, dim), (Ints, index), (Scalar, value)) {
  plan_index_fill(op, *selfRef, dim, *index, static_cast<int64_t>(index.size()), *value, *selfRef);
}

}  // namespace updraft
