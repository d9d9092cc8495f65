// What products, convolutions and recurrent layers say at plan time that they take, against what they take.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/convolution/convolution.h"
#include "kernels/matmul/matmul.h"
#include "ops/rnn/network.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

/// The most that is in use at a time, once the arena is one block. In one thread: otherwise another may take the part
/// of the work that needs most.
template <class F>
size_t taken(F&& f) {
  const SerialSection serial;
  for (int i = 0; i < 3; ++i) {
    reset_scratch_peak();
    f();
  }
  return scratch_peak();
}

// What primitives that reorder take beside is a line or two.
constexpr size_t kSlack = 1 << 10;

struct ProductCase {
  std::string name;
  DType a = DType::Float, b = DType::Float, c = DType::Float;
  int64_t m = 96, n = 80, k = 112, batch = 1;
  double alpha = 1, beta = 0;
  bool transposed = false;
};
void PrintTo(const ProductCase& c, std::ostream* os) { *os << c.name; }

class ProductScratch : public testing::TestWithParam<ProductCase> {};

TEST_P(ProductScratch, IsWhatIsTaken) {
  const ProductCase& p = GetParam();
  std::vector<std::vector<char>> memory;
  auto tensor = [&](DType type, int64_t rows, int64_t columns) {
    const int64_t dims[] = {p.batch, rows, columns};
    TensorView v = TensorView::contiguous(nullptr, type, p.batch == 1 ? dims + 1 : dims, p.batch == 1 ? 2 : 3);
    v.data = memory.emplace_back(v.bytes()).data();
    return v;
  };
  const TensorView a = tensor(p.a, p.m, p.k), c = tensor(p.c, p.m, p.n), add = tensor(p.c, p.m, p.n);
  const TensorView b = p.transposed ? tensor(p.b, p.n, p.k).transpose(a.rank - 2, a.rank - 1) : tensor(p.b, p.k, p.n);
  const MatmulOptions options{.alpha = p.alpha, .beta = p.beta, .add = p.beta != 0 ? &add : nullptr};
  const size_t said = matmul_scratch(a, b, c, options);
  const size_t took = taken([&] { matmul(a, b, c, options); });
  EXPECT_LE(took, said + kSlack);
  EXPECT_GE(took + kSlack, said);
  if (p.batch == 1) return;
  const TensorView sum = tensor(p.c, p.m, p.n), first = select(sum, 0, 0);
  const size_t said_sum = matmul_reduced_scratch(a, b, first, {});
  const size_t took_sum = taken([&] { matmul_reduced(a, b, first, {}); });
  EXPECT_LE(took_sum, said_sum + kSlack);
  EXPECT_GE(took_sum + kSlack, said_sum);
}

constexpr DType kHalf = DType::Float16, kBf16 = DType::BFloat16, kInt = DType::Int32, kDouble = DType::Double,
                kComplex = DType::Complex64;
INSTANTIATE_TEST_SUITE_P(
    All, ProductScratch,
    testing::Values(
        ProductCase{.name = "plain"}, ProductCase{.name = "transposed", .transposed = true},
        ProductCase{.name = "batches", .batch = 3},
        ProductCase{.name = "halfBatches", .a = kHalf, .b = kHalf, .c = kHalf, .batch = 3},
        ProductCase{.name = "half", .a = kHalf, .b = kHalf, .c = kHalf},
        ProductCase{.name = "halfAdded", .a = kHalf, .b = kHalf, .c = kHalf, .alpha = 2, .beta = 0.5},
        ProductCase{.name = "bf16", .a = kBf16, .b = kBf16, .c = kBf16}, ProductCase{.name = "mixed", .a = kHalf},
        ProductCase{.name = "vector", .a = kHalf, .b = kHalf, .c = kHalf, .m = 1, .n = 4000, .k = 300},
        ProductCase{
            .name = "fewRows", .a = kHalf, .b = kHalf, .c = kHalf, .m = 5, .n = 900, .k = 300, .transposed = true},
        ProductCase{.name = "fewRowsAdded", .m = 3, .n = 900, .k = 300, .beta = 1, .transposed = true},
        ProductCase{.name = "panelsOfRows", .a = kHalf, .b = kHalf, .c = kHalf, .m = 9000, .n = 600, .k = 700},
        ProductCase{.name = "panelsOfColumns", .a = kHalf, .b = kHalf, .c = kHalf, .m = 600, .n = 9000, .k = 700},
        ProductCase{.name = "panelsOfSums", .a = kHalf, .b = kHalf, .c = kHalf, .m = 600, .n = 700, .k = 9000},
        ProductCase{.name = "double", .a = kDouble, .b = kDouble, .c = kDouble},
        ProductCase{.name = "doubleAdded", .a = kDouble, .c = kDouble, .batch = 2, .beta = 2},
        ProductCase{.name = "complex64", .a = kComplex, .b = kComplex, .c = kComplex},
        ProductCase{.name = "complex128", .a = kComplex, .c = DType::Complex128, .batch = 2},
        ProductCase{.name = "int32", .a = kInt, .b = kInt, .c = kInt, .m = 40, .n = 50, .k = 60}),
    [](const auto& info) { return info.param.name; });

