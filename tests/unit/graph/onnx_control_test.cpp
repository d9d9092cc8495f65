// If, Loop and Scan of ONNX whose conditions and counts the graph computes: from the model through an offline model to
// the values.
#include <gtest/gtest.h>

#include "acl/acl.h"
#include "base/error.h"
#include "frontends/onnx/import.h"
#include "graph/compile/compile.h"
#include "om/om_file.h"
#include "onnx_message.h"

namespace updraft::onnx {
namespace {

using namespace onnx_test;
using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

struct Value {
  aclDataType type;
  Ints dims;
  std::vector<std::byte> bytes;
};
template <class T>
Value value(aclDataType type, Ints dims, const std::vector<T>& numbers) {
  const auto* at = reinterpret_cast<const std::byte*>(numbers.data());
  return {type, std::move(dims), {at, at + numbers.size() * sizeof(T)}};
}
Value floats(Ints dims, const Floats& numbers) { return value(ACL_FLOAT, std::move(dims), numbers); }
Value integer(int64_t n) { return value(ACL_INT64, {}, Ints{n}); }
Value truth(bool b) { return value(ACL_BOOL, {}, std::vector<char>{static_cast<char>(b)}); }

struct Result {
  Ints dims;
  Floats values;
  bool operator==(const Result&) const = default;
};
void PrintTo(const Result& r, std::ostream* to) {
  *to << testing::PrintToString(r.dims) << " " << testing::PrintToString(r.values);
}

struct OnnxControl : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
  }

  /// The model built, written, read and executed; all its outputs are of type FLOAT.
  std::vector<Result> run(const graph::Bytes& bytes, const std::vector<Value>& inputs) {
    const graph::Model compiled = graph::compile(import(bytes), {});
    const graph::Bytes file = om::write(compiled);
    uint32_t id = 0;
    EXPECT_EQ(aclmdlLoadFromMem(file.data(), file.size(), &id), 0) << error();
    aclmdlDataset *in = aclmdlCreateDataset(), *out = aclmdlCreateDataset();
    std::vector<void*> memory;
    std::vector<aclTensorDesc*> descs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Value& v = inputs[i];
      void* p = nullptr;
      EXPECT_EQ(aclrtMalloc(&p, v.bytes.size() + 32, ACL_MEM_MALLOC_HUGE_FIRST), 0);
      aclrtMemcpy(p, v.bytes.size(), v.bytes.data(), v.bytes.size(), ACL_MEMCPY_HOST_TO_DEVICE);
      memory.push_back(p);
      aclmdlAddDatasetBuffer(in, aclCreateDataBuffer(p, v.bytes.size()));
      descs.push_back(aclCreateTensorDesc(v.type, static_cast<int>(v.dims.size()), v.dims.data(), ACL_FORMAT_ND));
      aclmdlSetDatasetTensorDesc(in, descs.back(), i);
    }
    const size_t outputs = compiled.graph->net_output()->inputs().size();
    for (size_t i = 0; i < outputs; ++i) { aclmdlAddDatasetBuffer(out, aclCreateDataBuffer(nullptr, 0)); }
    status = aclmdlExecute(id, in, out);
    std::vector<Result> results;
    for (size_t i = 0; status == 0 && i < outputs; ++i) {
      const aclTensorDesc* desc = aclmdlGetDatasetTensorDesc(out, i);
      Result& r = results.emplace_back();
      for (size_t d = 0; d < aclGetTensorDescNumDims(desc); ++d) {
        int64_t n = 0;
        aclGetTensorDescDimV2(desc, d, &n);
        r.dims.push_back(n);
      }
      EXPECT_EQ(aclGetTensorDescType(desc), ACL_FLOAT);
      size_t count = 1;
      for (int64_t n : r.dims) count *= static_cast<size_t>(n);
      r.values.resize(count);
      if (count)
        aclrtMemcpy(r.values.data(), count * 4, aclGetDataBufferAddr(aclmdlGetDatasetBuffer(out, i)), count * 4,
                    ACL_MEMCPY_DEVICE_TO_HOST);
    }
    message = status == 0 ? "" : error();
    for (auto* set : {in, out}) {
      for (size_t i = 0; i < aclmdlGetDatasetNumBuffers(set); ++i) aclDestroyDataBuffer(aclmdlGetDatasetBuffer(set, i));
      aclmdlDestroyDataset(set);
    }
    for (aclTensorDesc* desc : descs) aclDestroyTensorDesc(desc);
    for (void* p : memory) aclrtFree(p);
    aclmdlUnload(id);
    return results;
  }
  static std::string error() {
    const char* text = aclGetRecentErrMsg();
    return text ? text : "";
  }
  aclError status = 0;
  std::string message;
};

