// What observers are told of the C interface: calls, the tasks that they make, operators' arguments, copies, replays.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../aclop.h"
#include "acl/acl.h"
#include "acl/acl_op.h"
#include "aclnn/acl_meta.h"
#include "recorder.h"

extern "C" {
int aclnnAddGetWorkspaceSize(const aclTensor*, const aclTensor*, const aclScalar*, aclTensor*, uint64_t*,
                             aclOpExecutor**);
int aclnnAdd(void*, uint64_t, aclOpExecutor*, aclrtStream);
int aclnnInplaceAddsGetWorkspaceSize(aclTensor*, const aclScalar*, const aclScalar*, uint64_t*, aclOpExecutor**);
int aclnnInplaceAdds(void*, uint64_t, aclOpExecutor*, aclrtStream);
int aclnnCatGetWorkspaceSize(const aclTensorList*, int64_t, aclTensor*, uint64_t*, aclOpExecutor**);
int aclnnCat(void*, uint64_t, aclOpExecutor*, aclrtStream);
int aclnnReduceSumGetWorkspaceSize(const aclTensor*, const aclIntArray*, bool, int, aclTensor*, uint64_t*,
                                   aclOpExecutor**);
int aclnnReduceSum(void*, uint64_t, aclOpExecutor*, aclrtStream);
int aclnnClampGetWorkspaceSize(const aclTensor*, const aclScalar*, const aclScalar*, aclTensor*, uint64_t*,
                               aclOpExecutor**);
int aclnnClamp(void*, uint64_t, aclOpExecutor*, aclrtStream);
int aclnnGeluMulGetWorkspaceSize(const aclTensor*, const char*, aclTensor*, uint64_t*, aclOpExecutor**);
int aclnnGeluMul(void*, uint64_t, aclOpExecutor*, aclrtStream);
int aclnnBatchNormGetWorkspaceSize(const aclTensor*, const aclTensor*, const aclTensor*, aclTensor*, aclTensor*, bool,
                                   double, double, aclTensor*, aclTensor*, aclTensor*, uint64_t*, aclOpExecutor**);
int aclnnBatchNorm(void*, uint64_t, aclOpExecutor*, aclrtStream);
int aclnnForeachAddListV2GetWorkspaceSize(const aclTensorList*, const aclTensorList*, const aclScalar*, aclTensorList*,
                                          uint64_t*, aclOpExecutor**);
int aclnnIndexSelectGetWorkspaceSize(const aclTensor*, int64_t, const aclTensor*, aclTensor*, uint64_t*,
                                     aclOpExecutor**);
int aclnnIndexSelect(void*, uint64_t, aclOpExecutor*, aclrtStream);
int aclnnForeachAddListV2(void*, uint64_t, aclOpExecutor*, aclrtStream);
}

namespace updraft {
namespace {

using Texts = std::vector<std::string>;
constexpr uint32_t kAll = watch::kTasks | watch::kArguments | watch::kCalls;

struct Operators : testing::Test {
  aclrtStream stream = nullptr;
  int32_t id = -1;
  float* memory = nullptr;
  aclScalar* one = nullptr;

  static void SetUpTestSuite() { aclInit(nullptr); }
  void SetUp() override {
    ASSERT_EQ(aclrtSetDevice(0), 0);
    ASSERT_EQ(aclrtCreateStream(&stream), 0);
    ASSERT_EQ(aclrtStreamGetId(stream, &id), 0);
    void* p = nullptr;
    ASSERT_EQ(aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    ASSERT_EQ(aclrtMemset(p, 4096, 0, 4096), 0);
    memory = static_cast<float*>(p);
    float value = 1;
    one = aclCreateScalar(&value, ACL_FLOAT);
  }
  void TearDown() override {
    aclDestroyScalar(one);
    EXPECT_EQ(aclrtDestroyStream(stream), 0);
    EXPECT_EQ(aclrtFree(memory), 0);
  }

  aclTensor* tensor(std::vector<int64_t> dims, size_t at = 0, aclFormat format = ACL_FORMAT_ND) {
    return aclCreateTensor(dims.data(), dims.size(), ACL_FLOAT, nullptr, 0, format, dims.data(), dims.size(),
                           memory + at);
  }
  void synchronize() { ASSERT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 20000), 0) << aclGetRecentErrMsg(); }

