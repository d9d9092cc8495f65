// What fuzzing and the sanitizers found (tests/fuzz), as plain calls: refused with a documented code, never a crash.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_op_compiler.h"
#include "aclnn/acl_meta.h"
#include "base/config.h"
#include "base/error.h"
#include "device/memory.h"
#include "tensor/extent.h"

extern "C" int aclnnInplaceAddsGetWorkspaceSize(aclTensor*, const aclScalar*, const aclScalar*, uint64_t*,
                                                aclOpExecutor**);
extern "C" int aclnnInplaceAdds(void*, uint64_t, aclOpExecutor*, aclrtStream);
extern "C" int aclnnCatGetWorkspaceSize(const aclTensorList*, int64_t, aclTensor*, uint64_t*, aclOpExecutor**);
using PadPlan = int(const aclTensor*, const aclIntArray*, aclTensor*, uint64_t*, aclOpExecutor**);
extern "C" PadPlan aclnnReflectionPad1dGetWorkspaceSize, aclnnReplicationPad1dGetWorkspaceSize;
extern "C" int aclnnReplicationPad1dBackwardGetWorkspaceSize(const aclTensor*, const aclTensor*, const aclIntArray*,
                                                             aclTensor*, uint64_t*, aclOpExecutor**);

namespace {

struct Abuse : testing::Test {
  static void SetUpTestSuite() { aclInit(nullptr); }
  void SetUp() override {
    ASSERT_EQ(aclrtSetDevice(0), 0);
    ASSERT_EQ(aclrtCreateStream(&stream), 0);
    ASSERT_EQ(aclrtMalloc(&memory, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    ASSERT_EQ(aclrtMemset(memory, kBytes, 0, kBytes), 0);
    float one = 1;
    scalar = aclCreateScalar(&one, ACL_FLOAT);
  }
  void TearDown() override {
    aclDestroyScalar(scalar);
    if (stream) { EXPECT_EQ(aclrtDestroyStream(stream), 0); }
    EXPECT_EQ(aclrtFree(memory), 0);
  }
  aclTensor* tensor(std::vector<int64_t> dims, const int64_t* strides = nullptr, int64_t offset = 0) {
    return aclCreateTensor(dims.data(), dims.size(), ACL_FLOAT, strides, offset, ACL_FORMAT_ND, dims.data(),
                           dims.size(), memory);
  }
  int plan(aclTensor* t) { return aclnnInplaceAddsGetWorkspaceSize(t, scalar, scalar, &workspace, &executor); }
  float first() {
    float value = 0;
    EXPECT_EQ(aclrtMemcpy(&value, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    return value;
  }

  static constexpr size_t kBytes = 4096;
  aclrtStream stream = nullptr;
  void* memory = nullptr;
  aclScalar* scalar = nullptr;
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
};

TEST_F(Abuse, TensorsReachNoFartherThanTheirAllocation) {
  const int64_t far[] = {INT64_MAX}, back[] = {-1}, wide[] = {1 << 20};
  EXPECT_EQ(tensor({2}, far), nullptr);
  EXPECT_EQ(tensor({2}, nullptr, INT64_MAX), nullptr);
  for (aclTensor* t : {tensor({1 << 20}), tensor({2}, back), tensor({2}, wide), tensor({1}, nullptr, -1),
                       tensor({1}, nullptr, 1 << 20), tensor({1}, nullptr, int64_t{1} << 40)}) {
    ASSERT_NE(t, nullptr);
    EXPECT_EQ(plan(t), 161002);
    aclDestroyTensor(t);
  }
  const int64_t reversed[] = {-1};
  aclTensor* good = tensor({2}, reversed, 1);
  EXPECT_EQ(plan(good), 0);
  EXPECT_EQ(aclnnInplaceAdds(nullptr, 0, executor, stream), 0);
  EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
  EXPECT_EQ(first(), 1);
  aclDestroyTensor(good);
  const int64_t dims[] = {2};
  aclTensor* nowhere = aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr);
  // Clients plan before they have memory; a run without it is refused.
  EXPECT_EQ(plan(nowhere), 0);
  EXPECT_EQ(aclnnInplaceAdds(nullptr, 0, executor, stream), 161001);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  aclDestroyTensor(nowhere);
}

TEST_F(Abuse, PaddingsThatNoTensorHasAreRefused) {
  aclTensor *small = tensor({1, 1, 4}), *large = tensor({1, 1, 8}), *gradient = tensor({1, 1, 4});
  const std::vector<std::vector<int64_t>> paddings = {
      {INT64_MAX, INT64_MAX}, {INT64_MAX, 0}, {INT64_MIN, INT64_MIN}, {INT64_MIN, 0}, {int64_t{1} << 60, 0}};
  for (const auto& values : paddings) {
    aclIntArray* padding = aclCreateIntArray(values.data(), values.size());
    EXPECT_EQ(aclnnReplicationPad1dGetWorkspaceSize(small, padding, large, &workspace, &executor), 161002);
    EXPECT_EQ(aclnnReflectionPad1dGetWorkspaceSize(small, padding, large, &workspace, &executor), 161002);
    EXPECT_EQ(aclnnReplicationPad1dBackwardGetWorkspaceSize(large, small, padding, gradient, &workspace, &executor),
              161002);
    EXPECT_EQ(aclDestroyIntArray(padding), 0);
  }
  for (aclTensor* t : {small, large, gradient}) aclDestroyTensor(t);
}

TEST_F(Abuse, AnExecutorIsLaunchedOnceOrAsOftenAsItIsRepeatable) {
  aclTensor* t = tensor({4});
  ASSERT_EQ(plan(t), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 161002);
  ASSERT_EQ(plan(t), 0);
  std::atomic<bool> go{false};
  auto wait = [](void* flag) {
    while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::yield();
  };
  ASSERT_EQ(aclrtLaunchHostFunc(stream, wait, &go), 0);
  EXPECT_EQ(aclnnInplaceAdds(nullptr, 0, executor, stream), 0);
  EXPECT_EQ(aclnnInplaceAdds(nullptr, 0, executor, stream), 161002);  // it is on the stream
  EXPECT_EQ(aclSetAclOpExecutorRepeatable(executor), 161002);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 161002);
  ASSERT_EQ(plan(t), 0);
  ASSERT_EQ(aclSetAclOpExecutorRepeatable(executor), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(aclnnInplaceAdds(nullptr, 0, executor, stream), 0);
  EXPECT_EQ(aclDestroyAclOpExecutor(executor), 0);  // its runs go on
  EXPECT_EQ(aclnnInplaceAdds(nullptr, 0, executor, stream), 161002);
  go = true;
  EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
  EXPECT_EQ(first(), 4);
  aclDestroyTensor(t);
}

TEST_F(Abuse, ListsWithHolesAreRefused) {
  aclTensor* items[] = {tensor({4}), nullptr};
  aclTensorList* list = aclCreateTensorList(items, 2);
  aclTensor* out = tensor({8});
  EXPECT_EQ(aclnnCatGetWorkspaceSize(list, 0, out, &workspace, &executor), 161002);
  aclDestroyTensor(out);
  aclDestroyTensorList(list);
}

TEST_F(Abuse, TensorsWithoutDimensionsAreNotJoined) {
  for (int i = 0; i < 3; ++i) aclDestroyTensor(tensor({4}));  // their handles are used again
  aclTensor* items[] = {tensor({}), tensor({})};
  aclTensorList* list = aclCreateTensorList(items, 2);
  aclTensor* out = tensor({});
  EXPECT_EQ(aclnnCatGetWorkspaceSize(list, 0, out, &workspace, &executor), 161002);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("cannot be joined"), std::string::npos);
  aclDestroyTensor(out);
  aclDestroyTensorList(list);
}

TEST_F(Abuse, OutputsOfQuestionsMayNotBeNull) {
  aclTensor* t = tensor({4});
  aclIntArray* ints = aclCreateIntArray(nullptr, 0);
  EXPECT_EQ(aclGetViewShape(t, nullptr, nullptr), 161001);
  EXPECT_EQ(aclGetViewOffset(t, nullptr), 161001);
  EXPECT_EQ(aclGetFormat(t, nullptr), 161001);
  EXPECT_EQ(aclGetDataType(t, nullptr), 161001);
  EXPECT_EQ(aclGetIntArraySize(ints, nullptr), 161001);
  aclDestroyIntArray(ints);
  aclDestroyTensor(t);
}

TEST_F(Abuse, AGraphLivesAsLongAsItsCapture) {
  aclmdlRI graph = nullptr, same = nullptr;
  aclmdlRICaptureStatus status;
  ASSERT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 0);
  ASSERT_EQ(aclmdlRICaptureGetInfo(stream, &status, &graph), 0);
  EXPECT_EQ(aclmdlRIDestroy(graph), 207000);
  EXPECT_EQ(aclmdlRIExecuteAsync(graph, stream), 207000);
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event), 0);
  EXPECT_EQ(aclrtRecordEvent(event, stream), 0);
  ASSERT_EQ(aclmdlRICaptureEnd(stream, &same), 0);
  EXPECT_EQ(aclmdlRIDestroy(graph), 0);
  // The event outlives the graph; waiting for it captures nobody.
  aclrtStream other = nullptr;
  ASSERT_EQ(aclrtCreateStream(&other), 0);
  EXPECT_EQ(aclrtStreamWaitEvent(other, event), 0);
  EXPECT_EQ(aclmdlRICaptureGetInfo(other, &status, nullptr), 0);
  EXPECT_EQ(status, ACL_MODEL_RI_CAPTURE_STATUS_NONE);
  EXPECT_EQ(aclrtSynchronizeEvent(event), 0);
  EXPECT_EQ(aclrtSynchronizeStream(other), 0);
  aclrtDestroyEvent(event);
  aclrtDestroyStream(other);
}

