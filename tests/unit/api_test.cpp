// The C interface under abuse: documented codes and a text, never a crash.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "error_text.h"

extern "C" int aclnnAddGetWorkspaceSize(const aclTensor*, const aclTensor*, const aclScalar*, aclTensor*, uint64_t*,
                                        aclOpExecutor**);
extern "C" int aclnnAdd(void*, uint64_t, aclOpExecutor*, aclrtStream);

namespace {

struct Api : testing::Test {
  static void SetUpTestSuite() { aclInit(nullptr); }
  void SetUp() override {
    ASSERT_EQ(aclrtSetDevice(0), 0);
    error_text();
  }
};

TEST_F(Api, InitialisesOnce) {
  EXPECT_EQ(aclInit(nullptr), 100002);
  EXPECT_NE(error_text().find("aclInit"), std::string::npos);
}

TEST_F(Api, WrongDeviceNamesTheVariable) {
  EXPECT_EQ(aclrtSetDevice(8), 107001);
  EXPECT_NE(error_text().find("UPDRAFT_DEVICES"), std::string::npos);
  EXPECT_EQ(aclrtSetDevice(-1), 107001);
  int32_t device = -1;
  EXPECT_EQ(aclrtGetDevice(&device), 0);
  EXPECT_EQ(device, 0);
}

TEST_F(Api, AThreadWithoutContextIsToldWhatToCall) {
  std::thread([] {
    void* p = nullptr;
    EXPECT_EQ(aclrtMalloc(&p, 16, ACL_MEM_MALLOC_HUGE_FIRST), 107002);
    EXPECT_NE(error_text().find("aclrtSetDevice"), std::string::npos);
  }).join();
}

TEST_F(Api, NullPointersAndStaleHandles) {
  EXPECT_EQ(aclrtMalloc(nullptr, 16, ACL_MEM_MALLOC_HUGE_FIRST), 107000);
  void* p = nullptr;
  EXPECT_EQ(aclrtMalloc(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST), 107000);
  EXPECT_EQ(aclrtMalloc(&p, ~size_t{0}, ACL_MEM_MALLOC_HUGE_FIRST), 207001);
  EXPECT_EQ(aclrtFree(nullptr), 107000);
  int local = 0;
  EXPECT_EQ(aclrtFree(&local), 107000);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  EXPECT_EQ(aclrtDestroyStream(stream), 0);
  EXPECT_EQ(aclrtDestroyStream(stream), 107017);
  EXPECT_EQ(aclrtSynchronizeStream(stream), 107017);
  EXPECT_EQ(aclrtSynchronizeStream(&local), 107017);
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&event), 0);
  EXPECT_EQ(aclrtDestroyEvent(event), 0);
  EXPECT_EQ(aclrtDestroyEvent(event), 107017);
  aclrtContext context = nullptr;
  ASSERT_EQ(aclrtCreateContext(&context, 0), 0);
  EXPECT_EQ(aclrtDestroyContext(context), 0);
  EXPECT_EQ(aclrtSetCurrentContext(context), 107017);
}

