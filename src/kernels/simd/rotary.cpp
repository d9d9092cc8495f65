// Rows of rotary position embedding: elements j and j + n / 2 are a pair, or 2 j and 2 j + 1.
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

// f(first of a pair, second of it) for each pair.
template <class F>
inline void pairs(int64_t n, bool neighbours, F&& f) {
  const int64_t half = n / 2;
  if (neighbours) {
#pragma GCC ivdep
    for (int64_t p = 0; p < half; ++p) f(2 * p, 2 * p + 1);
  } else {
#pragma GCC ivdep
    for (int64_t p = 0; p < half; ++p) f(p, p + half);
  }
}

}  // namespace

void rotary_row(const float* __restrict x, const float* __restrict cos, const float* __restrict sin, int64_t n,
                bool neighbours, float* __restrict y) {
  pairs(n, neighbours, [&](int64_t j, int64_t k) {
    const float a = x[j], b = x[k];
    y[j] = cos[j] * a - sin[j] * b;
    y[k] = cos[k] * b + sin[k] * a;
  });
}

void rotary_row_backward(const float* __restrict g, const float* __restrict cos, const float* __restrict sin, int64_t n,
                         bool neighbours, float* __restrict dx) {
  pairs(n, neighbours, [&](int64_t j, int64_t k) {
    const float a = g[j], b = g[k];
    dx[j] = cos[j] * a + sin[k] * b;
    dx[k] = cos[k] * b - sin[j] * a;
  });
}

void rotary_table_backward(const float* __restrict g, const float* __restrict x, int64_t n, bool neighbours,
                           float* __restrict dcos, float* __restrict dsin) {
  pairs(n, neighbours, [&](int64_t j, int64_t k) {
    const float a = g[j], b = g[k], first = x[j], second = x[k];
    dcos[j] += a * first;
    dcos[k] += b * second;
    dsin[j] -= a * second;
    dsin[k] += b * first;
  });
}

}  // namespace updraft::UPDRAFT_ISA
