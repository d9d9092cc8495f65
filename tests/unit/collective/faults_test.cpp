// Communicators that end in the middle of something: destroyed, left, forked, their streams aborted or destroyed.
#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "hccl/hccl.h"

namespace {

using namespace std::chrono_literals;
constexpr int kCommunication = 507048;

struct Rank {
  uint32_t rank, size;
  HcclComm comm;
  aclrtStream stream;
  float* data;

  int all_reduce(size_t n) { return HcclAllReduce(data, data, n, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, comm, stream); }
  int sync() const { return aclrtSynchronizeStream(stream); }
  int destroy() { return HcclCommDestroy(std::exchange(comm, nullptr)); }
};
constexpr size_t kMost = 100000;  // floats of a rank's buffer

/// Runs `body` as every rank of a new communicator of `size` ranks, `rounds` times.
void as_ranks(uint32_t size, int rounds, const std::function<void(Rank&, int)>& body) {
  aclInit(nullptr);
  std::vector<int32_t> devices;
  for (uint32_t r = 0; r < size; ++r) devices.push_back(static_cast<int32_t>(r));
  for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    std::vector<HcclComm> comms(size);
    ASSERT_EQ(HcclCommInitAll(size, devices.data(), comms.data()), 0) << aclGetRecentErrMsg();
    std::vector<std::thread> threads;
    for (uint32_t r = 0; r < size; ++r)
      threads.emplace_back([&, r] {
        ASSERT_EQ(aclrtSetDevice(devices[r]), 0);
        Rank rank{r, size, comms[r], nullptr, nullptr};
        ASSERT_EQ(aclrtMalloc(reinterpret_cast<void**>(&rank.data), kMost * 4, ACL_MEM_MALLOC_HUGE_FIRST), 0);
        ASSERT_EQ(aclrtCreateStream(&rank.stream), 0);
        body(rank, round);
        if (rank.comm) { EXPECT_EQ(rank.destroy(), 0); }
        if (rank.stream) { EXPECT_EQ(aclrtDestroyStream(rank.stream), 0); }
        EXPECT_EQ(aclrtFree(rank.data), 0);
      });
    for (std::thread& t : threads) t.join();
  }
}

// Who is through goes, while the others are still on their way out of the same operation.
TEST(CollectiveFaults, LeavingAfterTheLastOperationHurtsNobody) {
  as_ranks(4, 60, [](Rank& r, int round) {
    ASSERT_EQ(r.all_reduce(round % 2 ? 10 : 20000), 0);
    ASSERT_EQ(r.sync(), 0) << aclGetRecentErrMsg();
    ASSERT_EQ(r.destroy(), 0);
  });
}

TEST(CollectiveFaults, LeavingAfterTheLastMessageHurtsNobody) {
  as_ranks(3, 60, [](Rank& r, int round) {
    const size_t n = round % 2 ? 10 : 50000;
    if (r.rank == 0) {
      ASSERT_EQ(HcclSend(r.data, n, HCCL_DATA_TYPE_FP32, 1, r.comm, r.stream), 0);
    } else if (r.rank == 1) {
      ASSERT_EQ(HcclRecv(r.data, n, HCCL_DATA_TYPE_FP32, 0, r.comm, r.stream), 0);
      ASSERT_EQ(HcclSend(r.data, n, HCCL_DATA_TYPE_FP32, 2, r.comm, r.stream), 0);
    } else {
      ASSERT_EQ(HcclRecv(r.data, n, HCCL_DATA_TYPE_FP32, 1, r.comm, r.stream), 0);
    }
    ASSERT_EQ(r.sync(), 0) << aclGetRecentErrMsg();
    ASSERT_EQ(r.destroy(), 0);
  });
}

// Rank 0's communicator is destroyed by another thread at any moment of its loop.
TEST(CollectiveFaults, DestroyedWhileOperationsBegin) {
  as_ranks(3, 30, [](Rank& r, int round) {
    std::thread other;
    if (r.rank == 0)
      other = std::thread([comm = r.comm, round] {
        std::this_thread::sleep_for(std::chrono::microseconds(100 * round));
        EXPECT_EQ(HcclCommDestroy(comm), 0);
      });
    int code = 0, result = 0;
    for (int i = 0; i < 1000000 && !code && !result; ++i) {
      code = r.all_reduce(i % 3 ? 10 : 30000);
      if (i % 5 == 0) result = r.sync();
    }
    if (!result) result = r.sync();
    EXPECT_TRUE(code || result == kCommunication) << code << " " << result;
    if (other.joinable()) {
      other.join();
      r.comm = nullptr;
    }
  });
}