  uint64_t bytes = 0;
  aclOpExecutor* executor = nullptr;
};

Texts arguments_of(const Recorder& recorder, const std::string& name) {
  const auto ends = recorder.ends(name);
  EXPECT_EQ(ends.size(), 1u) << name;
  return ends.empty() ? Texts{} : ends[0].arguments;
}

TEST_F(Operators, ArgumentsHaveNamesDirectionsAndValues) {
  Subscribed<Recorder> recorder(kAll);
  aclTensor *a = tensor({2, 4}), *b = tensor({2, 4}, 16), *half = tensor({2, 2}, 32), *row = tensor({4}, 48),
            *column = tensor({2}, 64), *five = tensor({4, 4}, 80), *mean = tensor({4}, 100), *var = tensor({4}, 104);

  ASSERT_EQ(aclnnAddGetWorkspaceSize(a, row, one, b, &bytes, &executor), 0);
  ASSERT_EQ(aclnnAdd(nullptr, 0, executor, stream), 0);
  ASSERT_EQ(aclnnInplaceAddsGetWorkspaceSize(a, one, one, &bytes, &executor), 0);
  ASSERT_EQ(aclnnInplaceAdds(nullptr, 0, executor, stream), 0);
  const int64_t last = 1;
  aclIntArray* dims = aclCreateIntArray(&last, 1);
  ASSERT_EQ(aclnnReduceSumGetWorkspaceSize(a, dims, false, ACL_FLOAT, column, &bytes, &executor), 0);
  ASSERT_EQ(aclnnReduceSum(nullptr, 0, executor, stream), 0);
  ASSERT_EQ(aclnnClampGetWorkspaceSize(a, nullptr, one, b, &bytes, &executor), 0);
  ASSERT_EQ(aclnnClamp(nullptr, 0, executor, stream), 0);
  ASSERT_EQ(aclnnGeluMulGetWorkspaceSize(a, "tanh", half, &bytes, &executor), 0);
  ASSERT_EQ(aclnnGeluMul(nullptr, 0, executor, stream), 0);
  ASSERT_EQ(aclnnBatchNormGetWorkspaceSize(a, nullptr, nullptr, mean, var, true, 0.5, 0.25, b, nullptr, nullptr, &bytes,
                                           &executor),
            0)
      << aclGetRecentErrMsg();
  ASSERT_EQ(aclnnBatchNorm(nullptr, 0, executor, stream), 0);
  // Handles, and what they hold, may go as soon as the second phase has returned; here before the work runs or not.
  const aclTensor* both[] = {tensor({2, 4}), tensor({2, 4}, 16)};
  aclTensorList* list = aclCreateTensorList(both, 2);
  ASSERT_EQ(aclnnCatGetWorkspaceSize(list, 0, five, &bytes, &executor), 0) << aclGetRecentErrMsg();
  ASSERT_EQ(aclnnCat(nullptr, 0, executor, stream), 0);
  const aclTensor* sums[] = {tensor({2, 4}, 128), tensor({2, 4}, 144)};
  aclTensorList* out = aclCreateTensorList(sums, 2);
  ASSERT_EQ(aclnnForeachAddListV2GetWorkspaceSize(list, list, one, out, &bytes, &executor), 0);
  ASSERT_EQ(aclnnForeachAddListV2(nullptr, 0, executor, stream), 0);
  aclDestroyTensorList(list);
  aclDestroyTensorList(out);
  aclDestroyIntArray(dims);
  for (aclTensor* t : {a, b, half, row, column, five, mean, var}) aclDestroyTensor(t);
  synchronize();

  EXPECT_EQ(arguments_of(*recorder.get(), "aclnnAdd"),
            (Texts{"self=FLOAT[2,4]", "other=FLOAT[4]", "alpha=1", "->out=FLOAT[2,4]"}));
  EXPECT_EQ(arguments_of(*recorder.get(), "aclnnInplaceAdds"), (Texts{"<->selfRef=FLOAT[2,4]", "other=1", "alpha=1"}));
  EXPECT_EQ(arguments_of(*recorder.get(), "aclnnReduceSum"),
            (Texts{"self=FLOAT[2,4]", "dims=[1]", "keepDims=false", "dtype=FLOAT", "->out=FLOAT[2]"}));
  EXPECT_EQ(arguments_of(*recorder.get(), "aclnnClamp"),
            (Texts{"self=FLOAT[2,4]", "min=none", "max=1", "->out=FLOAT[2,4]"}));
  EXPECT_EQ(arguments_of(*recorder.get(), "aclnnGeluMul"),
            (Texts{"input=FLOAT[2,4]", "approximate=\"tanh\"", "->out=FLOAT[2,2]"}));
  EXPECT_EQ(arguments_of(*recorder.get(), "aclnnBatchNorm"),
            (Texts{"input=FLOAT[2,4]", "weight=none", "bias=none", "<->runningMean=FLOAT[4]", "<->runningVar=FLOAT[4]",
                   "training=true", "momentum=0.5", "eps=0.25", "->output=FLOAT[2,4]", "->saveMean=none",
                   "->saveInvstd=none"}));
  EXPECT_EQ(arguments_of(*recorder.get(), "aclnnCat"),
            (Texts{"tensors[0]=FLOAT[2,4]", "tensors[1]=FLOAT[2,4]", "dim=0", "->out=FLOAT[4,4]"}));
  EXPECT_EQ(arguments_of(*recorder.get(), "aclnnForeachAddListV2"),
            (Texts{"x[0]=FLOAT[2,4]", "x[1]=FLOAT[2,4]", "y[0]=FLOAT[2,4]", "y[1]=FLOAT[2,4]", "alpha=1",
                   "->out[0]=FLOAT[2,4]", "->out[1]=FLOAT[2,4]"}));
  const auto plans = recorder->calls("aclnnAdd");
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_EQ(plans[0].arguments, arguments_of(*recorder.get(), "aclnnAdd"));
}

TEST_F(Operators, TensorsHaveAddressAndFormat) {
  struct Look final : Observer {
    void task_ended(const TaskEvent& event) override {
      if (std::strcmp(event.name, "aclnnInplaceAdds") != 0) return;
      const TensorArgument* t = event.arguments[0].tensor();
      ASSERT_NE(t, nullptr);
      EXPECT_EQ(t->storage, base);
      EXPECT_EQ(t->offset, 2);
      EXPECT_EQ(t->format, ACL_FORMAT_NCL);
      EXPECT_FALSE(t->on_host);
      EXPECT_EQ(t->view.as<float>()[0], 1) << "the result is there before the stream goes on";
      ++seen;
    }
    void* base = nullptr;
    std::atomic<int> seen{0};
  };
  Subscribed<Look> look(kAll);
  look->base = memory;
  const int64_t dims[] = {1, 2, 3};
  aclTensor* t = aclCreateTensor(dims, 3, ACL_FLOAT, nullptr, 2, ACL_FORMAT_NCL, dims, 3, memory);
  ASSERT_EQ(aclnnInplaceAddsGetWorkspaceSize(t, one, one, &bytes, &executor), 0);
  ASSERT_EQ(aclnnInplaceAdds(nullptr, 0, executor, stream), 0);
  aclDestroyTensor(t);
  synchronize();
  EXPECT_EQ(look->seen, 1);
}

TEST_F(Operators, ArgumentsAreRecordedWhileSomebodyWantsThem) {
  aclTensor* t = tensor({4});
  auto plan = [&] { ASSERT_EQ(aclnnInplaceAddsGetWorkspaceSize(t, one, one, &bytes, &executor), 0); };
  auto launch = [&] { ASSERT_EQ(aclnnInplaceAdds(nullptr, 0, executor, stream), 0); };
  plan();
  {
    Subscribed<Recorder> late(kAll);
    launch();
    synchronize();
    const auto ends = late->ends("aclnnInplaceAdds");
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_FALSE(ends[0].event.arguments_known) << "it was planned before";
    EXPECT_TRUE(ends[0].arguments.empty());
    EXPECT_EQ(ends[0].event.cost.bytes, 16);
    plan();
    launch();
    synchronize();
    EXPECT_EQ(late->ends("aclnnInplaceAdds").back().arguments.size(), 3u);
    plan();
  }
  launch();
  plan();
  launch();
  synchronize();
  Subscribed<Recorder> without(watch::kTasks);
  plan();
  launch();
  synchronize();
  EXPECT_FALSE(without->ends("aclnnInplaceAdds").at(0).event.arguments_known);
  aclDestroyTensor(t);
}

TEST_F(Operators, CallsAndTasksAreOfOneCorrelation) {
  Subscribed<Recorder> recorder(kAll | watch::kRawTimes);
  aclTensor* t = tensor({4});
  ASSERT_EQ(aclnnInplaceAddsGetWorkspaceSize(t, one, one, &bytes, &executor), 0);
  ASSERT_EQ(aclnnInplaceAdds(nullptr, 0, executor, stream), 0);
  aclDestroyTensor(t);
  synchronize();
  const auto calls = recorder->calls("aclnnInplaceAdds");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].call.phase, ApiCall::Phase::Plan);
  EXPECT_EQ(calls[1].call.phase, ApiCall::Phase::Launch);
  EXPECT_LT(calls[0].call.correlation, calls[1].call.correlation);
  const auto ends = recorder->ends("aclnnInplaceAdds");
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].event.correlation, calls[1].call.correlation);
  EXPECT_GE(ends[0].event.submitted.monotonic, calls[1].call.begin.monotonic);
  EXPECT_LE(ends[0].event.submitted.monotonic, calls[1].call.end.monotonic);
  EXPECT_GE(ends[0].event.submitted.raw, calls[1].call.begin.raw);
  EXPECT_EQ(calls[1].call.thread, ends[0].event.submitter);
  const auto waits = recorder->calls("aclrtSynchronizeStreamWithTimeout");
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].call.code, 0);
  EXPECT_EQ(waits[0].call.depth, 0u);
  EXPECT_TRUE(waits[0].call.implemented);
}

