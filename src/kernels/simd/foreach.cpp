// Loops of foreach operators and optimizers over contiguous arrays.
#include "kernels/foreach.h"

#include <bit>

#include "kernels/simd/math.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

template <ForeachRow R, class T>
inline T apply(T x, [[maybe_unused]] T y, T p) {
  if constexpr (R == ForeachRow::add_p) return x + p;
  else if constexpr (R == ForeachRow::sub_p) return x - p;
  else if constexpr (R == ForeachRow::mul_p) return x * p;
  else if constexpr (R == ForeachRow::div_p) return x / p;
  else if constexpr (R == ForeachRow::pow_p) return m::pow(x, p);
  else if constexpr (R == ForeachRow::p_pow) return m::pow(p, x);
  else if constexpr (R == ForeachRow::maximum_p) return m::maximum(x, p);
  else if constexpr (R == ForeachRow::minimum_p) return m::minimum(x, p);
  else if constexpr (R == ForeachRow::lerp_p) return m::lerp(x, y, p);
  else if constexpr (R == ForeachRow::cube) return x * x * x;
  else return T(1) / (x * x);
}

template <ForeachRow R, class T>
void loop(const void* const* in, void* const* out, int64_t n, const Params& params) {
  const T p = params.get<T>()[0];
  const T* x = static_cast<const T*>(in[0]);
  T* to = static_cast<T*>(out[0]);
  if constexpr (R == ForeachRow::lerp_p) {
    const T* y = static_cast<const T*>(in[1]);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = apply<R, T>(x[i], y[i], p);
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = apply<R, T>(x[i], T(0), p);
  }
}

template <ForeachRow R>
BlockFn of_type(Compute c) {
  // Maximum has no order on complex numbers, quotients have no integers.
  constexpr bool kOrdered = R == ForeachRow::maximum_p || R == ForeachRow::minimum_p;
  constexpr bool kQuotient = R == ForeachRow::div_p || R == ForeachRow::lerp_p || R == ForeachRow::inverse_square;
  switch (c) {
    case Compute::F32: return loop<R, float>;
    case Compute::F64: return loop<R, double>;
    case Compute::I64:
      if constexpr (!kQuotient) return loop<R, int64_t>;
      else return nullptr;
    case Compute::C64:
      if constexpr (!kOrdered) return loop<R, complex64>;
      else return nullptr;
    default:
      if constexpr (!kOrdered) return loop<R, complex128>;
      else return nullptr;
  }
}

// Several sums side by side let the loop run in vectors; they are added up in a fixed order.
template <NormKind K, class T>
double norm_block(const T* x, int64_t n) {
  constexpr int kLanes = 32;
  T lane[kLanes] = {};
  auto step = [](T sum, T v) {
    if constexpr (K == NormKind::count) return sum + (v != T(0) ? T(1) : T(0));
    else if constexpr (K == NormKind::sum) return sum + m::abs(v);
    else if constexpr (K == NormKind::squares) return sum + v * v;
    else return m::maximum(sum, m::abs(v));
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lane[k] = step(lane[k], x[i + k]);
  for (int k = 0; i < n; ++i, ++k) lane[k] = step(lane[k], x[i]);
  double total = 0;
  for (T v : lane) {
    double d = static_cast<double>(v);
    total = K == NormKind::largest ? m::maximum(total, d) : total + d;
  }
  return total;
}

template <class T>
double norm(const T* x, int64_t n, int kind) {
  switch (static_cast<NormKind>(kind)) {
    case NormKind::count: return norm_block<NormKind::count>(x, n);
    case NormKind::sum: return norm_block<NormKind::sum>(x, n);
    case NormKind::squares: return norm_block<NormKind::squares>(x, n);
    default: return norm_block<NormKind::largest>(x, n);
  }
}

// True when an element is infinite or NaN.
template <class T>
bool unscale(T* to, const T* from, int64_t n, T scale) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  const Bits exponent = std::bit_cast<Bits>(m::infinity<T>());
  Bits found = 0;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T x = from[i];
    found |= (std::bit_cast<Bits>(x) & exponent) == exponent ? Bits(1) : Bits(0);
    to[i] = x * scale;
  }
  return found != 0;
}

