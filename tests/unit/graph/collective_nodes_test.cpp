// Collectives as nodes of graphs, by two ranks of one process: each has a device, a thread and a session.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <thread>

#include "acl/acl.h"
#include "ge/ge_api.h"
#include "graph/proto/model_proto.h"
#include "hccl/hccl.h"
#include "small_graphs.h"

namespace ge {
namespace {

namespace ir = updraft::graph;
constexpr uint32_t kRanks = 2;
using Floats = std::vector<float>;
/// Adds nodes behind x, whose tensor the graph gives.
using Make = std::function<ir::Endpoint(ir::Graph& graph, ir::Endpoint x, uint32_t rank, const std::string& group)>;

struct CollectiveNodes : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    int32_t devices[kRanks] = {0, 1};
    ASSERT_EQ(HcclCommInitAll(kRanks, devices, comms_), HCCL_SUCCESS);
  }
  void TearDown() override {
    for (HcclComm comm : comms_) HcclCommDestroy(comm);
  }

  static ir::Node& node(ir::Graph& graph, const char* type, const std::vector<ir::Endpoint>& inputs,
                        const std::vector<std::string>& names, const std::string& group, ir::Attributes attributes,
                        const char* output) {
    ir::Node& made = graph.add(type, type);
    for (size_t i = 0; i < inputs.size(); ++i) graph.add_input(made, names[i], inputs[i]);
    if (output) graph.add_output(made, output);
    made.attributes = std::move(attributes);
    made.attributes["group"] = group;
    return made;
  }

  /// What rank `rank` gets for x = [rank * 10 + 1, 2, …] doubled before, and 1 added behind; "" or the failure.
  std::string run_rank(uint32_t rank, const Make& make, Floats& result) {
    aclrtSetDevice(static_cast<int32_t>(rank));
    char group[128] = {};
    HcclGetCommName(comms_[rank], group);
    ir::Model model;
    model.graph = std::make_shared<ir::Graph>("ranks");
    {
      ir::Builder build(*model.graph);
      const ir::Endpoint x = build.input("x", 0, {updraft::DType::Float, {4}});
      const ir::Endpoint y = make(*model.graph, build("Add", "before", {x, x}), rank, group);
      ir::Node& behind = model.graph->add("Add", "behind");
      model.graph->add_input(behind, "x1", y);
      model.graph->add_input(behind, "x2", model.graph->add_constant("one", ir::Tensor::of(1.0F)).out());
      model.graph->add_output(behind, "y");
      build.outputs({behind.out()});
      if (ir::Node* send = model.graph->find("HcomSend")) model.graph->add_control(*send, *model.graph->net_output());
    }
    const std::string message = ir::write_model(model);
    Graph graph("ranks");
    graph.LoadFromSerializedModelArray(message.data(), message.size());
    Session session(std::map<AscendString, AscendString>{{"ge.session_device_id", rank ? "1" : "0"}});
    session.AddGraph(1, graph, {});
    Floats x(4);
    for (size_t i = 0; i < 4; ++i) x[i] = static_cast<float>(rank * 10 + i + 1);
    void* memory = nullptr;
    aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST);
    aclrtMemcpy(memory, 16, x.data(), 16, ACL_MEMCPY_HOST_TO_DEVICE);
    std::string failure;
    for (int run = 0; run < 3 && failure.empty(); ++run) {
      std::vector<Tensor> inputs(1), outputs;
      inputs[0].SetDataType(DT_FLOAT);
      inputs[0].SetPlacement(kPlacementDevice);
      inputs[0].SetShapeDimNum(1);
      inputs[0].SetShapeDim(0, 4);
      inputs[0].SetData(static_cast<uint8_t*>(memory), 16, [](uint8_t*) {});
      const char* text = nullptr;
      if (session.RunGraph(1, inputs, outputs) != SUCCESS) failure = (text = aclGetRecentErrMsg()) ? text : "failed";
      else {
        result.resize(static_cast<size_t>(outputs[0].GetShapeDim(0)));
        std::memcpy(result.data(), outputs[0].GetData(), result.size() * 4);
      }
    }
    aclrtFree(memory);
    return failure;
  }

  void expect(const Make& make, const Floats& first, const Floats& second) {
    Floats results[kRanks];
    std::string failures[kRanks];
    std::vector<std::thread> ranks;
    for (uint32_t rank = 0; rank < kRanks; ++rank)
      ranks.emplace_back([&, rank] { failures[rank] = run_rank(rank, make, results[rank]); });
    for (std::thread& rank : ranks) rank.join();
    EXPECT_EQ(failures[0], "");
    EXPECT_EQ(failures[1], "");
    EXPECT_EQ(results[0], first);
    if (!second.empty()) { EXPECT_EQ(results[1], second); }
  }

  HcclComm comms_[kRanks] = {};
};

