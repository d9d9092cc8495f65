// Collectives on memory of aclrtMapMem: peers reach it where it lies. There is no room for a copy in these tests.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "ranks.h"

namespace {

constexpr size_t kPiece = 2u << 20;

aclrtDrvMemHandle physical(uint32_t device, size_t bytes) {
  aclrtPhysicalMemProp prop = {};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_EQ(aclrtMallocPhysical(&handle, bytes, &prop, 0), 0) << aclGetRecentErrMsg();
  return handle;
}

/// Addresses behind which lie pieces of 2 MiB, of which none follows the one before in the device's memory.
class Mapped {
 public:
  Mapped(uint32_t device, size_t pieces) {
    for (size_t i = 0; i < pieces; ++i) handles_.push_back(physical(device, kPiece));
    EXPECT_EQ(aclrtReserveMemAddress(&base_, pieces * kPiece, 0, nullptr, 1), 0);
    map(true);
  }
  ~Mapped() {
    unmap();
    EXPECT_EQ(aclrtReleaseMemAddress(base_), 0);
    for (auto* handle : handles_) EXPECT_EQ(aclrtFreePhysical(handle), 0);
  }
  void map(bool backwards) {
    for (size_t i = 0; i < handles_.size(); ++i)
      EXPECT_EQ(aclrtMapMem(at(i), kPiece, 0, handles_[backwards ? handles_.size() - 1 - i : i], 0), 0)
          << aclGetRecentErrMsg();
  }
  void unmap() {
    for (size_t i = 0; i < handles_.size(); ++i) EXPECT_EQ(aclrtUnmapMem(at(i)), 0);
  }
  char* at(size_t piece) const { return static_cast<char*>(base_) + piece * kPiece; }

 private:
  void* base_ = nullptr;
  std::vector<aclrtDrvMemHandle> handles_;
};

/// Takes what is left of the current device's memory, but for less than a piece.
class Everything {
 public:
  Everything() {
    for (size_t bytes = size_t{1} << 30; bytes >= kPiece / 4; bytes /= 2)
      for (void* p; aclrtMalloc(&p, bytes, ACL_MEM_MALLOC_HUGE_FIRST) == 0;) taken_.push_back(p);
  }
  ~Everything() {
    for (void* p : taken_) EXPECT_EQ(aclrtFree(p), 0);
  }

