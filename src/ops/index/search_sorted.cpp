// Where values belong in sorted sequences.
#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "ops/index/indices.h"

namespace updraft {
namespace {

// The first position whose element is not less than (right: is greater than) v; NaN follows everything.
template <class T>
int64_t search(const T* line, int64_t n, T v, bool right, const int64_t* sorter) {
  int64_t low = 0, high = n;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    const int64_t at = sorter ? sorter[middle] : middle;
    if (at < 0 || at >= n) fail_kernel(fmt::format("sorter holds {}, want 0 to {}", at, n - 1));
    const T x = line[at];
    const bool stop = right ? x > v : x >= v;
    if (stop) high = middle;
    else low = middle + 1;
  }
  return low;
}

void plan_search(Op& op, const TensorView& sequence, const TensorView& self, bool right, const aclTensor* sorter,
                 bool narrow, const TensorView& out, const Element* scalar = nullptr) {
  op.result_like("out", out, self, narrow ? DType::Int32 : DType::Int64);
  op.require(sequence.rank > 0, "sortedSequence is {}, want at least a vector", describe(sequence));
  op.require(!is_complex(sequence.dtype) && !is_complex(self.dtype), "complex numbers have no order");
  op.require(sequence.dtype != DType::UInt64 && self.dtype != DType::UInt64,
             "sortedSequence is {} and self is {}: UINT64 is compared as INT64 here, want another type",
             describe(sequence), describe(self));
  op.require(out.dtype == DType::Int64 || out.dtype == DType::Int32, "out is {}, want INT64 or INT32", describe(out));
  const int last = sequence.rank - 1;
  if (last > 0) {
    bool fits = self.rank == sequence.rank;
    for (int k = 0; fits && k < last; ++k) fits = self.dims[k] == sequence.dims[k];
    op.require(fits, "self is {}, want the leading dimensions of sortedSequence, {}", describe(self),
               describe(sequence));
  }
  if (sorter) op.require_same_shape("sorter", sorter->view, "sortedSequence", sequence);
  if (out.empty()) return;
  op.work(16 * out.numel() + sequence.numel());
  const DType computed = storage_of(compute_of(promote(sequence.dtype, self.dtype)));
  auto copied = [&](const TensorView& v) {
    return v.dtype == computed ? contiguous_bytes(v) : static_cast<size_t>(v.numel()) * size_of(computed);
  };
  op.kernel_scratch(copied(sequence) + copied(self) + static_cast<size_t>(out.numel()) * 8);
  op.launch([=, order = sorter ? sorter->view : TensorView(), sorted = sorter != nullptr,
             value = scalar ? *scalar : Element(DType::Float, aclScalar{DType::Float, {}}),
             from_scalar = scalar != nullptr] {
    const Compute compute = compute_of(promote(sequence.dtype, self.dtype));
    const DType type = storage_of(compute);
    const TensorView source =
        from_scalar ? TensorView::contiguous(const_cast<unsigned char*>(value.bytes), self.dtype, nullptr, 0) : self;
    ScratchScope scratch;
    const TensorView lines = contiguous_in(sequence, type, scratch), values = contiguous_in(source, type, scratch);
    const int64_t* positions = sorted ? read_indices(order, scratch) : nullptr;
    const int64_t n = sequence.dims[last], total = self.numel();
    const int64_t per_line = last > 0 ? self.dims[last] : total;
    auto* found = scratch.take<int64_t>(static_cast<size_t>(total));
    // `type` is one of these three: complex numbers were refused.
    (void)visit_type(type, [&]<class T>() {
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, int64_t>)
        parallel_for(total, 1024, [&](int64_t b, int64_t e) {
          for (; b < e; ++b) {
            const int64_t line = last > 0 ? b / per_line * n : 0;
            found[b] = search(lines.as<const T>() + line, n, values.as<const T>()[b], right,
                              positions ? positions + line : nullptr);
          }
        });
    });
    copy_elements(out, TensorView::contiguous(found, DType::Int64, out.dims, out.rank));
  });
}

}  // namespace

SAMPLE(aclnnSearchSorted, "sortedSequence=f32[1] self=f32[N,M] out=i64[N,M]")
ABOUT(aclnnSearchSorted, Vector,
      "Position at which each element of self keeps sortedSequence sorted; right: behind equals",
      "self 的元素在 sortedSequence 中的有序插入位置，right 为真时在相等元素之后")
ACLNN(aclnnSearchSorted, (In, sortedSequence), (In, self), (Bool, outInt32), (Bool, right), (OptIn, sorter),
      (Out, out)) {
  // Of a call, out's type says it too.
  plan_search(op, *sortedSequence, *self, right, sorter.handle, outInt32, *out);
}
SAMPLE(aclnnSearchSorteds, "sortedSequence=f32[1] self=0.5 out=i64[]")
ABOUT(aclnnSearchSorteds, Vector, "Position at which the scalar self keeps sortedSequence sorted",
      "标量 self 在 sortedSequence 中的有序插入位置")
ACLNN(aclnnSearchSorteds, (In, sortedSequence), (Scalar, self), (Bool, outInt32), (Bool, right), (OptIn, sorter),
      (Out, out)) {
  op.suggest(*out, {}, outInt32 ? DType::Int32 : DType::Int64);
  const Element value(self->dtype, *self);
  TensorView one = TensorView::contiguous(nullptr, self->dtype, out->dims, out->rank);
  op.require(out->numel() == 1, "out is {}, want one element", describe(*out));
  plan_search(op, *sortedSequence, one, right, sorter.handle, outInt32, *out, &value);
}
SAMPLE(aclnnBucketize, "boundaries=f32[1] out=i64[N,M]")
ABOUT(aclnnBucketize, Vector, "out = the bucket of boundaries in which each element of self falls",
      "self 的元素落入 boundaries 的区间序号")
ACLNN(aclnnBucketize, (In, self), (In, boundaries), (Bool, outInt32), (Bool, right), (Out, out)) {
  op.require(boundaries->rank == 1, "boundaries is {}, want a vector", describe(*boundaries));
  plan_search(op, *boundaries, *self, right, nullptr, outInt32, *out);
}

}  // namespace updraft
