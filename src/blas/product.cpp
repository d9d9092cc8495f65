#include "blas/product.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/half.h"
#include "base/parallel.h"
#include "kernels/matmul/packed.h"

namespace updraft::blas {
namespace {

template <class Value, class Sums>
void finish(const TensorView& c, const Sums& sums, double alpha, double beta, Value value) {
  const int64_t columns = c.dims[1];
  parallel_for(c.dims[0], 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < columns; ++j) value(i, j, sums[static_cast<size_t>(i * columns + j)], alpha, beta);
  });
}

template <class T>
T& at(const TensorView& v, int64_t i, int64_t j) {
  return v.as<T>()[i * v.strides[0] + j * v.strides[1]];
}

void multiply_bytes(const TensorView& a, const TensorView& b, const TensorView& c, double alpha, double beta) {
  const int64_t columns = c.dims[1], depth = a.dims[1];
  parallel_for(c.dims[0], 4, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> sums(static_cast<size_t>(columns));
    for (int64_t i = begin; i < end; ++i) {
      std::ranges::fill(sums, 0);
      for (int64_t k = 0; k < depth; ++k) {
        const int64_t left = at<int8_t>(a, i, k);
        for (int64_t j = 0; j < columns; ++j) sums[static_cast<size_t>(j)] += left * at<int8_t>(b, k, j);
      }
      for (int64_t j = 0; j < columns; ++j) {
        const double sum = alpha * static_cast<double>(sums[static_cast<size_t>(j)]);
        if (c.dtype == DType::Float) {
          float& to = at<float>(c, i, j);
          to = static_cast<float>(sum + (beta == 0 ? 0 : beta * static_cast<double>(to)));
        } else {
          int32_t& to = at<int32_t>(c, i, j);
          constexpr double lowest = std::numeric_limits<int32_t>::min(), most = std::numeric_limits<int32_t>::max();
          to = static_cast<int32_t>(std::clamp(sum + (beta == 0 ? 0 : beta * to), lowest, most));
        }
      }
    }
  });
}

}  // namespace

double number_at(const void* p, DType type) {
  if (type == DType::Float) return *static_cast<const float*>(p);
  if (type == DType::Int32) return *static_cast<const int32_t*>(p);
  return half_to_float(*static_cast<const uint16_t*>(p));
}

void multiply(const TensorView& a, const TensorView& b, const TensorView& c, double alpha, double beta) {
  if (c.empty()) return;
  if (a.dtype == DType::Int8) return multiply_bytes(a, b, c, alpha, beta);
  std::vector<float> sums(static_cast<size_t>(c.numel()));
  const int64_t dims[] = {c.dims[0], c.dims[1]};
  packed::Product product;
  product.a = a;
  product.b = b;
  product.c = TensorView::contiguous(sums.data(), DType::Float, dims, 2);
  packed::multiply(product);
  finish(c, sums, alpha, beta, [&](int64_t i, int64_t j, float sum, double by, double of) {
    const double whole = by * static_cast<double>(sum);
    if (c.dtype == DType::Float) {
      float& to = at<float>(c, i, j);
      to = static_cast<float>(whole + (of == 0 ? 0 : of * static_cast<double>(to)));
    } else {
      uint16_t& to = at<uint16_t>(c, i, j);
      to = float_to_half(static_cast<float>(whole + (of == 0 ? 0 : of * static_cast<double>(half_to_float(to)))));
    }
  });
}

}  // namespace updraft::blas
