// Ranks as threads of one process, each on a device of its own, and device memory for them.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "hccl/hccl.h"

struct Rank {
  uint32_t rank, size;
  HcclComm comm;
  aclrtStream stream;
};

/// Runs `body` as every rank, on a device and a stream of its own; the body sees to the communicator.
inline void as_threads(uint32_t size, const std::function<void(Rank&)>& body) {
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < size; ++r)
    threads.emplace_back([&, r] {
      ASSERT_EQ(aclrtSetDevice(static_cast<int32_t>(r)), 0);
      Rank rank{r, size, nullptr, nullptr};
      ASSERT_EQ(aclrtCreateStream(&rank.stream), 0);
      body(rank);
      EXPECT_EQ(aclrtDestroyStream(rank.stream), 0);
    });
  for (std::thread& t : threads) t.join();
}

/// Runs `body` as every rank of a communicator from root info. A body that destroys it sets `comm` to null.
inline void as_ranks(uint32_t size, const std::function<void(Rank&)>& body) {
  aclInit(nullptr);
  HcclRootInfo info;
  ASSERT_EQ(aclrtSetDevice(0), 0);
  ASSERT_EQ(HcclGetRootInfo(&info), HCCL_SUCCESS);
  as_threads(size, [&](Rank& rank) {
    ASSERT_EQ(HcclCommInitRootInfo(size, &info, rank.rank, &rank.comm), HCCL_SUCCESS) << aclGetRecentErrMsg();
    body(rank);
    if (rank.comm) { EXPECT_EQ(HcclCommDestroy(rank.comm), HCCL_SUCCESS); }
  });
}

/// Device memory with the values that `fill` gives.
class Buffer {
 public:
  Buffer(size_t n, const std::function<float(size_t)>& fill) : n_(n) {
    EXPECT_EQ(aclrtMalloc(&p_, n * 4 + 4, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    std::vector<float> host(n);
    for (size_t i = 0; i < n; ++i) host[i] = fill(i);
    if (n) { EXPECT_EQ(aclrtMemcpy(p_, n * 4, host.data(), n * 4, ACL_MEMCPY_HOST_TO_DEVICE), 0); }
  }
  ~Buffer() { aclrtFree(p_); }
  Buffer(const Buffer&) = delete;
  float* data() const { return static_cast<float*>(p_); }
  std::vector<float> read() const {
    std::vector<float> host(n_);
    if (n_) { EXPECT_EQ(aclrtMemcpy(host.data(), n_ * 4, p_, n_ * 4, ACL_MEMCPY_DEVICE_TO_HOST), 0); }
    return host;
  }

 private:
  void* p_ = nullptr;
  size_t n_;
};