TEST_F(Operators, CallsThatFail) {
  Subscribed<Recorder> recorder(kAll);
  EXPECT_NE(aclrtFree(nullptr), 0);
  EXPECT_NE(aclnnInplaceAddsGetWorkspaceSize(nullptr, one, one, &bytes, &executor), 0);
  EXPECT_NE(aclnnInplaceAdds(nullptr, 0, nullptr, stream), 0);
  EXPECT_EQ(recorder->calls("aclrtFree").at(0).call.code, 107000);
  const auto calls = recorder->calls("aclnnInplaceAdds");
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].call.code, 161001);
  EXPECT_TRUE(calls[0].arguments.empty());
  EXPECT_EQ(calls[1].call.code, 161001);
}

TEST_F(Operators, SynchronousCopiesAndSetsAreSeen) {
  std::vector<float> host(8, 3);
  Subscribed<Recorder> recorder(kAll);
  ASSERT_EQ(aclrtMemcpy(memory, 32, host.data(), 32, ACL_MEMCPY_HOST_TO_DEVICE), 0);
  ASSERT_EQ(aclrtMemset(memory, 16, 0, 16), 0);
  ASSERT_EQ(aclrtMemcpy2d(host.data(), 16, memory, 8, 8, 2, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  EXPECT_NE(aclrtMemcpy(memory, 8, host.data(), 32, ACL_MEMCPY_HOST_TO_DEVICE), 0);
  const auto copies = recorder->ends("MEMCPY"), sets = recorder->ends("MEMSET");
  ASSERT_EQ(copies.size(), 2u) << "a copy that is refused never begins";
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(copies[0].arguments, (Texts{"src=UINT8[32]", "->dst=UINT8[32]", "kind=1"}));
  EXPECT_EQ(copies[1].arguments, (Texts{"src=UINT8[2,8]", "->dst=UINT8[2,8] strides [16,1]", "kind=2"}));
  EXPECT_EQ(sets[0].arguments, (Texts{"->devPtr=UINT8[16]", "value=0"}));
  const auto calls = recorder->calls("aclrtMemcpy");
  ASSERT_EQ(calls.size(), 2u);
  const TaskEvent& copy = copies[0].event;
  EXPECT_EQ(copy.stream, TaskEvent::kNoStream);
  EXPECT_EQ(copy.device, 0);
  EXPECT_EQ(copy.kind, TaskKind::Copy);
  EXPECT_EQ(copy.cost.bytes, 64);
  EXPECT_EQ(copy.cost.unit, Unit::SDMA);
  EXPECT_EQ(copy.correlation, calls[0].call.correlation);
  EXPECT_GE(copy.begun.monotonic, calls[0].call.begin.monotonic);
  EXPECT_LE(copy.ended.monotonic, calls[0].call.end.monotonic);
  EXPECT_EQ(sets[0].event.cost.bytes, 16);
}

TEST_F(Operators, CopiesOfStreamsAndHostFunctions) {
  Subscribed<Recorder> recorder(kAll);
  ASSERT_EQ(aclrtMemcpyAsync(memory + 8, 32, memory, 32, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), 0);
  ASSERT_EQ(aclrtMemsetAsync(memory, 16, 0, 16, stream), 0);
  ASSERT_EQ(aclrtLaunchHostFunc(
                stream,
                [](void*) {
                  size_t free = 0, total = 0;
                  aclrtGetMemInfo(ACL_HBM_MEM, &free, &total);  // the client's own call, in the engine's thread
                },
                nullptr),
            0);
  synchronize();
  EXPECT_EQ(arguments_of(*recorder.get(), "MEMCPY_ASYNC"), (Texts{"src=UINT8[32]", "->dst=UINT8[32]", "kind=3"}));
  EXPECT_EQ(arguments_of(*recorder.get(), "MEMSET_ASYNC"), (Texts{"->devPtr=UINT8[16]", "value=0"}));
  EXPECT_EQ(recorder->ends("HOST_FUNC").at(0).event.kind, TaskKind::Host);
  EXPECT_EQ(recorder->ends("HOST_FUNC").at(0).event.correlation,
            recorder->calls("aclrtLaunchHostFunc").at(0).call.correlation);
  EXPECT_EQ(recorder->calls("aclrtGetMemInfo").at(0).call.depth, 0u);
}

TEST_F(Operators, ARepeatableExecutorKeepsCostAndArguments) {
  Subscribed<Recorder> recorder(kAll);
  aclTensor* t = tensor({2, 4});
  ASSERT_EQ(aclnnInplaceAddsGetWorkspaceSize(t, one, one, &bytes, &executor), 0);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(aclnnInplaceAdds(nullptr, 0, executor, stream), 0);
  synchronize();
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  aclDestroyTensor(t);
  const auto ends = recorder->ends("aclnnInplaceAdds");
  ASSERT_EQ(ends.size(), 3u);
  for (const Seen& s : ends) {
    EXPECT_EQ(s.event.cost.bytes, 32);
    EXPECT_EQ(s.event.cost.unit, Unit::Vector);
    EXPECT_EQ(s.arguments.size(), 3u);
  }
}

TEST_F(Operators, AReplayShowsItsTasks) {
  aclTensor* t = tensor({2, 4});
  ASSERT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 0);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(aclnnInplaceAddsGetWorkspaceSize(t, one, one, &bytes, &executor), 0);
    ASSERT_EQ(aclnnInplaceAdds(nullptr, 0, executor, stream), 0);
  }
  ASSERT_EQ(aclrtMemsetAsync(memory, 8, 0, 8, stream), 0);
  aclDestroyTensor(t);
  aclmdlRI graph = nullptr;
  ASSERT_EQ(aclmdlRICaptureEnd(stream, &graph), 0);
  EXPECT_EQ(g_watched.load(), 0u);
  uint32_t model = 0;
  ASSERT_EQ(aclmdlRIGetId(graph, &model), 0);
  {
    Subscribed<Recorder> recorder(kAll);  // the graph is older than its observer
    for (int i = 0; i < 2; ++i) ASSERT_EQ(aclmdlRIExecuteAsync(graph, stream), 0);
    synchronize();
    const auto calls = recorder->calls("aclmdlRIExecuteAsync");
    ASSERT_EQ(calls.size(), 2u);
    const auto seen = recorder->of_stream(id);
    ASSERT_EQ(seen.size(), 16u);
    for (size_t run = 0; run < 2; ++run) {
      const Seen* first = seen.data() + 8 * run;  // the graph begins, its three tasks begin and end, it ends
      EXPECT_EQ(first[0].name, "MODEL_EXECUTE");
      EXPECT_EQ(first[7].name, "MODEL_EXECUTE");
      EXPECT_EQ(first[0].event.index, -1);
      EXPECT_EQ(first[0].event.id, first[7].event.id);
      for (size_t i = 0; i < 8; ++i) {
        EXPECT_EQ(first[i].event.model, model);
        EXPECT_EQ(first[i].event.correlation, calls[run].call.correlation);
        EXPECT_EQ(first[i].event.submitter, thread_number());
        EXPECT_GT(first[i].event.submitted.monotonic, 0u);
        EXPECT_GE(first[i].event.begun.monotonic, first[0].event.begun.monotonic);
      }
      for (size_t i = 0; i < 3; ++i) {
        const Seen &begin = first[1 + 2 * i], &end = first[2 + 2 * i];
        EXPECT_FALSE(begin.end);
        EXPECT_TRUE(end.end);
        EXPECT_EQ(begin.event.id, end.event.id);
        EXPECT_EQ(end.name, i < 2 ? "aclnnInplaceAdds" : "MEMSET_ASYNC");
        EXPECT_EQ(end.event.index, static_cast<int32_t>(i));
        EXPECT_TRUE(end.event.arguments_known) << "captures keep them";
        EXPECT_EQ(end.event.cost.bytes, i < 2 ? 32 : 8);
      }
      EXPECT_EQ(first[2].arguments, (Texts{"<->selfRef=FLOAT[2,4]", "other=1", "alpha=1"}));
    }
  }
  EXPECT_EQ(aclmdlRIExecuteAsync(graph, stream), 0);
  synchronize();
  EXPECT_EQ(aclmdlRIDestroy(graph), 0);
}

