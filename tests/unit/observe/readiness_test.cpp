// What a report says of runs: chains that have one operator, pauses, what the product refuses, waits.
#include "observe/readiness/recorder.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "observe/python_stack.h"
#include "observe/readiness/chains.h"

namespace updraft::readiness {
namespace {

using Json = nlohmann::json;

TEST(ReadinessChains, AreFoundAtTheirEnd) {
  EXPECT_EQ(chain_that_ends({"aclnnMatmul", "aclnnDivs", "aclnnSoftmax", "aclnnMatmul"}), "attention");
  EXPECT_EQ(chain_that_ends(
                {"aclnnBatchMatMul", "aclnnMuls", "aclnnAdd", "aclnnSoftmax", "aclnnInplaceCopy", "aclnnBatchMatMul"}),
            "attention");
  EXPECT_EQ(chain_that_ends({"aclnnSilu", "aclnnAddmm", "aclnnMul"}), "swiglu");
  EXPECT_EQ(chain_that_ends({"aclnnPowTensorScalar", "aclnnMean", "aclnnAdds", "aclnnRsqrt", "aclnnMul"}), "rms_norm");
  EXPECT_EQ(chain_that_ends({"aclnnNeg", "aclnnCat", "aclnnMul"}), "rotary");
  EXPECT_EQ(chain_that_ends(
                {"aclnnForeachSqrt", "aclnnForeachDivScalarList", "aclnnForeachAddScalarV2", "aclnnInplaceAddcdiv"}),
            "adam");
}

std::string chain(std::initializer_list<const char*> names) {
  std::deque<std::string> latest;
  for (const char* name : names) latest.push_back(std::string("aclnn") + name);
  return chain_that_ends(latest);
}

// As torch_npu calls them for the formulas of papers.
TEST(ReadinessChains, NormalisationsActivationsAndOptimizers) {
  EXPECT_EQ(chain({"Mean", "Sub", "PowTensorScalar", "Mean", "Sub", "Adds", "Sqrt", "Div"}), "layer_norm");
  EXPECT_EQ(chain({"Mean", "Sub", "PowTensorScalar", "Mean", "Sub", "Adds", "Rsqrt", "Mul"}), "layer_norm");
  EXPECT_EQ(chain({"Mean", "VarCorrection", "Sub", "Adds", "Rsqrt", "Mul"}), "layer_norm");
  EXPECT_EQ(chain({"Add", "PowTensorScalar", "Mean", "Adds", "Rsqrt", "Mul"}), "rms_norm");
  EXPECT_EQ(chain({"Muls", "PowTensorScalar", "Muls", "Add", "Muls", "Tanh", "Adds", "Mul"}), "gelu_tanh");
  EXPECT_EQ(chain({"Muls", "Divs", "Erf", "Adds", "Mul"}), "gelu");
  EXPECT_EQ(chain({"Gelu", "Mul"}), "geglu");
  EXPECT_EQ(chain({"GroupNorm", "Silu"}), "group_norm_silu");
  EXPECT_EQ(chain({"Matmul", "Muls", "Add", "Softmax", "Max"}), "masked_softmax");
  EXPECT_EQ(chain({"Softmax", "Topk"}), "gating");
  EXPECT_EQ(chain({"ForeachNorm", "Stack", "LinalgVectorNorm"}), "clip");
  EXPECT_EQ(chain({"ForeachAddListV2", "ForeachMulScalarV2", "ForeachAddListV2", "ForeachAddListV2"}), "sgd");
}

TEST(ReadinessChains, NeighboursOfThemAreNone) {
  EXPECT_EQ(chain({"Sigmoid", "Mul"}), "");                    // a gate, for all that is known
  EXPECT_EQ(chain({"Tanh", "Adds", "Mul"}), "");               // without the third power
  EXPECT_EQ(chain({"Matmul", "Muls", "Add", "Softmax"}), "");  // an attention may follow
  EXPECT_EQ(chain({"Matmul", "Muls", "Add", "Softmax", "DropoutGenMaskV2"}), "");
  EXPECT_EQ(chain({"Sqrt", "Div"}), "");
  EXPECT_EQ(chain({"Mean", "Adds", "Rsqrt", "Mul"}), "");
  EXPECT_EQ(chain({"ForeachAddListV2", "ForeachAddListV2"}), "");
  EXPECT_EQ(chain({"LayerNorm", "Silu"}), "");
}

TEST(ReadinessChains, AreCountedOnce) {
  EXPECT_EQ(chain_that_ends({"aclnnForeachSqrt", "aclnnInplaceAddcdiv", "aclnnInplaceAddcdiv"}), "");
  EXPECT_EQ(chain_that_ends({"aclnnPowTensorScalar", "aclnnMean", "aclnnAdds", "aclnnRsqrt", "aclnnMul", "aclnnMul"}),
            "");
}

TEST(ReadinessChains, OthersAreNone) {
  EXPECT_EQ(chain_that_ends({"aclnnMul"}), "");
  EXPECT_EQ(chain_that_ends({"aclnnSoftmax", "aclnnMatmul"}), "");
  EXPECT_EQ(chain_that_ends({"aclnnMatmul", "aclnnSoftmaxBackward", "aclnnMatmul"}), "");
  EXPECT_EQ(chain_that_ends({"aclnnCat", "aclnnMul"}), "");
}

struct Recording : testing::Test {
  Recorder recorder;
  Json json() const { return Json::parse(recorder.json()); }

