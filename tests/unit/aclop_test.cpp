// Aclops as torch_npu calls them on older products, on memory of the host.
#include "ops/aclop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <numeric>

#include "base/error.h"

namespace updraft {
namespace {

struct Call : AclopCall {
  std::deque<std::vector<float>> floats;
  std::deque<std::vector<int64_t>> integers;

  explicit Call(const char* name) { type = name; }
  static TensorView view(void* data, DType t, const std::vector<int64_t>& dims) {
    return TensorView::contiguous(data, t, dims.data(), static_cast<int>(dims.size()));
  }
  std::vector<float>& tensor(std::vector<AclopTensor>& list, const std::vector<int64_t>& dims) {
    const int64_t n = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
    auto& data = floats.emplace_back(static_cast<size_t>(n));
    for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i * 7 % 11) - 4;
    list.push_back({view(data.data(), DType::Float, dims), false, "", ""});
    return data;
  }
  std::vector<float>& in(const std::vector<int64_t>& dims) { return tensor(inputs, dims); }
  std::vector<float>& out(const std::vector<int64_t>& dims) { return tensor(outputs, dims); }
  Call& values(const std::vector<int64_t>& v) {
    auto& data = integers.emplace_back(v);
    inputs.push_back({view(data.data(), DType::Int64, {static_cast<int64_t>(v.size())}), true, "", ""});
    return *this;
  }
  Call& attribute(const char* name, const std::vector<int64_t>& v) {
    attributes[name].integers = v;
    return *this;
  }
  void run() {
    const AclopInfo* info = find_aclop(type);
    ASSERT_NE(info, nullptr) << type;
    info->run(*this);
  }
  std::string refusal() {
    try {
      run();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code::kAclInvalidParam);
      return e.text();
    }
    return "";
  }
};

using Floats = std::vector<float>;

TEST(Aclop, PartsOfATensor) {
  Call slice("Slice");
  auto& x = slice.in({3, 4});
  auto& y = slice.values({1, 1}).values({2, -1}).out({2, 3});
  slice.run();
  EXPECT_EQ(y, (Floats{x[5], x[6], x[7], x[9], x[10], x[11]}));
  Call outside("Slice");
  outside.in({3, 4});
  outside.values({2, 0}).values({2, 4}).out({2, 4});
  EXPECT_NE(outside.refusal().find("2 elements from 2 on are outside dimension 0"), std::string::npos);

  Call strided("StridedSlice");
  auto& a = strided.in({6});
  auto& b = strided.values({-1}).values({0}).values({-2}).out({3});
  strided.run();
  EXPECT_EQ(b, (Floats{a[5], a[3], a[1]}));
  Call masked("StridedSlice");
  auto& c = masked.in({5});
  masked.attributes["begin_mask"].integer = masked.attributes["end_mask"].integer = 1;
  auto& d = masked.values({3}).values({3}).values({2}).out({3});
  masked.run();
  EXPECT_EQ(d, (Floats{c[0], c[2], c[4]}));
}

TEST(Aclop, OrdersOfATensor) {
  Call transpose("Transpose");
  auto& x = transpose.in({2, 3});
  auto& y = transpose.values({1, 0}).out({3, 2});
  transpose.run();
  EXPECT_EQ(y, (Floats{x[0], x[3], x[1], x[4], x[2], x[5]}));
  Call twice("Transpose");
  twice.in({2, 3});
  twice.values({1, 1}).out({3, 3});
  EXPECT_NE(twice.refusal().find("no order"), std::string::npos);

  Call strided("AsStrided");
  auto& a = strided.in({6});
  auto& b = strided.values({2, 2}).values({3, 1}).values({1}).out({2, 2});
  strided.run();
  EXPECT_EQ(b, (Floats{a[1], a[2], a[4], a[5]}));
  for (const std::vector<int64_t>& steps : {std::vector<int64_t>{4, 1}, {-1, 1}, {INT64_MAX, 1}}) {
    Call outside("AsStrided");
    outside.in({6});
    outside.values({2, 2}).values(steps).values({1}).out({2, 2});
    EXPECT_NE(outside.refusal().find("reach outside"), std::string::npos);
  }
}

TEST(Aclop, CopiesAndConversions) {
  Call broadcast("BroadcastTo");
  auto& x = broadcast.in({2, 1});
  auto& y = broadcast.values({2, 2}).out({2, 2});
  broadcast.run();
  EXPECT_EQ(y, (Floats{x[0], x[0], x[1], x[1]}));
  Call wrong("BroadcastTo");
  wrong.in({3});
  wrong.values({2}).out({2});
  EXPECT_FALSE(wrong.refusal().empty());

  Call cast("Cast");
  cast.in({3}) = {-1.5f, 0, 2.5f};
  int32_t whole[3];
  cast.outputs.push_back({Call::view(whole, DType::Int32, {3}), false, "", ""});
  cast.run();
  EXPECT_EQ(std::vector<int32_t>(whole, whole + 3), (std::vector<int32_t>{-1, 0, 2}));
}