/// then: sums of the rows of x w; else: x, of another shape.
graph::Bytes branches() {
  const Message yes =
      graph_message({{node("MatMul", {"x", "w"}, {"product"}), node("Add", {"product", "shared"}, {"r"})},
                     {},
                     {tensor_info("r", kFloat, {})}});
  const Message no = graph_message({{node("Sub", {"x", "other"}, {"d"}), node("Add", {"d", "shared"}, {"e"}),
                                     node("Abs", {"e"}, {"r"}), node("Neg", {"r"}, {"s"}), node("Neg", {"s"}, {"t"})},
                                    {},
                                    {tensor_info("t", kFloat, {})}});
  return model(
      {{node("Neg", {"shared_in"}, {"shared"}),
        node("If", {"c"}, {"y"}, {Attribute::body("then_branch", yes), Attribute::body("else_branch", no)}, "if"),
        node("Relu", {"y"}, {"z"})},
       {tensor_info("c", kBool, {}), tensor_info("x", kFloat, {"2", "2"}), tensor_info("shared_in", kFloat, {"1"}),
        tensor_info("other", kFloat, {"2", "2"})},
       {tensor_info("z", kFloat, {})},
       {tensor("w", kFloat, {2, 1}, Floats{1, 1})}});
}

TEST_F(OnnxControl, TheBranchThatIsTakenRunsWithWhatItReadsOfTheOuterGraph) {
  const std::vector<Value> rest = {floats({2, 2}, {1, 2, 3, 4}), floats({1}, {-10}), floats({2, 2}, {5, 5, 5, 5})};
  EXPECT_EQ(run(branches(), {truth(true), rest[0], rest[1], rest[2]}), (std::vector<Result>{{{2, 1}, {13, 17}}}))
      << message;
  EXPECT_EQ(run(branches(), {truth(false), rest[0], rest[1], rest[2]}), (std::vector<Result>{{{2, 2}, {6, 7, 8, 9}}}))
      << message;
}

TEST_F(OnnxControl, OnlyTheBranchThatIsTakenMayFail) {
  const Message yes = graph_message({{node("Gather", {"x", "i"}, {"r"})}, {}, {tensor_info("r", kFloat, {})}});
  const Message no = graph_message({{node("Gather", {"x", "zero"}, {"r"})}, {}, {tensor_info("r", kFloat, {})}});
  const auto bytes = model(
      {{node("If", {"c"}, {"y"}, {Attribute::body("then_branch", yes), Attribute::body("else_branch", no)}, "if")},
       {tensor_info("c", kBool, {}), tensor_info("x", kFloat, {"2"}), tensor_info("i", kInt64, {})},
       {tensor_info("y", kFloat, {})},
       {tensor("zero", kInt64, {}, Ints{0})}});
  const Value x = floats({2}, {7, 8});
  EXPECT_EQ(run(bytes, {truth(false), x, integer(99)}), (std::vector<Result>{{{}, {7}}})) << message;
  EXPECT_EQ(run(bytes, {truth(true), x, integer(1)}), (std::vector<Result>{{{}, {8}}})) << message;
}

