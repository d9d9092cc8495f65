// Distances between rows: cdist with its gradient, pdist, and renorm.
#include <algorithm>
#include <cmath>

#include "kernels/blocks.h"
#include "ops/linalg/dense.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

template <class T>
void row(T* to, const T* x, const T* y, int64_t m, int64_t n, double p) {
  if constexpr (std::is_same_v<T, double>) {
    kernels().distance_row_f64(to, x, y, m, n, p);
  } else {
    kernels().distance_row_f32(to, x, y, m, n, static_cast<float>(p));
  }
}

template <class T>
std::vector<T> gather_as(const TensorView& v) {
  std::vector<T> x(static_cast<size_t>(v.numel()));
  if (!x.empty()) gather_to(x.data(), DTypeOf<T>::value, v);
  return x;
}

template <class T>
void cdist(const TensorView& a, const TensorView& b, const TensorView& out, double p) {
  const linalg::Batch left(a), right(b);
  const std::vector<T> x = gather_as<T>(a), y = gather_as<T>(turned(b));
  std::vector<T> result(static_cast<size_t>(out.numel()));
  const int64_t n = right.rows, m = left.columns;
  parallel_for(left.count * left.rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n * m)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t i = begin; i < end; ++i)
                   row(result.data() + i * n, x.data() + i * m, y.data() + i / left.rows * n * m, m, n, p);
               });
  copy_elements(out, TensorView::contiguous(result.data(), DTypeOf<T>::value, out.dims, out.rank));
}

template <class T>
void pdist(const TensorView& a, const TensorView& out, double p) {
  const int64_t n = a.dims[0], m = a.dims[1];
  const std::vector<T> x = gather_as<T>(a), y = gather_as<T>(a.transpose(0, 1));
  std::vector<T> result(static_cast<size_t>(out.numel()));
  parallel_for(n, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n * m)), [&](int64_t begin, int64_t end) {
    std::vector<T> all(static_cast<size_t>(n));
    for (int64_t i = begin; i < end; ++i) {
      row(all.data(), x.data() + i * m, y.data(), m, n, p);
      std::copy(all.begin() + i + 1, all.end(), result.begin() + i * (2 * n - i - 1) / 2);
    }
  });
  copy_elements(out, TensorView::contiguous(result.data(), DTypeOf<T>::value, out.dims, out.rank));
}

/// d |x - y|_p / d x for one coordinate; p is neither 1 nor 2, or the distance is 0.
double slope(double d, double distance, double p) {
  const double sign = d > 0 ? 1 : d < 0 ? -1 : 0;
  if (p == 0 || distance == 0) return 0;
  if (std::isinf(p)) return std::abs(d) >= distance ? sign : 0;
  if (d == 0) return 0;
  return sign * std::pow(std::abs(d) / distance, p - 1);
}

/// The difference as the forward pass had it. With the largest one, comparing with the distance decides, and that has
/// been rounded: bf16 is compared after the same rounding. fp16 is not: there the card compares the differences of
/// float, so that a coordinate whose distance was rounded up has no gradient (op-plugin's own tests ask for that).
double difference(double a, double b, DType t, double p) {
  if (t == DType::Double) return a - b;
  const float d = static_cast<float>(a) - static_cast<float>(b);
  return static_cast<double>(std::isinf(p) && t == DType::BFloat16 ? static_cast<float>(BFloat16(d)) : d);
}