TEST_F(Abuse, AStreamMayEndBeforeItsCapture) {
  aclmdlRI graph = nullptr;
  aclmdlRICaptureStatus status;
  aclrtStream other = nullptr;
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateStream(&other), 0);
  ASSERT_EQ(aclrtCreateEvent(&event), 0);
  ASSERT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 0);
  ASSERT_EQ(aclmdlRICaptureGetInfo(stream, &status, &graph), 0);
  ASSERT_EQ(aclrtRecordEvent(event, stream), 0);
  ASSERT_EQ(aclrtStreamWaitEvent(other, event), 0);  // joins
  EXPECT_EQ(aclrtDestroyStream(stream), 0);
  stream = nullptr;
  aclmdlRI none = nullptr;
  EXPECT_EQ(aclmdlRICaptureEnd(other, &none), 107000);
  EXPECT_EQ(aclmdlRIDestroy(graph), 0);
  EXPECT_EQ(aclrtSynchronizeStream(other), 0);
  aclrtDestroyStream(other);
  aclrtDestroyEvent(event);
}

TEST_F(Abuse, AnAbortedRecordHoldsNobody) {
  aclrtStream other = nullptr;
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateStream(&other), 0);
  ASSERT_EQ(aclrtCreateEvent(&event), 0);
  std::atomic<int> state{0};
  auto hold = [](void* p) {
    auto& s = *static_cast<std::atomic<int>*>(p);
    s = 1;
    while (s != 2) std::this_thread::yield();
  };
  ASSERT_EQ(aclrtLaunchHostFunc(stream, hold, &state), 0);
  while (state != 1) std::this_thread::yield();
  ASSERT_EQ(aclrtRecordEvent(event, stream), 0);
  ASSERT_EQ(aclrtStreamWaitEvent(other, event), 0);
  EXPECT_EQ(aclrtStreamAbort(stream), 0);
  EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(other, 10000), 0);
  state = 2;
  EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
  aclrtDestroyEvent(event);
  aclrtDestroyStream(other);
}

