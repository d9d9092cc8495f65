// Elementwise work on operands that lie transposed, sliced or broadcast: against one element at a time.
#include <gtest/gtest.h>

#include <vector>

#include "base/overflow.h"
#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "kernels/rows/arithmetic.h"
#include "kernels/rows/logic.h"

namespace updraft {
namespace {

struct Operand {
  std::vector<float> data;
  TensorView view;
};

// A matrix of rows x cols whose elements lie row_stride and col_stride apart.
Operand matrix(int64_t rows, int64_t cols, int64_t row_stride, int64_t col_stride, float step) {
  Operand m;
  m.data.resize(static_cast<size_t>((rows - 1) * row_stride + (cols - 1) * col_stride + 1));
  for (size_t i = 0; i < m.data.size(); ++i) m.data[i] = step * static_cast<float>(i % 1013);
  const int64_t dims[] = {rows, cols};
  m.view = TensorView::contiguous(m.data.data(), DType::Float, dims, 2);
  m.view.strides[0] = row_stride;
  m.view.strides[1] = col_stride;
  return m;
}
float at(const TensorView& v, int64_t r, int64_t c) { return v.as<float>()[r * v.strides[0] + c * v.strides[1]]; }

void expect_sum(Operand a, Operand b, Operand out) {
  const int64_t rows = out.view.dims[0], cols = out.view.dims[1];
  Params params;
  params.set(0, 1.0);
  run_elementwise(elementwise_kernel(ew::add, Compute::F32), Compute::F32, {a.view, b.view}, {out.view}, params);
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < cols; ++c)
      ASSERT_EQ(at(out.view, r, c), at(a.view, r, c) + at(b.view, r, c))
          << r << " " << c << " of " << rows << "x" << cols;
}

TEST(PipelineLayouts, OperandsOfEveryOrder) {
  set_parallel_threads(3);
  for (auto [rows, cols] : {std::pair{1, 1}, {8, 16}, {7, 300}, {300, 7}, {33, 129}, {257, 513}}) {
    const int64_t n = rows, m = cols;
    const auto plain = [&](float step) { return matrix(n, m, m, 1, step); };
    const auto turned = [&](float step) { return matrix(n, m, 1, n, step); };
    expect_sum(turned(1), plain(2), plain(0));
    expect_sum(turned(1), turned(2), plain(0));
    expect_sum(plain(1), plain(2), turned(0));
    expect_sum(matrix(n, m, 2, 2 * n + 3, 1), turned(2), plain(0));          // every other row, transposed
    expect_sum(matrix(n, m, m + 5, 1, 1), plain(2), plain(0));               // a slice of wider rows
    expect_sum(matrix(n, m, 0, 1, 1), turned(2), plain(0));                  // a bias
    expect_sum(matrix(n, m, 1, 0, 1), plain(2), matrix(n, m, m + 5, 1, 0));  // a column into a slice
    expect_sum(turned(1), matrix(n, m, 0, 0, 3), matrix(n, m, 3 * m, 3, 0));
  }
}

TEST(PipelineLayouts, TransposedOperandsOfOtherTypes) {
  constexpr int64_t kRows = 70, kCols = 150;
  std::vector<Half> half(kRows * kCols);
  for (size_t i = 0; i < half.size(); ++i) half[i] = Half(static_cast<float>(i % 500));
  const int64_t turned[] = {kCols, kRows};
  const TensorView from = TensorView::contiguous(half.data(), DType::Float16, turned, 2).transpose(0, 1);
  Operand limit = matrix(kRows, kCols, kCols, 1, 0.5f);
  std::vector<uint8_t> less(kRows * kCols);
  std::vector<int32_t> wide(kRows * kCols);
  const int64_t dims[] = {kRows, kCols};
  // A bool, and a bool that goes to another type.
  for (const TensorView& out : {TensorView::contiguous(less.data(), DType::Bool, dims, 2),
                                TensorView::contiguous(wide.data(), DType::Int32, dims, 2)})
    run_elementwise(elementwise_kernel(ew::lt, Compute::F32), Compute::F32, {from, limit.view}, {out}, Params{}, true);
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t c = 0; c < kCols; ++c) {
      const auto i = static_cast<size_t>(r * kCols + c);
      const bool want = static_cast<float>(half[static_cast<size_t>(c * kRows + r)]) < limit.data[i];
      ASSERT_EQ(less[i], want) << r << " " << c;
      ASSERT_EQ(wide[i], want) << r << " " << c;
    }
}

TEST(PipelineLayouts, OverflowsOfTransposedOperandsAreNoted) {
  std::atomic<uint32_t> flag{0};
  OverflowScope scope(&flag);
  Operand a = matrix(40, 50, 1, 40, 0), b = matrix(40, 50, 50, 1, 0), out = matrix(40, 50, 50, 1, 0);
  Params params;
  params.set(0, 1.0);
  auto add = [&] {
    run_elementwise(elementwise_kernel(ew::add, Compute::F32), Compute::F32, {a.view, b.view}, {out.view}, params);
  };
  add();
  EXPECT_EQ(flag, 0u);
  a.data.back() = b.data.back() = 3e38f;
  add();
  EXPECT_EQ(flag, 1u);
}

}  // namespace
}  // namespace updraft