TEST_F(Operators, AReplayOfSeveralStreamsShowsItsTasks) {
  aclrtStream other = nullptr;
  ASSERT_EQ(aclrtCreateStream(&other), 0);
  aclrtEvent fork = nullptr, join = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&fork), 0);
  ASSERT_EQ(aclrtCreateEvent(&join), 0);
  aclrtNotify notify = nullptr;
  ASSERT_EQ(aclrtCreateNotify(&notify, 0), 0);
  ASSERT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 0);
  ASSERT_EQ(aclrtRecordEvent(fork, stream), 0);
  ASSERT_EQ(aclrtStreamWaitEvent(other, fork), 0);
  ASSERT_EQ(aclrtWaitAndResetNotify(notify, stream, 0), 0);
  ASSERT_EQ(aclrtMemsetAsync(memory, 8, 0, 8, other), 0);
  ASSERT_EQ(aclrtRecordNotify(notify, other), 0);
  ASSERT_EQ(aclrtMemcpyAsync(memory, 8, memory + 4, 8, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), 0);
  ASSERT_EQ(aclrtRecordEvent(join, other), 0);
  ASSERT_EQ(aclrtStreamWaitEvent(stream, join), 0);
  aclmdlRI graph = nullptr;
  ASSERT_EQ(aclmdlRICaptureEnd(stream, &graph), 0) << aclGetRecentErrMsg();
  uint32_t model = 0;
  ASSERT_EQ(aclmdlRIGetId(graph, &model), 0);
  Subscribed<Recorder> recorder(kAll);
  ASSERT_EQ(aclmdlRIExecuteAsync(graph, stream), 0) << aclGetRecentErrMsg();
  synchronize();
  const std::pair<const char*, int32_t> wanted[] = {
      {"NOTIFY_WAIT", 0}, {"MEMSET_ASYNC", 1}, {"NOTIFY_RECORD", 2}, {"MEMCPY_ASYNC", 3}};
  const uint64_t call = recorder->calls("aclmdlRIExecuteAsync").at(0).call.correlation;
  for (const auto& [name, index] : wanted) {
    const auto ends = recorder->ends(name);
    ASSERT_EQ(ends.size(), 1u) << name;
    EXPECT_EQ(ends[0].event.model, model) << name;
    EXPECT_EQ(ends[0].event.index, index) << name;
    EXPECT_EQ(ends[0].event.correlation, call) << name;
    EXPECT_EQ(ends[0].event.outcome, Outcome::Done) << name;
  }
  for (const Seen& s : recorder->ends("EVENT_WAIT")) {
    EXPECT_EQ(s.event.model, model);
    EXPECT_EQ(s.event.index, -1);
  }
  EXPECT_EQ(aclmdlRIDestroy(graph), 0);
  EXPECT_EQ(aclrtDestroyNotify(notify), 0);
  EXPECT_EQ(aclrtDestroyEvent(fork), 0);
  EXPECT_EQ(aclrtDestroyEvent(join), 0);
  EXPECT_EQ(aclrtDestroyStream(other), 0);
}

