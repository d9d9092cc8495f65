// Groups of captured tasks whose arguments change between replays.
#include <gtest/gtest.h>

#include <cstdint>

#include "../error_text.h"
#include "acl/acl.h"
#include "aclnn/acl_meta.h"

extern "C" int aclnnInplaceAddsGetWorkspaceSize(aclTensor*, const aclScalar*, const aclScalar*, uint64_t*,
                                                aclOpExecutor**);
extern "C" int aclnnInplaceAdds(void*, uint64_t, aclOpExecutor*, aclrtStream);
extern "C" int aclnnInplaceMulsGetWorkspaceSize(aclTensor*, const aclScalar*, uint64_t*, aclOpExecutor**);
extern "C" int aclnnInplaceMuls(void*, uint64_t, aclOpExecutor*, aclrtStream);

namespace {

constexpr int kParamInvalid = 107000;

struct TaskGroups : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
    ASSERT_EQ(aclrtCreateStream(&stream), 0);
    ASSERT_EQ(aclrtCreateStream(&update), 0);
    ASSERT_EQ(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    ASSERT_EQ(aclrtMemset(memory, 64, 0, 64), 0);
  }
  void TearDown() override {
    if (graph) { EXPECT_EQ(aclmdlRIDestroy(graph), 0); }
    EXPECT_EQ(aclrtDestroyStreamForce(stream), 0);
    EXPECT_EQ(aclrtDestroyStreamForce(update), 0);
    EXPECT_EQ(aclrtFree(memory), 0);
  }
  /// x += value or x *= value, of one number.
  void put(aclrtStream on, float value, bool multiply = false) {
    const int64_t one = 1;
    aclTensor* x = aclCreateTensor(&one, 1, ACL_FLOAT, &one, 0, ACL_FORMAT_ND, &one, 1, memory);
    float alpha = 1;
    aclScalar *v = aclCreateScalar(&value, ACL_FLOAT), *a = aclCreateScalar(&alpha, ACL_FLOAT);
    uint64_t bytes = 0;
    aclOpExecutor* executor = nullptr;
    if (multiply) {
      ASSERT_EQ(aclnnInplaceMulsGetWorkspaceSize(x, v, &bytes, &executor), 0);
      ASSERT_EQ(aclnnInplaceMuls(nullptr, 0, executor, on), 0);
    } else {
      ASSERT_EQ(aclnnInplaceAddsGetWorkspaceSize(x, v, a, &bytes, &executor), 0);
      ASSERT_EQ(aclnnInplaceAdds(nullptr, 0, executor, on), 0);
    }
    aclDestroyScalar(v);
    aclDestroyScalar(a);
    aclDestroyTensor(x);
  }
  float read() {
    float value = -1;
    EXPECT_EQ(aclrtSynchronizeDevice(), 0);
    EXPECT_EQ(aclrtMemcpy(&value, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return value;
  }
  /// x = (x + 1) * 10 + 2, where the first two are the group.
  void capture() {
    ASSERT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 0);
    ASSERT_EQ(aclmdlRICaptureTaskGrpBegin(stream), 0);
    put(stream, 1);
    put(stream, 10, true);
    ASSERT_EQ(aclmdlRICaptureTaskGrpEnd(stream, &group), 0) << error_text();
    put(stream, 2);
    ASSERT_EQ(aclmdlRICaptureEnd(stream, &graph), 0);
  }
  aclrtStream stream = nullptr, update = nullptr;
  void* memory = nullptr;
  aclmdlRI graph = nullptr;
  aclrtTaskGrp group = nullptr;
};

TEST_F(TaskGroups, AnUpdateReplacesTheArguments) {
  capture();
  ASSERT_EQ(aclmdlRIExecuteAsync(graph, stream), 0);
  EXPECT_EQ(read(), 12);  // (0 + 1) * 10 + 2
  for (const float step : {3.0f, 5.0f}) {
    ASSERT_EQ(aclrtMemset(memory, 4, 0, 4), 0);
    ASSERT_EQ(aclmdlRICaptureTaskUpdateBegin(update, group), 0) << error_text();
    aclmdlRICaptureStatus status;
    ASSERT_EQ(aclmdlRICaptureGetInfo(update, &status, nullptr), 0);
    EXPECT_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_NONE);
    put(update, step);
    EXPECT_EQ(aclrtSynchronizeStream(update), 0) << error_text();  // torch_npu does so with ASCEND_LAUNCH_BLOCKING=1
    put(update, 100, true);
    EXPECT_EQ(aclrtSynchronizeDevice(), 0) << error_text();
    ASSERT_EQ(aclmdlRICaptureTaskUpdateEnd(update), 0) << error_text();
    EXPECT_EQ(read(), 0);  // nothing of it is computed
    ASSERT_EQ(aclmdlRIExecuteAsync(graph, stream), 0);
    EXPECT_EQ(read(), step * 100 + 2);
  }
}

TEST_F(TaskGroups, OtherTasksAreRefused) {
  capture();
  ASSERT_EQ(aclmdlRICaptureTaskUpdateBegin(update, group), 0);
  put(update, 1);
  EXPECT_EQ(aclmdlRICaptureTaskUpdateEnd(update), kParamInvalid);
  EXPECT_NE(error_text().find("1 tasks, the task group"), std::string::npos);
  ASSERT_EQ(aclmdlRICaptureTaskUpdateBegin(update, group), 0);
  put(update, 1, true);
  put(update, 1, true);
  EXPECT_EQ(aclmdlRICaptureTaskUpdateEnd(update), kParamInvalid);
  EXPECT_NE(error_text().find("aclnnInplaceAdds"), std::string::npos);
  ASSERT_EQ(aclmdlRIExecuteAsync(graph, stream), 0);  // as it was
  EXPECT_EQ(read(), 12);
}

TEST_F(TaskGroups, TheirOrderIsChecked) {
  EXPECT_EQ(aclmdlRICaptureTaskGrpBegin(stream), kParamInvalid);
  EXPECT_EQ(aclmdlRICaptureTaskUpdateEnd(update), kParamInvalid);
  ASSERT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 0);
  EXPECT_EQ(aclmdlRICaptureTaskGrpEnd(stream, &group), kParamInvalid);
  ASSERT_EQ(aclmdlRICaptureTaskGrpBegin(stream), 0);
  EXPECT_EQ(aclmdlRICaptureTaskGrpBegin(stream), kParamInvalid);
  put(stream, 1);
  ASSERT_EQ(aclmdlRICaptureTaskGrpEnd(stream, &group), 0);
  EXPECT_NE(aclmdlRICaptureTaskUpdateBegin(update, group), 0);  // the capture goes on
  ASSERT_EQ(aclmdlRICaptureEnd(stream, &graph), 0);
  ASSERT_EQ(aclmdlRIDestroy(graph), 0);
  graph = nullptr;
  EXPECT_NE(aclmdlRICaptureTaskUpdateBegin(update, group), 0);  // gone with the graph
}

}  // namespace
