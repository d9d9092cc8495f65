// Constant operands in kernels: products and convolutions that take a prepared weight give what they give without, and
// prepare it once.
#include "kernels/constant_operand.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "kernels/convolution/convolution.h"
#include "kernels/matmul/matmul.h"
#include "kernels/pipeline.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

// A contiguous tensor of random numbers in [-1, 1).
struct Tensor {
  std::vector<std::byte> memory;
  TensorView view;

  Tensor(DType type, std::vector<int64_t> dims, unsigned seed = 0) {
    view = TensorView::contiguous(nullptr, type, dims.data(), static_cast<int>(dims.size()));
    memory.resize(view.bytes() + 64);
    view.data = memory.data() + -reinterpret_cast<uintptr_t>(memory.data()) % 64;
    fill(seed);
  }
  Tensor(Tensor&&) = default;
  void fill(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<float> values(static_cast<size_t>(view.numel()));
    for (float& v : values) v = std::uniform_real_distribution<float>(-1, 1)(random);
    copy_elements(view, TensorView::contiguous(values.data(), DType::Float, view.dims, view.rank));
  }
  std::vector<float> values() const {
    std::vector<float> all(static_cast<size_t>(view.numel()));
    gather_to(all.data(), DType::Float, view);
    return all;
  }
};

double rounding(DType t) { return t == DType::BFloat16 ? 0x1p-8 : t == DType::Float16 ? 0x1p-11 : 0x1p-24; }

// Sums of k products of numbers below 1, in another order, and rounded once.
void expect_near(const Tensor& got, const Tensor& want, int64_t k) {
  const auto a = got.values(), b = want.values();
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], static_cast<double>(k) * 0x1p-22 + 2 * rounding(got.view.dtype) * std::abs(b[i])) << i;
}
void expect_same(const Tensor& got, const Tensor& want) {
  EXPECT_EQ(std::memcmp(got.view.data, want.view.data, want.view.bytes()), 0);
}

const DType kTypes[] = {DType::Float, DType::BFloat16, DType::Float16};

TEST(ConstantOperand, ProductsAreTheSame) {
  for (DType type : kTypes)
    for (bool transposed : {false, true})
      for (auto [m, k, n] : {std::tuple{128, 96, 160}, {7, 33, 65}, {2, 768, 300}, {1, 64, 64}}) {
        SCOPED_TRACE(fmt::format("{} {}x{}x{} transposed {}", name_of(type), m, k, n, transposed));
        const Tensor a(type, {m, k}, 1),
            b(type, transposed ? std::vector<int64_t>{n, k} : std::vector<int64_t>{k, n}, 2), bias(type, {n}, 3);
        const TensorView right = transposed ? b.view.transpose(0, 1) : b.view;
        for (bool with_bias : {false, true}) {
          Tensor want(type, {m, n}, 4), got(type, {m, n}, 5);
          MatmulOptions options;
          if (with_bias) options.beta = 1, options.add = &bias.view;
          matmul(a.view, right, want.view, options);
          ConstantOperand constant;
          options.right = &constant;
          prepare_matmul(a.view, right, got.view, options);
          const int64_t made = constant.made();
          EXPECT_LE(made, 1);
          for (int round = 0; round < 3; ++round) matmul(a.view, right, got.view, options);
          EXPECT_EQ(constant.made(), made) << "what was prepared is what a run asks for";
          expect_near(got, want, k);
        }
      }
}

TEST(ConstantOperand, HalvesStayConverted) {
  const Tensor b(DType::Float16, {64, 48}, 2);
  ConstantOperand constant;
  for (unsigned round = 0; round < 3; ++round) {
    const Tensor a(DType::Float16, {32, 64}, round);  // at another address
    Tensor want(DType::Float16, {32, 48}), got(DType::Float16, {32, 48});
    matmul(a.view, b.view, want.view);
    matmul(a.view, b.view, got.view, {.right = &constant});
    expect_near(got, want, 64);
  }
  EXPECT_EQ(constant.made(), 1);
  EXPECT_GE(constant.bytes(), 64u * 48 * 4);
}

TEST(ConstantOperand, ChangedValuesAreTakenAfterChanged) {
  const Tensor a(DType::Float16, {32, 64}, 1);
  Tensor b(DType::Float16, {64, 48}, 2), first(DType::Float16, {32, 48}), stale(DType::Float16, {32, 48}),
      fresh(DType::Float16, {32, 48}), want(DType::Float16, {32, 48});
  ConstantOperand constant;
  matmul(a.view, b.view, first.view, {.right = &constant});
  b.fill(3);
  matmul(a.view, b.view, stale.view, {.right = &constant});
  expect_same(stale, first);  // nobody said that they changed
  constant.changed();
  EXPECT_EQ(constant.bytes(), 0u);
  matmul(a.view, b.view, fresh.view, {.right = &constant});
  matmul(a.view, b.view, want.view);
  expect_near(fresh, want, 64);
  EXPECT_EQ(constant.made(), 2);
}

TEST(ConstantOperand, ViewsHaveFormsOfTheirOwn) {
  const Tensor a(DType::Float16, {32, 64}, 1), b(DType::Float16, {64, 128}, 2);
  ConstantOperand constant;
  for (int round = 0; round < 2; ++round)
    for (int which : {0, 1}) {
      const TensorView half = half_of(b.view, 1, which);
      Tensor want(DType::Float16, {32, 64}), got(DType::Float16, {32, 64});
      matmul(a.view, half, want.view);
      matmul(a.view, half, got.view, {.right = &constant});
      expect_near(got, want, 64);
    }
  EXPECT_EQ(constant.made(), 2);
}

