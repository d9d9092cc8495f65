// Sessions in the client's process: memory that clients give, policies, graphs that cannot be compiled.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "acl/acl.h"
#include "base/config.h"
#include "ge/ge_api.h"
#include "graph/proto/model_proto.h"
#include "small_graphs.h"

namespace ge {
namespace {

using updraft::graph::small_model;
using updraft::graph::small_result;
using Options = std::map<AscendString, AscendString>;

struct Sessions : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
  }
  void TearDown() override {
    for (const char* name : {"GE_USE_STATIC_MEMORY", "ENABLE_NETWORK_ANALYSIS_DEBUG", "OP_NO_REUSE_MEM"})
      unsetenv(name);
    for (void* p : memory_) aclrtFree(p);
  }
  static Graph graph_of(const updraft::graph::Model& model) {
    const std::string message = updraft::graph::write_model(model);
    Graph graph("small");
    EXPECT_EQ(graph.LoadFromSerializedModelArray(message.data(), message.size()), SUCCESS);
    return graph;
  }
  void* device(size_t bytes) {
    void* p = nullptr;
    EXPECT_EQ(aclrtMalloc(&p, bytes + 64, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    return memory_.emplace_back(p);
  }
  /// The outputs for an input of 4 rows.
  std::vector<float> run(Session& session, uint32_t id, const std::vector<float>& x, int64_t n = 8,
                         void* stream = nullptr) {
    void* p = device(x.size() * 4);
    aclrtMemcpy(p, x.size() * 4, x.data(), x.size() * 4, ACL_MEMCPY_HOST_TO_DEVICE);
    std::vector<Tensor> inputs(1), outputs;
    inputs[0].SetDataType(DT_FLOAT);
    inputs[0].SetPlacement(kPlacementDevice);
    inputs[0].SetShapeDimNum(2);
    inputs[0].SetShapeDim(0, 4);
    inputs[0].SetShapeDim(1, n);
    inputs[0].SetData(static_cast<uint8_t*>(p), x.size() * 4, [](uint8_t*) {});
    if (session.RunGraphWithStreamAsync(id, stream, inputs, outputs) != SUCCESS) return {};
    aclrtSynchronizeStream(stream);
    std::vector<float> y(12);
    aclrtMemcpy(y.data(), 48, outputs[0].GetData(), 48, ACL_MEMCPY_DEVICE_TO_HOST);
    return y;
  }
  static void near(const std::vector<float>& got, const std::vector<float>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-4F * std::abs(want[i]) + 1e-5F) << i;
  }
  static std::vector<float> input(int64_t n = 8) {
    std::vector<float> x(static_cast<size_t>(4 * n));
    for (size_t i = 0; i < x.size(); ++i) x[i] = 0.1F * static_cast<float>(i % 11) - 0.4F;
    return x;
  }
  static std::string error() {
    const char* text = aclGetRecentErrMsg();
    return text ? text : "";
  }
  std::vector<void*> memory_;
};

TEST_F(Sessions, SummaryTellsTrueSizesAndTheClientsMemoryIsUsed) {
  Session session(Options{});
  ASSERT_EQ(session.AddGraph(1, graph_of(small_model(64)), {}), SUCCESS);
  ASSERT_EQ(session.CompileGraph(1), SUCCESS) << error();
  const auto summary = session.GetCompiledGraphSummary(1);
  size_t constants = 0, feature = 0, fixed = 1;
  bool refreshable = true;
  summary->GetConstMemorySize(constants);
  summary->GetFeatureMemorySize(feature);
  summary->GetFixedFeatureMemorySize(fixed);
  summary->GetFeatureMemoryBaseRefreshable(refreshable);
  EXPECT_EQ(constants, 64U * 3 * 4);
  EXPECT_GE(feature, 4U * 64 * 4);  // what Swish gives
  EXPECT_LT(feature, 3U * 4 * 64 * 4);
  EXPECT_EQ(fixed, 0U);
  EXPECT_FALSE(refreshable);
  auto* const weights = device(constants);
  auto* const arena = device(feature);
  EXPECT_NE(session.SetGraphConstMemoryBase(1, weights, constants - 1), SUCCESS);
  EXPECT_NE(error().find("wants 768 bytes for constants"), std::string::npos);
  EXPECT_NE(session.UpdateGraphFeatureMemoryBase(1, &feature, feature), SUCCESS);
  ASSERT_EQ(session.SetGraphConstMemoryBase(1, weights, constants), SUCCESS) << error();
  EXPECT_NE(session.SetGraphConstMemoryBase(1, weights, constants), SUCCESS);
  ASSERT_EQ(session.UpdateGraphFeatureMemoryBase(1, arena, feature), SUCCESS) << error();
  aclrtMemset(arena, feature, 0x7f, feature);
  const auto x = input(64);
  for (int i = 0; i < 3; ++i) near(run(session, 1, x, 64), small_result(x, 64));
  // the first constant and Swish's result lie where the client said
  std::vector<float> read(4 * 64);
  aclrtMemcpy(read.data(), 4, weights, 4, ACL_MEMCPY_DEVICE_TO_HOST);
  EXPECT_EQ(read[0], 1.0F);
  aclrtMemcpy(read.data(), read.size() * 4, arena, read.size() * 4, ACL_MEMCPY_DEVICE_TO_HOST);
  EXPECT_NEAR(read[0], x[0] / (1 + std::exp(-x[0])), 1e-5F);
  EXPECT_NE(session.UpdateGraphFeatureMemoryBase(1, device(feature), feature), SUCCESS);  // it is not refreshable
}

TEST_F(Sessions, RefreshableMemoryMayChange) {
  Session session(Options{});
  ASSERT_EQ(session.AddGraph(1, graph_of(small_model()), {{"ge.featureBaseRefreshable", "1"}}), SUCCESS);
  ASSERT_EQ(session.CompileGraph(1), SUCCESS);
  size_t feature = 0;
  bool refreshable = false;
  session.GetCompiledGraphSummary(1)->GetFeatureMemorySize(feature);
  session.GetCompiledGraphSummary(1)->GetFeatureMemoryBaseRefreshable(refreshable);
  EXPECT_TRUE(refreshable);
  const auto x = input();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(session.UpdateGraphRefreshableFeatureMemoryBase(1, device(feature), feature), SUCCESS) << error();
    near(run(session, 1, x), small_result(x));
  }
}

