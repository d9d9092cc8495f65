// The optional names of libhccl and libhcomm: several roots, registered memory, address ranges, holding back.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "collective/bootstrap/address.h"
#include "hccl/hccl.h"
#include "hccl/root_info.h"
#include "ranks.h"

extern "C" {
HcclResult HcommMemAlloc(void** p, uint64_t bytes);
HcclResult HcommMemFree(void* p);
}

namespace {

std::string why() {
  const char* text = aclGetRecentErrMsg();
  return text ? text : "";
}

using Init = std::function<HcclResult(Rank&)>;

/// As as_ranks, of a communicator that `init` makes.
void as_ranks_by(uint32_t size, const Init& init, const std::function<void(Rank&)>& body) {
  as_threads(size, [&](Rank& rank) {
    ASSERT_EQ(init(rank), HCCL_SUCCESS) << why();
    body(rank);
    EXPECT_EQ(HcclCommDestroy(rank.comm), HCCL_SUCCESS);
  });
}

void all_reduce_is_right(Rank& r) {
  void* p = nullptr;
  float value = static_cast<float>(r.rank + 1), wanted = static_cast<float>(r.size * (r.size + 1)) / 2;
  ASSERT_EQ(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST), 0);
  ASSERT_EQ(aclrtMemcpy(p, 4, &value, 4, ACL_MEMCPY_HOST_TO_DEVICE), 0);
  ASSERT_EQ(HcclAllReduce(p, p, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r.comm, r.stream), HCCL_SUCCESS) << why();
  ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << why();
  ASSERT_EQ(aclrtMemcpy(&value, 4, p, 4, ACL_MEMCPY_DEVICE_TO_HOST), 0);
  EXPECT_EQ(value, wanted);
  aclrtFree(p);
}

bool listens(const updraft::RootInfo& root) {
  const auto address = updraft::collective::make_endpoint(root.ip, root.port);
  const int fd = socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool connected = connect(fd, address.raw(), address.bytes) == 0;
  close(fd);
  return connected;
}

TEST(HcclOptional, SeveralRoots) {
  aclInit(nullptr);
  std::vector<HcclRootInfo> infos(3);
  for (HcclRootInfo& info : infos) ASSERT_EQ(HcclGetRootInfoScalable(&info), HCCL_SUCCESS) << why();
  EXPECT_TRUE(listens(updraft::RootInfo::read(&infos[1])));
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  as_ranks_by(
      4, [&](Rank& r) { return HcclCommInitRootInfoScalable(r.size, 3, infos.data(), r.rank, 0, &config, &r.comm); },
      all_reduce_is_right);
  HcclComm comm = nullptr;
  EXPECT_EQ(HcclCommInitRootInfoScalable(2, 0, infos.data(), 0, 0, &config, &comm), HCCL_E_PARA);
  EXPECT_EQ(HcclCommInitRootInfoScalable(2, 3, infos.data(), 0, 0, &config, &comm), HCCL_E_PARA);
  EXPECT_NE(why().find("nRoot is 3, want 1 to nRanks, 2"), std::string::npos);
  EXPECT_EQ(HcclCommInitRootInfoScalable(2, 2, nullptr, 0, 0, &config, &comm), HCCL_E_PTR);
  for (size_t i : {1u, 2u}) EXPECT_FALSE(listens(updraft::RootInfo::read(&infos[i]))) << "nobody comes to root " << i;
}