 private:
  std::vector<void*> taken_;
};

float value(uint32_t rank, size_t i) { return static_cast<float>((rank + 1) * 10 + i % 97); }

void fill(char* p, size_t n, uint32_t rank) {
  std::vector<float> host(n);
  for (size_t i = 0; i < n; ++i) host[i] = value(rank, i);
  ASSERT_EQ(aclrtMemcpy(p, n * 4, host.data(), n * 4, ACL_MEMCPY_HOST_TO_DEVICE), 0);
}
std::vector<float> read(const char* p, size_t n) {
  std::vector<float> host(n);
  EXPECT_EQ(aclrtMemcpy(host.data(), n * 4, p, n * 4, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  return host;
}

/// `a` and `b` have room for 2.5 pieces each, and begin in the middle of one.
void collectives(Rank& r, char* a, char* b) {
  const size_t n = 5 * kPiece / 8, part = n / 2;  // of floats
  const auto fp32 = HCCL_DATA_TYPE_FP32;
  const uint32_t other = 1 - r.rank;
  const auto done = [&] { ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << aclGetRecentErrMsg(); };
  ASSERT_NO_FATAL_FAILURE(fill(a, n, r.rank));
  ASSERT_EQ(HcclAllReduce(a, b, n, fp32, HCCL_REDUCE_SUM, r.comm, r.stream), 0);
  ASSERT_NO_FATAL_FAILURE(done());
  auto got = read(b, n);
  for (size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], value(0, i) + value(1, i)) << i;
  ASSERT_EQ(HcclAllReduce(a, a, n, fp32, HCCL_REDUCE_MAX, r.comm, r.stream), 0);  // in place
  ASSERT_NO_FATAL_FAILURE(done());
  got = read(a, n);
  for (size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], value(1, i)) << i;
  ASSERT_NO_FATAL_FAILURE(fill(a, n, r.rank));
  ASSERT_EQ(HcclAllGather(a, b, part, fp32, r.comm, r.stream), 0);
  ASSERT_NO_FATAL_FAILURE(done());
  got = read(b, n);
  for (size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], value(i < part ? 0 : 1, i % part)) << i;
  ASSERT_EQ(HcclAlltoAll(a, part, fp32, b, part, fp32, r.comm, r.stream), 0);
  ASSERT_NO_FATAL_FAILURE(done());
  got = read(b, n);
  for (size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], value(i < part ? 0 : 1, r.rank * part + i % part)) << i;
  ASSERT_EQ(HcclReduceScatter(a, b, part, fp32, HCCL_REDUCE_SUM, r.comm, r.stream), 0);
  ASSERT_NO_FATAL_FAILURE(done());
  got = read(b, part);
  for (size_t i = 0; i < part; ++i) ASSERT_EQ(got[i], value(0, r.rank * part + i) + value(1, r.rank * part + i)) << i;
  HcclSendRecvItem items[] = {{HCCL_SEND, a, n, fp32, other}, {HCCL_RECV, b, n, fp32, other}};
  ASSERT_EQ(HcclBatchSendRecv(items, 2, r.comm, r.stream), 0);
  ASSERT_NO_FATAL_FAILURE(done());
  got = read(b, n);
  for (size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], value(other, i)) << i;
  ASSERT_EQ(HcclBroadcast(a, n, fp32, 1, r.comm, r.stream), 0);
  ASSERT_NO_FATAL_FAILURE(done());
  got = read(a, n);
  for (size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], value(1, i)) << i;
}

TEST(MappedMemory, IsReachedWhereItLies) {
  as_ranks(2, [](Rank& r) {
    Mapped memory(r.rank, 8);
    Everything taken;
    ASSERT_NO_FATAL_FAILURE(collectives(r, memory.at(0) + kPiece / 2, memory.at(4) + kPiece / 2 + 4));
    // Other memory behind the same addresses: what peers remember of them is not used again.
    for (int round = 0; round < 3; ++round) {
      memory.unmap();
      memory.map(round % 2);
      ASSERT_NO_FATAL_FAILURE(collectives(r, memory.at(0) + kPiece / 2, memory.at(4) + kPiece / 2 + 4));
    }
  });
}

TEST(MappedMemory, OneRankHasItAndTheOtherHasNot) {
  as_ranks(2, [](Rank& r) {
    if (r.rank == 0) {
      Mapped memory(r.rank, 8);
      collectives(r, memory.at(0) + kPiece / 2, memory.at(4) + kPiece / 2);
    } else {
      void* p = nullptr;
      ASSERT_EQ(aclrtMalloc(&p, 8 * kPiece, ACL_MEM_MALLOC_HUGE_FIRST), 0);
      collectives(r, static_cast<char*>(p), static_cast<char*>(p) + 4 * kPiece);
      EXPECT_EQ(aclrtFree(p), 0);
    }
  });
}

TEST(MappedMemory, MoreBuffersThanPeersRemember) {
  as_ranks(2, [](Rank& r) {
    Mapped memory(r.rank, 4);
    for (size_t k = 0; k < 150; ++k) {
      const size_t n = kPiece / 4 + 1000 + k;  // crosses a border, each time elsewhere
      char* p = memory.at(k % 3) + kPiece / 2;
      ASSERT_NO_FATAL_FAILURE(fill(p, n, r.rank));
      ASSERT_EQ(HcclAllReduce(p, p, n, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r.comm, r.stream), 0);
      ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << aclGetRecentErrMsg();
      const auto got = read(p, n);
      for (size_t i = 0; i < n; i += 101) ASSERT_EQ(got[i], value(0, i) + value(1, i)) << k << " " << i;
    }
  });
}