  TaskEvent task(const char* name, uint64_t begin, uint64_t end, TaskKind kind = TaskKind::Compute) {
    TaskEvent event;
    event.name = name;
    event.kind = kind;
    event.device = 1000;  // none that is open
    event.begun.monotonic = begin;
    event.ended.monotonic = end;
    return event;
  }
  void run(const TaskEvent& event) {
    recorder.task_begun(event);
    recorder.task_ended(event);
  }
  void plan(const char* name, std::initializer_list<Argument> arguments) {
    ApiCall call{};
    call.name = name;
    call.phase = ApiCall::Phase::Plan;
    call.implemented = true;
    call.arguments = arguments.begin();
    call.argument_count = arguments.size();
    recorder.call_ended(call);
  }
  static Argument tensor(const char* name, DType type, std::initializer_list<int64_t> dims) {
    TensorArgument t;
    t.view = TensorView::contiguous(nullptr, type, dims.begin(), static_cast<int>(dims.size()));
    return {name, Direction::In, -1, t};
  }
};

constexpr uint64_t kMs = 1'000'000;

TEST_F(Recording, TimesOfADevice) {
  run(task("aclnnAdd", 10 * kMs, 12 * kMs));
  run(task("HcclAllReduce", 12 * kMs, 17 * kMs, TaskKind::Control));
  run(task("EVENT_WAIT", 17 * kMs, 18 * kMs, TaskKind::Control));  // no work
  run(task("aclnnMul", 20 * kMs, 21 * kMs));
  const Json d = json()["devices"][0];
  EXPECT_EQ(d["span"], 11 * kMs);
  EXPECT_EQ(d["busy"], 3 * kMs);
  EXPECT_EQ(d["collectives_alone"], 5 * kMs);
  EXPECT_EQ(d["idle"], 3 * kMs);
  const Json gaps = json()["gaps"];
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0]["before"], "HcclAllReduce");
  EXPECT_EQ(gaps[0]["behind"], "aclnnMul");
  EXPECT_EQ(gaps[0]["nanoseconds"], 3 * kMs);
}

TEST_F(Recording, CollectivesThatComputationHidesAreNotCounted) {
  recorder.task_begun(task("HcclAllReduce", 1 * kMs, 0, TaskKind::Control));
  run(task("aclnnMul", 2 * kMs, 8 * kMs));
  recorder.task_ended(task("HcclAllReduce", 1 * kMs, 9 * kMs, TaskKind::Control));
  const Json d = json()["devices"][0];
  EXPECT_EQ(d["busy"], 6 * kMs);
  EXPECT_EQ(d["collectives_alone"], 2 * kMs);
}

TEST_F(Recording, ShapesAndTypes) {
  for (int64_t n : {4, 4, 5}) plan("aclnnNeg", {tensor("self", DType::Float, {n}), tensor("out", DType::Float, {n})});
  plan("aclnnNeg", {tensor("self", DType::Float16, {4}), tensor("out", DType::Float16, {4})});
  const Json rows = json()["signatures"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["types"], "FLOAT FLOAT");
  EXPECT_EQ(rows[0]["count"], 3);
  EXPECT_EQ(rows[0]["shapes"], (Json{"[4] [4]", "[5] [5]"}));
  EXPECT_EQ(rows[0]["new_at"], (Json{1, 3}));
}

TEST_F(Recording, ManyShapesAreBounded) {
  for (int64_t n = 1; n < 200; ++n)
    plan("aclnnNeg", {tensor("self", DType::Float, {n}), tensor("out", DType::Float, {n})});
  const Json row = json()["signatures"][0];
  EXPECT_EQ(row["shapes"].size(), Recorder::kMostShapes);
  EXPECT_EQ(row["more_shapes"], true);
}

TEST_F(Recording, WhatTheProductDoesNotTake) {
  plan("aclnnConvolution", {tensor("input", DType::Double, {1, 1, 4, 4})});
  plan("aclnnConvolution", {tensor("input", DType::Float, {1, 1, 4, 4})});
  const Json rows = json()["refusals"];
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]["operator"], "aclnnConvolution");
  EXPECT_NE(std::string(rows[0]["why"]).find("DOUBLE"), std::string::npos);
}

TEST_F(Recording, CallsThatMakeTheHostWait) {
  ApiCall call{};
  call.implemented = true;
  call.begin.monotonic = 5;
  call.end.monotonic = 25;
  for (const char* name : {"aclrtSynchronizeStream", "aclrtMalloc", "aclrtSynchronizeStream"}) {
    call.name = name;
    recorder.call_ended(call);
  }
  call.name = "aclrtSynchronizeStream";
  call.depth = 1;  // the library's own
  recorder.call_ended(call);
  call.depth = 0;
  call.implemented = false;
  call.name = "aclrtNobody";
  recorder.call_ended(call);
  const Json all = json();
  ASSERT_EQ(all["waits"].size(), 1u);
  EXPECT_EQ(all["waits"][0]["count"], 2);
  EXPECT_EQ(all["waits"][0]["nanoseconds"], 40);
  EXPECT_EQ(all["missing"], (Json{{"aclrtNobody", 1}}));
}

TEST(PythonStack, IsEmptyWithoutPython) { EXPECT_TRUE(python_stack(10).empty()); }

}  // namespace
}  // namespace updraft::readiness
