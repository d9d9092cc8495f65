// Refusals when the host has no memory for their text: they are still error codes. Not under sanitizers, which bring an
// operator new of their own.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "../error_text.h"
#include "../sanitizers.h"
#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "device/chain/flat_chain.h"
#include "device/device.h"
#include "device/stream.h"
#include "flags.h"
#include "work.h"

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

/// Adds 1 to each number.
class Increment final : public Task, public FlatWork {
 public:
  explicit Increment(std::vector<int>& numbers) : numbers_(numbers) { work = INT64_MAX; }
  void run() override { run_piece(0, 0, elements(0)); }
  void release() override { delete this; }
  const char* name() const override { return "Increment"; }
  const FlatWork* flat() const override { return this; }
  size_t rows() const override { return 1; }
  int64_t elements(size_t) const override { return static_cast<int64_t>(numbers_.size()); }
  int arrays(size_t, FlatArray* to) const override {
    to[0] = {reinterpret_cast<const char*>(numbers_.data()), numbers_.size() * sizeof(int)};
    return 1;
  }
  void run_piece(size_t, int64_t begin, int64_t n) const override {
    for (int64_t i = begin; i < begin + n; ++i) ++numbers_[static_cast<size_t>(i)];
  }

 private:
  std::vector<int>& numbers_;
};

TEST(NoMemory, TasksThatCouldRunTogetherRunOneByOne) {
  Device& device = Device::get(0);
  Stream* stream = device.create_stream(0, 0);
  std::vector<int> numbers(100);
  std::atomic<bool> go{false};
  stream->submit(new Work([&] {
    until(go);
    t_none = true;  // of the engine's thread, until the last task
  }));
  for (int i = 0; i < 3; ++i) stream->submit(new Increment(numbers));
  stream->submit(new Work([] { t_none = false; }));
  go = true;
  stream->synchronize();
  EXPECT_EQ(numbers, std::vector<int>(100, 3));
  device.destroy_stream(stream);
}

}  // namespace
}  // namespace updraft
#endif
