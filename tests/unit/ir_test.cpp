// Graph operators called by their types, on memory of the host: defaults, lists, optional tensors, values that come
// late, refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <numeric>

#include "acl/acl.h"
#include "base/error.h"
#include "device/context.h"
#include "device/stream.h"
#include "ops/call.h"
#include "ops/ir_op.h"

namespace updraft {
namespace {

using Floats = std::vector<float>;
using Dims = std::vector<int64_t>;

struct Ir : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
  }
};

/// A call with memory for its tensors.
class Call {
 public:
  explicit Call(const char* type) : call_(type) {}

  Floats& in(const char* name, const Dims& dims, Floats values = {}) {
    Floats& data = floats_.emplace_back(std::move(values));
    if (data.empty())
      for (int64_t i = 0; i < count(dims); ++i) data.push_back(static_cast<float>(i * 7 % 11) - 4);
    data.resize(static_cast<size_t>(count(dims)));
    call_.add_tensor(name, {DType::Float, dims, {}, data.data()});
    return data;
  }
  /// Integers whose values a plan may read, or may not before the stream comes to it.
  Call& values(const char* name, const Dims& v, bool known = true) {
    Dims& data = integers_.emplace_back(v);
    call_.add_tensor(name, {DType::Int64, {static_cast<int64_t>(v.size())}, {}, data.data(), known});
    return *this;
  }
  /// Infers and gives results memory.
  void infer(std::initializer_list<const char*> outputs) {
    for (const char* name : outputs) call_.ask(name);
    call_.infer();
    for (const char* name : outputs)
      for (size_t i = 0; i < call_.tensors(name).size(); ++i)
        call_.place(name, i, floats_.emplace_back(static_cast<size_t>(count(dims(name, i))) + 1).data());
  }
  Floats& out(const char* name, const Dims& dims) {
    Floats& data = floats_.emplace_back(static_cast<size_t>(count(dims)));
    call_.add_tensor(name, {DType::Float, dims, {}, data.data()});
    return data;
  }
  void run() {
    call_.run(stream_of(nullptr));
    ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
  }
  Floats result(const char* name, size_t i = 0) const {
    const auto* data = static_cast<const float*>(call_.tensors(name)[i].data);
    return {data, data + count(dims(name, i))};
  }
  Dims dims(const char* name, size_t i = 0) const { return call_.tensors(name)[i].dims; }
  OpCall& call() { return call_; }
  std::string refusal() {
    try {
      run();
    } catch (const Error& e) { return e.text(); }
    return "";
  }

 private:
  static int64_t count(const Dims& dims) {
    return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  }
  OpCall call_;
  std::deque<Floats> floats_;
  std::deque<Dims> integers_;
};

TEST_F(Ir, PaddingsThatNoTensorHas) {
  for (const char* type : {"Pad", "PadV3", "MirrorPad"})
    for (const Dims& values : {Dims{INT64_MAX, INT64_MAX}, Dims{INT64_MAX, 0}, Dims{0, INT64_MAX}}) {
      Call pad(type);
      pad.in("x", {4});
      pad.values("paddings", values).out("y", {4});
      if (std::string_view(type) != "Pad")
        pad.call().set("mode", std::string(std::string_view(type) == "PadV3" ? "edge" : "REFLECT"));
      EXPECT_NE(pad.refusal().find("no tensor is so large"), std::string::npos) << type << ": " << pad.refusal();
    }
}

TEST_F(Ir, PartsOfATensor) {
  Call slice("Slice");
  const Floats x = slice.in("x", {3, 4});
  slice.values("offsets", {1, 1}).values("size", {2, -1}).infer({"y"});
  EXPECT_EQ(slice.dims("y"), (Dims{2, 3}));
  slice.run();
  EXPECT_EQ(slice.result("y"), (Floats{x[5], x[6], x[7], x[9], x[10], x[11]}));
  Call outside("Slice");
  outside.in("x", {3, 4});
  outside.values("offsets", {2, 0}).values("size", {2, 4}).out("y", {2, 4});
  EXPECT_NE(outside.refusal().find("2 elements from 2 on are outside dimension 0"), std::string::npos);

  Call strided("StridedSlice");
  const Floats a = strided.in("x", {6});
  strided.values("begin", {-1}).values("end", {0}).values("strides", {-2}).infer({"y"});
  strided.run();
  EXPECT_EQ(strided.result("y"), (Floats{a[5], a[3], a[1]}));

  // x[..., new, 1, ::2] of [2, 3, 4]
  Call masked("StridedSlice");
  const Floats b = masked.in("x", {2, 3, 4});
  masked.values("begin", {0, 0, 1, 3}).values("end", {0, 0, 2, 3}).values("strides", {1, 1, 1, 2});
  masked.call().set("ellipsis_mask", int64_t{1});
  masked.call().set("new_axis_mask", int64_t{2});
  masked.call().set("shrink_axis_mask", int64_t{4});
  masked.call().set("begin_mask", int64_t{8});
  masked.call().set("end_mask", int64_t{8});
  masked.infer({"y"});
  EXPECT_EQ(masked.dims("y"), (Dims{2, 1, 2}));
  masked.run();
  EXPECT_EQ(masked.result("y"), (Floats{b[4], b[6], b[16], b[18]}));
}