TEST(HcclOptional, RegisteredMemory) {
  as_ranks(2, [](Rank& r) {
    void *p = nullptr, *window = nullptr, *symmetric = nullptr;
    ASSERT_EQ(HcommMemAlloc(&p, 1 << 20), HCCL_SUCCESS) << why();
    EXPECT_EQ(HcclCommRegister(r.comm, p, (1 << 20) + 512, &window, 0), HCCL_E_PARA);
    EXPECT_EQ(HcclCommRegister(r.comm, &p, 8, &window, 0), HCCL_E_PARA);
    EXPECT_EQ(HcclCommRegister(r.comm, p, 0, &window, 0), HCCL_E_PARA);
    EXPECT_EQ(HcclCommRegister(r.comm, p, 8, &window, 1), HCCL_E_PARA);
    EXPECT_EQ(HcclCommRegister(r.comm, nullptr, 8, &window, 0), HCCL_E_PTR);
    ASSERT_EQ(HcclCommRegister(r.comm, p, 1 << 20, &window, 0), HCCL_SUCCESS) << why();
    uint32_t peer = 1 - r.rank, bad[] = {r.rank, 2};
    EXPECT_EQ(HcclCommExchangeMem(r.comm, window, bad, 1), HCCL_E_PARA);
    EXPECT_EQ(HcclCommExchangeMem(r.comm, window, bad + 1, 1), HCCL_E_PARA);
    for (int again = 0; again < 2; ++again) {
      EXPECT_EQ(HcclCommExchangeMem(r.comm, window, &peer, 1), HCCL_SUCCESS) << why();
    }
    ASSERT_EQ(HcclCommSymWinRegister(r.comm, p, 4096, &symmetric, 1), HCCL_SUCCESS) << why();
    EXPECT_EQ(HcclCommDeregister(r.comm, symmetric), HCCL_E_PARA);
    EXPECT_EQ(HcclCommSymWinDeregister(window), HCCL_E_PARA);
    EXPECT_EQ(HcclCommSymWinDeregister(symmetric), HCCL_SUCCESS);
    EXPECT_EQ(HcclCommSymWinDeregister(symmetric), HCCL_E_PARA);
    EXPECT_EQ(HcclCommDeregister(r.comm, window), HCCL_SUCCESS);
    EXPECT_EQ(HcclCommDeregister(r.comm, window), HCCL_E_PARA);
    EXPECT_EQ(HcommMemFree(p), HCCL_SUCCESS);
    EXPECT_EQ(HcommMemFree(p), HCCL_E_PARA);
    EXPECT_EQ(HcommMemFree(&p), HCCL_E_PARA);
    EXPECT_EQ(HcommMemAlloc(&p, 0), HCCL_E_PARA);
    EXPECT_EQ(HcommMemAlloc(&p, uint64_t{1} << 40), HCCL_E_OOM);
  });
}

TEST(HcclOptional, AddressRanges) {
  as_ranks(2, [](Rank& r) {
    const size_t piece = 2 << 20;
    void* base = nullptr;
    ASSERT_EQ(aclrtReserveMemAddress(&base, 4 * piece, 0, nullptr, 1), 0);
    char* start = static_cast<char*>(base);
    aclrtPhysicalMemProp prop = {};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = r.rank;
    aclrtDrvMemHandle handle = nullptr;
    ASSERT_EQ(aclrtMallocPhysical(&handle, piece, &prop, 0), 0) << why();
    EXPECT_EQ(HcclCommSetMemoryRange(r.comm, &base, piece, 0, 1), HCCL_E_PARA);
    ASSERT_EQ(HcclCommSetMemoryRange(r.comm, base, 4 * piece, 0, 1), HCCL_SUCCESS) << why();
    EXPECT_EQ(HcclCommSetMemoryRange(r.comm, start + piece, piece, 0, 1), HCCL_E_PARA);
    EXPECT_EQ(HcclCommActivateCommMemory(r.comm, start, piece, 0, handle, 0), HCCL_E_PARA) << "not mapped yet";
    ASSERT_EQ(aclrtMapMem(start, piece, 0, handle, 0), 0);
    ASSERT_EQ(HcclCommActivateCommMemory(r.comm, start, piece, 0, handle, 0), HCCL_SUCCESS) << why();
    EXPECT_EQ(HcclCommActivateCommMemory(r.comm, start, piece, 0, handle, 0), HCCL_E_PARA);
    EXPECT_EQ(HcclCommUnsetMemoryRange(r.comm, base), HCCL_E_PARA) << "active";
    // It is memory for operations as any other.
    ASSERT_EQ(aclrtMemset(start, piece, static_cast<int>(r.rank + 1), piece), 0);
    ASSERT_EQ(HcclAllReduce(start, start, 5000, HCCL_DATA_TYPE_INT8, HCCL_REDUCE_SUM, r.comm, r.stream), 0) << why();
    ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0);
    std::vector<int8_t> host(5000);
    ASSERT_EQ(aclrtMemcpy(host.data(), 5000, start, 5000, ACL_MEMCPY_DEVICE_TO_HOST), 0);
    EXPECT_EQ(host, std::vector<int8_t>(5000, 3));
    // torch_npu tells of it after it has unmapped and released.
    ASSERT_EQ(aclrtUnmapMem(start), 0);
    EXPECT_EQ(HcclCommDeactivateCommMemory(r.comm, start), HCCL_SUCCESS) << why();
    EXPECT_EQ(HcclCommDeactivateCommMemory(r.comm, start), HCCL_E_PARA);
    ASSERT_EQ(aclrtReleaseMemAddress(base), 0);
    EXPECT_EQ(HcclCommUnsetMemoryRange(r.comm, base), HCCL_SUCCESS) << why();
    EXPECT_EQ(HcclCommUnsetMemoryRange(r.comm, base), HCCL_E_PARA);
    EXPECT_EQ(aclrtFreePhysical(handle), 0);
  });
}

