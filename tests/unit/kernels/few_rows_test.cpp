// Products of a few rows, which read the matrix as it lies, and convolutions of images of one element.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "base/half.h"
#include "base/parallel.h"
#include "kernels/constant_operand.h"
#include "kernels/convolution/convolution.h"
#include "kernels/matmul/matmul.h"
#include "kernels/pipeline.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

/// [rows, columns] of a type, with room behind each row, and its values in double.
struct Matrix {
  std::vector<std::byte> memory;
  TensorView view;
  Matrix(DType type, int64_t rows, int64_t columns, unsigned seed, int64_t behind = 0) {
    const int64_t dims[] = {rows, columns}, line[] = {rows, columns + behind};
    memory.resize(static_cast<size_t>(rows * (columns + behind)) * size_of(type));
    view = TensorView::contiguous(memory.data(), type, line, 2);
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(static_cast<size_t>(view.numel()));
    for (float& v : values) v = normal(random);
    copy_elements(view, TensorView::contiguous(values.data(), DType::Float, line, 2));
    view.dims[1] = dims[1];
  }
  double at(int64_t i, int64_t j) const {
    double value;
    TensorView one = view;
    one.data = memory_at(i, j);
    one.rank = 0;
    gather_to(&value, DType::Double, one);
    return value;
  }
  void* memory_at(int64_t i, int64_t j) const {
    return view.as<char>() + (i * view.strides[0] + j * view.strides[1]) * static_cast<int64_t>(size_of(view.dtype));
  }
};

struct Case {
  int64_t m, n, k;
  DType a, b, c;
};
class FewRows : public testing::TestWithParam<Case> {};

constexpr DType kFloat = DType::Float, kHalf = DType::Float16, kBf16 = DType::BFloat16;

double error_of(DType type) { return type == kHalf ? 1e-3 : type == kBf16 ? 8e-3 : 2e-6; }

TEST_P(FewRows, GiveTheSumsWithWhatFollows) {
  const Case p = GetParam();
  const Matrix a(p.a, p.m, p.k, 1, 3), b(p.b, p.n, p.k, 2, 5), row(p.c, 1, p.n, 3);
  const TensorView right = b.view.transpose(0, 1);
  for (const bool ends : {false, true})
    for (const bool constant : {false, true}) {
      Matrix c(p.c, p.m, p.n, 4, 2), serial = c;
      serial.view.data = serial.memory.data();
      ConstantOperand kept;
      MatmulOptions o;
      if (ends) o = {.alpha = 0.5, .beta = 1.0, .add = &row.view, .relu = true};
      if (constant) o.right = &kept;
      if (constant) prepare_matmul(a.view, right, c.view, o);
      matmul(a.view, right, c.view, o);
      {
        const SerialSection one;
        matmul(a.view, right, serial.view, o);
      }
      EXPECT_EQ(c.memory, serial.memory);
      if (p.m <= 8 && p.k >= 64 && p.n >= p.m) { EXPECT_EQ(kept.made(), 0) << "the matrix is read as it lies"; }
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t j = 0; j < p.n; ++j) {
          double sum = 0, size = 1;
          for (int64_t k = 0; k < p.k; ++k) {
            sum += a.at(i, k) * b.at(j, k);
            size += std::abs(a.at(i, k) * b.at(j, k));
          }
          if (ends) sum = std::max(0.0, 0.5 * sum + row.at(0, j));
          ASSERT_NEAR(c.at(i, j), sum, error_of(p.c) * std::abs(sum) + 2e-6 * size) << i << " " << j;
        }
    }
}

TEST_P(FewRows, ImagesOfOneElement) {
  const Case p = GetParam();
  const Matrix x(p.a, p.m, p.k, 1), w(p.b, p.n, p.k, 2), bias(p.c, 1, p.n, 3), add(p.c, p.m, p.n, 5);
  const auto image = [](const Matrix& v) {
    const int64_t dims[] = {v.view.dims[0], v.view.dims[1], 1, 1};
    return reshape(v.view, {dims[0], dims[1], dims[2], dims[3]});
  };
  TensorView terms = bias.view, added = image(add);
  terms.rank = 1;
  terms.dims[0] = p.n;
  terms.strides[0] = 1;
  ConvolutionShape s;
  s.spatial = 2;
  s.stride[0] = 2;
  for (const bool adds : {false, true})
    for (const bool swish : {false, true})
      for (const bool constant : {false, true}) {
        s.relu = !swish;
        s.hard_swish = swish;
        const Matrix y(p.c, p.m, p.n, 4);
        ConstantOperand kept;
        const ConvolutionTail tail{nullptr, adds ? &added : nullptr};
        if (constant) prepare_convolution(s, image(x), image(w), true, image(y), kept, tail);
        const int64_t made = kept.made();
        convolution(s, image(x), image(w), &terms, image(y), constant ? &kept : nullptr, tail);
        EXPECT_EQ(kept.made(), made);
        for (int64_t i = 0; i < p.m; ++i)
          for (int64_t j = 0; j < p.n; ++j) {
            double sum = bias.at(0, j), size = 1;
            for (int64_t k = 0; k < p.k; ++k) {
              sum += x.at(i, k) * w.at(j, k);
              size += std::abs(x.at(i, k) * w.at(j, k));
            }
            const double rounded = error_of(p.c) * std::abs(sum);
            if (adds) sum += add.at(i, j);
            if (swish) sum *= std::clamp(sum / 6 + 0.5, 0.0, 1.0);
            else sum = std::max(sum, 0.0);
            ASSERT_NEAR(y.at(i, j), sum, 2 * rounded + 2 * error_of(p.c) * std::abs(sum) + 3e-6 * size)
                << i << " " << j;
          }
      }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, FewRows,
    testing::Values(Case{1, 40, 100, kFloat, kFloat, kFloat}, Case{2, 37, 64, kFloat, kFloat, kFloat},
                    Case{3, 5, 131, kFloat, kFloat, kFloat}, Case{4, 70, 257, kFloat, kFloat, kFloat},
                    Case{7, 9, 96, kFloat, kFloat, kFloat}, Case{8, 8, 200, kFloat, kFloat, kFloat},
                    Case{9, 20, 80, kFloat, kFloat, kFloat}, Case{2, 300, 63, kFloat, kFloat, kFloat},
                    Case{5, 41, 90, kHalf, kHalf, kHalf}, Case{6, 33, 77, kBf16, kBf16, kBf16},
                    Case{2, 19, 150, kBf16, kBf16, kFloat}, Case{3, 21, 70, kFloat, kHalf, kFloat},
                    Case{8, 3, 128, kFloat, kFloat, kFloat}));

}  // namespace
}  // namespace updraft