// Some wait in operations and messages, some have queued more behind them; all of them end, and streams can be
// destroyed at once.
TEST(CollectiveFaults, DestroyedWithAllKindsUnderWay) {
  as_ranks(3, 20, [](Rank& r, int round) {
    const size_t n = round % 2 ? 10 : 50000;
    bool queued = false;
    aclrtStream second = nullptr;
    ASSERT_EQ(aclrtCreateStream(&second), 0);
    if (r.rank != 0) {  // rank 0 comes to nothing
      ASSERT_EQ(HcclRecv(r.data, n, HCCL_DATA_TYPE_FP32, 0, r.comm, second), 0);
      // Refused where rank 0 has left already.
      queued = HcclSend(r.data, n, HCCL_DATA_TYPE_FP32, 0, r.comm, second) == 0 && r.all_reduce(n) == 0;
      for (int i = 0; i < 3; ++i) r.all_reduce(n);
    }
    if (r.rank == 1 || round % 3 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(round));
    ASSERT_EQ(r.destroy(), 0);
    if (r.rank != 0) {
      EXPECT_TRUE(r.sync() == kCommunication || !queued);
      EXPECT_EQ(aclrtSynchronizeStream(second), kCommunication);
    }
    EXPECT_EQ(aclrtDestroyStream(second), 0);
    EXPECT_EQ(aclrtDestroyStream(std::exchange(r.stream, nullptr)), 0);
  });
}

// A place in the order is taken and nobody will come to it.
TEST(CollectiveFaults, AnAbortedStreamFailsTheCommunicatorOfAll) {
  std::atomic<int> aborted = 0;
  as_ranks(2, 10, [&](Rank& r, int round) {
    if (r.rank == 0) {
      for (int i = 0; i < 3; ++i) { ASSERT_EQ(r.all_reduce(20000), 0); }
      EXPECT_EQ(aclrtStreamAbort(r.stream), 0);
      aborted = round + 1;
      EXPECT_EQ(r.sync(), kCommunication);
    } else {
      while (aborted <= round) std::this_thread::sleep_for(100us);
      // The first may be refused already, or come and then fail.
      const bool came = r.all_reduce(20000) == 0;
      r.all_reduce(20000);
      EXPECT_EQ(r.sync(), came ? kCommunication : 0);
    }
    HcclResult error = HCCL_SUCCESS;
    EXPECT_EQ(HcclGetCommAsyncError(r.comm, &error), 0);
    EXPECT_NE(error, HCCL_SUCCESS);
    EXPECT_NE(std::string(aclGetRecentErrMsg()).find("rank 0 dropped HcclAllReduce"), std::string::npos)
        << aclGetRecentErrMsg();
  });
}

// The head of the stream is an operation to which the other rank does not come.
TEST(CollectiveFaults, AStreamThatWaitsForRanksCanBeDestroyedByForce) {
  std::atomic<int> destroyed = 0;
  as_ranks(2, 10, [&](Rank& r, int round) {
    if (r.rank == 0) {
      const size_t n = round % 2 ? 10 : 20000;
      ASSERT_EQ(r.all_reduce(n), 0);
      ASSERT_EQ(r.all_reduce(n), 0);
      if (round % 3) std::this_thread::sleep_for(2ms);
      ASSERT_EQ(aclrtDestroyStreamForce(std::exchange(r.stream, nullptr)), 0);
      destroyed = round + 1;
    } else {
      while (destroyed <= round) std::this_thread::sleep_for(100us);
      const bool came = r.all_reduce(20000) == 0;  // the news may be here already
      EXPECT_EQ(r.sync(), came ? kCommunication : 0);
    }
    HcclResult error = HCCL_SUCCESS;
    EXPECT_EQ(HcclGetCommAsyncError(r.comm, &error), 0);
    EXPECT_NE(error, HCCL_SUCCESS);
  });
}

// The second failure adds nothing and takes nothing away.
TEST(CollectiveFaults, TwoReasonsAtOnce) {
  as_ranks(3, 20, [](Rank& r, int) {
    if (r.rank == 2) {
      ASSERT_EQ(r.destroy(), 0);
      return;
    }
    ASSERT_EQ(r.all_reduce(10000 + r.rank), 0);
    EXPECT_EQ(r.sync(), kCommunication);
    EXPECT_NE(r.all_reduce(10), 0);
    EXPECT_EQ(r.sync(), 0);
  });
}