TEST_F(Operators, AFailureInAReplayEndsTheTaskAndTheRun) {
  const int64_t two = 2;
  ASSERT_EQ(aclrtMemset(memory + 64, 16, 0x7f, 16), 0);
  aclTensor *self = tensor({4}), *out = tensor({2}, 32);
  aclTensor* index =
      aclCreateTensor(&two, 1, ACL_INT64, nullptr, 0, ACL_FORMAT_ND, &two, 1, static_cast<void*>(memory + 64));
  ASSERT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 0);
  ASSERT_EQ(aclrtMemsetAsync(memory, 8, 0, 8, stream), 0);
  ASSERT_EQ(aclnnIndexSelectGetWorkspaceSize(self, 0, index, out, &bytes, &executor), 0) << aclGetRecentErrMsg();
  ASSERT_EQ(aclnnIndexSelect(nullptr, 0, executor, stream), 0);
  ASSERT_EQ(aclrtMemsetAsync(memory, 8, 0, 8, stream), 0);
  for (aclTensor* t : {self, out, index}) aclDestroyTensor(t);
  aclmdlRI graph = nullptr;
  ASSERT_EQ(aclmdlRICaptureEnd(stream, &graph), 0);
  Subscribed<Recorder> recorder(kAll);
  ASSERT_EQ(aclmdlRIExecuteAsync(graph, stream), 0);
  EXPECT_NE(aclrtSynchronizeStreamWithTimeout(stream, 20000), 0);
  EXPECT_EQ(recorder->ends("MEMSET_ASYNC").size(), 1u);
  EXPECT_EQ(recorder->ends("aclnnIndexSelect").at(0).event.outcome, Outcome::Failed);
  EXPECT_NE(recorder->ends("aclnnIndexSelect").at(0).failure.find("out of range"), std::string::npos);
  EXPECT_EQ(recorder->ends("MODEL_EXECUTE").at(0).event.outcome, Outcome::Failed);
  EXPECT_NE(recorder->ends("MODEL_EXECUTE").at(0).failure.find("aclnnIndexSelect"), std::string::npos);
  EXPECT_EQ(aclmdlRIDestroy(graph), 0);
}

