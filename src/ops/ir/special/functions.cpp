// Functions of mathematics, element by element. They are computed in double and rounded once.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/parallel.h"
#include "kernels/special_functions.h"
#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

constexpr int64_t kGrain = 256;  // elements that cost more than to wake a thread
constexpr int64_t kCost = 100;   // of simple operations

void require_floating(const Op& op, const char* name, const TensorView& v) {
  op.require(is_floating(v.dtype), "{} is {}, want numbers with a fraction", name, describe(v));
}

template <class F>
void each(Op& op, const In& x, const Out& y, F function, int64_t cost = kCost) {
  require_floating(op, "x", *x);
  op.result_like("y", *y, *x, x->dtype);
  op.work(x->numel() * cost);
  op.launch([from = *x, to = *y, function] {
    std::vector<double> v = linalg::gather(from);
    parallel_for(from.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) v[i] = function(v[i]);
    });
    linalg::scatter(to, v);
  });
}

/// The function of two or three tensors, which are broadcast.
template <class F, size_t N>
void each_of(Op& op, const char* const (&names)[N], const In (&in)[N], const Out& z, F function) {
  for (size_t k = 0; k < N; ++k) {
    require_floating(op, names[k], *in[k]);
    op.require(in[k]->dtype == in[0]->dtype, "{} is {} and {} is {}, want one type", names[0], describe(*in[0]),
               names[k], describe(*in[k]));
  }
  TensorView shape = *in[0];
  for (size_t k = 1; k < N; ++k) {
    const int rank = std::max(shape.rank, in[k]->rank);
    int64_t dims[kMaxDims];
    for (int d = 0; d < rank; ++d) {
      const int of_a = d - rank + shape.rank, of_b = d - rank + in[k]->rank;
      const int64_t a = of_a < 0 ? 1 : shape.dims[of_a], b = of_b < 0 ? 1 : in[k]->dims[of_b];
      op.require(a == b || a == 1 || b == 1, "{} is {} and does not broadcast with what is before it", names[k],
                 describe(*in[k]));
      dims[d] = a == 1 ? b : a;
    }
    shape = TensorView::contiguous(nullptr, in[0]->dtype, dims, rank);
  }
  op.result("z", *z, shape.dims, shape.rank, in[0]->dtype);
  if (op.inferring()) return;
  op.work(z->numel() * kCost * static_cast<int64_t>(N));
  std::array<TensorView, N> from;
  for (size_t k = 0; k < N; ++k) from[k] = in[k]->expand_as(*z);
  op.launch([from, to = *z, function] {
    std::array<std::vector<double>, N> v;
    for (size_t k = 0; k < N; ++k) v[k] = linalg::gather(from[k]);
    parallel_for(to.numel(), kGrain, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        if constexpr (N == 2) v[0][i] = function(v[0][i], v[1][i]);
        else v[0][i] = function(v[0][i], v[1][i], v[2][i]);
      }
    });
    linalg::scatter(to, v[0]);
  });
}

double factorial(int64_t n) { return std::tgamma(static_cast<double>(n) + 1); }
/// f of x, x - 1/2, x - 1 and so on, `p` in all.
template <class F>
double halves(double x, int64_t p, F f) {
  double sum = 0;
  for (int64_t i = 0; i < p; ++i) sum += f(x - static_cast<double>(i) / 2);
  return sum;
}
double log_gamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign);
}

}  // namespace

ABOUT(Digamma, Vector, "The derivative of log gamma(x)", "log gamma(x) 的导数")
IR_OP(Digamma, Digamma, (In, x), (Out, y)) { each(op, x, y, special::digamma); }
ABOUT(BesselI0e, Vector, "exp(-|x|) times the modified Bessel function of order 0", "指数缩放的零阶修正贝塞尔函数")
IR_OP(BesselI0e, BesselI0e, (In, x), (Out, y)) { each(op, x, y, special::bessel_i0e); }
ABOUT(BesselI1e, Vector, "exp(-|x|) times the modified Bessel function of order 1", "指数缩放的一阶修正贝塞尔函数")
IR_OP(BesselI1e, BesselI1e, (In, x), (Out, y)) { each(op, x, y, special::bessel_i1e); }
ABOUT(Zeta, AICPU, "Hurwitz' zeta: the sum of 1 / (q + k)^x over all k from 0 on",
      "Hurwitz zeta 函数：1 / (q + k)^x 之和")
