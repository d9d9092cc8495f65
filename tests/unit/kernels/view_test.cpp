#include "tensor/view.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "kernels/rows/activation.h"
#include "kernels/rows/logic.h"

namespace updraft {
namespace {

TEST(Half, RoundTripsEveryPattern) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    auto h = static_cast<uint16_t>(bits);
    float f = half_to_float(h);
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(f))));
    } else {
      EXPECT_EQ(float_to_half(f), h);
    }
    float b = bfloat16_to_float(h);
    if (!std::isnan(b)) { EXPECT_EQ(float_to_bfloat16(b), h); }
  }
  EXPECT_EQ(float_to_half(65519.0f), 0x7bff);  // rounds down to 65504
  EXPECT_EQ(float_to_half(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_half(0x1p-25f), 0);  // ties to even
  EXPECT_EQ(float_to_half(0x1.8p-25f), 1);
  EXPECT_EQ(float_to_bfloat16(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(View, PromotesAsPyTorch) {
  EXPECT_EQ(promote(DType::Float16, DType::BFloat16), DType::Float);
  EXPECT_EQ(promote(DType::UInt8, DType::Int8), DType::Int16);
  EXPECT_EQ(promote(DType::Int64, DType::Float16), DType::Float16);
  EXPECT_EQ(promote(DType::Bool, DType::UInt8), DType::UInt8);
  EXPECT_EQ(promote(DType::Double, DType::Complex64), DType::Complex128);
}

TEST(View, WrapsDimensions) {
  int64_t dims[] = {2, 3};
  TensorView v = TensorView::contiguous(nullptr, DType::Float, dims, 2);
  EXPECT_EQ(v.wrap_dim(-1), 1);
  EXPECT_THROW(v.wrap_dim(2), Error);
  TensorView scalar = TensorView::contiguous(nullptr, DType::Float, dims, 0);
  EXPECT_EQ(scalar.wrap_dim(-1), 0);
}

TEST(Pipeline, CopiesAnyStridesAndTypes) {
  std::vector<float> from(4 * 5 * 6);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  int64_t dims[] = {4, 5, 6};
  TensorView v = TensorView::contiguous(from.data(), DType::Float, dims, 3);
  TensorView t = v.transpose(0, 2);
  std::vector<double> to(from.size());
  TensorView out = TensorView::contiguous(to.data(), DType::Double, t.dims, 3);
  copy_elements(out, t);
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 5; ++j)
      for (int64_t k = 0; k < 4; ++k)
        EXPECT_EQ(to[static_cast<size_t>((i * 5 + j) * 4 + k)], from[static_cast<size_t>((k * 5 + j) * 6 + i)]);
}

TEST(Pipeline, TransposesLargeMatrices) {
  const int64_t n = 300, m = 200;
  std::vector<float> from(static_cast<size_t>(n * m)), to(from.size());
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i);
  int64_t dims[] = {n, m}, back[] = {m, n};
  TensorView t = TensorView::contiguous(from.data(), DType::Float, dims, 2).transpose(0, 1);
  copy_elements(TensorView::contiguous(to.data(), DType::Float, back, 2), t);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) ASSERT_EQ(to[static_cast<size_t>(i * n + j)], from[static_cast<size_t>(j * m + i)]);
}

TEST(Pipeline, BroadcastsAndComparesIntoBool) {
  std::vector<int32_t> a = {1, 2, 3, 4, 5, 6};
  std::vector<int64_t> b = {2, 2, 6};
  bool out[6];
  int64_t dims[] = {2, 3}, row[] = {3};
  run_elementwise(
      elementwise_kernel(ew::ge, Compute::I64), Compute::I64,
      {TensorView::contiguous(a.data(), DType::Int32, dims, 2), TensorView::contiguous(b.data(), DType::Int64, row, 1)},
      {TensorView::contiguous(out, DType::Bool, dims, 2)}, Params{}, true);
  bool want[] = {false, true, false, true, true, true};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(out[i], want[i]) << i;
}

TEST(Pipeline, BitsDoNotDependOnThreads) {
  std::vector<float> x(100003), one(x.size()), many(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 1e-3f - 50;
  int64_t dims[] = {static_cast<int64_t>(x.size())};
  TensorView in = TensorView::contiguous(x.data(), DType::Float, dims, 1);
  {
    SerialSection serial;
    run_elementwise(elementwise_kernel(ew::gelu, Compute::F32), Compute::F32, {in},
                    {TensorView::contiguous(one.data(), DType::Float, dims, 1)}, Params{});
  }
  set_parallel_threads(3);
  run_elementwise(elementwise_kernel(ew::gelu, Compute::F32), Compute::F32, {in},
                  {TensorView::contiguous(many.data(), DType::Float, dims, 1)}, Params{});
  EXPECT_EQ(one, many);
}

TEST(Parallel, CoversTheRangeAndCarriesExceptions) {
  set_parallel_threads(4);
  std::vector<int> seen(1000);
  parallel_for(1000, 7, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
  });
  for (int n : seen) EXPECT_EQ(n, 1);
  EXPECT_THROW(parallel_for(1000, 1,
                            [](int64_t begin, int64_t) {
                              if (begin > 0) throw Error(1, std::string("x"));
                            }),
               Error);
}

}  // namespace
}  // namespace updraft
