// Bundles: several models in a file that share variables, from the graph to the execution.
#include <gtest/gtest.h>

#include <filesystem>

#include "ge/ge_ir_build.h"
#include "models.h"
#include "small_operators.h"

namespace ge {
namespace {

using Base = updraft::graph::Models;
using updraft::graph::Floats;
using Options = std::map<AscendString, AscendString>;

/// y = x * w, w refreshable.
struct Bundles : Base {
  static Graph product() {
    Operator x = data("x", {2});
    Operator w = constant("w", {2}, Floats{3, 5});
    Graph graph("product");
    graph.SetInputs({x}).SetOutputs({node("y", "Mul", "x1", x, "x2", w)});
    return graph;
  }
  static ModelBufferData bundle() {
    WeightRefreshableGraphs graphs;
    EXPECT_EQ(aclgrphConvertToWeightRefreshableGraphs(product(), {"w"}, graphs), GRAPH_SUCCESS) << error();
    ModelBufferData model{};
    EXPECT_EQ(aclgrphBundleBuildModel(
                  {{graphs.infer_graph, {}}, {graphs.var_init_graph, {}}, {graphs.var_update_graph, {}}}, model),
              GRAPH_SUCCESS)
        << error();
    return model;
  }
  Floats infer(uint32_t id) {
    Set in, out;
    void* y = device(8);
    in.add(device(Floats{1, 10}), 8);
    out.add(y, 8);
    EXPECT_EQ(aclmdlExecute(id, in.set, out.set), 0) << error();
    return values<float>(y, 2);
  }
  int initialise(uint32_t id) {
    Set in, out;
    return aclmdlExecute(id, in.set, out.set);
  }
  int refresh(uint32_t id, const Floats& w) {
    Set in, out;
    in.add(device(w), 8);
    return aclmdlExecute(id, in.set, out.set);
  }
};

TEST_F(Bundles, OptionsThatNobodyKnowsAreTold) {
  WeightRefreshableGraphs graphs;
  ASSERT_EQ(aclgrphConvertToWeightRefreshableGraphs(product(), {"w"}, graphs), GRAPH_SUCCESS) << error();
  ModelBufferData model{};
  testing::internal::CaptureStderr();
  EXPECT_EQ(aclgrphBundleBuildModel({{graphs.infer_graph, {{"precision_moda", "allow_fp32_to_fp16"}}},
                                     {graphs.var_init_graph, {}},
                                     {graphs.var_update_graph, {}}},
                                    model),
            GRAPH_SUCCESS)
      << error();
  EXPECT_NE(testing::internal::GetCapturedStderr().find("aclgrphBundleBuildModel: there is no option precision_moda"),
            std::string::npos);
}

TEST_F(Bundles, WeightsAreRefreshedBetweenExecutions) {
  const ModelBufferData model = bundle();
  const std::string path = (std::filesystem::temp_directory_path() / ("bundle_" + std::to_string(getpid()))).string();
  ASSERT_EQ(aclgrphBundleSaveModel(path.c_str(), model), GRAPH_SUCCESS) << error();
  for (const bool file : {true, false}) {
    uint32_t bundle = 0, infer_id = 0, init_id = 0, update_id = 0;
    if (file) {
      ASSERT_EQ(aclmdlBundleLoadFromFile((path + ".om").c_str(), &bundle), 0) << error();
    } else {
      ASSERT_EQ(aclmdlBundleLoadFromMem(model.data.get(), model.length, &bundle), 0) << error();
    }
    size_t count = 0;
    ASSERT_EQ(aclmdlBundleGetModelNum(bundle, &count), 0);
    EXPECT_EQ(count, 3u);
    ASSERT_EQ(aclmdlBundleGetModelId(bundle, 0, &infer_id), 0);
    ASSERT_EQ(aclmdlBundleGetModelId(bundle, 1, &init_id), 0);
    ASSERT_EQ(aclmdlBundleGetModelId(bundle, 2, &update_id), 0);
    EXPECT_EQ(aclmdlBundleGetModelId(bundle, 3, &infer_id), 100000);
    ASSERT_EQ(aclmdlBundleGetModelId(bundle, 0, &infer_id), 0);
    aclmdlDesc* desc = aclmdlCreateDesc();  // variables are none of the client's inputs
    ASSERT_EQ(aclmdlGetDesc(desc, infer_id), 0);
    EXPECT_EQ(aclmdlGetNumInputs(desc), 1u);
    EXPECT_EQ(aclmdlGetNumOutputs(desc), 1u);
    aclmdlDestroyDesc(desc);
    {
      Set in, out;
      in.add(device(Floats{1, 10}), 8);
      out.add(device(8), 8);
      EXPECT_EQ(aclmdlExecute(infer_id, in.set, out.set), 100000);
      EXPECT_NE(error().find("reads variable w, which has no value yet"), std::string::npos);
    }
    ASSERT_EQ(initialise(init_id), 0) << error();
    EXPECT_EQ(infer(infer_id), (Floats{3, 50}));
    ASSERT_EQ(refresh(update_id, {7, 0.5F}), 0) << error();
    EXPECT_EQ(infer(infer_id), (Floats{7, 5}));
    ASSERT_EQ(initialise(init_id), 0) << error();
    EXPECT_EQ(infer(infer_id), (Floats{3, 50}));
    EXPECT_EQ(aclmdlBundleUnload(bundle), 0) << error();
    EXPECT_EQ(aclmdlBundleUnload(bundle), 148053);
    EXPECT_EQ(aclmdlUnload(infer_id), 145003);
  }
  uint32_t id = 0;
  EXPECT_EQ(aclmdlLoadFromFile((path + ".om").c_str(), &id), 100013);
  EXPECT_NE(error().find("a bundle of 3 models: load it with aclmdlBundleLoadFromFile"), std::string::npos);
  std::filesystem::remove(path + ".om");
}

TEST_F(Bundles, ModelsOneByOneInMemoryOfTheClient) {
  const ModelBufferData model = bundle();
  aclmdlBundleQueryInfo* info = aclmdlBundleCreateQueryInfo();
  ASSERT_EQ(aclmdlBundleQueryInfoFromMem(model.data.get(), model.length, info), 0) << error();
  size_t count = 0, variables = 0, work = 0, weights = 0;
  ASSERT_EQ(aclmdlBundleGetQueryModelNum(info, &count), 0);
  ASSERT_EQ(aclmdlBundleGetVarWeightSize(info, &variables), 0);
  ASSERT_EQ(aclmdlBundleGetSize(info, 1, &work, &weights), 0);
  EXPECT_EQ(count, 3u);
  EXPECT_GE(variables, 8u);
  EXPECT_GE(weights, 8u);  // the constants of the graph that gives the variables their first values
  EXPECT_EQ(aclmdlBundleGetSize(info, 3, &work, &weights), 100000);
  EXPECT_EQ(aclmdlBundleDestroyQueryInfo(info), 0);
  EXPECT_EQ(aclmdlBundleGetQueryModelNum(info, &count), 100000);

  uint32_t bundle = 0, ids[3] = {};
  void* memory = device(variables);
  EXPECT_EQ(aclmdlBundleInitFromMem(model.data.get(), model.length, memory, 4, &bundle), 100000);
  ASSERT_EQ(aclmdlBundleInitFromMem(model.data.get(), model.length, memory, variables, &bundle), 0) << error();
  EXPECT_EQ(aclmdlBundleGetModelId(bundle, 0, &ids[0]), 100000);
  for (size_t i = 0; i < 3; ++i) {
    void* own = device(std::max<size_t>(weights, 64));
    ASSERT_EQ(
        aclmdlBundleLoadModelWithMem(bundle, i, nullptr, 0, i == 1 ? own : nullptr, i == 1 ? weights : 0, &ids[i]), 0)
        << error();
  }
  ASSERT_EQ(initialise(ids[1]), 0) << error();
  EXPECT_EQ(values<float>(memory, 2), (Floats{3, 5}));
  ASSERT_EQ(aclmdlBundleUnloadModel(bundle, ids[1]), 0) << error();
  EXPECT_EQ(aclmdlBundleUnloadModel(bundle, ids[1]), 145003);
  ASSERT_EQ(refresh(ids[2], {2, 4}), 0) << error();
  EXPECT_EQ(infer(ids[0]), (Floats{2, 40}));
  EXPECT_EQ(aclmdlBundleUnload(bundle), 0) << error();
}

TEST_F(Bundles, WhatIsNoBundleIsRefused) {
  WeightRefreshableGraphs graphs;
  EXPECT_EQ(aclgrphConvertToWeightRefreshableGraphs(product(), {"v"}, graphs), GRAPH_FAILED);
  EXPECT_EQ(aclgrphConvertToWeightRefreshableGraphs(product(), {"y"}, graphs), GRAPH_FAILED);
  EXPECT_EQ(aclgrphConvertToWeightRefreshableGraphs(product(), {"w", "w"}, graphs), GRAPH_FAILED);
  ModelBufferData model{};
  EXPECT_EQ(aclgrphBundleBuildModel({}, model), GRAPH_PARAM_INVALID);
  EXPECT_EQ(aclgrphBundleBuildModel({{product(), {}}}, model), GRAPH_PARAM_INVALID);
  ASSERT_EQ(aclgrphBuildModel(product(), {}, model), GRAPH_SUCCESS);
  EXPECT_EQ(aclgrphBundleSaveModel("/tmp/none", model), GRAPH_FAILED);
  uint32_t id = 0;
  EXPECT_EQ(aclmdlBundleLoadFromMem(model.data.get(), model.length, &id), 100013);
  EXPECT_NE(error().find("is no bundle: load it with aclmdlLoadFromFile"), std::string::npos);
  const ModelBufferData good = bundle();
  for (const size_t cut : {good.length / 2, good.length - 64, size_t{300}}) {
    EXPECT_EQ(aclmdlBundleLoadFromMem(good.data.get(), cut, &id), 100013) << cut;
    EXPECT_FALSE(error().empty());
  }
  size_t count = 0;
  EXPECT_EQ(aclmdlBundleGetModelNum(4711, &count), 148053);
}

}  // namespace
}  // namespace ge