/// An input or output of two dimensions.
void describe(Tensor& tensor, void* data, int64_t rows, int64_t columns) {
  tensor.SetDataType(DT_FLOAT);
  tensor.SetPlacement(kPlacementDevice);
  tensor.SetShapeDimNum(2);
  tensor.SetShapeDim(0, rows);
  tensor.SetShapeDim(1, columns);
  tensor.SetData(static_cast<uint8_t*>(data), static_cast<size_t>(rows * columns) * 4, [](uint8_t*) {});
}

// Plans for some sets of addresses are kept; here come more than that, and each again.
TEST_F(Sessions, InputsAndOutputsMayLieElsewhereInEachRun) {
  Session session(Options{});
  ASSERT_EQ(session.AddGraph(1, graph_of(small_model()), {}), SUCCESS);
  ASSERT_EQ(session.CompileGraph(1), SUCCESS);
  std::vector<void*> reads(3), writes(7);
  for (auto* places : {&reads, &writes})
    for (void*& p : *places) p = device(128);
  for (size_t i = 0; i < 60; ++i) {
    auto x = input();
    for (float& v : x) v += 0.01F * static_cast<float>(i);
    void *const from = reads[i % 3], *const to = writes[i * 5 % 7];
    aclrtMemcpy(from, 128, x.data(), 128, ACL_MEMCPY_HOST_TO_DEVICE);
    std::vector<Tensor> inputs(1), outputs(1);
    describe(inputs[0], from, 4, 8);
    describe(outputs[0], to, 4, 3);
    ASSERT_EQ(session.RunGraphWithStreamAsync(1, nullptr, inputs, outputs), SUCCESS) << error();
    aclrtSynchronizeStream(nullptr);
    std::vector<float> y(12);
    aclrtMemcpy(y.data(), 48, to, 48, ACL_MEMCPY_DEVICE_TO_HOST);
    near(y, small_result(x));
  }
}

