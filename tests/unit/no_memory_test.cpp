// Refusals when the host has no memory for their text: they are still error codes. Not under sanitizers, which bring an
// operator new of their own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "error_text.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UPDRAFT_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UPDRAFT_SANITIZED
#endif
#endif

#ifndef UPDRAFT_SANITIZED
namespace {
thread_local bool t_none = false;  // operator new of this thread fails
}  // namespace

void* operator new(size_t bytes) {
  void* p = t_none ? nullptr : std::malloc(bytes ? bytes : 1);
  if (!p) throw std::bad_alloc();
  return p;
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }

extern "C" int HcclSetConfig(int32_t option, int32_t value);
extern "C" int aclnnInplaceAddsGetWorkspaceSize(aclTensor*, const aclScalar*, const aclScalar*, uint64_t*,
                                                aclOpExecutor**);

namespace updraft {
namespace {

template <class F>
int without_memory(F&& f) {
  t_none = true;
  const int code = f();
  t_none = false;
  return code;
}

TEST(NoMemory, RefusalsAreStillCodes) {
  aclInit(nullptr);
  ASSERT_EQ(aclrtSetDevice(0), 0);
  void* p = nullptr;
  ASSERT_EQ(aclrtMalloc(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST), 107000);
  error_text();
  EXPECT_EQ(without_memory([&] { return aclrtMalloc(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST); }), 200000);
  uint64_t workspace = 0;
  aclOpExecutor* executor = nullptr;
  EXPECT_NE(without_memory(
                [&] { return aclnnInplaceAddsGetWorkspaceSize(nullptr, nullptr, nullptr, &workspace, &executor); }),
            0);
  EXPECT_EQ(executor, nullptr);
  EXPECT_NE(without_memory([] { return HcclSetConfig(7, 0); }), 0);
  // What was refused so leaves nothing behind.
  EXPECT_EQ(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST), 0) << error_text();
  EXPECT_EQ(aclrtFree(p), 0);
  EXPECT_EQ(HcclSetConfig(0, 1), 0);
}

}  // namespace
}  // namespace updraft
#endif
