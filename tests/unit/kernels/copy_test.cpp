// Copies between views of every kind, against one element at a time; nothing beside the elements of a view changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "base/half.h"
#include "base/parallel.h"
#include "kernels/copy.h"
#include "kernels/table.h"

namespace updraft {
namespace {

/// Memory of a view whose dimensions lie in an order of their own, with steps and gaps, forwards or backwards.
struct Laid {
  std::vector<std::byte> memory;
  TensorView view;

  Laid(DType type, const std::vector<int64_t>& dims, std::mt19937& random, bool broadcast, unsigned char fill) {
    const auto pick = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    std::vector<size_t> order(dims.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (pick(3)) std::shuffle(order.begin(), order.end(), random);
    view = TensorView::contiguous(nullptr, type, dims.data(), static_cast<int>(dims.size()));
    int64_t next = 1, first = 0;
    for (size_t i = order.size(); i-- > 0;) {
      const size_t d = order[i];
      if (pick(5) == 0) next = next * (1 + pick(3)) + pick(3);
      view.strides[d] = broadcast && pick(6) == 0 ? 0 : next;
      if (view.strides[d] == 0) continue;
      next *= dims[d];
      if (pick(6) == 0) {
        first += std::max<int64_t>(dims[d] - 1, 0) * view.strides[d];
        view.strides[d] = -view.strides[d];
      }
    }
    memory.assign(static_cast<size_t>(next + 1) * size_of(type), std::byte{fill});
    view.data = memory.data() + static_cast<size_t>(first) * size_of(type);
  }
  std::byte* at(int64_t linear) const {
    return static_cast<std::byte*>(view.data) + view.offset_of(linear) * static_cast<int64_t>(size_of(view.dtype));
  }
};

std::vector<std::vector<int64_t>> shapes() {
  return {{},
          {0},
          {1},
          {5000},
          {70, 2},
          {3, 70},
          {513, 33},
          {7, 300, 3},
          {4, 9, 12, 64},
          {40, 1, 200},
          {3, 2, 5, 7, 4},
          {129, 6, 130},
          {20000, 3},
          {2, 40000},
          {6, 64, 128},
          {5, 5, 4},
          {2, 2, 2, 2, 2},
          {33, 127},
          {16, 128, 17},
          {300, 20, 5, 2},
          {3, 1000, 31}};
}

class ElementCopies : public testing::TestWithParam<DType> {};

TEST_P(ElementCopies, MoveElementsAsTheyAre) {
  set_parallel_threads(3);
  std::mt19937 random(1);
  const size_t size = size_of(GetParam());
  for (const std::vector<int64_t>& dims : shapes())
    for (int round = 0; round < 24; ++round) {
      Laid from(GetParam(), dims, random, true, 0), to(GetParam(), dims, random, false, 0xee);
      for (std::byte& b : from.memory) b = static_cast<std::byte>(random());
      std::vector<std::byte> want = to.memory;
      for (int64_t i = 0; i < to.view.numel(); ++i)
        std::memcpy(want.data() + (to.at(i) - to.memory.data()), from.at(i), size);
      copy_elements(to.view, from.view);
      ASSERT_TRUE(to.memory == want) << describe(to.view).text() << " = " << describe(from.view).text();
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ElementCopies,
                         testing::Values(DType::Bool, DType::UInt8, DType::BFloat16, DType::Float16, DType::Int32,
                                         DType::Float, DType::Int64, DType::Complex64, DType::Complex128));

template <class To, class From>
void expect_converted(DType to_type, DType from_type) {
  set_parallel_threads(3);
  std::mt19937 random(2);
  for (const std::vector<int64_t>& dims : shapes())
    for (int round = 0; round < 24; ++round) {
      Laid from(from_type, dims, random, true, 0), to(to_type, dims, random, false, 0xee);
      for (size_t i = 0; i < from.memory.size() / sizeof(From); ++i)
        reinterpret_cast<From*>(from.memory.data())[i] = From(static_cast<float>(random() % 2000) - 1000.0f);
      std::vector<std::byte> want = to.memory;
      for (int64_t i = 0; i < to.view.numel(); ++i) {
        const To one = To(static_cast<float>(*reinterpret_cast<const From*>(from.at(i))));
        std::memcpy(want.data() + (to.at(i) - to.memory.data()), &one, sizeof one);
      }
      copy_elements(to.view, from.view);
      ASSERT_TRUE(to.memory == want) << describe(to.view).text() << " = " << describe(from.view).text();
    }
}

TEST(ElementCopiesOfOtherTypes, AreConverted) {
  expect_converted<float, BFloat16>(DType::Float, DType::BFloat16);
  expect_converted<BFloat16, float>(DType::BFloat16, DType::Float);
  expect_converted<Half, float>(DType::Float16, DType::Float);
  expect_converted<BFloat16, Half>(DType::BFloat16, DType::Float16);
  expect_converted<double, float>(DType::Double, DType::Float);
  expect_converted<int64_t, int32_t>(DType::Int64, DType::Int32);
}

TEST(ElementCopiesOfScalars, AreBroadcast) {
  const float one = 2.5f;
  std::vector<float> to(90, 0.0f);
  const int64_t dims[] = {3, 30};
  TensorView part = TensorView::contiguous(to.data(), DType::Float, dims, 2);
  part.dims[1] = 10;
  copy_elements(part, TensorView::contiguous(const_cast<float*>(&one), DType::Float, nullptr, 0));
  for (size_t i = 0; i < to.size(); ++i) EXPECT_EQ(to[i], i % 30 < 10 ? 2.5f : 0.0f) << i;
}

}  // namespace
}  // namespace updraft