TEST(ConstantOperand, BatchesOfProducts) {
  for (DType type : kTypes)
    for (int64_t batches : {1, 3}) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(type), batches));
      const Tensor a(type, {3, 16, 40}, 1), b(type, {batches, 40, 24}, 2);
      // Rows of a do not follow each other: the batches cannot be folded.
      const TensorView left = narrow(a.view, 1, 0, 12);
      Tensor want(type, {3, 12, 24}), got(type, {3, 12, 24});
      matmul(left, b.view, want.view);
      ConstantOperand constant;
      for (int round = 0; round < 2; ++round) matmul(left, b.view, got.view, {.right = &constant});
      EXPECT_LE(constant.made(), 1);
      expect_near(got, want, 40);
    }
}

TEST(ConstantOperand, LargeHalvesArePreparedAsAWhole) {
  const Tensor a(DType::Float16, {8192, 1024}, 1), b(DType::Float16, {1024, 256}, 2);
  Tensor want(DType::Float16, {8192, 256}), got(DType::Float16, {8192, 256});
  matmul(a.view, b.view, want.view);
  ConstantOperand constant;
  prepare_matmul(a.view, b.view, got.view, {.right = &constant});
  const int64_t made = constant.made();
  matmul(a.view, b.view, got.view, {.right = &constant});
  EXPECT_EQ(constant.made(), made);
  expect_near(got, want, 1024);
}

TEST(ConstantOperand, OtherTypesReadTheOperand) {
  const Tensor a(DType::Double, {8, 8}, 1), b(DType::Double, {8, 8}, 2);
  Tensor want(DType::Double, {8, 8}), got(DType::Double, {8, 8});
  matmul(a.view, b.view, want.view);
  ConstantOperand constant;
  prepare_matmul(a.view, b.view, got.view, {.right = &constant});
  matmul(a.view, b.view, got.view, {.right = &constant});
  expect_same(got, want);
  EXPECT_EQ(constant.made(), 0);
}

TEST(ConstantOperand, ThreadsShareOneForm) {
  const Tensor a(DType::Float16, {32, 256}, 1), b(DType::Float16, {256, 128}, 2);
  Tensor want(DType::Float16, {32, 128});
  matmul(a.view, b.view, want.view);
  for (int round = 0; round < 20; ++round) {
    ConstantOperand constant;
    std::vector<Tensor> got;
    for (int i = 0; i < 4; ++i) got.emplace_back(DType::Float16, std::vector<int64_t>{32, 128});
    std::vector<std::thread> threads;
    for (Tensor& to : got)
      threads.emplace_back([&] {
        SerialSection serial;
        for (int k = 0; k < 5; ++k) matmul(a.view, b.view, to.view, {.right = &constant});
      });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(constant.made(), 1);
    for (const Tensor& to : got) expect_near(to, want, 256);
  }
}

struct ConvolutionCase {
  std::vector<int64_t> in, weight, out;
  int64_t groups = 1, padding = 1, stride = 1;
  bool transposed = false, last = false;
};

TEST(ConstantOperand, ConvolutionsHaveTheSameBits) {
  const ConvolutionCase cases[] = {
      {{2, 16, 14, 14}, {32, 16, 3, 3}, {2, 32, 14, 14}},
      {{1, 16, 15, 15}, {32, 16, 3, 3}, {1, 32, 8, 8}, 1, 1, 2},
      {{2, 16, 10, 10}, {32, 4, 3, 3}, {2, 32, 10, 10}, 4},
      {{1, 24, 9, 9}, {24, 1, 3, 3}, {1, 24, 9, 9}, 24},
      {{1, 16, 24, 24}, {32, 16, 1, 1}, {1, 32, 24, 24}, 1, 0},
      {{1, 16, 8, 8}, {16, 8, 3, 3}, {1, 8, 15, 15}, 1, 1, 2, true},
      {{1, 16, 12, 12}, {32, 16, 3, 3}, {1, 32, 12, 12}, 1, 1, 1, false, true},
  };
  for (DType type : kTypes)
    for (const ConvolutionCase& c : cases) {
      ConvolutionShape s;
      s.spatial = 2;
      s.groups = c.groups;
      s.transposed = c.transposed;
      for (int d = 0; d < 2; ++d) s.padding[d] = c.padding, s.stride[d] = c.stride;
      const Tensor memory(type, c.in, 1), weight(type, c.weight, 2), bias(type, {c.out[1]}, 3);
      TensorView in = memory.view;
      if (c.last) {
        const int64_t dims[] = {c.in[0], c.in[2], c.in[3], c.in[1]};
        in = permute(TensorView::contiguous(memory.view.data, type, dims, 4), {0, 3, 1, 2});
      }
      for (bool with_bias : {false, true}) {
        SCOPED_TRACE(
            fmt::format("{} weight {} groups {} bias {}", name_of(type), describe(weight.view), c.groups, with_bias));
        Tensor want(type, c.out), got(type, c.out, 7);
        convolution(s, in, weight.view, with_bias ? &bias.view : nullptr, want.view);
        ConstantOperand constant;
        prepare_convolution(s, in, weight.view, with_bias, got.view, constant);
        const int64_t made = constant.made();
        EXPECT_LE(made, 1);
        for (int round = 0; round < 2; ++round)
          convolution(s, in, weight.view, with_bias ? &bias.view : nullptr, got.view, &constant);
        EXPECT_EQ(constant.made(), made);
        // pointwise convolutions of halves without a bias are products that convert block by block from the weight
        // itself
        const bool packed = c.weight[2] == 1 && !with_bias;
        if (type == DType::Float16) { EXPECT_EQ(made, packed ? 0 : 1) << "it stays converted"; }
        expect_same(got, want);
      }
    }
}

}  // namespace
}  // namespace updraft
