// The elementwise part of attention on tiles of scores that stay in cache.
#include <limits>

#include "kernels/simd/exp.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

constexpr int L = kLanes<float>;

UPDRAFT_VECTOR_INLINE float exp_one(float x) { return exp_vector(broadcast(x))[0]; }

#if defined(__x86_64__)
UPDRAFT_VECTOR_INLINE void transpose_4x4(float* to, int64_t to_stride, const float* from, int64_t from_stride) {
  __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + from_stride), c = _mm_loadu_ps(from + 2 * from_stride),
         d = _mm_loadu_ps(from + 3 * from_stride);
  _MM_TRANSPOSE4_PS(a, b, c, d);
  _mm_storeu_ps(to, a);
  _mm_storeu_ps(to + to_stride, b);
  _mm_storeu_ps(to + 2 * to_stride, c);
  _mm_storeu_ps(to + 3 * to_stride, d);
}
#else
inline void transpose_4x4(float* to, int64_t to_stride, const float* from, int64_t from_stride) {
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) to[j * to_stride + i] = from[i * from_stride + j];
}
#endif

}  // namespace

/// One step of the running softmax. s [rows][cols] (cols a multiple of 16, -inf where masked) becomes exp(s - max);
/// max, sum and the rows of `out` that were made with the old maximum follow.
void attention_softmax(float* s, int64_t ld, int64_t rows, int64_t cols, float* max, float* sum, float* out,
                       int64_t out_ld, int64_t out_cols) {
  for (int64_t i = 0; i < rows; ++i) {
    float* row = s + i * ld;
    VectorF top = load_vector<float>(row);
    for (int64_t j = L; j < cols; j += L) top = max_vector(top, load_vector<float>(row + j));
    const float before = max[i], here = max_lanes(top), now = before > here ? before : here;
    if (now == -std::numeric_limits<float>::infinity()) {  // nothing but masked positions so far
      for (int64_t j = 0; j < cols; j += L) store_vector<float>(row + j, VectorF{});
      continue;
    }
    VectorF total{};
    const VectorF base = broadcast(now);
    for (int64_t j = 0; j < cols; j += L) {
      const VectorF p = exp_vector(load_vector<float>(row + j) - base);
      total += p;
      store_vector<float>(row + j, p);
    }
    if (now != before) {
      const float factor = exp_one(before - now);
      sum[i] *= factor;
      float* o = out + i * out_ld;
      for (int64_t j = 0; j < out_cols; j += L) store_vector<float>(o + j, load_vector<float>(o + j) * factor);
      max[i] = now;
    }
    sum[i] += sum_lanes<float>(total);
  }
}

/// s becomes p = exp(s - max) * inverse, g (the gradient of p) becomes p * (g - delta): the gradient of the scores.
void attention_softmax_grad(float* s, float* g, int64_t ld, int64_t rows, int64_t cols, const float* max,
                            const float* inverse, const float* delta) {
  for (int64_t i = 0; i < rows; ++i) {
    const VectorF base = broadcast(max[i]), scale = broadcast(inverse[i]), mean = broadcast(delta[i]);
    float *row = s + i * ld, *grad = g + i * ld;
    for (int64_t j = 0; j < cols; j += L) {
      const VectorF p = exp_vector(load_vector<float>(row + j) - base) * scale;
      store_vector<float>(row + j, p);
      store_vector<float>(grad + j, p * (load_vector<float>(grad + j) - mean));
    }
  }
}

/// x[j] = -inf where mask[j] != 0.
void attention_mask_row(float* x, const uint8_t* mask, int64_t n) {
  const float masked = -std::numeric_limits<float>::infinity();
#pragma GCC ivdep
  for (int64_t j = 0; j < n; ++j) x[j] = mask[j] ? masked : x[j];
}

void scale_f32(float* x, int64_t n, float factor) {
#pragma GCC ivdep
  for (int64_t j = 0; j < n; ++j) x[j] *= factor;
}

/// y += factor * x
void axpy_f32(float* y, const float* x, int64_t n, float factor) {
#pragma GCC ivdep
  for (int64_t j = 0; j < n; ++j) y[j] += factor * x[j];
}

/// n a multiple of 16.
float dot_f32(const float* x, const float* y, int64_t n) {
  VectorF sum{};
  for (int64_t j = 0; j < n; j += L) sum = fma_vector(load_vector<float>(x + j), load_vector<float>(y + j), sum);
  return sum_lanes<float>(sum);
}

/// from [rows][cols] to to [cols][rows].
void transpose_f32(float* to, int64_t to_stride, const float* from, int64_t from_stride, int64_t rows, int64_t cols) {
  int64_t i = 0;
  for (; i + 4 <= rows; i += 4) {
    int64_t j = 0;
    for (; j + 4 <= cols; j += 4)
      transpose_4x4(to + j * to_stride + i, to_stride, from + i * from_stride + j, from_stride);
    for (; j < cols; ++j)
      for (int64_t x = i; x < i + 4; ++x) to[j * to_stride + x] = from[x * from_stride + j];
  }
  for (; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) to[j * to_stride + i] = from[i * from_stride + j];
}

}  // namespace updraft::UPDRAFT_ISA