TEST_F(Operators, AclopsGiveTensorsAndAttributes) {
  Subscribed<Recorder> recorder(kAll);
  {
    Aclop swish;
    swish.add(false, {2, 3}, memory, 6);
    swish.add(true, {2, 3}, memory + 8, 6);
    aclopSetAttrFloat(swish.attributes, "scale", 1);
    ASSERT_EQ(swish.run("Swish", stream), 0) << aclGetRecentErrMsg();
    Aclop pack;  // a list of inputs
    pack.add(false, {3}, memory, 3);
    pack.add(false, {3}, memory + 4, 3);
    pack.add(true, {2, 3}, memory + 16, 6);
    aclopSetAttrInt(pack.attributes, "axis", 0);
    aclopSetAttrInt(pack.attributes, "N", 2);
    ASSERT_EQ(pack.run("Pack", stream), 0) << aclGetRecentErrMsg();
    Aclop convolution;
    convolution.add(false, {1, 1, 4, 4}, memory, 16);
    convolution.add(false, {1, 1, 1, 1}, memory + 32, 1);
    convolution.add(true, {1, 1, 4, 4}, memory + 48, 16);
    const int64_t one_each[] = {1, 1, 1, 1}, none[] = {0, 0, 0, 0};
    aclopSetAttrListInt(convolution.attributes, "strides", 4, one_each);
    aclopSetAttrListInt(convolution.attributes, "pads", 4, none);
    aclopSetAttrString(convolution.attributes, "data_format", "NCHW");
    ASSERT_EQ(convolution.run("Conv2D", stream), 0) << aclGetRecentErrMsg();
  }
  synchronize();
  EXPECT_EQ(arguments_of(*recorder.get(), "Swish"), (Texts{"x=FLOAT[2,3]", "->y=FLOAT[2,3]", "scale=1"}));
  EXPECT_EQ(recorder->ends("Swish").at(0).event.cost.bytes, 48);
  EXPECT_EQ(arguments_of(*recorder.get(), "Pack"),
            (Texts{"x[0]=FLOAT[3]", "x[1]=FLOAT[3]", "->y=FLOAT[2,3]", "axis=0", "N=2"}));
  EXPECT_EQ(arguments_of(*recorder.get(), "Conv2D"),
            (Texts{"x=FLOAT[1,1,4,4]", "filter=FLOAT[1,1,1,1]", "bias=none", "offset_w=none", "->y=FLOAT[1,1,4,4]",
                   "strides=[1,1,1,1]", "pads=[0,0,0,0]", "dilations=[1,1,1,1]", "groups=1", "data_format=\"NCHW\"",
                   "offset_x=0"}));
  EXPECT_EQ(recorder->ends("Conv2D").at(0).event.correlation, recorder->calls("aclopExecuteV2").at(2).call.correlation);
}

