// A forked child of a process that uses devices: each call is refused with a sentence; nothing hangs, nothing crashes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "base/log.h"

extern "C" int aclnnInplaceAddsGetWorkspaceSize(aclTensor*, const aclScalar*, const aclScalar*, uint64_t*,
                                                aclOpExecutor**);
extern "C" int aclnnInplaceAdds(void*, uint64_t, aclOpExecutor*, aclrtStream);

namespace {

constexpr int kNotSupported = 207000;

/// The number of the check that failed in a child, 0 when all held.
int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(body());
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

struct Fork : testing::Test {
  void SetUp() override {
    aclInit(nullptr);
    ASSERT_EQ(aclrtSetDevice(0), 0);
    ASSERT_EQ(aclrtCreateStream(&stream), 0);
    ASSERT_EQ(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    int64_t size = 16;
    float one = 1;
    tensor = aclCreateTensor(&size, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &size, 1, memory);
    scalar = aclCreateScalar(&one, ACL_FLOAT);
    ASSERT_EQ(aclnnInplaceAddsGetWorkspaceSize(tensor, scalar, scalar, &workspace, &executor), 0);
  }
  void TearDown() override {
    EXPECT_EQ(aclnnInplaceAdds(nullptr, 0, executor, stream), 0);
    EXPECT_EQ(aclrtSynchronizeStream(stream), 0);  // the parent goes on
    aclDestroyTensor(tensor);
    aclDestroyScalar(scalar);
    EXPECT_EQ(aclrtDestroyStream(stream), 0);
    EXPECT_EQ(aclrtFree(memory), 0);
  }
  aclrtStream stream = nullptr;
  void* memory = nullptr;
  aclTensor* tensor = nullptr;
  aclScalar* scalar = nullptr;
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
};

TEST_F(Fork, EachCallOfAChildIsRefused) {
  EXPECT_EQ(in_child([&] {
              void* p = nullptr;
              aclOpExecutor* other = nullptr;
              uint64_t bytes = 0;
              if (aclrtSetDevice(0) != kNotSupported) return 1;
              if (std::string(aclGetRecentErrMsg()).find("spawn") == std::string::npos) return 2;
              if (aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST) != kNotSupported) return 3;
              if (aclrtMemset(memory, 64, 0, 64) != kNotSupported) return 4;
              if (aclrtMemsetAsync(memory, 64, 0, 64, stream) != kNotSupported) return 5;
              if (aclrtSynchronizeStream(stream) != kNotSupported) return 6;
              if (aclrtSynchronizeDevice() != kNotSupported) return 7;
              if (aclrtDestroyStream(stream) != kNotSupported) return 8;
              if (aclnnInplaceAdds(nullptr, 0, executor, stream) != kNotSupported) return 9;
              if (aclnnInplaceAddsGetWorkspaceSize(tensor, scalar, scalar, &bytes, &other) != kNotSupported) return 10;
              if (aclDestroyTensor(tensor) != kNotSupported) return 11;
              if (aclFinalize() != kNotSupported) return 12;
              return 0;
            }),
            0);
}

// The log and the text of the last error are whole, whoever held them when the fork came.
TEST_F(Fork, WhoForksWhileOthersReportErrors) {
  std::atomic<bool> over{false};
  std::thread reporting([&] {
    while (!over) aclrtFree(nullptr);
  });
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(in_child([] { return aclrtFree(nullptr) == kNotSupported && aclGetRecentErrMsg() ? 0 : 1; }), 0);
  over = true;
  reporting.join();
}

// A child that outlives its parent must not keep the parent's memory counted.
TEST_F(Fork, AChildLetsTheRecordOfItsParentGo) {
  EXPECT_EQ(in_child([] {
              std::error_code error;
              for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd"))
                if (std::filesystem::read_symlink(fd, error).string().find("/devices/") != std::string::npos) return 1;
              return 0;
            }),
            0);
}

}  // namespace