TEST_F(Ir, OrdersOfATensor) {
  Call transpose("Transpose");
  const Floats x = transpose.in("x", {2, 3});
  transpose.values("perm", {1, 0}).infer({"y"});
  transpose.run();
  EXPECT_EQ(transpose.result("y"), (Floats{x[0], x[3], x[1], x[4], x[2], x[5]}));
  Call twice("Transpose");
  twice.in("x", {2, 3});
  twice.values("perm", {1, 1}).out("y", {3, 3});
  EXPECT_NE(twice.refusal().find("names an axis twice"), std::string::npos);

  Call strided("AsStrided");
  const Floats a = strided.in("x", {6});
  strided.values("size", {2, 2}).values("stride", {3, 1}).values("storage_offset", {1}).infer({"y"});
  strided.run();
  EXPECT_EQ(strided.result("y"), (Floats{a[1], a[2], a[4], a[5]}));
  for (const Dims& steps : {Dims{4, 1}, {-2, 1}, {INT64_MAX, 1}}) {
    Call outside("AsStrided");
    outside.in("x", {6});
    outside.values("size", {2, 2}).values("stride", steps).values("storage_offset", {1}).out("y", {2, 2});
    EXPECT_NE(outside.refusal().find("reach outside"), std::string::npos);
  }
}

TEST_F(Ir, ValuesThatAreNotKnownYetDelayThePlan) {
  Call sum("ReduceSum");
  const Floats x = sum.in("x", {2, 3});
  sum.values("axes", {1}, false).out("y", {2});
  sum.run();
  EXPECT_EQ(sum.result("y"), (Floats{x[0] + x[1] + x[2], x[3] + x[4] + x[5]}));
  // What is wrong is found when the stream comes to it, and inference cannot do without.
  Call late("ReduceSum");
  late.in("x", {2, 3});
  late.values("axes", {5}, false).out("y", {2});
  late.call().run(stream_of(nullptr));
  EXPECT_NE(aclrtSynchronizeStream(nullptr), 0);
  Call unknown("ReduceSum");
  unknown.in("x", {2, 3});
  unknown.values("axes", {1}, false);
  EXPECT_THROW(unknown.infer({"y"}), Error);
}

TEST_F(Ir, DefaultsAreThoseOfTheIr) {
  Call plain("LeakyRelu"), given("LeakyRelu");
  plain.in("x", {2}, {-2, 3});
  given.in("x", {2}, {-2, 3});
  plain.infer({"y"});
  given.call().set("negative_slope", 0.5);
  given.infer({"y"});
  plain.run();
  given.run();
  EXPECT_EQ(plain.result("y"), (Floats{0, 3}));
  EXPECT_EQ(given.result("y"), (Floats{-1, 3}));
  // An attribute without a default must be given.
  Call missing("Muls");
  missing.in("x", {2});
  missing.out("y", {2});
  EXPECT_NE(missing.refusal().find("wants value"), std::string::npos);
}

TEST_F(Ir, ListsAndOptionalTensors) {
  Call concat("ConcatV2");
  const Floats a = concat.in("x", {2, 1}), b = concat.in("x", {2, 2});
  concat.call().set("N", int64_t{2});
  concat.values("concat_dim", {1}).infer({"y"});
  EXPECT_EQ(concat.dims("y"), (Dims{2, 3}));
  concat.run();
  EXPECT_EQ(concat.result("y"), (Floats{a[0], b[0], b[1], a[1], b[2], b[3]}));

  Call unpack("Unpack");
  const Floats x = unpack.in("x", {2, 2});
  unpack.call().set("num", int64_t{2});
  unpack.call().set("axis", int64_t{1});
  unpack.infer({"y", "y"});
  unpack.run();
  EXPECT_EQ(unpack.result("y", 0), (Floats{x[0], x[2]}));
  EXPECT_EQ(unpack.result("y", 1), (Floats{x[1], x[3]}));

  for (const bool biased : {false, true}) {
    Call product("MatMulV2");
    product.in("x1", {1, 2}, {1, 2});
    product.in("x2", {2, 1}, {3, 4});
    if (biased) product.in("bias", {1}, {10});
    product.infer({"y"});
    product.run();
    EXPECT_EQ(product.result("y"), (Floats{biased ? 21.0f : 11.0f}));
  }
}

