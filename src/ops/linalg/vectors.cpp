// Trace, cross product, channel shuffle and the stream's nap.
#include <chrono>
#include <thread>

#include "kernels/blocks.h"
#include "kernels/pipeline.h"
#include "kernels/rows/arithmetic.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {

SAMPLE(aclnnTrace, "self=f32[N,N] out=f32[]")
ABOUT(aclnnTrace, Vector, "out = sum of the diagonal of a matrix", "矩阵对角线元素之和")
ACLNN(aclnnTrace, (In, self), (Out, out)) {
  op.require(self->rank == 2, "self is {}, want a matrix", describe(*self));
  op.suggest(*out, {}, is_integral(self->dtype, true) ? DType::Int64 : self->dtype);
  op.require(out->numel() == 1, "out is {}, want one element", describe(*out));
  op.work(0);
  op.launch([from = *self, to = *out] {
    TensorView diagonal = from;
    diagonal.rank = 1;
    diagonal.dims[0] = std::min(from.dims[0], from.dims[1]);
    diagonal.strides[0] = from.strides[0] + from.strides[1];
    const auto n = static_cast<size_t>(diagonal.dims[0]);
    auto sum = [&]<class T>() {
      std::vector<T> values(n);
      if (n) gather_to(values.data(), DTypeOf<T>::value, diagonal);
      T total = 0;
      for (const T& v : values) total += v;
      copy_elements(to, TensorView::contiguous(&total, DTypeOf<T>::value, to.dims, to.rank));
    };
    switch (compute_of(from.dtype)) {
      case Compute::I64: sum.operator()<int64_t>(); break;
      case Compute::C64:
      case Compute::C128: sum.operator()<complex128>(); break;
      default: sum.operator()<double>();
    }
  });
}

SAMPLE(aclnnLinalgCross, "self=f32[N,3] other=f32[N,3] out=f32[N,3]")
ABOUT(aclnnLinalgCross, Vector, "out = cross product of vectors of three along dim", "沿 dim（长度为 3）的向量叉积")
ACLNN(aclnnLinalgCross, (In, self), (In, other), (Int, dim), (Out, out)) {
  op.result_broadcast("out", *out, *self, *other, promote(self->dtype, other->dtype));
  const int d = out->wrap_dim(dim);
  op.require(out->rank > 0 && out->dims[d] == 3, "out is {}, want 3 elements in dimension {}", describe(*out), dim);
  if (out->empty()) return;
  op.work(out->numel() * 4);
  op.launch([d, a = self->expand_as(*out), b = other->expand_as(*out), to = *out] {
    auto part = [d](const TensorView& v, int k) { return narrow(v, d, k, 1); };
    const Compute compute = compute_of(to.dtype);
    // Products go to buffers first: the output may be an input.
    const size_t third = static_cast<size_t>(to.numel() / 3) * size_of(storage_of(compute));
    std::vector<char> memory(4 * third);
    const TensorView shape = part(to, 0);
    auto buffer = [&](int k) {
      return TensorView::contiguous(memory.data() + static_cast<size_t>(k) * third, storage_of(compute), shape.dims,
                                    shape.rank);
    };
    const BlockFn mul = elementwise_kernel(ew::mul, compute), sub = elementwise_kernel(ew::sub, compute);
    Params one;
    one.set(0, int64_t{1});
    for (int k = 0; k < 3; ++k) {
      const int i = (k + 1) % 3, j = (k + 2) % 3;
      run_elementwise(mul, compute, {part(a, j), part(b, i)}, {buffer(3)}, Params{});
      run_elementwise(mul, compute, {part(a, i), part(b, j)}, {buffer(k)}, Params{});
      run_elementwise(sub, compute, {buffer(k), buffer(3)}, {buffer(k)}, one);
    }
    for (int k = 0; k < 3; ++k) copy_elements(part(to, k), buffer(k));
  });
}

SAMPLE(aclnnChannelShuffle, "self=f32[2,4,3,M] groups=2 out=f32[2,4,3,M]")
ABOUT(aclnnChannelShuffle, Vector, "Exchanges groups and channels within groups of dimension 1",
      "将第 1 维通道按 groups 分组后交错重排")
ACLNN(aclnnChannelShuffle, (In, self), (Int, groups), (Out, out)) {
  op.result_like("out", *out, *self, self->dtype);
  op.require(self->rank > 2, "self is {}, want three or more dimensions", describe(*self));
  op.require(groups > 0 && self->dims[1] % groups == 0, "groups is {}, want a divisor of the {} channels", groups,
             self->dims[1]);
  if (out->empty()) return;
  // Channels as [groups, each]: the output lists them with the two exchanged.
  auto split = [](const TensorView& v, int64_t outer) {
    TensorView s = v;
    s.rank = v.rank + 1;
    s.dims[1] = outer;
    s.dims[2] = v.dims[1] / outer;
    s.strides[1] = v.strides[1] * s.dims[2];
    s.strides[2] = v.strides[1];
    for (int d = 2; d < v.rank; ++d) {
      s.dims[d + 1] = v.dims[d];
      s.strides[d + 1] = v.strides[d];
    }
    return s;
  };
  op.launch([from = split(*self, groups).transpose(1, 2), to = split(*out, self->dims[1] / groups)] {
    copy_elements(to, from);
  });
}

ABOUT(aclnnSleep, Vector, "Keeps the stream busy for the sum of cycles, counted in nanoseconds",
      "使流空等 cycles 之和（按纳秒计）")
ACLNN(aclnnSleep, (Ints, cycles)) {
  int64_t total = 0;
  for (int64_t c : *cycles) total += c;
  op.require(total >= 0, "cycles is {}, want 0 or more", total);
  op.work(int64_t{1} << 40);
  op.flops(0);
  op.launch([total] { std::this_thread::sleep_for(std::chrono::nanoseconds(total)); });
}

}  // namespace updraft