TEST(HcclOptional, HoldsBack) {
  as_ranks(2, [](Rank& r) {
    all_reduce_is_right(r);
    void* p = nullptr;
    ASSERT_EQ(aclrtMalloc(&p, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    if (r.rank == 0) { ASSERT_EQ(HcclCommSuspend(r.comm), HCCL_SUCCESS) << why(); }
    for (uint64_t count : {1u, 1u << 18}) {
      ASSERT_EQ(HcclAllReduce(p, p, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r.comm, r.stream), 0) << why();
    }
    if (r.rank == 0) {
      ASSERT_EQ(HcclSend(p, 4, HCCL_DATA_TYPE_FP32, 1, r.comm, r.stream), 0);
    } else {
      ASSERT_EQ(HcclRecv(p, 4, HCCL_DATA_TYPE_FP32, 0, r.comm, r.stream), 0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    aclrtStreamStatus status = ACL_STREAM_STATUS_COMPLETE;
    if (r.rank == 0) {
      ASSERT_EQ(aclrtStreamQuery(r.stream, &status), 0);
      EXPECT_EQ(status, ACL_STREAM_STATUS_NOT_READY);
      ASSERT_EQ(HcclCommResume(r.comm), HCCL_SUCCESS) << why();
      ASSERT_EQ(HcclCommResume(r.comm), HCCL_SUCCESS) << "a second time nothing happens";
    }
    ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << why();
    all_reduce_is_right(r);
    aclrtFree(p);
  });
}

TEST(HcclOptional, SettingsOfACommunicator) {
  aclInit(nullptr);
  HcclRootInfo info;
  ASSERT_EQ(HcclGetRootInfo(&info), HCCL_SUCCESS);
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  config.hcclDeterministic = 1;
  const Init init = [&](Rank& r) { return HcclCommInitRootInfoConfig(1, &info, 0, &config, &r.comm); };
  as_ranks_by(1, init, [](Rank& r) {
    HcclConfigValue value = {-1};
    ASSERT_EQ(HcclGetCommConfig(r.comm, HCCL_DETERMINISTIC, &value), HCCL_SUCCESS) << why();
    EXPECT_EQ(value.value, 1);
    ASSERT_EQ(HcclSetCommConfig(r.comm, HCCL_DETERMINISTIC, {2}), HCCL_SUCCESS) << why();
    ASSERT_EQ(HcclGetCommConfig(r.comm, HCCL_DETERMINISTIC, &value), HCCL_SUCCESS);
    EXPECT_EQ(value.value, 2);
    EXPECT_EQ(HcclSetCommConfig(r.comm, HCCL_DETERMINISTIC, {3}), HCCL_E_PARA);
    EXPECT_EQ(HcclSetCommConfig(r.comm, HCCL_ACCELERATOR, {0}), HCCL_E_NOT_SUPPORT);
    EXPECT_EQ(HcclGetCommConfig(r.comm, HCCL_DETERMINISTIC, nullptr), HCCL_E_PTR);
  });
}

TEST(HcclOptional, NetworkCards) {
  as_ranks(2, [](Rank& r) {
    uint32_t ranks[] = {1, 0, 1, 2};
    bool main[] = {false, false, false}, backup[] = {false, true};
    EXPECT_EQ(HcclCommWorkingDevNicSet(r.comm, ranks, main, 2), HCCL_SUCCESS) << why();
    EXPECT_EQ(HcclCommWorkingDevNicSet(r.comm, ranks, backup, 2), HCCL_E_NOT_SUPPORT);
    EXPECT_NE(why().find("rank 0 of"), std::string::npos) << why();
    EXPECT_EQ(HcclCommWorkingDevNicSet(r.comm, ranks, main, 3), HCCL_E_PARA) << "a rank twice";
    EXPECT_EQ(HcclCommWorkingDevNicSet(r.comm, ranks + 2, main, 2), HCCL_E_PARA) << "no such rank";
    EXPECT_EQ(HcclCommWorkingDevNicSet(r.comm, ranks, main, 0), HCCL_E_PARA);
    EXPECT_EQ(HcclCommWorkingDevNicSet(r.comm, nullptr, main, 1), HCCL_E_PTR);
    EXPECT_EQ(HcclCommWorkingDevNicSet(r.comm, ranks, nullptr, 1), HCCL_E_PTR);
    EXPECT_EQ(HcclCommWorkingDevNicSet(nullptr, ranks, main, 1), HCCL_E_PTR);
    all_reduce_is_right(r);
  });
}

}  // namespace
