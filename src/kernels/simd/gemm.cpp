// Small products for kernels that keep their operands in cache: register tiles over operands that are not packed.
#include "kernels/simd/widen.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int kRows = 8;  // x 2 vectors: 16 accumulators hide the latency, one broadcast feeds two products
#elif defined(__AVX__)
constexpr int kRows = 6;
#else
constexpr int kRows = 4;
#endif

// `rows` x (V vectors) of c. b's rows are contiguous; a is read one element at a time at any strides.
template <class T, int R, int V>
void tile(int64_t k, const T* a, int64_t a_row, int64_t a_col, const T* b, int64_t ldb, T* c, int64_t ldc, bool add) {
  constexpr int L = kLanes<T>;
  Vector<T> sum[R][V];
  for (int i = 0; i < R; ++i)
    for (int v = 0; v < V; ++v) sum[i][v] = add ? load_vector<T>(c + i * ldc + v * L) : Vector<T>{};
  for (int64_t p = 0; p < k; ++p) {
    Vector<T> right[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) right[v] = load_vector<T>(b + p * ldb + v * L);
#pragma GCC unroll 8
    for (int i = 0; i < R; ++i) {
      const Vector<T> left = broadcast<T>(a[i * a_row + p * a_col]);
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[i][v] = fma_vector(left, right[v], sum[i][v]);
    }
  }
  for (int i = 0; i < R; ++i)
    for (int v = 0; v < V; ++v) store_vector<T>(c + i * ldc + v * L, sum[i][v]);
}

template <class T, int V>
void rows_of(int64_t m, int64_t k, const T* a, int64_t a_row, int64_t a_col, const T* b, int64_t ldb, T* c, int64_t ldc,
             bool add) {
  int64_t i = 0;
  for (; i + kRows <= m; i += kRows) tile<T, kRows, V>(k, a + i * a_row, a_row, a_col, b, ldb, c + i * ldc, ldc, add);
  auto rest = [&]<int R>() {
    for (; i + R <= m; i += R) tile<T, R, V>(k, a + i * a_row, a_row, a_col, b, ldb, c + i * ldc, ldc, add);
  };
  rest.template operator()<4>();
  rest.template operator()<2>();
  rest.template operator()<1>();
}

template <class T>
void gemm(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_row, int64_t a_col, const T* b, int64_t ldb, T* c,
          int64_t ldc, bool add) {
  constexpr int L = kLanes<T>;
  int64_t j = 0;
  for (; j + 2 * L <= n; j += 2 * L) rows_of<T, 2>(m, k, a, a_row, a_col, b + j, ldb, c + j, ldc, add);
  for (; j < n; j += L) rows_of<T, 1>(m, k, a, a_row, a_col, b + j, ldb, c + j, ldc, add);
}

}  // namespace

void tile_gemm_f32(int64_t m, int64_t n, int64_t k, const float* a, int64_t a_row, int64_t a_col, const float* b,
                   int64_t ldb, float* c, int64_t ldc, bool add) {
  gemm<float>(m, n, k, a, a_row, a_col, b, ldb, c, ldc, add);
}
void tile_gemm_f64(int64_t m, int64_t n, int64_t k, const double* a, int64_t a_row, int64_t a_col, const double* b,
                   int64_t ldb, double* c, int64_t ldc, bool add) {
  gemm<double>(m, n, k, a, a_row, a_col, b, ldb, c, ldc, add);
}