// A message tells of 16 places: more are copied.
TEST(MappedMemory, MessagesOfVeryManyPieces) {
  as_ranks(2, [](Rank& r) {
    Mapped memory(r.rank, 20);
    const size_t n = 20 * kPiece / 4;
    if (r.rank == 0) {
      ASSERT_NO_FATAL_FAILURE(fill(memory.at(0), n, 0));
      ASSERT_EQ(HcclSend(memory.at(0), n, HCCL_DATA_TYPE_FP32, 1, r.comm, r.stream), 0);
    } else {
      ASSERT_EQ(HcclRecv(memory.at(0), n, HCCL_DATA_TYPE_FP32, 0, r.comm, r.stream), 0);
    }
    ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << aclGetRecentErrMsg();
    const auto got = read(memory.at(0), n);
    for (size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], value(0, i)) << i;
  });
}

size_t free_bytes() {
  size_t free = 0, total = 0;
  EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total), 0);
  return free;
}

TEST(MappedMemory, PhysicalMemoryLivesAsLongAsItIsMapped) {
  aclInit(nullptr);
  ASSERT_EQ(aclrtSetDevice(0), 0);
  const size_t before = free_bytes();
  void* base = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&base, kPiece, 0, nullptr, 1), 0);
  auto* handle = physical(0, kPiece);
  EXPECT_EQ(free_bytes(), before - kPiece);
  ASSERT_EQ(aclrtMapMem(base, kPiece, 0, handle, 0), 0);
  ASSERT_EQ(aclrtFreePhysical(handle), 0);
  EXPECT_EQ(free_bytes(), before - kPiece);
  ASSERT_NO_FATAL_FAILURE(fill(static_cast<char*>(base), 1000, 3));
  {
    Everything taken;  // nobody else gets it
    EXPECT_EQ(read(static_cast<char*>(base), 1000)[999], value(3, 999));
  }
  ASSERT_EQ(aclrtUnmapMem(base), 0);
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(aclrtReleaseMemAddress(base), 0);
}

TEST(MappedMemory, ExportedMemoryIsNobodyElsesWhileItIsImported) {
  aclInit(nullptr);
  ASSERT_EQ(aclrtSetDevice(0), 0);
  const size_t before = free_bytes();
  void* base = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&base, 2 * kPiece, 0, nullptr, 1), 0);
  char* second = static_cast<char*>(base) + kPiece;
  auto* handle = physical(0, kPiece);
  ASSERT_EQ(aclrtMapMem(base, kPiece, 0, handle, 0), 0);
  uint64_t shareable = 0;
  ASSERT_EQ(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable), 0);
  aclrtDrvMemHandle imported = nullptr;
  ASSERT_EQ(aclrtMemImportFromShareableHandle(shareable, 0, &imported), 0) << aclGetRecentErrMsg();
  ASSERT_EQ(aclrtMapMem(second, kPiece, 0, imported, 0), 0);
  ASSERT_NO_FATAL_FAILURE(fill(static_cast<char*>(base), 1000, 5));
  EXPECT_EQ(read(second, 1000)[999], value(5, 999));
  EXPECT_NE(aclrtMemExportToShareableHandle(imported, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable), 0);
  ASSERT_EQ(aclrtUnmapMem(base), 0);
  ASSERT_EQ(aclrtFreePhysical(handle), 0);
  EXPECT_EQ(free_bytes(), before - kPiece);
  {
    Everything taken;
    EXPECT_EQ(read(second, 1000)[999], value(5, 999));
  }
  aclrtDrvMemHandle late = nullptr;
  EXPECT_NE(aclrtMemImportFromShareableHandle(0x7fffffff00000003, 0, &late), 0);
  ASSERT_EQ(aclrtUnmapMem(second), 0);
  ASSERT_EQ(aclrtFreePhysical(imported), 0);
  EXPECT_EQ(aclrtFreePhysical(physical(0, kPiece)), 0);  // looks for what has come back
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(aclrtReleaseMemAddress(base), 0);
}

}  // namespace