void cdist_backward(const TensorView& grad, const TensorView& a, const TensorView& b, const TensorView& distances,
                    const TensorView& out, double p) {
  const linalg::Batch left(a), right(b);
  const std::vector<double> g = linalg::gather(grad), x = linalg::gather(a), y = linalg::gather(b),
                            d = linalg::gather(distances);
  std::vector<double> result(x.size(), 0.0);
  const int64_t n = right.rows, m = left.columns;
  parallel_for(left.count * left.rows, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const double* from = x.data() + i * m;
      for (int64_t j = 0; j < n; ++j) {
        const double* other = y.data() + (i / left.rows * n + j) * m;
        const auto at = static_cast<size_t>(i * n + j);
        if (g[at] == 0 || (d[at] == 0 && p == 2)) continue;
        if (p == 2 || (p == 1 && d[at] != 0)) {
          kernels().add_differences(result.data() + i * m, from, other, m, p == 2 ? g[at] / d[at] : g[at],
                                    distances.dtype != DType::Double, p == 1);
          continue;
        }
        for (int64_t k = 0; k < m; ++k)
          result[static_cast<size_t>(i * m + k)] +=
              g[at] * slope(difference(from[k], other[k], distances.dtype, p), d[at], p);
      }
    }
  });
  linalg::scatter(out, result);
}

void plan_renorm(Op& op, const TensorView& self, const aclScalar& p, int64_t dim, const aclScalar& limit,
                 const TensorView& out) {
  op.result_like("out", out, self, self.dtype);
  op.require(self.rank > 1 && is_floating(self.dtype),
             "self is {}, want floating-point values of two or more dimensions", describe(self));
  const int d = self.wrap_dim(dim);
  const double power = p.to_double(), most = limit.to_double();
  op.require(power >= 0, "p is {}, want 0 or more", power);
  op.require(most >= 0, "maxnorm is {}, want 0 or more", most);
  if (self.empty()) return;
  op.work(self.numel() * 8);
  op.launch([=] {
    const TensorView from = self.transpose(0, d), to = out.transpose(0, d);
    std::vector<double> x = linalg::gather(from);
    const int64_t rows = from.dims[0], n = from.numel() / rows;
    parallel_for(rows, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double* v = x.data() + i * n;
        double norm = 0;
        for (int64_t k = 0; k < n; ++k) {
          const double a = std::abs(v[k]);
          norm = std::isinf(power) ? std::max(norm, a)
                                   : norm + (power == 0   ? (a != 0 ? 1.0 : 0.0)
                                             : power == 2 ? a * a
                                             : power == 1 ? a
                                                          : std::pow(a, power));
        }
        if (!std::isinf(power) && power != 0 && power != 1)
          norm = power == 2 ? std::sqrt(norm) : std::pow(norm, 1 / power);
        if (!(norm > most)) continue;
        const double scale = most / (norm + 1e-7);
        for (int64_t k = 0; k < n; ++k) v[k] *= scale;
      }
    });
    linalg::scatter(to, x);
  });
}

}  // namespace

SAMPLE(aclnnCdist, "x2=f32[5,M] computeMode=1 out=f32[N,5]")
ABOUT(aclnnCdist, Vector, "p-norm distances between all rows of x1 and all rows of x2",
      "x1 各行与 x2 各行两两之间的 p 范数距离")
ACLNN(aclnnCdist, (In, x1), (In, x2), (Float, p), (Int32, computeMode), (Out, out)) {
  (void)computeMode;  // how the card would compute it: the result is the same
  op.require(x1->rank >= 2 && x2->rank >= 2 && x1->dims[x1->rank - 1] == x2->dims[x2->rank - 1],
             "x1 is {} and x2 {}, want points of equal length", describe(*x1), describe(*x2));
  op.require(is_floating(x1->dtype) && is_floating(x2->dtype), "x1 is {}, want a floating type", describe(*x1));
  op.require(p >= 0, "p is {}, want 0 or more", p);
  int64_t dims[kMaxDims];
  int rank = broadcast_shape(x1->dims, x1->rank - 2, x2->dims, x2->rank - 2, dims);
  dims[rank] = x1->dims[x1->rank - 2];
  dims[rank + 1] = x2->dims[x2->rank - 2];
  op.result("out", *out, dims, rank + 2, promote(x1->dtype, x2->dtype));
  if (out->empty()) return;
  dims[rank + 1] = x1->dims[x1->rank - 1];
  const TensorView a = x1->expand(dims, rank + 2);
  dims[rank] = x2->dims[x2->rank - 2];
  const TensorView b = x2->expand(dims, rank + 2);
  op.work(out->numel() * std::max<int64_t>(1, x1->dims[x1->rank - 1]));
  op.launch([=, to = *out] {
    if (to.dtype == DType::Double) {
      cdist<double>(a, b, to, static_cast<double>(p));
    } else {
      cdist<float>(a, b, to, static_cast<double>(p));
    }
  });
}