/// v = v + x and all values of v, `n` times or until the sum of v is not below `limit`.
graph::Bytes counting(bool grows) {
  const std::vector<Message> step = {
      grows ? node("Concat", {"v", "x"}, {"next"}, {Attribute::integer("axis", 0)}) : node("Add", {"v", "x"}, {"next"}),
      node("ReduceSum", {"next"}, {"sum"}, {Attribute::integer("keepdims", 0)}), node("Less", {"sum", "limit"}, {"on"}),
      node("Identity", {"sum"}, {"seen"})};
  const Message body =
      graph_message({step,
                     {tensor_info("i", kInt64, {}), tensor_info("go", kBool, {}), tensor_info("v", kFloat, {})},
                     {tensor_info("on", kBool, {}), tensor_info("next", kFloat, {}), tensor_info("seen", kFloat, {})}});
  return model({{node("Loop", {"n", "start", "v0"}, {"last", "all"}, {Attribute::body("body", body)}, "loop")},
                {tensor_info("n", kInt64, {}), tensor_info("start", kBool, {}), tensor_info("v0", kFloat, {"1"}),
                 tensor_info("x", kFloat, {"1"}), tensor_info("limit", kFloat, {})},
                {tensor_info("last", kFloat, {}), tensor_info("all", kFloat, {})}});
}

TEST_F(OnnxControl, LoopsEndByTheirCountOrTheirCondition) {
  const Value v = floats({1}, {1}), x = floats({1}, {2});
  const auto loop = counting(false);
  EXPECT_EQ(run(loop, {integer(3), truth(true), v, x, floats({}, {100})}),
            (std::vector<Result>{{{1}, {7}}, {{3}, {3, 5, 7}}}))
      << message;
  EXPECT_EQ(run(loop, {integer(1000), truth(true), v, x, floats({}, {5})}),
            (std::vector<Result>{{{1}, {5}}, {{2}, {3, 5}}}))
      << message;
  EXPECT_EQ(run(loop, {integer(3), truth(false), v, x, floats({}, {5})}), (std::vector<Result>{{{1}, {1}}, {{0}, {}}}))
      << message;
  EXPECT_EQ(run(loop, {integer(-2), truth(true), v, x, floats({}, {5})}), (std::vector<Result>{{{1}, {1}}, {{0}, {}}}))
      << message;
}

TEST_F(OnnxControl, WhatLoopsCarryMayGrow) {
  EXPECT_EQ(run(counting(true), {integer(3), truth(true), floats({1}, {1}), floats({1}, {2}), floats({}, {100})}),
            (std::vector<Result>{{{4}, {1, 2, 2, 2}}, {{3}, {3, 5, 7}}}))
      << message;
}

TEST_F(OnnxControl, BodiesReadThroughSeveralGraphs) {
  // Loop: v = v + (c ? x * 2 : Loop(k): sums of y), all of the outermost graph
  const Message innermost =
      graph_message({{node("Add", {"u", "y"}, {"u2"}), node("Identity", {"go2"}, {"on2"})},
                     {tensor_info("j", kInt64, {}), tensor_info("go2", kBool, {}), tensor_info("u", kFloat, {})},
                     {tensor_info("on2", kBool, {}), tensor_info("u2", kFloat, {})}});
  const Message yes = graph_message(
      {{node("Mul", {"x", "two"}, {"r"}), node("Exp", {"x"}, {"unread"})}, {}, {tensor_info("r", kFloat, {})}});
  const Message no =
      graph_message({{node("Loop", {"k", "", "v"}, {"r"}, {Attribute::body("body", innermost)}, "inner")},
                     {},
                     {tensor_info("r", kFloat, {})}});
  const Message body = graph_message(
      {{node("If", {"c"}, {"w"}, {Attribute::body("then_branch", yes), Attribute::body("else_branch", no)}, "if"),
        node("Add", {"v", "w"}, {"next"}), node("Identity", {"go"}, {"on"})},
       {tensor_info("i", kInt64, {}), tensor_info("go", kBool, {}), tensor_info("v", kFloat, {})},
       {tensor_info("on", kBool, {}), tensor_info("next", kFloat, {})}});
  const auto bytes =
      model({{node("Loop", {"n", "", "v0"}, {"last"}, {Attribute::body("body", body)}, "outer")},
             {tensor_info("n", kInt64, {}), tensor_info("k", kInt64, {}), tensor_info("c", kBool, {}),
              tensor_info("v0", kFloat, {"1"}), tensor_info("x", kFloat, {"1"}), tensor_info("y", kFloat, {"1"})},
             {tensor_info("last", kFloat, {})},
             {tensor("two", kFloat, {}, Floats{2})}});
  const Value v = floats({1}, {1}), x = floats({1}, {3}), y = floats({1}, {10});
  EXPECT_EQ(run(bytes, {integer(2), integer(5), truth(true), v, x, y}), (std::vector<Result>{{{1}, {13}}})) << message;
  // v -> v + (v + 5 * 10): 1 -> 52 -> 154
  EXPECT_EQ(run(bytes, {integer(2), integer(5), truth(false), v, x, y}), (std::vector<Result>{{{1}, {154}}}))
      << message;
}

