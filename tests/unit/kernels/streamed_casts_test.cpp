// Conversions past the caches, and those that transpose, give the bits of the usual ones, wherever the result begins
// and ends.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "kernels/table.h"

namespace updraft {
namespace {

constexpr int kF32 = static_cast<int>(Compute::F32);

std::vector<float> numbers(int64_t n) {
  const float special[] = {0.0f,     -0.0f,    INFINITY, -INFINITY, std::numeric_limits<float>::quiet_NaN(),
                           65504.0f, 65520.0f, 1e-5f,    -3e-8f,    3.3895e38f,
                           1e-40f};
  std::vector<float> x;
  for (int64_t i = 0; i < n; ++i)
    x.push_back(i % 7 == 0 ? special[i / 7 % std::ssize(special)] : std::sin(static_cast<float>(i)) * 100);
  return x;
}

class StreamedCasts : public testing::TestWithParam<DType> {};

TEST_P(StreamedCasts, AreTheUsualOnes) {
  const DType half = GetParam();
  const KernelTable& table = kernels();
  const int64_t most = 3000, room = 64;
  const std::vector<float> x = numbers(most);
  std::vector<uint16_t> narrow(most);
  table.store[kF32][static_cast<int>(half)](narrow.data(), 1, x.data(), most);
  std::vector<float> wide(most);
  table.load[static_cast<int>(half)][kF32](wide.data(), narrow.data(), 1, most);
  for (const int64_t n : {0, 1, 31, 511, 512, 513, 1100, 3000})
    for (const int64_t from : {0, 1, 5, 32}) {
      std::vector<uint16_t> halves(static_cast<size_t>(n + from + room), 0x1234), as_halves = halves;
      std::memcpy(as_halves.data() + from, narrow.data(), static_cast<size_t>(n) * 2);
      table.narrow_streamed(halves.data() + from, half, x.data(), n);
      EXPECT_EQ(halves, as_halves) << n << " elements from " << from << " on";
      std::vector<float> floats(static_cast<size_t>(n + from + room), 0.5f), as_floats = floats;
      std::memcpy(as_floats.data() + from, wide.data(), static_cast<size_t>(n) * 4);
      table.widen_streamed(floats.data() + from, narrow.data(), half, n);
      EXPECT_EQ(std::memcmp(floats.data(), as_floats.data(), floats.size() * 4), 0) << n << " from " << from << " on";
    }
}

// At an odd byte no element lies at a line's beginning.
TEST_P(StreamedCasts, AtAnyByte) {
  const KernelTable& table = kernels();
  const std::vector<float> x = numbers(2000);
  std::vector<uint16_t> want(2000);
  table.store[kF32][static_cast<int>(GetParam())](want.data(), 1, x.data(), 2000);
  std::vector<char> bytes(4001);
  table.narrow_streamed(bytes.data() + 1, GetParam(), x.data(), 2000);
  EXPECT_EQ(std::memcmp(bytes.data() + 1, want.data(), 4000), 0);
}

TEST_P(StreamedCasts, OfTransposedMatrices) {
  set_parallel_threads(3);
  const KernelTable& table = kernels();
  for (const int64_t batch : {1, 3})
    for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{8, 8},
                                     {16, 32},
                                     {33, 70},
                                     {300, 200},
                                     {129, 1000},
                                     {800, 704}})  // large enough to go past the caches
      for (const int64_t gap : {0, 5}) {           // between the columns of the source
        const std::vector<float> x = numbers(batch * cols * (rows + gap));
        const int64_t lies[] = {batch, cols, rows + gap}, dims[] = {batch, rows, cols};
        TensorView from = TensorView::contiguous(const_cast<float*>(x.data()), DType::Float, lies, 3).transpose(1, 2);
        from.dims[1] = rows;
        constexpr size_t kLine = 64 / sizeof(uint16_t);
        const auto n = static_cast<size_t>(batch * rows * cols);
        std::vector<uint16_t> got(n), want(n), lines(n + kLine);
        copy_elements(TensorView::contiguous(got.data(), GetParam(), dims, 3), from);
        uint16_t* line = lines.data();
        while (reinterpret_cast<uintptr_t>(line) % 64) ++line;
        copy_elements(TensorView::contiguous(line, GetParam(), dims, 3), from);
        for (int64_t b = 0, i = 0; b < batch; ++b)
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < cols; ++c, ++i)
              table.store[kF32][static_cast<int>(GetParam())](
                  want.data() + i, 1, &x[static_cast<size_t>((b * cols + c) * (rows + gap) + r)], 1);
        EXPECT_EQ(got, want) << batch << " x " << rows << " x " << cols << ", gap " << gap;
        EXPECT_EQ(std::memcmp(line, want.data(), 2 * n), 0) << rows << " x " << cols << " from a line on";
      }
}

INSTANTIATE_TEST_SUITE_P(Halves, StreamedCasts, testing::Values(DType::Float16, DType::BFloat16));

}  // namespace
}  // namespace updraft
