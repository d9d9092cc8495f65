// Pointwise losses, and the row kernels of cross entropy.
#include "kernels/loss.h"

#include "kernels/simd/math.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

#define LOSS(name, inputs, ...)                                                         \
  template <class T>                                                                    \
  void name(const void* const* in, void* const* out, int64_t n, const Params& params) { \
    T p[Params::kMax];                                                                  \
    for (int i = 0; i < Params::kMax; ++i) p[i] = params.get<T>()[i];                   \
    const T* in0 = static_cast<const T*>(in[0]);                                        \
    const T* in1 = static_cast<const T*>(in[1]);                                        \
    const T* in2 = static_cast<const T*>(in[inputs > 2 ? 2 : 0]);                       \
    const T* in3 = static_cast<const T*>(in[inputs > 3 ? 3 : 0]);                       \
    const T* in4 = static_cast<const T*>(in[inputs > 4 ? 4 : 0]);                       \
    T* to = static_cast<T*>(out[0]);                                                    \
    (void)p, (void)in2, (void)in3, (void)in4;                                           \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) to[i] = __VA_ARGS__;           \
  }

template <class T>
inline T bce_terms(T x, T t) {
  // Logarithms are held at -100, so that a sure and wrong prediction costs a finite amount.
  T a = m::log1p(-x), b = m::log(x);
  a = a < T(-100) ? T(-100) : a;
  b = b < T(-100) ? T(-100) : b;
  return (t - T(1)) * a - t * b;
}
template <class T>
inline T bce_slope(T x, T t) {
  T d = (T(1) - x) * x;
  return (x - t) / (d < T(1e-12) ? T(1e-12) : d);
}
template <class T>
inline T log_sigmoid_negated(T x) {  // log(1 + exp(-x))
  return m::log1p(m::exp(-m::abs(x))) + (x < T(0) ? -x : T(0)) + (x != x ? x : T(0));
}
template <class T>
inline T smooth_l1(T d, T beta) {
  T z = m::abs(d);
  return z < beta ? T(0.5) * z * z / beta : z - T(0.5) * beta;
}
template <class T>
inline T smooth_l1_slope(T d, T beta) {
  T inside = d / (beta > T(0) ? beta : T(1));
  T sign = T(d > T(0)) - T(d < T(0));
  return m::abs(d) >= beta ? sign : inside;
}
template <class T>
inline T t_log_t(T t) {
  T l = t * m::log(t);
  return t == T(0) ? T(0) : l;
}
template <class T>
inline T kl_target_slope(T x, T t) {
  T s = m::log(t) + T(1) - x;
  return t == T(0) ? T(0) : s;
}
template <class T>
inline T soft_margin_slope(T x, T t) {
  T z = m::exp(-t * x);
  return -t * z / (T(1) + z);
}

LOSS(mse, 2, (in0[i] - in1[i]) * (in0[i] - in1[i]))
LOSS(mse_backward, 3, p[0] * T(2) * (in1[i] - in2[i]) * in0[i])
LOSS(l1, 2, m::abs(in0[i] - in1[i]))
LOSS(l1_backward, 3, (T(in1[i] > in2[i]) - T(in1[i] < in2[i])) * (in0[i] * p[0]))
LOSS(smooth_l1_loss, 2, smooth_l1(in0[i] - in1[i], p[1]))
LOSS(smooth_l1_backward, 3, p[0] * in0[i] * smooth_l1_slope(in1[i] - in2[i], p[1]))
LOSS(bce, 3, in2[i] * bce_terms(in0[i], in1[i]))
LOSS(bce_backward, 4, p[0] * in0[i] * in3[i] * bce_slope(in1[i], in2[i]))
LOSS(bce_logits, 4,
     in2[i] * ((T(1) - in1[i]) * in0[i] + (T(1) + (in3[i] - T(1)) * in1[i]) * log_sigmoid_negated(in0[i])))
LOSS(bce_logits_backward, 5,
     p[0] * in0[i] * in3[i] * ((in4[i] * in2[i] + T(1) - in2[i]) * m::sigmoid(in1[i]) - in4[i] * in2[i]))
LOSS(kl_div, 2, t_log_t(in1[i]) - in1[i] * in0[i])
LOSS(kl_div_log, 2, m::exp(in1[i]) * (in1[i] - in0[i]))
LOSS(kl_div_backward, 2, -in1[i] * in0[i] * p[0])
LOSS(kl_div_log_backward, 2, -m::exp(in1[i]) * in0[i] * p[0])
LOSS(kl_div_target_backward, 3, p[0] * in0[i] * kl_target_slope(in1[i], in2[i]))
LOSS(kl_div_log_target_backward, 3, p[0] * in0[i] * m::exp(in2[i]) * (in2[i] - in1[i] + T(1)))
LOSS(soft_margin, 2, m::log1p(m::exp(-in1[i] * in0[i])))
LOSS(soft_margin_backward, 3, p[0] * in0[i] * soft_margin_slope(in1[i], in2[i]))
#undef LOSS