TEST_F(Ir, UpdatedInputsAreOutputsToo) {
  Call step("ApplyMomentum");
  Floats& var = step.in("var", {2}, {1, 2});
  Floats& accum = step.in("accum", {2}, {10, 20});
  step.in("lr", {1}, {0.5});
  step.in("grad", {2}, {1, 1});
  step.in("momentum", {1}, {0.1f});
  step.run();
  EXPECT_EQ(accum, (Floats{2, 3}));
  EXPECT_EQ(var, (Floats{0, 0.5}));
  const OpInfo& update = *find_ir_op("BNTrainingUpdate");
  std::vector<std::string> outputs;
  for (const Parameter* p : ir_outputs(update)) outputs.emplace_back(p->name);
  EXPECT_EQ(outputs, (std::vector<std::string>{"y", "mean", "variance", "batch_mean", "batch_variance"}));
}

TEST_F(Ir, AttributesThatAreNotHonouredAreRefused) {
  Call clip("DynamicRNN");
  clip.in("x", {1, 1, 1});
  clip.in("w", {2, 4});
  clip.in("b", {4});
  for (const char* name : {"y", "output_h", "output_c", "i", "j", "f", "o", "tanhc"}) clip.out(name, {1, 1, 1});
  clip.call().set("cell_clip", 2.0);
  EXPECT_NE(clip.refusal().find("attribute cell_clip is 2, want -1"), std::string::npos);

  Call blocked("Conv2D");
  blocked.in("x", {1, 4, 3, 2});
  blocked.in("filter", {3, 2, 3, 2});
  blocked.out("y", {1, 2, 2, 3});
  blocked.call().set("strides", Dims{1, 1, 1, 1});
  blocked.call().set("pads", Dims{0, 0, 0, 0});
  blocked.call().set("data_format", std::string("NC1HWC0"));
  EXPECT_NE(blocked.refusal().find("data_format is \"NC1HWC0\", want NCHW or NHWC"), std::string::npos);
}

TEST_F(Ir, RefusalsNameTheStep) {
  Call divided("RealDiv");
  divided.in("x1", {2});
  divided.in("x2", {3});
  divided.out("y", {2});
  EXPECT_NE(divided.refusal().find("as aclnnDiv: "), std::string::npos);
}

Call& convolution(Call& call, const Dims& pads = {1, 1, 0, 0}) {
  call.call().set("strides", Dims{1, 1, 2, 1});
  call.call().set("pads", pads);
  call.call().set("data_format", std::string("NCHW"));
  return call;
}
double product(const Floats& a, const Floats& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

TEST_F(Ir, ConvolutionAndItsGradients) {
  for (const Dims& pads : {Dims{1, 1, 0, 0}, {0, 2, 1, 0}}) {
    Call forward("Conv2D");
    const Floats x = forward.in("x", {1, 2, 4, 3}), w = forward.in("filter", {3, 2, 3, 2});
    convolution(forward, pads).infer({"y"});
    const Dims dims = forward.dims("y");
    EXPECT_EQ(dims, (pads[2] ? Dims{1, 3, 2, 3} : Dims{1, 3, 2, 2}));
    forward.run();
    const Floats y = forward.result("y");
    // A convolution is linear in each of its operands: the gradients are its transposes.
    Call to_x("Conv2DBackpropInput");
    to_x.values("input_size", {1, 2, 4, 3}).in("filter", {3, 2, 3, 2}, w);
    to_x.in("out_backprop", dims, y);
    convolution(to_x, pads).infer({"y"});
    to_x.run();
    EXPECT_NEAR(product(to_x.result("y"), x), product(y, y), 1e-3 * product(y, y));
    Call to_w("Conv2DBackpropFilter");
    to_w.in("x", {1, 2, 4, 3}, x);
    to_w.values("filter_size", {3, 2, 3, 2}).in("out_backprop", dims, y);
    convolution(to_w, pads).infer({"y"});
    to_w.run();
    EXPECT_NEAR(product(to_w.result("y"), w), product(y, y), 1e-3 * product(y, y));
    if (pads[0] != pads[1]) continue;
    Call transposed("Conv2DTranspose");
    transposed.values("input_size", {1, 2, 4, 3}).in("x", dims, y);
    transposed.in("filter", {3, 2, 3, 2}, w);
    convolution(transposed, pads).infer({"y"});
    EXPECT_EQ(transposed.dims("y"), (Dims{1, 2, 4, 3}));
    transposed.run();
    EXPECT_EQ(transposed.result("y"), to_x.result("y"));
  }
}

TEST_F(Ir, TemporariesCarryValuesBetweenSteps) {
  Call loss("SoftmaxCrossEntropyWithLogits");
  loss.in("features", {1, 2}, {0, 0});
  loss.in("labels", {1, 2}, {1, 0});
  loss.infer({"loss", "backprop"});
  loss.run();
  EXPECT_NEAR(loss.result("loss")[0], std::log(2.0f), 1e-6);
  EXPECT_EQ(loss.result("backprop"), (Floats{-0.5, 0.5}));
}

}  // namespace
}  // namespace updraft