// x doubled is [2, 4, 6, 8] on rank 0 and [22, 24, 26, 28] on rank 1
TEST_F(CollectiveNodes, AllReduce) {
  expect(
      [](ir::Graph& graph, ir::Endpoint x, uint32_t, const std::string& group) {
        return node(graph, "HcomAllReduce", {x}, {"x"}, group, {{"reduction", "sum"}}, "y").out();
      },
      {25, 29, 33, 37}, {25, 29, 33, 37});
}

TEST_F(CollectiveNodes, Reduce) {
  expect(
      [](ir::Graph& graph, ir::Endpoint x, uint32_t, const std::string& group) {
        return node(graph, "HcomReduce", {x}, {"x"}, group, {{"reduction", "max"}, {"root_rank", 0}}, "y").out();
      },
      {23, 25, 27, 29}, {});
}

TEST_F(CollectiveNodes, GatherAndScatter) {
  expect(
      [](ir::Graph& graph, ir::Endpoint x, uint32_t, const std::string& group) {
        const auto all = node(graph, "HcomAllGather", {x}, {"x"}, group, {{"rank_size", 2}}, "y").out();
        return node(graph, "HcomReduceScatter", {all}, {"x"}, group, {{"rank_size", 2}, {"reduction", "sum"}}, "y")
            .out();
      },
      {5, 9, 13, 17}, {45, 49, 53, 57});
}

TEST_F(CollectiveNodes, Broadcast) {
  expect(
      [](ir::Graph& graph, ir::Endpoint x, uint32_t, const std::string& group) {
        return node(graph, "HcomBroadcast", {x}, {"x0"}, group, {{"root_rank", 1}}, "y0").out();
      },
      {23, 25, 27, 29}, {23, 25, 27, 29});
}

TEST_F(CollectiveNodes, UnevenParts) {
  expect(
      [](ir::Graph& graph, ir::Endpoint x, uint32_t rank, const std::string& group) {
        const auto numbers = [&](const char* name, std::vector<int64_t> values) {
          return graph.add_constant(name, ir::Tensor::of(values)).out();
        };
        // rank 0 sends 1 and 3 elements, rank 1 sends 2 and 2
        const std::vector<int64_t> sent = rank ? std::vector<int64_t>{2, 2} : std::vector<int64_t>{1, 3};
        const std::vector<int64_t> got = rank ? std::vector<int64_t>{3, 2} : std::vector<int64_t>{1, 2};
        return node(graph, "HcomAllToAllV",
                    {x, numbers("sent", sent), numbers("sent_at", {0, sent[0]}), numbers("got", got),
                     numbers("got_at", {0, got[0]})},
                    {"send_data", "send_counts", "send_displacements", "recv_counts", "recv_displacements"}, group, {},
                    "recv_data")
            .out();
      },
      {3, 23, 25}, {5, 7, 9, 27, 29});
}

TEST_F(CollectiveNodes, AllToAllInEqualParts) {
  expect([](ir::Graph& graph, ir::Endpoint x, uint32_t,
            const std::string& group) { return node(graph, "HcomAllToAll", {x}, {"x"}, group, {}, "y").out(); },
         {3, 5, 23, 25}, {7, 9, 27, 29});
}

TEST_F(CollectiveNodes, SendAndReceive) {
  expect(
      [](ir::Graph& graph, ir::Endpoint x, uint32_t rank, const std::string& group) {
        if (rank == 0) {
          node(graph, "HcomSend", {x}, {"x"}, group, {{"sr_tag", 1}, {"dest_rank", 1}}, nullptr);
          return x;
        }
        return node(graph, "HcomReceive", {}, {}, group,
                    {{"sr_tag", 1},
                     {"src_rank", 0},
                     {"shape", std::vector<int64_t>{4}},
                     {"dtype", updraft::DType::Float}},
                    "y")
            .out();
      },
      {3, 5, 7, 9}, {3, 5, 7, 9});
}

TEST_F(CollectiveNodes, AGroupThatNobodyMadeIsNamed) {
  Floats result;
  const std::string failure = run_rank(
      0,
      [](ir::Graph& graph, ir::Endpoint x, uint32_t, const std::string&) {
        return node(graph, "HcomAllReduce", {x}, {"x"}, "nobody", {{"reduction", "sum"}}, "y").out();
      },
      result);
  EXPECT_NE(failure.find("group is nobody"), std::string::npos) << failure;
}

}  // namespace
}  // namespace ge