SAMPLE(aclnnCdistBackward, "grad=f32[N,5] x2=f32[5,M] cdist=f32[N,5]")
ABOUT(aclnnCdistBackward, Vector, "Gradient of cdist for x1", "cdist 对 x1 的反向梯度")
ACLNN(aclnnCdistBackward, (In, grad), (In, x1), (In, x2), (In, cdist), (Float, p), (Out, out)) {
  op.result_like("out", *out, *x1, x1->dtype);
  op.require(x1->rank >= 2 && x1->rank == x2->rank && x1->dims[x1->rank - 1] == x2->dims[x2->rank - 1],
             "x1 is {} and x2 {}, want points of equal length", describe(*x1), describe(*x2));
  const linalg::Batch a(*x1), b(*x2);
  op.require(a.count == b.count && grad->numel() == a.count * a.rows * b.rows && cdist->numel() == grad->numel(),
             "grad is {} and cdist {}, want {} distances", describe(*grad), describe(*cdist),
             a.count * a.rows * b.rows);
  if (out->empty()) return;
  op.work(grad->numel() * a.columns * 4);
  // The client writes infinity as -1.
  const double power = p < 0 ? INFINITY : static_cast<double>(p);
  op.launch([=, g = *grad, l = *x1, r = *x2, d = *cdist, to = *out] { cdist_backward(g, l, r, d, to, power); });
}

SAMPLE(aclnnPdist, "self=f32[4,M] out=f32[6]")
ABOUT(aclnnPdist, Vector, "p-norm distances between all pairs of rows of self", "self 各行两两之间的 p 范数距离")
ACLNN(aclnnPdist, (In, self), (Float, p), (Out, out)) {
  op.require(self->rank == 2 && is_floating(self->dtype), "self is {}, want floating-point points [N,M]",
             describe(*self));
  const int64_t n = self->dims[0];
  op.suggest(*out, {n * (n - 1) / 2}, self->dtype);
  op.require(out->numel() == n * (n - 1) / 2, "out is {}, want {} distances", describe(*out), n * (n - 1) / 2);
  if (out->empty()) return;
  op.work(self->numel() * n);
  op.launch([=, from = *self, to = *out] {
    if (to.dtype == DType::Double) {
      pdist<double>(from, to, static_cast<double>(p));
    } else {
      pdist<float>(from, to, static_cast<double>(p));
    }
  });
}

SAMPLE(aclnnRenorm, "dim=0 maxNorm=0.5")
ABOUT(aclnnRenorm, Vector, "Slices of self along dim scaled to a p-norm of at most maxNorm",
      "将 self 沿 dim 的各切片缩放到 p 范数不大于 maxNorm")
ACLNN(aclnnRenorm, (In, self), (Scalar, p), (Int, dim), (Scalar, maxNorm), (Out, out)) {
  plan_renorm(op, *self, *p, dim, *maxNorm, *out);
}
SAMPLE(aclnnInplaceRenorm, "dim=0 maxNorm=0.5")
ABOUT(aclnnInplaceRenorm, Vector, "Scales slices of selfRef along dim to a p-norm of at most maxNorm, in place",
      "原地将 selfRef 沿 dim 的各切片缩放到 p 范数不大于 maxNorm")
ACLNN(aclnnInplaceRenorm, (InOut, selfRef), (Scalar, p), (Int, dim), (Scalar, maxNorm)) {
  plan_renorm(op, *selfRef, *p, dim, *maxNorm, *selfRef);
}

}  // namespace updraft
