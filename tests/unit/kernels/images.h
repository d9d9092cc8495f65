// Images of random numbers with the channels innermost.
#pragma once
#include <random>
#include <vector>

#include "tensor/view.h"

namespace updraft {

inline std::vector<float> random_floats(int64_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(n));
  for (float& v : values) v = normal(engine);
  return values;
}

/// [n, c, h, w] with c innermost.
inline TensorView channels_innermost(const std::vector<float>& values, int64_t n, int64_t c, int64_t h, int64_t w) {
  const int64_t dims[] = {n, c, h, w};
  TensorView v = TensorView::contiguous(const_cast<float*>(values.data()), DType::Float, dims, 4);
  v.strides[0] = c * h * w;
  v.strides[1] = 1;
  v.strides[2] = w * c;
  v.strides[3] = c;
  return v;
}

}  // namespace updraft