/// Of all three ranks, of which one does not come; gives the text of the refusal.
std::string refused_part(Rank& r) {
  uint32_t members[] = {0, 1, 2};
  HcclCommConfig config;
  HcclCommConfigInit(&config);
  HcclComm sub = nullptr;
  EXPECT_NE(HcclCreateSubCommConfig(&r.comm, 3, members, 1, r.rank, &config, &sub), 0);
  const std::string text = aclGetRecentErrMsg();
  EXPECT_EQ(sub, nullptr);
  return text;
}

TEST(CollectiveFaults, ASubGroupWhoseFirstRankHasLeft) {
  as_ranks(3, 5, [](Rank& r, int) {
    ASSERT_EQ(r.all_reduce(10), 0);
    ASSERT_EQ(r.sync(), 0);
    if (r.rank == 0) return;
    const std::string text = refused_part(r);
    EXPECT_NE(text.find("rank 0 has gone"), std::string::npos) << text;
  });
}

TEST(CollectiveFaults, ASubGroupWhoseLastRankHasLeft) {
  as_ranks(3, 3, [](Rank& r, int) {
    ASSERT_EQ(r.all_reduce(10), 0);
    ASSERT_EQ(r.sync(), 0);
    if (r.rank == 2) return;
    const auto start = std::chrono::steady_clock::now();
    const std::string text = refused_part(r);
    EXPECT_LT(std::chrono::steady_clock::now() - start, 60s) << "half of HCCL_CONNECT_TIMEOUT";
    EXPECT_NE(text.find("rank 2"), std::string::npos) << text;
    EXPECT_EQ(text.find("HCCL_CONNECT_TIMEOUT"), std::string::npos) << text;
  });
}

TEST(CollectiveFaults, AStreamDestroyedInAGroup) {
  as_ranks(1, 1, [](Rank& r, int) {
    ASSERT_EQ(HcclGroupStart(), 0);
    ASSERT_EQ(HcclSend(r.data, 10, HCCL_DATA_TYPE_FP32, 0, r.comm, r.stream), 0);
    ASSERT_EQ(aclrtDestroyStream(std::exchange(r.stream, nullptr)), 0);
    EXPECT_NE(HcclGroupEnd(), 0);
  });
}

TEST(CollectiveFaults, AForkedChildIsToldAndTheParentGoesOn) {
  as_ranks(1, 1, [](Rank& r, int) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      bool good = r.all_reduce(10) == HCCL_E_NOT_SUPPORT;
      HcclRootInfo info;
      HcclComm comm = nullptr;
      int32_t device = 0;
      good = HcclGetRootInfo(&info) == HCCL_E_NOT_SUPPORT && good;
      good = HcclCommInitAll(1, &device, &comm) == HCCL_E_NOT_SUPPORT && good;
      good = r.destroy() == 0 && good;
      _exit(good ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    ASSERT_EQ(r.all_reduce(10), 0);
    EXPECT_EQ(r.sync(), 0);
  });
}

struct Held {
  size_t descriptors = 0, threads = 0, mappings = 0, resident = 0;
  static size_t entries(const char* folder) {
    size_t n = 0;
    DIR* dir = opendir(folder);
    while (readdir(dir)) ++n;
    closedir(dir);
    return n;
  }
  static Held now() {
    Held h{entries("/proc/self/fd"), entries("/proc/self/task")};
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) ++h.mappings;
    std::ifstream statm("/proc/self/statm");
    statm >> h.resident >> h.resident;
    return h;
  }
};

TEST(CollectiveFaults, HundredsOfCommunicatorsLeaveNothing) {
  const auto use = [](Rank& r, int) {
    ASSERT_EQ(r.all_reduce(100), 0);
    ASSERT_EQ(r.sync(), 0);
  };
  for (int i = 0; i < 2; ++i) as_ranks(2, 10, use);  // the second aclInit opens the log
  std::this_thread::sleep_for(100ms);
  const Held before = Held::now();
  as_ranks(2, 120, use);  // two each
  Held after;
  for (int i = 0; i < 200; ++i) {  // the last one's sockets are closed by the loop's thread
    after = Held::now();
    if (after.descriptors <= before.descriptors && after.threads <= before.threads) break;
    std::this_thread::sleep_for(50ms);
  }
  std::string open;
  if (after.descriptors > before.descriptors)
    for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      open += fd.path().filename().string() + " " + std::filesystem::read_symlink(fd, error).string() + "\n";
    }
  EXPECT_LE(after.descriptors, before.descriptors) << open;
  EXPECT_LE(after.threads, before.threads);
  EXPECT_LE(after.mappings, before.mappings + 10);  // the heap's arenas
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
  EXPECT_LE(after.resident, before.resident + (8 << 20) / 4096);
#endif
}

}  // namespace