// What a run costs is known after the first; then it takes less to run it here than to wake the engine.
TEST_F(Sessions, LittleGraphsRunInTheThreadThatSubmitsThem) {
  if (!updraft::Config::get().inline_tasks) GTEST_SKIP() << "UPDRAFT_INLINE=0";
  Session session(Options{});
  ASSERT_EQ(session.AddGraph(1, graph_of(small_model()), {}), SUCCESS);
  const auto x = input();
  near(run(session, 1, x), small_result(x));
  std::vector<Tensor> inputs(1), outputs(1);
  describe(inputs[0], device(128), 4, 8);
  describe(outputs[0], device(48), 4, 3);
  int complete = 0;  // an engine that still holds the stream takes the next run as well, however busy the machine is
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(aclrtSynchronizeStream(nullptr), 0);
    ASSERT_EQ(session.RunGraphWithStreamAsync(1, nullptr, inputs, outputs), SUCCESS) << error();
    aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
    ASSERT_EQ(aclrtStreamQuery(nullptr, &status), 0);
    complete += status == ACL_STREAM_STATUS_COMPLETE;
  }
  EXPECT_GT(complete, 25);
}

TEST_F(Sessions, OtherShapesThanDescribedAreRefused) {
  Session session(Options{});
  ASSERT_EQ(session.AddGraph(1, graph_of(small_model()), {}), SUCCESS);
  EXPECT_TRUE(run(session, 1, input(16), 16).empty());
  const std::string text = error();
  EXPECT_NE(text.find("got the shape [4, 16]"), std::string::npos) << text;
}

TEST_F(Sessions, GraphsOfASessionShareABlock) {
  Session session(Options{{"ge.exec.staticMemoryPolicy", "2"}});
  for (uint32_t id : {1U, 2U}) {
    ASSERT_EQ(session.AddGraph(id, graph_of(small_model(id == 1 ? 8 : 512)), {}), SUCCESS);
    ASSERT_EQ(session.CompileGraph(id), SUCCESS);
    size_t feature = 1;
    session.GetCompiledGraphSummary(id)->GetFeatureMemorySize(feature);
    EXPECT_EQ(feature, 0U);
  }
  const auto small = input(), large = input(512);
  for (int i = 0; i < 2; ++i) {
    near(run(session, 1, small), small_result(small));
    near(run(session, 2, large, 512), small_result(large, 512));
  }
  // another stream waits for the one that had the block
  aclrtStream other = nullptr;
  ASSERT_EQ(aclrtCreateStream(&other), 0);
  near(run(session, 2, large, 512, other), small_result(large, 512));
  near(run(session, 1, small), small_result(small));
  aclrtDestroyStream(other);
}

TEST_F(Sessions, WhyAGraphIsMissingIsToldLater) {
  Session session(Options{});
  Operator x("x", "Data"), y("y", "NoSuchType");
  x.UpdateOutputDesc("y", TensorDesc(Shape({2}), FORMAT_ND, DT_FLOAT));
  Graph graph("bad");
  graph.SetInputs({x}).SetOutputs({y});
  EXPECT_NE(session.AddGraph(7, graph), SUCCESS);
  error();
  EXPECT_NE(session.CompileGraph(7), SUCCESS);
  const std::string text = error();
  EXPECT_NE(text.find("AddGraph refused it"), std::string::npos) << text;
  EXPECT_NE(text.find("NoSuchType"), std::string::npos) << text;
}