TEST_F(OnnxControl, ScansOfUnknownLength) {
  // s = s + x_t; y_t = s, of x [n, 2] backwards, y along its second dimension and backwards
  const Message body = graph_message({{node("Add", {"s", "x_t"}, {"s2"}), node("Identity", {"s2"}, {"y_t"})},
                                      {tensor_info("s", kFloat, {"2"}), tensor_info("x_t", kFloat, {"2"})},
                                      {tensor_info("s2", kFloat, {"2"}), tensor_info("y_t", kFloat, {"2"})}});
  const auto bytes =
      model({{node("Scan", {"s0", "x"}, {"last", "all"},
                   {Attribute::body("body", body), Attribute::integer("num_scan_inputs", 1),
                    Attribute::integers("scan_input_directions", {1}), Attribute::integers("scan_output_axes", {1}),
                    Attribute::integers("scan_output_directions", {1})})},
             {tensor_info("s0", kFloat, {"2"}), tensor_info("x", kFloat, {"n", "2"})},
             {tensor_info("last", kFloat, {}), tensor_info("all", kFloat, {})}});
  EXPECT_EQ(run(bytes, {floats({2}, {100, 200}), floats({3, 2}, {1, 2, 3, 4, 5, 6})}),
            (std::vector<Result>{{{2}, {109, 212}}, {{2, 3}, {109, 108, 105, 212, 210, 206}}}))
      << message;
}

TEST_F(OnnxControl, WhatCannotRunIsRefusedByName) {
  auto refusal = [](const graph::Bytes& bytes) -> std::string {
    try {
      import(bytes);
    } catch (const Error& e) { return e.text(); }
    return "no error";
  };
  auto loop = [](std::vector<Message> nodes) {
    const Message body =
        graph_message({std::move(nodes),
                       {tensor_info("i", kInt64, {}), tensor_info("go", kBool, {}), tensor_info("v", kFloat, {})},
                       {tensor_info("go", kBool, {}), tensor_info("next", kFloat, {})}});
    return model({{node("Loop", {"n", "", "v0"}, {"last"}, {Attribute::body("body", body)}, "loop")},
                  {tensor_info("n", kInt64, {}), tensor_info("v0", kFloat, {"1"})},
                  {tensor_info("last", kFloat, {})}});
  };
  EXPECT_NE(refusal(loop({node("Magic", {"v"}, {"next"}, {}, "m")})).find("loop/m (Magic): there is no converter"),
            std::string::npos)
      << refusal(loop({node("Magic", {"v"}, {"next"}, {}, "m")}));
  const std::string other = refusal(loop({node("Cast", {"v"}, {"next"}, {Attribute::integer("to", kInt64)})}));
  EXPECT_NE(other.find("loop (Loop): what turns carry, 0,"), std::string::npos) << other;
  const std::string sequence = refusal(loop({node("SequenceConstruct", {"v"}, {"next"})}));
  EXPECT_NE(sequence.find("loop (Loop): output 1 of its graph is a sequence"), std::string::npos) << sequence;
}

}  // namespace
}  // namespace updraft::onnx