// `largest` is null, or holds the largest v so far (AMSGrad).
template <class T, bool kLargest, bool kNesterov>
void adam(T* var, T* mean, T* square, T* largest, const T* grad, const T* c, int64_t n) {
  const T decay = c[kDecay], sign = c[kSign], to_mean = c[kMean], beta2 = c[kBeta2], to_square = c[kSquare];
  const T step = c[kStep], root_scale = c[kRootScale], epsilon = c[kEpsilon], beta1 = c[kBeta1];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    const T g = grad[i] * sign;
    const T a = mean[i] + to_mean * (g - mean[i]);
    T v = square[i] * beta2 + to_square * g * g;
    mean[i] = a;
    square[i] = v;
    if constexpr (kLargest) largest[i] = v = m::maximum(largest[i], v);
    const T move = kNesterov ? a * beta1 + to_mean * g : a;
    var[i] = var[i] * decay - step * move / (m::sqrt(v) / root_scale + epsilon);
  }
}

template <class T>
void adam_any(T* var, T* mean, T* square, T* largest, const T* grad, const T* c, bool nesterov, int64_t n) {
  if (largest) adam<T, true, false>(var, mean, square, largest, grad, c, n);
  else if (nesterov) adam<T, false, true>(var, mean, square, largest, grad, c, n);
  else adam<T, false, false>(var, mean, square, largest, grad, c, n);
}

template <class T>
void sgd(T* var, T* grad, T* momentum, const T* c, int flags, int64_t n) {
  const T scale = c[kGradScale], decay = c[kWeightDecay], beta = c[kMomentum], damp = T(1) - c[kDampening];
  const T rate = c[kRate];
  const bool nesterov = flags & 1, maximize = flags & 2, first = flags & 4, scaled = flags & 8;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    T g = grad[i];
    if (scaled) {
      g = g / scale;
      grad[i] = g;
    }
    if (maximize) g = -g;
    g = g + decay * var[i];
    if (momentum) {
      const T b = first ? g : beta * momentum[i] + damp * g;
      momentum[i] = b;
      g = nesterov ? g + beta * b : b;
    }
    var[i] = var[i] - rate * g;
  }
}

}  // namespace

BlockFn foreach_kernel(int row, int compute) {
  const Compute c = static_cast<Compute>(compute);
  switch (static_cast<ForeachRow>(row)) {
    case ForeachRow::add_p: return of_type<ForeachRow::add_p>(c);
    case ForeachRow::sub_p: return of_type<ForeachRow::sub_p>(c);
    case ForeachRow::mul_p: return of_type<ForeachRow::mul_p>(c);
    case ForeachRow::div_p: return of_type<ForeachRow::div_p>(c);
    case ForeachRow::pow_p: return of_type<ForeachRow::pow_p>(c);
    case ForeachRow::p_pow: return of_type<ForeachRow::p_pow>(c);
    case ForeachRow::maximum_p: return of_type<ForeachRow::maximum_p>(c);
    case ForeachRow::minimum_p: return of_type<ForeachRow::minimum_p>(c);
    case ForeachRow::lerp_p: return of_type<ForeachRow::lerp_p>(c);
    case ForeachRow::cube: return of_type<ForeachRow::cube>(c);
    case ForeachRow::inverse_square: return of_type<ForeachRow::inverse_square>(c);
    default: return nullptr;
  }
}

double foreach_norm_f32(const float* x, int64_t n, int kind) { return norm(x, n, kind); }
double foreach_norm_f64(const double* x, int64_t n, int kind) { return norm(x, n, kind); }
bool all_finite_f32(const float* x, int64_t n) {
  uint32_t found = 0;
  for (int64_t i = 0; i < n; ++i) found |= (std::bit_cast<uint32_t>(x[i]) & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
  return found == 0;
}
bool unscale_f32(float* to, const float* from, int64_t n, float scale) { return unscale(to, from, n, scale); }
bool unscale_f64(double* to, const double* from, int64_t n, double scale) { return unscale(to, from, n, scale); }

void adam_f32(float* var, float* mean, float* square, float* largest, const float* grad, const float* c, bool nesterov,
              int64_t n) {
  adam_any(var, mean, square, largest, grad, c, nesterov, n);
}
void adam_f64(double* var, double* mean, double* square, double* largest, const double* grad, const double* c,
              bool nesterov, int64_t n) {
  adam_any(var, mean, square, largest, grad, c, nesterov, n);
}
void sgd_f32(float* var, float* grad, float* momentum, const float* c, int flags, int64_t n) {
  sgd(var, grad, momentum, c, flags, n);
}
void sgd_f64(double* var, double* grad, double* momentum, const double* c, int flags, int64_t n) {
  sgd(var, grad, momentum, c, flags, n);
}

}  // namespace updraft::UPDRAFT_ISA