TEST_F(Abuse, CopiesOfRowsAreBounded) {
  std::vector<char> host(64);
  EXPECT_EQ(aclrtMemcpy2d(memory, 1024, host.data(), 8, 8, SIZE_MAX, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
  EXPECT_EQ(aclrtMemcpy2d(memory, 1024, host.data(), 8, 8, 6, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
  EXPECT_EQ(aclrtMemcpy2d(memory, 1024, host.data(), 8, 0, SIZE_MAX, ACL_MEMCPY_HOST_TO_DEVICE), 0);
  EXPECT_EQ(aclrtMemcpy2d(memory, 1024, host.data(), 8, 8, 4, ACL_MEMCPY_HOST_TO_DEVICE), 0);
  EXPECT_EQ(aclrtMemcpyBatch(nullptr, nullptr, nullptr, nullptr, 1, nullptr, nullptr, 0, nullptr), 107000);
  EXPECT_EQ(aclrtValueWrite(static_cast<char*>(memory) + 1, 0, 0, stream), 107000);
}

TEST_F(Abuse, DescriptionsHaveSizes) {
  const int64_t dims[] = {2, 2};
  EXPECT_EQ(aclCreateTensorDesc(ACL_FLOAT, INT32_MAX, dims, ACL_FORMAT_ND), nullptr);
  aclTensorDesc* d = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
  EXPECT_EQ(aclSetTensorShape(d, -1, dims), 100000);
  EXPECT_EQ(aclSetTensorShape(d, 2, nullptr), 100000);
  aclopAttr* attribute = aclopCreateAttr();
  EXPECT_EQ(aclopSetAttrListInt(attribute, "axes", -1, dims), 100000);
  EXPECT_EQ(aclopSetAttrListInt(attribute, "axes", 2, nullptr), 100000);
  aclDestroyTensorDesc(d);
  aclTensorDesc* stale[] = {d};
  aclDataBuffer* buffers[] = {aclCreateDataBuffer(memory, kBytes)};
  EXPECT_EQ(aclopExecuteV2("NPUGetFloatStatus", 1, stale, buffers, 1, stale, buffers, nullptr, stream), 100000);
  EXPECT_EQ(aclopExecuteV2("NPUGetFloatStatus", -1, nullptr, nullptr, 0, nullptr, nullptr, nullptr, stream), 100000);
  aclDestroyDataBuffer(buffers[0]);
  aclopDestroyAttr(attribute);
}

// A description without a type stands for an absent tensor, whatever buffer comes with it.
TEST_F(Abuse, AbsentTensorsOfOperatorsByNameAreRefusedOrLeftAlone) {
  const int64_t dims[] = {8};
  aclTensorDesc* present = aclCreateTensorDesc(ACL_FLOAT, 1, dims, ACL_FORMAT_ND);
  aclTensorDesc* absent = aclCreateTensorDesc(ACL_DT_UNDEFINED, 0, nullptr, ACL_FORMAT_ND);
  aclDataBuffer* buffer = aclCreateDataBuffer(memory, kBytes);
  const std::vector<aclDataBuffer*> buffers(17, buffer);
  auto run = [&](const char* type, int inputs, aclTensorDesc* in, int outputs, aclTensorDesc* out) {
    std::vector<aclTensorDesc*> from(17, in), to(17, out);
    std::vector<aclDataBuffer*> data = buffers;
    int code = aclopExecuteV2(type, inputs, from.data(), data.data(), outputs, to.data(), data.data(), nullptr, stream);
    return code ? code : aclrtSynchronizeStream(stream);
  };
  EXPECT_EQ(run("NPUGetFloatStatus", 1, present, 1, absent), 0);
  EXPECT_EQ(run("NPUGetFloatStatus", 1, absent, 1, absent), 0);
  EXPECT_EQ(run("NPUClearFloatStatus", 1, absent, 1, absent), 0);
  for (const char* type : {"ApplyAdamD",
                           "ApplyAdamW",
                           "CdistGrad",
                           "ConfusionTransposeD",
                           "DynamicGRUV2",
                           "DynamicGRUV2Grad",
                           "DynamicRNN",
                           "DynamicRNNGrad",
                           "DynamicRNNV2",
                           "DynamicRNNV2Grad",
                           "ScaledMaskedSoftmax",
                           "ScaledMaskedSoftmaxGrad",
                           "Conv2D",
                           "Conv2DTranspose",
                           "Conv3DBackpropInput",
                           "Conv3DBackpropFilter",
                           "NLLLoss",
                           "NLLLossGrad",
                           "MaxPool3D",
                           "MaxPool3DGrad",
                           "AvgPool3D",
                           "AvgPool3DGrad",
                           "Im2col",
                           "ReduceSum",
                           "Swish",
                           "SwishGrad",
                           "RealDiv",
                           "Square",
                           "Cast",
                           "BroadcastTo",
                           "Slice",
                           "StridedSlice",
                           "Transpose",
                           "AsStrided"}) {
    EXPECT_NE(run(type, 17, absent, 8, absent), 0) << type;
    EXPECT_NE(run(type, 17, absent, 8, present), 0) << type;
    EXPECT_NE(run(type, 17, present, 8, absent), 0) << type;
  }
  aclDestroyTensorDesc(present);
  aclDestroyTensorDesc(absent);
  aclDestroyDataBuffer(buffer);
}

TEST_F(Abuse, AnAddressFreedTwiceTakesNothingFromOthers) {
  constexpr size_t kPiece = 2 << 20;
  void* first = nullptr;
  ASSERT_EQ(aclrtMalloc(&first, kPiece, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  ASSERT_EQ(aclrtFree(first), 0);
  aclrtPhysicalMemProp prop = {};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  aclrtDrvMemHandle handle = nullptr;
  ASSERT_EQ(aclrtMallocPhysical(&handle, kPiece, &prop, 0), 0);
  // The first fit: the physical memory lies where the allocation lay.
  EXPECT_EQ(aclrtFree(first), 107000);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("physical memory"), std::string::npos);
  EXPECT_EQ(aclrtFreePhysical(handle), 0);
}

TEST_F(Abuse, KeysNameMemoryOfADevice) {
  void* p = nullptr;
  const std::string self = "updraft:" + std::to_string(getpid()) + ":";
  EXPECT_EQ(aclrtIpcMemImportByKey(&p, (self + "0:0:1").c_str(), 0), 107000);  // standard input
  char key[65];
  ASSERT_EQ(aclrtIpcMemGetExportKey(memory, kBytes, key, sizeof key, 0), 0);
  std::string right = key;
  std::string file = right.substr(0, right.rfind(':', right.rfind(':') - 1) + 1);
  EXPECT_EQ(aclrtIpcMemImportByKey(&p, (file + "0:18446744073709551615").c_str(), 0), 107000);
  EXPECT_EQ(aclrtIpcMemImportByKey(&p, (file + "18446744073709551615:4096").c_str(), 0), 107000);
  for (int i = 0; i < 2; ++i) ASSERT_EQ(aclrtIpcMemImportByKey(&p, key, 0), 0);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(aclrtIpcMemClose(key), 0);
}

TEST(Extent, RefusesWhatDoesNotFit) {
  using namespace updraft;
  int64_t dims[] = {3, 2};
  TensorView v = TensorView::contiguous(nullptr, DType::Float, dims, 2);
  EXPECT_EQ(extent_of(v)->high, 24);
  v.strides[0] = -2;
  EXPECT_EQ(extent_of(v)->low, -16);
  EXPECT_EQ(extent_of(v)->high, 8);
  v.strides[0] = INT64_MAX / 2;
  EXPECT_FALSE(extent_of(v));
  v.dtype = DType::Int4;  // no size in bytes
  EXPECT_FALSE(extent_of(v));
  v.dtype = DType::Float;
  v.strides[0] = 2;
  v.dims[1] = 0;
  EXPECT_EQ(extent_of(v)->high, 0);
  v.dims[0] = INT64_MAX;
  EXPECT_FALSE(extent_of(v));
}

TEST(Sizes, AreNumbersThatFit) {
  using updraft::parse_size;
  EXPECT_EQ(parse_size("1.5K", "X"), 1536u);
  for (const char* text : {"nan", "inf", "1e300", "-1", "9e18T", "", "12Q"})
    EXPECT_THROW(parse_size(text, "X"), updraft::Error) << text;
}

TEST(DeviceMemory, MappingsStayApartAndInside) {
  updraft::DeviceMemory memory(904, 64 << 20);
  EXPECT_THROW(memory.reserve(~size_t{0} - (4 << 20)), updraft::Error);
  EXPECT_THROW(memory.reserve(~size_t{0}), updraft::Error);
  constexpr size_t n = 2 << 20;
  char* p = static_cast<char*>(memory.reserve(4 * n));
  EXPECT_THROW(memory.map(p, ~size_t{0}, memory.fd(), 0), updraft::Error);
  memory.map(p, n, memory.fd(), 0);
  EXPECT_THROW(memory.map(p, 2 * n, memory.fd(), 0), updraft::Error);
  memory.map(p + n, n, memory.fd(), n);
  EXPECT_EQ(memory.room_at(p + 1), 2 * n - 1);  // mappings that follow each other are one range
  EXPECT_TRUE(memory.covers(p, p + 2 * n));
  EXPECT_TRUE(memory.covers(p + n - 1, p + n + 1));
  EXPECT_FALSE(memory.covers(p, p + 2 * n + 1));
  memory.unmap(p + n);
  EXPECT_FALSE(memory.covers(p, p + 2 * n));
  EXPECT_EQ(memory.room_at(p + n), 0u);
  memory.unmap(p);
  memory.release(p);
  updraft::HostMemory& host = updraft::HostMemory::get();
  EXPECT_THROW(host.add(p, 0), updraft::Error);
  EXPECT_THROW(host.add(p, ~size_t{0}), updraft::Error);
}

}  // namespace
