// Rows of recurrent cells.
#include "kernels/simd/math.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

// out: i, f, j, o, c, tanh(c), h
template <class T>
void lstm_cell(T* const* out, const T* gates, const T* bias, const T* c_before, int64_t n) {
  T *i = out[0], *f = out[1], *j = out[2], *o = out[3], *c = out[4], *t = out[5], *h = out[6];
#pragma GCC ivdep
  for (int64_t k = 0; k < n; ++k) {
    i[k] = m::sigmoid(gates[k] + bias[k]);
    f[k] = m::sigmoid(gates[n + k] + bias[n + k]);
    j[k] = m::tanh(gates[2 * n + k] + bias[2 * n + k]);
    o[k] = m::sigmoid(gates[3 * n + k] + bias[3 * n + k]);
  }
#pragma GCC ivdep
  for (int64_t k = 0; k < n; ++k) {
    const T next = f[k] * c_before[k] + i[k] * j[k];
    const T th = m::tanh(next);
    c[k] = next;
    t[k] = th;
    h[k] = o[k] * th;
  }
}

// saved: i, f, j, o, tanh(c), c before. dc comes in as that of the step after and leaves as that of the step before.
template <class T>
void lstm_cell_backward(T* gates, T* dh, T* dc, const T* const* saved, int64_t n) {
  const T *i = saved[0], *f = saved[1], *j = saved[2], *o = saved[3], *t = saved[4], *before = saved[5];
#pragma GCC ivdep
  for (int64_t k = 0; k < n; ++k) {
    const T d = dc[k] + dh[k] * o[k] * (T(1) - t[k] * t[k]);
    gates[k] = d * j[k] * i[k] * (T(1) - i[k]);
    gates[n + k] = d * before[k] * f[k] * (T(1) - f[k]);
    gates[2 * n + k] = d * i[k] * (T(1) - j[k] * j[k]);
    gates[3 * n + k] = dh[k] * t[k] * o[k] * (T(1) - o[k]);
    dc[k] = d * f[k];
  }
}

// out: r, z, n, the hidden half of n before r, h
template <class T>
void gru_cell(T* const* out, const T* a, const T* b, const T* a_bias, const T* b_bias, const T* before, int64_t n) {
  T *r = out[0], *z = out[1], *w = out[2], *hidden = out[3], *h = out[4];
#pragma GCC ivdep
  for (int64_t k = 0; k < n; ++k) {
    const T reset = m::sigmoid(a[k] + a_bias[k] + b[k] + b_bias[k]);
    const T update = m::sigmoid(a[n + k] + a_bias[n + k] + b[n + k] + b_bias[n + k]);
    const T half = b[2 * n + k] + b_bias[2 * n + k];
    const T next = m::tanh(a[2 * n + k] + a_bias[2 * n + k] + reset * half);
    r[k] = reset;
    z[k] = update;
    w[k] = next;
    hidden[k] = half;
    h[k] = (before[k] - next) * update + next;
  }
}

// saved: r, z, n, hidden half, h before. dh leaves without the part that goes through the gates.
template <class T>
void gru_cell_backward(T* a, T* b, T* dh, const T* const* saved, int64_t n) {
  const T *r = saved[0], *z = saved[1], *w = saved[2], *hidden = saved[3], *before = saved[4];
#pragma GCC ivdep
  for (int64_t k = 0; k < n; ++k) {
    const T dn = dh[k] * (T(1) - z[k]) * (T(1) - w[k] * w[k]);
    const T dz = dh[k] * (before[k] - w[k]) * z[k] * (T(1) - z[k]);
    const T dr = dn * hidden[k] * r[k] * (T(1) - r[k]);
    a[k] = dr;
    b[k] = dr;
    a[n + k] = dz;
    b[n + k] = dz;
    a[2 * n + k] = dn;
    b[2 * n + k] = dn * r[k];
    dh[k] = dh[k] * z[k];
  }
}

}  // namespace

#define UPDRAFT_RNN(S, T)                                                                                     \
  void lstm_cell_##S(T* const* out, const T* gates, const T* bias, const T* c_before, int64_t n) {            \
    lstm_cell(out, gates, bias, c_before, n);                                                                 \
  }                                                                                                           \
  void lstm_cell_backward_##S(T* gates, T* dh, T* dc, const T* const* saved, int64_t n) {                     \
    lstm_cell_backward(gates, dh, dc, saved, n);                                                              \
  }                                                                                                           \
  void gru_cell_##S(T* const* out, const T* a, const T* b, const T* a_bias, const T* b_bias, const T* before, \
                    int64_t n) {                                                                              \
    gru_cell(out, a, b, a_bias, b_bias, before, n);                                                           \
  }                                                                                                           \
  void gru_cell_backward_##S(T* a, T* b, T* dh, const T* const* saved, int64_t n) {                           \
    gru_cell_backward(a, b, dh, saved, n);                                                                    \
  }
UPDRAFT_RNN(f32, float)
UPDRAFT_RNN(f64, double)
#undef UPDRAFT_RNN

}  // namespace updraft::UPDRAFT_ISA
