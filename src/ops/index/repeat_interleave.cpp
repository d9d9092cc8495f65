// Each element or slice several times in a row.
#include <vector>

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "ops/index/rows.h"

namespace updraft {
namespace {

TensorView flat(const TensorView& v, ScratchScope& scratch) { return reshape(contiguous_in(v, scratch), {v.numel()}); }

/// Inference: self, or all of it in a row, with `size` elements in dimension d.
void suggest_repeated(const Op& op, const TensorView& self, int d, bool flatten, int64_t size, const TensorView& out) {
  if (!op.inferring()) return;
  if (flatten || self.rank == 0) return op.suggest(out, {size}, self.dtype);
  TensorView repeated = self;
  repeated.dims[d] = size;
  op.suggest_like(out, repeated, self.dtype);
}

// out's dimension d is self's with every slice i repeats[i] times (one number: for all).
void plan_repeat(Op& op, const TensorView& self, const TensorView& repeats, int d, bool flatten, int64_t total,
                 const TensorView& out) {
  suggest_repeated(op, self, d, flatten, total, out);
  require_index(op, "repeats", repeats);
  const int64_t size = flatten ? self.numel() : self.size(d);
  op.require(repeats.rank <= 1 && (repeats.numel() == 1 || repeats.numel() == size),
             "repeats is {}, want 1 or {} numbers", describe(repeats), size);
  op.require(out.dtype == self.dtype, "out is {}, want the type of self, {}", describe(out), describe(self));
  op.require(flatten ? out.rank == 1 : out.rank == std::max(self.rank, 1), "out is {}, self {}", describe(out),
             describe(self));
  if (out.empty() && self.empty()) return;
  op.kernel_scratch((flatten ? contiguous_bytes(self) : 0) + index_bytes(repeats) +
                    static_cast<size_t>(out.size(d)) * 8);
  op.launch([=] {
    ScratchScope scratch;
    TensorView from = flatten ? flat(self, scratch) : self;
    if (from.rank == 0) append_dim(from, 1, 1);
    const int64_t* times = read_indices(repeats, scratch);
    const int64_t room = out.size(d), step = repeats.numel() == 1 ? 0 : 1;
    auto* at = scratch.take<int64_t>(static_cast<size_t>(room));
    int64_t n = 0;
    for (int64_t i = 0; i < size; ++i) {
      const int64_t count = times[i * step];
      if (count < 0) fail_kernel(fmt::format("repeats[{}] is {}, want no negative number", i * step, count));
      if (n + count > room) fail_kernel(fmt::format("repeats add up to more than the {} elements of out", room));
      for (int64_t k = 0; k < count; ++k) at[n++] = i * from.strides[d];
    }
    if (n != room) fail_kernel(fmt::format("repeats add up to {}, out has {} elements", n, room));
    Rows r;
    r.n = n;
    r.at = at;
    r.table = drop_dim(from, d);
    r.values = drop_dim(out, d);
    r.value_stride = out.strides[d];
    r.outer = d;
    gather_rows(r);
  });
}

void plan_repeat(Op& op, const TensorView& self, int64_t repeats, int d, bool flatten, const TensorView& out) {
  op.require(repeats >= 0, "repeats is {}, want no negative number", repeats);
  int64_t total = 0;
  if (__builtin_mul_overflow(flatten ? self.numel() : self.size(d), repeats, &total)) total = -1;
  suggest_repeated(op, self, d, flatten, total, out);
  op.require(out.dtype == self.dtype, "out is {}, want the type of self, {}", describe(out), describe(self));
  op.require(out.size(d) == (flatten ? self.numel() : self.size(d)) * repeats, "out is {}, want {} times self, {}",
             describe(out), repeats, describe(self));
  if (out.empty()) return;
  op.kernel_scratch(flatten ? contiguous_bytes(self) : 0);
  op.launch([=] {
    ScratchScope scratch;
    TensorView line = flatten ? flat(self, scratch) : self, from, to;
    if (line.rank == 0) append_dim(line, 1, 1);
    from.data = line.data;
    to.data = out.data;
    from.dtype = to.dtype = out.dtype;
    for (int k = 0; k < line.rank; ++k) {
      append_dim(from, line.dims[k], line.strides[k]);
      append_dim(to, line.dims[k], k == d ? out.strides[k] * repeats : out.strides[k]);
      if (k == d) {
        append_dim(from, repeats, 0);
        append_dim(to, repeats, out.strides[k]);
      }
    }
    copy_elements(to, from);
  });
}

template <class T, class Sum>
void sum_segments(const TensorView& grad, const std::vector<int64_t>& start, int d, const TensorView& out) {
  const TensorView from = drop_dim(grad, d), to = drop_dim(out, d);
  const TensorView* views[] = {&to, &from};
  const StridedLoop<2> loop(views);
  const auto rows = static_cast<int64_t>(start.size()) - 1, lanes = to.numel();
  const int64_t ts = loop.strides[0][loop.rank - 1], fs = loop.strides[1][loop.rank - 1];
  parallel_for(rows, std::max<int64_t>(1, 4096 / lanes), [&](int64_t b, int64_t e) {
    for (; b < e; ++b)
      loop.rows(0, lanes, [&](const int64_t(&at)[2], int64_t, int64_t n) {
        for (int64_t i = 0; i < n; ++i) {
          Sum sum(0);
          for (int64_t k = start[static_cast<size_t>(b)]; k < start[static_cast<size_t>(b) + 1]; ++k)
            sum += static_cast<Sum>(grad.as<const T>()[at[1] + i * fs + k * grad.strides[d]]);
          out.as<T>()[at[0] + i * ts + b * out.strides[d]] = T(sum);
        }
      });
  });
}

}  // namespace

SAMPLE(aclnnRepeatInterleave, "self=f32[M] repeats=i64[M]:2..3 outputSize=2M out=f32[2M]")
ABOUT(aclnnRepeatInterleave, Vector, "Each element of the flattened self repeats[i] times in a row",
      "将展平的 self 的每个元素连续重复 repeats[i] 次")
ACLNN(aclnnRepeatInterleave, (In, self), (In, repeats), (Int, outputSize), (Out, out)) {
  plan_repeat(op, *self, *repeats, 0, true, outputSize, *out);
}
SAMPLE(aclnnRepeatInterleaveWithDim, "repeats=i64[M]:2..3 outputSize=2M out=f32[N,2M]")
ABOUT(aclnnRepeatInterleaveWithDim, Vector, "Each slice of self along dim repeats[i] times in a row",
      "沿 dim 将每个切片连续重复 repeats[i] 次")
ACLNN(aclnnRepeatInterleaveWithDim, (In, self), (In, repeats), (Int, dim), (Int, outputSize), (Out, out)) {
  plan_repeat(op, *self, *repeats, self->wrap_dim(dim), false, outputSize, *out);
}
SAMPLE(aclnnRepeatInterleaveInt, "self=f32[M] repeats=2 outputSize=2M out=f32[2M]")
ABOUT(aclnnRepeatInterleaveInt, Vector, "Each element of the flattened self repeats times in a row",
      "将展平的 self 的每个元素连续重复 repeats 次")
ACLNN(aclnnRepeatInterleaveInt, (In, self), (Int, repeats), (Int, outputSize), (Out, out)) {
  (void)outputSize;
  plan_repeat(op, *self, repeats, 0, true, *out);
}
SAMPLE(aclnnRepeatInterleaveIntWithDim, "repeats=2 outputSize=2M out=f32[N,2M]")
ABOUT(aclnnRepeatInterleaveIntWithDim, Vector, "Each slice of self along dim repeats times in a row",
      "沿 dim 将每个切片连续重复 repeats 次")
ACLNN(aclnnRepeatInterleaveIntWithDim, (In, self), (Int, repeats), (Int, dim), (Int, outputSize), (Out, out)) {
  (void)outputSize;
  plan_repeat(op, *self, repeats, self->wrap_dim(dim), false, *out);
}

// Position i repeats[i] times.
SAMPLE(aclnnRepeatInterleaveTensor, "repeats=i64[M]:2..3 outputSize=2M out=i64[2M]")
ABOUT(aclnnRepeatInterleaveTensor, Vector, "out = position i repeats[i] times in a row",
      "将位置序号 i 连续输出 repeats[i] 次")
ACLNN(aclnnRepeatInterleaveTensor, (In, repeats), (Int, outputSize), (Out, out)) {
  op.suggest(*out, {outputSize}, repeats->dtype);
  require_index(op, "repeats", *repeats);
  require_index(op, "out", *out);
  op.require(repeats->rank == 1 && out->rank == 1, "repeats is {} and out {}, want vectors", describe(*repeats),
             describe(*out));
  op.kernel_scratch(index_bytes(*repeats) + static_cast<size_t>(out->dims[0]) * 8);
  op.launch([repeats = *repeats, out = *out] {
    ScratchScope scratch;
    const int64_t* times = read_indices(repeats, scratch);
    const int64_t room = out.dims[0];
    auto* to = scratch.take<int64_t>(static_cast<size_t>(room));
    int64_t n = 0;
    for (int64_t i = 0; i < repeats.dims[0]; ++i) {
      if (times[i] < 0) fail_kernel(fmt::format("repeats[{}] is {}, want no negative number", i, times[i]));
      if (n + times[i] > room) fail_kernel(fmt::format("repeats add up to more than the {} elements of out", room));
      for (int64_t k = 0; k < times[i]; ++k) to[n++] = i;
    }
    if (n != room) fail_kernel(fmt::format("repeats add up to {}, out has {} elements", n, room));
    if (n) copy_elements(out, TensorView::contiguous(to, DType::Int64, &room, 1));
  });
}

SAMPLE(aclnnRepeatInterleaveGrad, "grad=f32[N,2M] repeats=i64[M]:2..3 axis=1 out=f32[N,M]")
ABOUT(aclnnRepeatInterleaveGrad, Vector,
      "Gradient of repeat-interleave: sums the repeats of each slice of grad along axis",
      "repeat_interleave 的反向梯度：沿 axis 累加各切片的重复部分")
ACLNN(aclnnRepeatInterleaveGrad, (In, grad), (In, repeats), (Int, axis), (Out, out)) {
  require_index(op, "repeats", *repeats);
  const int d = grad->wrap_dim(axis);
  if (op.inferring() && grad->rank > 0) {
    // One number for all: how large it is, is not known here.
    TensorView summed = *grad;
    if (repeats->numel() != 1) summed.dims[d] = repeats->numel();
    op.suggest_up_to(*out, summed.dims, summed.rank, grad->dtype, repeats->numel() == 1 ? d : -1);
  }
  op.require(grad->rank == out->rank && grad->rank > 0 && grad->dtype == out->dtype,
             "out is {}, want grad's rank and type, {}", describe(*out), describe(*grad));
  op.require(repeats->numel() == 1 || repeats->numel() == out->dims[d], "repeats is {}, want 1 or {} numbers",
             describe(*repeats), out->dims[d]);
  op.require(grad->dtype != DType::Bool, "grad is {}: such elements are not summed", describe(*grad));
  if (out->empty()) return;
  op.work(out->numel() + grad->numel());
  op.kernel_scratch(index_bytes(*repeats));
  op.launch([=, grad = *grad, repeats = *repeats, out = *out] {
    ScratchScope scratch;
    const int64_t* times = read_indices(repeats, scratch);
    std::vector<int64_t> start(static_cast<size_t>(out.dims[d]) + 1);
    for (size_t i = 1; i < start.size(); ++i) {
      const int64_t count = times[repeats.numel() == 1 ? 0 : i - 1];
      start[i] = start[i - 1] + count;
      if (count < 0 || start[i] > grad.dims[d])
        fail_kernel(fmt::format("repeats do not add up to grad's {}", grad.dims[d]));
    }
    (void)visit_storage(out.dtype, [&]<class T>() {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) sum_segments<T, float>(grad, start, d, out);
      else if constexpr (std::is_same_v<T, ComplexHalf>) sum_segments<T, complex64>(grad, start, d, out);
      else if constexpr (!std::is_same_v<T, bool>) sum_segments<T, T>(grad, start, d, out);
    });
  });
}

}  // namespace updraft