struct Case {
  std::string name;
  DType type = DType::Float;
  int64_t in_channels = 16, out_channels = 24, size = 20, kernel = 3;
  int64_t stride = 1, padding = 1, groups = 1;
  bool bias = false, transposed = false, channels_last = false, reduced = false;
};
void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

class ConvolutionScratch : public testing::TestWithParam<Case> {
 protected:
  ConvolutionScratch() {
    const Case& c = GetParam();
    shape_.spatial = 2;
    shape_.groups = c.groups;
    shape_.transposed = c.transposed;
    shape_.reduced = c.reduced;
    for (int d = 0; d < 2; ++d) shape_.stride[d] = c.stride, shape_.padding[d] = c.padding;
    const int64_t out = convolution_size(shape_, 0, c.size, c.kernel, 0);
    in_ = tensor({2, c.in_channels, c.size, c.size}, c.channels_last);
    weight_ = c.transposed ? tensor({c.in_channels, c.out_channels / c.groups, c.kernel, c.kernel})
                           : tensor({c.out_channels, c.in_channels / c.groups, c.kernel, c.kernel});
    out_ = tensor({2, c.out_channels, out, out}, c.channels_last);
    bias_ = tensor({c.out_channels});
  }

  TensorView tensor(std::vector<int64_t> dims, bool channels_last = false) {
    if (channels_last) dims = {dims[0], dims[2], dims[3], dims[1]};
    TensorView v = TensorView::contiguous(nullptr, GetParam().type, dims.data(), static_cast<int>(dims.size()));
    v.data = memory_.emplace_back(v.bytes()).data();
    return channels_last ? permute(v, {0, 3, 1, 2}) : v;
  }

  /// What is not finite goes by the primitive in the end, and its scratch is more than is taken here.
  static bool may_go_two_ways() { return GetParam().channels_last && GetParam().reduced; }

  ConvolutionShape shape_;
  TensorView in_, weight_, out_, bias_;
  std::vector<std::vector<char>> memory_;
};

TEST_P(ConvolutionScratch, Forward) {
  const TensorView* bias = GetParam().bias ? &bias_ : nullptr;
  const size_t said = convolution_scratch(shape_, in_, weight_, bias, out_, nullptr);
  const size_t took = taken([&] { convolution(shape_, in_, weight_, bias, out_); });
  EXPECT_LE(took, said + kSlack);
  if (!may_go_two_ways()) { EXPECT_GE(took + kSlack, said); }
}

