// Sequences and diagonals.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/elementwise/elementwise.h"

namespace updraft {
namespace {

/// to[i] = value(i), i in row-major order, computed in T.
template <class T, class F>
void fill_sequence(const TensorView& to, F&& value) {
  const TensorView* const views[] = {&to};
  const StridedLoop<1> loop(views);
  const Compute compute = compute_of(DTypeOf<T>::value);
  StoreFn store = kernels().store[static_cast<int>(compute)][static_cast<int>(to.dtype)];
  const int64_t size = static_cast<int64_t>(size_of(to.dtype));
  parallel_for(to.numel(), 16384, [&](int64_t begin, int64_t end) {
    T block[512];
    loop.rows(begin, end, [&](const int64_t(&offset)[1], int64_t linear, int64_t n) {
      const int64_t stride = loop.strides[0][loop.rank - 1];
      for (int64_t at = 0; at < n; at += 512) {
        const int64_t step = std::min<int64_t>(512, n - at);
        for (int64_t i = 0; i < step; ++i) block[i] = value(linear + at + i);
        store(to.as<char>() + (offset[0] + at * stride) * size, stride, block, step);
      }
    });
  });
}

void plan_arithmetic_sequence(Op& op, const aclScalar& start, const aclScalar& step, const TensorView& out) {
  if (out.empty()) return;
  if (is_integral(out.dtype, true)) {
    // unsigned: numbers that do not fit wrap around
    const auto a = static_cast<uint64_t>(start.to_int()), d = static_cast<uint64_t>(step.to_int());
    op.launch([=] {
      fill_sequence<int64_t>(out, [=](int64_t i) { return static_cast<int64_t>(a + static_cast<uint64_t>(i) * d); });
    });
  } else {
    const double a = start.to_double(), d = step.to_double();
    op.launch([=] { fill_sequence<double>(out, [=](int64_t i) { return a + static_cast<double>(i) * d; }); });
  }
}

/// Inference: what torch.arange gives, or with the end included torch.range.
void suggest_range(const Op& op, const aclScalar& start, const aclScalar& end, const aclScalar& step, bool closed,
                   const TensorView& out) {
  if (!op.inferring()) return;
  const bool floating = start.is_floating() || end.is_floating() || step.is_floating();
  const double n = (end.to_double() - start.to_double()) / step.to_double();
  op.require(n >= 0 && n < 0x1p62, "start is {}, end {} and step {}: the end is not ahead, or too far away",
             start.to_double(), end.to_double(), step.to_double());
  op.suggest(out, {static_cast<int64_t>(closed ? std::floor(n) + 1 : std::ceil(n))},
             floating ? DType::Float : DType::Int64);
}

DType spaced_type(const aclScalar& start, const aclScalar& end) {
  return start.is_complex() || end.is_complex() ? DType::Complex64 : DType::Float;
}

/// start … end in `steps` equal steps, exact at both ends.
template <class T>
struct Spaced {
  T start, end, step;
  int64_t steps;
  Spaced(T a, T b, int64_t n) : start(a), end(b), step(n > 1 ? (b - a) / static_cast<double>(n - 1) : T(0)), steps(n) {}
  T operator()(int64_t i) const {
    return i < (steps + 1) / 2 ? start + step * static_cast<double>(i)
                               : end - step * static_cast<double>(steps - 1 - i);
  }
};

/// out[i] = f(number i of them); `cost` of one.
template <class F>
void plan_spaced(Op& op, const aclScalar& start, const aclScalar& end, int64_t steps, const TensorView& out,
                 int64_t cost, F f) {
  op.suggest(out, {steps}, spaced_type(start, end));
  op.require(out.numel() == steps, "out is {}, want {} elements", describe(out), steps);
  if (out.empty()) return;
  op.work(out.numel() * cost);
  if (is_complex(out.dtype)) {
    op.launch([=, at = Spaced<complex128>(start.to_complex(), end.to_complex(), steps)] {
      fill_sequence<complex128>(out, [&](int64_t i) { return f(at(i)); });
    });
    return;
  }
  double a = start.to_double(), b = end.to_double();
  if (is_integral(out.dtype, true)) a = std::trunc(a), b = std::trunc(b);
  op.launch([=, at = Spaced<double>(a, b, steps)] { fill_sequence<double>(out, [&](int64_t i) { return f(at(i)); }); });
}

}  // namespace

SAMPLE(aclnnArange, "start=0.5 end=6.5 step=1 out=f32[6]")
ABOUT(aclnnArange, Vector, "out = start, start + step, ... below end", "等差序列 start, start + step, …，不含 end")
ACLNN(aclnnArange, (Scalar, start), (Scalar, end), (Scalar, step), (Out, out)) {
  op.require(step->to_double() != 0 || step->is_complex(), "step is 0");
  suggest_range(op, *start, *end, *step, false, *out);  // a call's out has the size
  plan_arithmetic_sequence(op, *start, *step, *out);
}
SAMPLE(aclnnRange, "start=0.5 end=5.5 step=1 out=f32[6]")
ABOUT(aclnnRange, Vector, "out = start, start + step, ... up to end, which may be the last element",
      "等差序列 start, start + step, …，可包含 end")
ACLNN(aclnnRange, (Scalar, start), (Scalar, end), (Scalar, step), (Out, out)) {
  op.require(step->to_double() != 0 || step->is_complex(), "step is 0");
  suggest_range(op, *start, *end, *step, true, *out);
  plan_arithmetic_sequence(op, *start, *step, *out);
}

SAMPLE(aclnnLinspace, "start=0 end=1 steps=M out=f32[M]")
ABOUT(aclnnLinspace, Vector, "out = steps numbers at equal distances from start to end, both included",
      "从 start 到 end（含两端）等间距的 steps 个数")
ACLNN(aclnnLinspace, (Scalar, start), (Scalar, end), (Int, steps), (Out, out)) {
  plan_spaced(op, *start, *end, steps, *out, 1, [](auto x) { return x; });
}

SAMPLE(aclnnLogSpace, "start=0 end=1 steps=M base=10 out=f32[M]")
ABOUT(aclnnLogSpace, Vector, "out = base ^ x for steps numbers x at equal distances from start to end",
      "base 的 x 次幂，x 为从 start 到 end 等间距的 steps 个数")
ACLNN(aclnnLogSpace, (Scalar, start), (Scalar, end), (Int, steps), (Double, base), (Out, out)) {
  plan_spaced(op, *start, *end, steps, *out, 16, [base]<class T>(T x) { return std::pow(T(base), x); });
}

SAMPLE(aclnnEye, "n=N m=M")
ABOUT(aclnnEye, Vector, "out = n x m matrix with ones on the diagonal, else zeros",
      "n x m 单位矩阵，对角线为 1，其余为 0")
ACLNN(aclnnEye, (Int, n), (Int, m), (Out, out)) {
  op.result("out", *out, {n, m}, DType::Float);
  if (out->empty()) return;
  op.launch([to = *out] {
    fill_elements(to, Params{});
    TensorView diagonal = to;
    diagonal.rank = 1;
    diagonal.dims[0] = std::min(to.dims[0], to.dims[1]);
    diagonal.strides[0] = to.strides[0] + to.strides[1];
    fill_elements(diagonal, params_of(1));
  });
}

ABOUT(aclnnInplaceFillDiagonal, Vector,
      "Writes value to the diagonal of selfRef; wrap: again below the end of a tall matrix",
      "将 selfRef 的对角线置为 value，wrap 为真时高矩阵的对角线循环延续")
ACLNN(aclnnInplaceFillDiagonal, (InOut, selfRef), (Scalar, value), (Bool, wrap)) {
  const TensorView& self = *selfRef;
  op.require(self.rank >= 2, "selfRef is {}, want at least two dimensions", describe(self));
  if (self.empty()) return;
  TensorView diagonal = self;
  diagonal.rank = 1;
  diagonal.dims[0] = *std::min_element(self.dims, self.dims + self.rank);
  diagonal.strides[0] = 0;
  for (int d = 0; d < self.rank; ++d) diagonal.strides[0] += self.strides[d];
  TensorView more = diagonal;  // the part below a blank row of a tall matrix
  more.dims[0] = 0;
  if (wrap && self.rank == 2 && self.dims[0] > self.dims[1] + 1) {
    const int64_t width = self.dims[1];
    more.dims[0] = (self.numel() + width) / (width + 1) - diagonal.dims[0];
    more.data = self.as<char>() + self.strides[0] * (width + 1) * static_cast<int64_t>(size_of(self.dtype));
  }
  op.launch([=, p = params_of(value)] {
    fill_elements(diagonal, p);
    if (!more.empty()) fill_elements(more, p);
  });
}

}  // namespace updraft