TEST(Aclop, ByTheAclnnOperator) {
  Call sum("ReduceSum");
  auto& x = sum.in({2, 3});
  auto& y = sum.values({1}).out({2});
  sum.run();
  EXPECT_EQ(y, (Floats{x[0] + x[1] + x[2], x[3] + x[4] + x[5]}));

  Call swish("Swish");
  swish.in({2}) = {1, -2};
  auto& s = swish.out({2});
  swish.run();
  EXPECT_NEAR(s[0], 1 / (1 + std::exp(-1.0f)), 1e-6);
  EXPECT_NEAR(s[1], -2 / (1 + std::exp(2.0f)), 1e-6);
  swish.attributes["scale"].real = 2;
  EXPECT_NE(swish.refusal().find("scale is 2, want 1"), std::string::npos);

  // What the aclnn operator refuses keeps its words.
  Call divided("RealDiv");
  divided.in({2});
  divided.in({3});
  divided.out({2});
  EXPECT_NE(divided.refusal().find("aclnnDiv"), std::string::npos);
}

Call convolution(const char* type) {
  Call call(type);
  call.attribute("strides", {1, 1, 2, 1}).attribute("pads", {1, 1, 0, 0}).attribute("dilations", {1, 1, 1, 1});
  call.attributes["data_format"].text = "NCHW";
  return call;
}

double product(const Floats& a, const Floats& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

TEST(Aclop, ConvolutionAndItsGradients) {
  Call forward = convolution("Conv2D");
  auto& x = forward.in({1, 2, 4, 3});
  auto& w = forward.in({3, 2, 3, 2});
  auto& y = forward.out({1, 3, 2, 2});
  forward.run();
  double first = 0;  // output (0, 0, 0): rows -1..1, columns 0..1
  for (size_t c = 0; c < 2; ++c)
    for (size_t i = 1; i < 3; ++i)
      for (size_t j = 0; j < 2; ++j) first += static_cast<double>(x[c * 12 + (i - 1) * 3 + j] * w[c * 6 + i * 2 + j]);
  EXPECT_DOUBLE_EQ(static_cast<double>(y[0]), first);

  // A convolution is linear in each of its operands: the gradients are its transposes.
  Call to_x = convolution("Conv2DBackpropInput");
  to_x.values({1, 2, 4, 3}).in({3, 2, 3, 2}) = w;
  to_x.in({1, 3, 2, 2}) = y;
  auto& dx = to_x.out({1, 2, 4, 3});
  to_x.run();
  EXPECT_NEAR(product(dx, x), product(y, y), 1e-3 * product(y, y));
  Call to_w = convolution("Conv2DBackpropFilter");
  to_w.in({1, 2, 4, 3}) = x;
  to_w.values({3, 2, 3, 2}).in({1, 3, 2, 2}) = y;
  auto& dw = to_w.out({3, 2, 3, 2});
  to_w.run();
  EXPECT_NEAR(product(dw, w), product(y, y), 1e-3 * product(y, y));
  Call transposed = convolution("Conv2DTranspose");
  transposed.values({1, 2, 4, 3}).in({1, 3, 2, 2}) = y;
  transposed.in({3, 2, 3, 2}) = w;
  auto& back = transposed.out({1, 2, 4, 3});
  transposed.run();
  EXPECT_EQ(back, dx);
}

TEST(Aclop, ConvolutionsRefuse) {
  Call shape = convolution("Conv2D");
  shape.in({1, 2, 4, 3});
  shape.in({3, 2, 3, 2});
  shape.out({1, 3, 3, 2});
  EXPECT_NE(shape.refusal().find("does not give"), std::string::npos);
  Call pads = convolution("Conv2D");
  pads.attribute("pads", {1, 0, 0, 0});
  pads.in({1, 2, 4, 3});
  pads.in({3, 2, 3, 2});
  pads.out({1, 3, 2, 2});
  EXPECT_NE(pads.refusal().find("pads are 1 and 0"), std::string::npos);
  Call missing("Conv2D");
  missing.in({1, 2, 4, 3});
  missing.in({3, 2, 3, 2});
  missing.out({1, 3, 2, 2});
  EXPECT_NE(missing.refusal().find("attribute strides has 0 values, want 4"), std::string::npos);
}

}  // namespace
}  // namespace updraft