TEST_F(Sessions, CallbacksAreForTwoKeys) {
  Session session(Options{});
  const auto nothing = [](uint32_t, const std::map<AscendString, Tensor>&) -> Status { return SUCCESS; };
  EXPECT_EQ(session.RegisterCallBackFunc("Save", nothing), SUCCESS);
  EXPECT_NE(session.RegisterCallBackFunc("Else", nothing), SUCCESS);
  EXPECT_NE(error().find("want Save or Summary"), std::string::npos);
  EXPECT_NE(session.RegisterCallBackFunc("Summary", {}), SUCCESS);
  EXPECT_NE(session.RegisterCallBackFunc(nullptr, nothing), SUCCESS);
}

TEST_F(Sessions, StaticMemoryIsAskedForOnce) {
  setenv("GE_USE_STATIC_MEMORY", "2", 1);
  Session both(Options{{"ge.exec.staticMemoryPolicy", "2"}});
  EXPECT_NE(error().find("GE_USE_STATIC_MEMORY is 2"), std::string::npos);
  setenv("GE_USE_STATIC_MEMORY", "3", 1);
  Session wrong(Options{});
  EXPECT_NE(error().find("GE_USE_STATIC_MEMORY is 3, want 0 or 2"), std::string::npos);
}

TEST_F(Sessions, NodesWithoutReuseHaveMemoryOfTheirOwn) {
  const auto feature_of = [&](uint32_t id) {
    Session session(Options{});
    auto model = small_model(64);
    updraft::graph::Graph& graph = *model.graph;  // a chain, whose tensors take turns in two places
    updraft::graph::Builder build(graph);
    updraft::graph::Node* end = graph.net_output();
    updraft::graph::Endpoint at = end->input(0).from;
    for (int i = 0; i < 6; ++i) {
      updraft::graph::Node& node = graph.add("Sin", "sin" + std::to_string(i));
      graph.add_input(node, "x", at);
      graph.add_output(node, "y");
      at = node.out();
    }
    graph.connect(*end, 0, at);
    EXPECT_EQ(session.AddGraph(id, graph_of(model), {}), SUCCESS);
    EXPECT_EQ(session.CompileGraph(id), SUCCESS) << error();
    size_t feature = 0;
    session.GetCompiledGraphSummary(id)->GetFeatureMemorySize(feature);
    return feature;
  };
  const size_t shared = feature_of(1);
  setenv("OP_NO_REUSE_MEM", "Sin", 1);
  const size_t by_type = feature_of(2);
  setenv("OP_NO_REUSE_MEM", "sin1, sin3", 1);
  const size_t by_name = feature_of(3);
  EXPECT_EQ(by_type, by_name + 3 * 64);  // the last one writes the output; 48 bytes are one place of 64
  EXPECT_GT(by_name, shared - 64);
}

TEST_F(Sessions, FailuresAreCollected) {
  auto broken = small_model();
  updraft::graph::Graph& graph = *broken.graph;
  updraft::graph::Node& node = graph.add("NoSuchType", "odd");
  graph.add_input(node, "x", graph.net_output()->input(0).from);
  graph.add_output(node, "y");
  graph.connect(*graph.net_output(), 0, node.out());
  Session session(Options{});
  ASSERT_EQ(session.AddGraph(1, graph_of(broken), {}), SUCCESS);
  EXPECT_NE(session.CompileGraph(1), SUCCESS);
  setenv("ENABLE_NETWORK_ANALYSIS_DEBUG", "1", 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(session.CompileGraph(1), SUCCESS);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("NoSuchType"), std::string::npos);
  EXPECT_TRUE(run(session, 1, input()).empty());  // it never pretends to have run
  ASSERT_EQ(session.AddGraph(2, graph_of(small_model()), {}), SUCCESS);
  EXPECT_EQ(session.CompileGraph(2), SUCCESS);
  near(run(session, 2, input()), small_result(input()));
}

}  // namespace
}  // namespace ge