template <class T>
BlockFn pick(Loss loss) {
  switch (loss) {
    case Loss::kMse: return mse<T>;
    case Loss::kMseBackward: return mse_backward<T>;
    case Loss::kL1: return l1<T>;
    case Loss::kL1Backward: return l1_backward<T>;
    case Loss::kSmoothL1: return smooth_l1_loss<T>;
    case Loss::kSmoothL1Backward: return smooth_l1_backward<T>;
    case Loss::kBce: return bce<T>;
    case Loss::kBceBackward: return bce_backward<T>;
    case Loss::kBceLogits: return bce_logits<T>;
    case Loss::kBceLogitsBackward: return bce_logits_backward<T>;
    case Loss::kKlDiv: return kl_div<T>;
    case Loss::kKlDivLog: return kl_div_log<T>;
    case Loss::kKlDivBackward: return kl_div_backward<T>;
    case Loss::kKlDivLogBackward: return kl_div_log_backward<T>;
    case Loss::kKlDivTargetBackward: return kl_div_target_backward<T>;
    case Loss::kKlDivLogTargetBackward: return kl_div_log_target_backward<T>;
    case Loss::kSoftMargin: return soft_margin<T>;
    case Loss::kSoftMarginBackward: return soft_margin_backward<T>;
    default: return nullptr;
  }
}

// Lanes that are added up side by side and then as a tree: the order is the same for every instruction set.
constexpr int kLanes = 64;
template <class T>
double fold(T (&lane)[kLanes]) {
  for (int step = kLanes / 2; step >= 8; step /= 2)
    for (int i = 0; i < step; ++i) lane[i] += lane[i + step];
  double total = 0;
  for (int i = 0; i < 8; ++i) total += static_cast<double>(lane[i]);
  return total;
}

template <class T>
double block_sum(const T* x, int64_t n) {
  T lane[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lane[k] += x[i + k];
  for (int k = 0; i + k < n; ++k) lane[k] += x[i + k];
  return fold(lane);
}

}  // namespace

BlockFn loss_kernel(int loss, int compute) {
  const Loss kind = static_cast<Loss>(loss);
  switch (static_cast<Compute>(compute)) {
    case Compute::F32: return pick<float>(kind);
    case Compute::F64: return pick<double>(kind);
    case Compute::I64: return kind == Loss::kL1 ? l1<int64_t> : nullptr;
    default: return nullptr;
  }
}

double block_sum_f32(const float* x, int64_t n) { return block_sum(x, n); }
double block_sum_f64(const double* x, int64_t n) { return block_sum(x, n); }

float row_max_f32(const float* x, int64_t n) {
  float lane[kLanes];
  for (float& l : lane) l = -m::infinity<float>();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int k = 0; k < kLanes; ++k) lane[k] = x[i + k] > lane[k] ? x[i + k] : lane[k];
  for (int k = 0; i + k < n; ++k) lane[k] = x[i + k] > lane[k] ? x[i + k] : lane[k];
  for (int k = 1; k < kLanes; ++k) lane[0] = lane[k] > lane[0] ? lane[k] : lane[0];
  return lane[0];
}

double row_sum_exp_f32(const float* x, float shift, int64_t n) {
  double total = 0;
  float buffer[1024];
  for (int64_t at = 0; at < n; at += 1024) {
    const int64_t count = n - at < 1024 ? n - at : 1024;
    for (int64_t i = 0; i < count; ++i) buffer[i] = m::exp(x[at + i] - shift);
    total += block_sum(buffer, count);
  }
  return total;
}

void row_subtract_f32(float* to, const float* x, float value, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = x[i] - value;
}

double row_dot_f32(const float* x, const float* y, int64_t n) {
  double total = 0;
  float buffer[1024];
  for (int64_t at = 0; at < n; at += 1024) {
    const int64_t count = n - at < 1024 ? n - at : 1024;
    for (int64_t i = 0; i < count; ++i) buffer[i] = x[at + i] * y[at + i];
    total += block_sum(buffer, count);
  }
  return total;
}

void row_cross_entropy_grad_f32(float* to, const float* log_prob, const float* weight, float a, float b, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = a * m::exp(log_prob[i]) - b * weight[i];
}

}  // namespace updraft::UPDRAFT_ISA