TEST_F(Api, CopiesAreBounded) {
  void* p = nullptr;
  ASSERT_EQ(aclrtMalloc(&p, 1024, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  std::vector<char> host(1 << 20, 3), back(1024);
  EXPECT_EQ(aclrtMemcpy(p, 1024, host.data(), 1024, ACL_MEMCPY_HOST_TO_DEVICE), 0);
  EXPECT_EQ(aclrtMemcpy(p, 512, host.data(), 1024, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
  EXPECT_EQ(aclrtMemcpy(p, 1 << 20, host.data(), 1 << 20, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
  EXPECT_NE(error_text().find("room"), std::string::npos);
  EXPECT_EQ(aclrtMemcpy(nullptr, 16, host.data(), 16, ACL_MEMCPY_HOST_TO_DEVICE), 107000);
  EXPECT_EQ(aclrtMemcpy(p, 16, host.data(), 16, static_cast<aclrtMemcpyKind>(99)), 107000);
  EXPECT_EQ(aclrtMemcpy(back.data(), 1024, p, 1024, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  EXPECT_EQ(std::memcmp(back.data(), host.data(), 1024), 0);
  EXPECT_EQ(aclrtMemset(p, 1024, 9, 1024), 0);
  EXPECT_EQ(aclrtMemcpy(back.data(), 1024, p, 1024, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  EXPECT_EQ(back[1023], 9);
  EXPECT_EQ(aclrtFree(p), 0);
  EXPECT_EQ(aclrtFree(p), 107000);
}

TEST_F(Api, AsyncCopiesOfUnpinnedMemoryTakeTheValuesOfTheCall) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  void* p = nullptr;
  ASSERT_EQ(aclrtMalloc(&p, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  for (size_t n : {size_t{64}, size_t{1} << 20}) {
    std::vector<char> host(n, 1), back(n);
    ASSERT_EQ(aclrtMemcpyAsync(p, n, host.data(), n, ACL_MEMCPY_HOST_TO_DEVICE, stream), 0);
    std::fill(host.begin(), host.end(), 2);
    ASSERT_EQ(aclrtMemcpyAsync(back.data(), n, p, n, ACL_MEMCPY_DEVICE_TO_HOST, stream), 0);
    EXPECT_EQ(back.front(), 1);
    EXPECT_EQ(back.back(), 1);
  }
  aclrtFree(p);
  aclrtDestroyStream(stream);
}

TEST_F(Api, OperatorsRefuseWhatIsWrong) {
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_EQ(aclnnAddGetWorkspaceSize(nullptr, nullptr, nullptr, nullptr, &workspace, &executor), 161001);
  EXPECT_NE(error_text().find("self is null"), std::string::npos);
  int64_t dims[] = {2, 3}, other_dims[] = {2, 4}, strides[] = {3, 1};
  void* data = nullptr;
  ASSERT_EQ(aclrtMalloc(&data, 32, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  aclTensor* a = aclCreateTensor(dims, 2, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, dims, 2, data);
  aclTensor* b = aclCreateTensor(other_dims, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, other_dims, 2, data);
  float one = 1;
  aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
  EXPECT_EQ(aclnnAddGetWorkspaceSize(a, b, alpha, a, &workspace, &executor), 161002);
  std::string text = error_text();
  EXPECT_NE(text.find("[2,3]"), std::string::npos) << text;
  EXPECT_NE(text.find("[2,4]"), std::string::npos) << text;
  EXPECT_EQ(executor, nullptr);
  EXPECT_EQ(aclnnAdd(nullptr, 0, nullptr, nullptr), 161001);
  EXPECT_EQ(aclnnAddGetWorkspaceSize(a, a, alpha, a, &workspace, &executor), 0);
  EXPECT_EQ(aclnnAdd(nullptr, workspace, executor, nullptr), 0);
  EXPECT_EQ(aclrtSynchronizeDevice(), 0);
  EXPECT_EQ(aclDestroyTensor(b), 0);
  EXPECT_EQ(aclnnAddGetWorkspaceSize(a, b, alpha, a, &workspace, &executor), 161002);  // stale
  EXPECT_EQ(aclDestroyTensor(b), 161002);
  EXPECT_EQ(aclDestroyTensor(nullptr), 0);
  aclDestroyTensor(a);
  aclDestroyScalar(alpha);
  EXPECT_EQ(aclrtFree(data), 0);
}

TEST_F(Api, TensorsThatCannotBe) {
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  int64_t negative[] = {2, -3}, huge[] = {int64_t{1} << 40, int64_t{1} << 40}, dims[] = {2};
  EXPECT_EQ(aclCreateTensor(negative, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr), nullptr);
  EXPECT_NE(error_text().find("[2,-3]"), std::string::npos);
  EXPECT_EQ(aclCreateTensor(huge, 2, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr), nullptr);
  EXPECT_EQ(aclCreateTensor(dims, 99, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr), nullptr);
  float data[2] = {}, one = 1;
  aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
  for (int type : {static_cast<int>(ACL_STRING), static_cast<int>(ACL_FLOAT8_E5M2), 77, 256, -1}) {
    aclTensor* t = aclCreateTensor(dims, 1, static_cast<aclDataType>(type), nullptr, 0, ACL_FORMAT_ND, dims, 1, data);
    EXPECT_EQ(aclnnAddGetWorkspaceSize(t, t, alpha, t, &workspace, &executor), 161002) << type;
    EXPECT_NE(error_text().find("data type"), std::string::npos);
    aclDestroyTensor(t);
  }
  aclDestroyScalar(alpha);
}

TEST_F(Api, CaptureReplaysWhatWasRecorded) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  void* p = nullptr;
  ASSERT_EQ(aclrtMalloc(&p, 24, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  std::vector<float> ones(6, 1), back(6);
  aclrtMemcpy(p, 24, ones.data(), 24, ACL_MEMCPY_HOST_TO_DEVICE);
  int64_t dims[] = {6};
  aclTensor* a = aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, p);
  float one = 1;
  aclScalar* alpha = aclCreateScalar(&one, ACL_FLOAT);
  ASSERT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 0);
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  ASSERT_EQ(aclnnAddGetWorkspaceSize(a, a, alpha, a, &workspace, &executor), 0);  // doubles
  ASSERT_EQ(aclnnAdd(nullptr, 0, executor, stream), 0);
  aclDestroyTensor(a);  // handles are gone before the replay
  aclDestroyScalar(alpha);
  aclmdlRI graph = nullptr;
  ASSERT_EQ(aclmdlRICaptureEnd(stream, &graph), 0);
  aclrtMemcpy(back.data(), 24, p, 24, ACL_MEMCPY_DEVICE_TO_HOST);
  EXPECT_EQ(back[0], 1);  // capturing runs nothing
  for (int i = 0; i < 3; ++i) ASSERT_EQ(aclmdlRIExecuteAsync(graph, stream), 0);
  ASSERT_EQ(aclrtSynchronizeStream(stream), 0);
  aclrtMemcpy(back.data(), 24, p, 24, ACL_MEMCPY_DEVICE_TO_HOST);
  EXPECT_EQ(back[0], 8);
  EXPECT_EQ(back[5], 8);
  EXPECT_EQ(aclmdlRIDestroy(graph), 0);
  EXPECT_NE(aclmdlRIDestroy(graph), 0);
  // Synchronising inside is refused, and the capture goes on.
  ASSERT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), 0);
  EXPECT_EQ(aclrtSynchronizeStream(stream), 107027);
  EXPECT_EQ(aclmdlRICaptureEnd(stream, &graph), 0);
  EXPECT_EQ(aclmdlRIDestroy(graph), 0);
  EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
  aclrtFree(p);
  aclrtDestroyStream(stream);
}

TEST_F(Api, ACallbackRunsInTheThreadThatSubscribed) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  static std::thread::id ran;
  auto callback = [](void*) { ran = std::this_thread::get_id(); };
  EXPECT_EQ(aclrtLaunchCallback(callback, nullptr, ACL_CALLBACK_BLOCK, stream), 107015);
  std::thread listener([&] {
    aclrtSetDevice(0);
    ASSERT_EQ(aclrtSubscribeReport(static_cast<uint64_t>(pthread_self()), stream), 0);
    ASSERT_EQ(aclrtLaunchCallback(callback, nullptr, ACL_CALLBACK_BLOCK, stream), 0);
    ASSERT_EQ(aclrtProcessReport(5000), 0);
    EXPECT_EQ(ran, std::this_thread::get_id());
    EXPECT_EQ(aclrtProcessReport(1), 100036);
  });
  listener.join();
  EXPECT_EQ(aclrtSynchronizeStream(stream), 0);
  aclrtDestroyStream(stream);
}

TEST_F(Api, LimitsOfCoresAreKept) {
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), 0);
  uint32_t all = 0, value = 0;
  ASSERT_EQ(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &all), 0);
  EXPECT_EQ(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, all + 1), 107000);
  EXPECT_EQ(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 3), 0);
  EXPECT_EQ(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &value), 0);
  EXPECT_EQ(value, 3u);
  EXPECT_EQ(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 2), 0);
  EXPECT_EQ(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &value), 0);
  EXPECT_EQ(value, 2u);
  EXPECT_EQ(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value), 0);
  EXPECT_EQ(value, 3u);
  EXPECT_EQ(aclrtUseStreamResInCurrentThread(stream), 0);
  EXPECT_EQ(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value), 0);
  EXPECT_EQ(value, 2u);
  EXPECT_EQ(aclrtUnuseStreamResInCurrentThread(stream), 0);
  EXPECT_EQ(aclrtResetStreamResLimit(stream), 0);
  EXPECT_EQ(aclrtResetDeviceResLimit(0), 0);
  EXPECT_EQ(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &value), 0);
  EXPECT_EQ(value, all);
  aclrtDestroyStream(stream);
}

// A thread's own texts are destroyed before the handlers of exit() run, in which clients clean up.
TEST_F(Api, FailuresInHandlersOfExit) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        for (int i = 0; i < 2; ++i) aclrtDestroyStream(reinterpret_cast<aclrtStream>(8));
        error_text();
        aclrtDestroyStream(reinterpret_cast<aclrtStream>(8));
        std::atexit([] {
          for (int i = 0; i < 20; ++i) {
            aclrtDestroyStream(reinterpret_cast<aclrtStream>(8));
            if (i % 2 && error_text().find("aclrtDestroyStream") == std::string::npos) std::_Exit(3);
          }
        });
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