namespace {
#if defined(__AVX512F__)
constexpr int kMatrixRows = 4;  // x 4 vectors: 16 accumulators
#else
constexpr int kMatrixRows = 2;
#endif

/// Products of one row with one vector: four chains hide the latency.
template <class T>
float dot(int64_t k, const T* row, const float* x) {
  constexpr int L = kLanes<float>;
  VectorF sum[4] = {};
  int64_t p = 0;
  for (; p + 4 * L <= k; p += 4 * L)
    for (int u = 0; u < 4; ++u) sum[u] = fma_vector(widen(row + p + u * L), load_vector<float>(x + p + u * L), sum[u]);
  for (; p + L <= k; p += L) sum[0] = fma_vector(widen(row + p), load_vector<float>(x + p), sum[0]);
  float total = sum_lanes<float>((sum[0] + sum[1]) + (sum[2] + sum[3]));
  for (; p < k; ++p) total += static_cast<float>(row[p]) * x[p];
  return total;
}

/// W rows with R vectors.
template <int W, int R, class T>
void dots(int64_t k, const T* a, int64_t stride, const float* x, int64_t x_line, float* y, int64_t y_line) {
  constexpr int L = kLanes<float>;
  VectorF sum[W][R] = {};
  int64_t p = 0;
  for (; p + L <= k; p += L) {
    VectorF left[W];
    for (int w = 0; w < W; ++w) left[w] = widen(a + w * stride + p);
    for (int r = 0; r < R; ++r) {
      const VectorF right = load_vector<float>(x + r * x_line + p);
      for (int w = 0; w < W; ++w) sum[w][r] = fma_vector(left[w], right, sum[w][r]);
    }
  }
  for (int w = 0; w < W; ++w)
    for (int r = 0; r < R; ++r) {
      float total = sum_lanes<float>(sum[w][r]);
      for (int64_t rest = p; rest < k; ++rest) total += static_cast<float>(a[w * stride + rest]) * x[r * x_line + rest];
      y[r * y_line + w] = total;
    }
}

template <class T>
void gemv(int64_t m, int64_t k, const T* a, int64_t stride, int64_t vectors, const float* x, int64_t x_line, float* y,
          int64_t y_line) {
  if (vectors == 1) {
    for (int64_t i = 0; i < m; ++i) y[i] = dot(k, a + i * stride, x);
    return;
  }
  const auto rows = [&]<int W>(int64_t i) {
    int64_t v = 0;
    const auto part = [&]<int R>() {
      for (; v + R <= vectors; v += R)
        dots<W, R>(k, a + i * stride, stride, x + v * x_line, x_line, y + v * y_line + i, y_line);
    };
    part.template operator()<4>();
    part.template operator()<3>();
    part.template operator()<2>();
    part.template operator()<1>();
  };
  int64_t i = 0;
  for (; i + kMatrixRows <= m; i += kMatrixRows) rows.template operator()<kMatrixRows>(i);
  for (; i < m; ++i) rows.template operator()<1>(i);
}
}  // namespace

/// y[v][i] = sum over k of a[i][k] * x[v][k]; rows of a (FLOAT, FLOAT16 or BFLOAT16) are contiguous, `stride` apart.
void gemv_rows(int64_t m, int64_t k, const void* a, int64_t stride, int64_t vectors, const float* x, int64_t x_line,
               float* y, int64_t y_line, DType type) {
  if (type == DType::Float) gemv(m, k, static_cast<const float*>(a), stride, vectors, x, x_line, y, y_line);
  else if (type == DType::Float16) gemv(m, k, static_cast<const Half*>(a), stride, vectors, x, x_line, y, y_line);
  else gemv(m, k, static_cast<const BFloat16*>(a), stride, vectors, x, x_line, y, y_line);
}

/// y[j] = sum over k of x[k] * b[k][j] for n columns; rows of b are contiguous, `stride` apart.
void gemv_columns_f32(int64_t k, int64_t n, const float* b, int64_t stride, const float* x, float* y) {
  for (int64_t j = 0; j < n; ++j) y[j] = 0;
  int64_t p = 0;
  for (; p + 4 <= k; p += 4) {
    const float *b0 = b + p * stride, *b1 = b0 + stride, *b2 = b1 + stride, *b3 = b2 + stride;
    const float x0 = x[p], x1 = x[p + 1], x2 = x[p + 2], x3 = x[p + 3];
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) y[j] += (x0 * b0[j] + x1 * b1[j]) + (x2 * b2[j] + x3 * b3[j]);
  }
  for (; p < k; ++p) {
    const float* row = b + p * stride;
    const float value = x[p];
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) y[j] += value * row[j];
  }
}

}  // namespace updraft::UPDRAFT_ISA