TEST_P(ConvolutionScratch, Backward) {
  const TensorView grad_in = tensor({in_.dims[0], in_.dims[1], in_.dims[2], in_.dims[3]}, GetParam().channels_last);
  const TensorView grad_weight = tensor({weight_.dims[0], weight_.dims[1], weight_.dims[2], weight_.dims[3]});
  for (const bool both : {false, true})
    for (const bool of_weight : {false, true}) {
      const TensorView* to_in = both || !of_weight ? &grad_in : nullptr;
      const TensorView* to_weight = both || of_weight ? &grad_weight : nullptr;
      const size_t said = convolution_backward_scratch(shape_, out_, in_, weight_, to_in, to_weight);
      const size_t took = taken([&] { convolution_backward(shape_, out_, in_, weight_, to_in, to_weight, nullptr); });
      EXPECT_LE(took, said + kSlack) << both << of_weight;
      if (!may_go_two_ways()) { EXPECT_GE(took + kSlack, said) << both << of_weight; }
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, ConvolutionScratch,
    testing::Values(Case{.name = "plain"}, Case{.name = "bias", .bias = true},
                    Case{.name = "half", .type = DType::Float16}, Case{.name = "bf16", .type = DType::BFloat16},
                    Case{.name = "double", .type = DType::Double}, Case{.name = "int32", .type = DType::Int32},
                    Case{.name = "pointwise", .kernel = 1, .padding = 0},
                    Case{.name = "strided", .size = 21, .stride = 2}, Case{.name = "groups", .groups = 4, .bias = true},
                    Case{.name = "odd", .in_channels = 3, .out_channels = 5},
                    Case{.name = "transposed", .stride = 2, .transposed = true},
                    Case{.name = "channelsLast", .channels_last = true},
                    Case{.name = "winograd", .in_channels = 48, .out_channels = 40, .size = 30, .reduced = true},
                    Case{.name = "winogradBlocks", .in_channels = 64, .out_channels = 72, .size = 97, .reduced = true},
                    Case{.name = "winogradHalf",
                         .type = DType::Float16,
                         .in_channels = 48,
                         .out_channels = 48,
                         .size = 30,
                         .bias = true},
                    Case{.name = "winogradTransposed",
                         .in_channels = 48,
                         .out_channels = 48,
                         .size = 30,
                         .transposed = true,
                         .reduced = true},
                    Case{.name = "winogradLast",
                         .in_channels = 48,
                         .out_channels = 32,
                         .size = 30,
                         .channels_last = true,
                         .reduced = true},
                    Case{.name = "depthwise", .in_channels = 24, .groups = 24, .bias = true, .channels_last = true},
                    Case{.name = "elements", .size = 1, .kernel = 1, .padding = 0, .bias = true},
                    Case{.name = "elementsHalf", .type = DType::Float16, .size = 1, .kernel = 1, .padding = 0},
                    Case{.name = "halfLast", .type = DType::Float16, .channels_last = true}),
    [](const auto& info) { return info.param.name; });

struct RnnCase {
  std::string name;
  bool gru = false;
  DType type = DType::Float;
  int64_t layers = 1, directions = 1;
  bool packed = false;
};
void PrintTo(const RnnCase& c, std::ostream* os) { *os << c.name; }

class RnnScratch : public testing::TestWithParam<RnnCase> {};

TEST_P(RnnScratch, IsWhatIsTaken) {
  const RnnCase& p = GetParam();
  constexpr int64_t kSteps = 7, kBatch = 5, kInput = 48, kHidden = 40;
  std::vector<std::vector<char>> memory;
  auto tensor = [&](std::vector<int64_t> dims, DType type) {
    TensorView v = TensorView::contiguous(nullptr, type, dims.data(), static_cast<int>(dims.size()));
    v.data = memory.emplace_back(v.bytes()).data();
    return v;
  };
  RnnNetwork net;
  net.gru = p.gru;
  net.layers = p.layers;
  net.directions = p.directions;
  net.x = tensor({kSteps, kBatch, kInput}, p.type);
  const int64_t gates = (p.gru ? 3 : 4) * kHidden, width = p.directions * kHidden;
  for (auto* params : {&net.params, &net.dparams})
    for (int64_t i = 0; i < net.cells(); ++i) {
      params->push_back(tensor({gates, i < p.directions ? kInput : width}, p.type));
      params->push_back(tensor({gates, kHidden}, p.type));
      params->push_back(tensor({gates}, p.type));
      params->push_back(tensor({gates}, p.type));
    }
  for (int k = 0; k < (p.gru ? 5 : 7); ++k)
    for (int64_t i = 0; i < net.cells(); ++i) net.saved[k].push_back(tensor({kSteps, kBatch, kHidden}, p.type));
  if (p.packed) {
    net.batch_sizes = tensor({kSteps}, DType::Int64);
    std::fill_n(net.batch_sizes.as<int64_t>(), kSteps, 3);
  }
  net.y = net.dy = tensor({kSteps, kBatch, width}, p.type);
  net.dx = tensor({kSteps, kBatch, kInput}, p.type);
  for (const bool backward : {false, true}) {
    const size_t said = net.scratch_bytes(backward);
    const size_t took = taken([&] { backward ? net.run_backward() : net.run(); });
    EXPECT_LE(took, said + kSlack) << backward;
    EXPECT_GE(took + took / 20 + kSlack, said) << backward << ": a layer that adds to dx is not always the largest";
  }
}

INSTANTIATE_TEST_SUITE_P(All, RnnScratch,
                         testing::Values(RnnCase{.name = "lstm"}, RnnCase{.name = "gru", .gru = true},
                                         RnnCase{.name = "half", .type = DType::Float16},
                                         RnnCase{.name = "doubleGru", .gru = true, .type = DType::Double},
                                         RnnCase{.name = "layers", .layers = 3, .directions = 2},
                                         RnnCase{.name = "packed", .layers = 2, .packed = true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace updraft