IR_OP(Zeta, Zeta, (In, x), (In, q), (Out, z)) { each_of(op, {"x", "q"}, {x, q}, z, special::zeta); }
ABOUT(Igamma, AICPU, "The lower incomplete gamma function, of 0 to 1", "正则化下不完全伽马函数")
IR_OP(Igamma, Igamma, (In, a), (In, x), (Out, z)) { each_of(op, {"a", "x"}, {a, x}, z, special::gamma_p); }
ABOUT(Igammac, AICPU, "The upper incomplete gamma function, of 0 to 1", "正则化上不完全伽马函数")
IR_OP(Igammac, Igammac, (In, a), (In, x), (Out, z)) { each_of(op, {"a", "x"}, {a, x}, z, special::gamma_q); }
ABOUT(IgammaGradA, AICPU, "The derivative of Igamma for a", "Igamma 对 a 的导数")
IR_OP(IgammaGradA, IgammaGradA, (In, a), (In, x), (Out, z)) {
  each_of(op, {"a", "x"}, {a, x}, z, special::gamma_p_slope);
}
ABOUT(Betainc, AICPU, "The incomplete beta function, of 0 to 1", "正则化不完全贝塔函数")
IR_OP(Betainc, Betainc, (In, a), (In, b), (In, x), (Out, z)) {
  each_of(op, {"a", "b", "x"}, {a, b, x}, z, special::beta_i);
}

// MindSpore's own types.
IR_OP(CustIgamma, Igamma, (In, a), (In, x), (Out, z)) { each_of(op, {"a", "x"}, {a, x}, z, special::gamma_p); }
ABOUT(CustBesselI0, AICPU, "The modified Bessel function of order 0", "零阶修正贝塞尔函数")
IR_OP(CustBesselI0, CustBesselI0, (In, x), (Out, y)) {
  each(op, x, y, [](double v) { return std::isinf(v) ? std::abs(v) : special::bessel_i0e(v) * std::exp(std::abs(v)); });
}
ABOUT(CustPolygamma, AICPU, "The derivative a of the digamma function", "digamma 函数的 a 阶导数")
IR_OP(CustPolygamma, CustPolygamma, (In, a), (In, x), (Out, y)) {
  const int64_t n = integer_of(op, "a", a.handle);
  op.require(n >= 0, "a is {}, want 0 or more", n);
  if (n == 0) return each(op, x, y, special::digamma);
  const double factor = (n % 2 == 0 ? -1 : 1) * factorial(n);
  each(op, x, y, [n, factor](double v) { return factor * special::zeta(static_cast<double>(n + 1), v); });
}
ABOUT(CustMvlgamma, AICPU, "The logarithm of the gamma function of p dimensions", "p 维对数伽马函数")
IR_OP(CustMvlgamma, CustMvlgamma, (In, x), (Out, y), (Int, p)) {
  op.require(p >= 1, "attribute p is {}, want 1 or more", p);
  const double add = static_cast<double>(p * (p - 1)) / 4 * std::log(std::numbers::pi);
  each(
      op, x, y, [p, add](double v) { return add + halves(v, p, log_gamma); }, kCost * p);
}
ABOUT(CustMvlgammaGrad, AICPU, "Gradient of CustMvlgamma", "CustMvlgamma 的反向梯度")
IR_OP(CustMvlgammaGrad, CustMvlgammaGrad, (In, y_grad), (In, x), (Out, x_grad), (Int, p)) {
  op.require(p >= 1, "attribute p is {}, want 1 or more", p);
  op.require_same_shape("y_grad", *y_grad, "x", *x);
  op.result_like("x_grad", *x_grad, *x, x->dtype);
  each_of(op, {"y_grad", "x"}, {y_grad, x}, x_grad,
          [p](double g, double v) { return g * halves(v, p, special::digamma); });
}

}  // namespace updraft