TEST_F(Operators, NotifiesAndEventsOfClients) {
  Subscribed<Recorder> recorder(kAll);
  aclrtStream other = nullptr;
  ASSERT_EQ(aclrtCreateStream(&other), 0);
  aclrtNotify notify = nullptr;
  ASSERT_EQ(aclrtCreateNotify(&notify, 0), 0);
  ASSERT_EQ(aclrtWaitAndResetNotify(notify, stream, 0), 0);
  EXPECT_EQ(recorder->ends("NOTIFY_WAIT").size(), 0u);
  ASSERT_EQ(aclrtRecordNotify(notify, other), 0);
  synchronize();
  const auto ends = recorder->ends("NOTIFY_WAIT");
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].event.stream, id);
  EXPECT_EQ(ends[0].event.correlation, recorder->calls("aclrtWaitAndResetNotify").at(0).call.correlation);
  EXPECT_EQ(recorder->ends("NOTIFY_RECORD").size(), 1u);
  EXPECT_EQ(aclrtDestroyNotify(notify), 0);
  EXPECT_EQ(aclrtDestroyStream(other), 0);
}

TEST_F(Operators, ThreadsHaveTheirOwnCorrelations) {
  Subscribed<Recorder> recorder(kAll);
  std::vector<std::thread> threads;
  for (int k = 0; k < 2; ++k)
    threads.emplace_back([&, k] {
      ASSERT_EQ(aclrtSetDevice(0), 0);
      for (int i = 0; i < 50; ++i) ASSERT_EQ(aclrtMemsetAsync(memory + 512 * k, 16, 0, 16, stream), 0);
    });
  for (auto& t : threads) t.join();
  synchronize();
  const auto calls = recorder->calls("aclrtMemsetAsync");
  const auto ends = recorder->ends("MEMSET_ASYNC");
  ASSERT_EQ(calls.size(), 100u);
  ASSERT_EQ(ends.size(), 100u);
  for (const Seen& s : ends) {
    const auto call =
        std::ranges::find(calls, s.event.correlation, [](const SeenCall& c) { return c.call.correlation; });
    ASSERT_NE(call, calls.end());
    EXPECT_EQ(call->call.thread, s.event.submitter);
  }
}

}  // namespace
}  // namespace updraft
