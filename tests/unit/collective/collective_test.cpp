// Collectives among threads of one process, each a rank on a device of its own; data compared with what a loop
// computes.
#include <gtest/gtest.h>
#include <sched.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "ranks.h"

namespace {

float value(uint32_t rank, size_t i) { return static_cast<float>((rank + 1) * 10 + i % 97); }

// Sizes around what a post and a slot hold, ranks that do not divide them.
const size_t kSizes[] = {0, 1, 2, 4, 5, 1000, 1024, 1025, 70001};

TEST(Collective, ReducesAndGathers) {
  for (uint32_t size : {1u, 2u, 3u, 5u})
    as_ranks(size, [](Rank& r) {
      for (size_t n : kSizes) {
        Buffer in(n, [&](size_t i) { return value(r.rank, i); }), out(n, [](size_t) { return -1.f; });
        ASSERT_EQ(HcclAllReduce(in.data(), out.data(), n, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r.comm, r.stream), 0);
        ASSERT_EQ(HcclAllReduce(in.data(), in.data(), n, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, r.comm, r.stream), 0);
        Buffer all(n * r.size, [](size_t) { return -1.f; });
        ASSERT_EQ(HcclAllGather(out.data(), all.data(), n, HCCL_DATA_TYPE_FP32, r.comm, r.stream), 0);
        Buffer blocks(n * r.size, [&](size_t i) { return value(r.rank, i); }), mine(n, [](size_t) { return -1.f; });
        ASSERT_EQ(
            HcclReduceScatter(blocks.data(), mine.data(), n, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r.comm, r.stream),
            0);
        ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << aclGetRecentErrMsg();
        const auto sum = out.read(), most = in.read(), gathered = all.read(), scattered = mine.read();
        for (size_t i = 0; i < n; ++i) {
          float want = 0, block = 0;
          for (uint32_t k = 0; k < r.size; ++k) {
            want += value(k, i);
            block += value(k, r.rank * n + i);
          }
          ASSERT_EQ(sum[i], want) << n << " " << i;
          ASSERT_EQ(most[i], value(r.size - 1, i));
          ASSERT_EQ(scattered[i], block) << n << " " << i;
          for (uint32_t k = 0; k < r.size; ++k) ASSERT_EQ(gathered[k * n + i], want);
        }
      }
    });
}

TEST(Collective, RootsAndExchanges) {
  for (uint32_t size : {2u, 3u})
    as_ranks(size, [](Rank& r) {
      for (size_t n : kSizes)
        for (uint32_t root = 0; root < r.size; ++root) {
          Buffer data(n, [&](size_t i) { return value(r.rank, i); });
          Buffer reduced(n, [](size_t) { return -1.f; });
          ASSERT_EQ(
              HcclReduce(data.data(), reduced.data(), n, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, root, r.comm, r.stream),
              0);
          ASSERT_EQ(HcclBroadcast(data.data(), n, HCCL_DATA_TYPE_FP32, root, r.comm, r.stream), 0);
          Buffer blocks(n * r.size, [&](size_t i) { return value(r.rank, i); }), mine(n, [](size_t) { return -1.f; });
          ASSERT_EQ(HcclScatter(blocks.data(), mine.data(), n, HCCL_DATA_TYPE_FP32, root, r.comm, r.stream), 0);
          Buffer swapped(n * r.size, [](size_t) { return -1.f; });
          ASSERT_EQ(HcclAlltoAll(blocks.data(), n, HCCL_DATA_TYPE_FP32, swapped.data(), n, HCCL_DATA_TYPE_FP32, r.comm,
                                 r.stream),
                    0);
          ASSERT_EQ(HcclBarrier(r.comm, r.stream), 0);
          ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << aclGetRecentErrMsg();
          const auto sum = reduced.read(), sent = data.read(), part = mine.read(), all = swapped.read();
          for (size_t i = 0; i < n; ++i) {
            float want = 0;
            for (uint32_t k = 0; k < r.size; ++k) want += value(k, i);
            ASSERT_EQ(sum[i], r.rank == root ? want : -1.f);
            ASSERT_EQ(sent[i], value(root, i));
            ASSERT_EQ(part[i], value(root, r.rank * n + i));
            for (uint32_t k = 0; k < r.size; ++k) ASSERT_EQ(all[k * n + i], value(k, r.rank * n + i));
          }
        }
    });
}

/// While one lives the calling thread runs on this CPU alone.
class OnCpu {
 public:
  explicit OnCpu(int cpu) {
    sched_getaffinity(0, sizeof all_, &all_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~OnCpu() { sched_setaffinity(0, sizeof all_, &all_); }
  OnCpu(const OnCpu&) = delete;

 private:
  cpu_set_t all_;
};

// Ranks that find themselves on one CPU part; where each of them may run afterwards is what the client has set.
TEST(Collective, ThreadsMayRunWhereTheyCould) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  int first = 0;
  while (!CPU_ISSET(first, &all)) ++first;
  for (const bool bound : {false, true})
    as_ranks(2, [&](Rank& r) {
      { const OnCpu together(first); }  // both are there now, and may go
      cpu_set_t mine = all;
      if (bound) {
        CPU_ZERO(&mine);
        CPU_SET(first, &mine);
        ASSERT_EQ(sched_setaffinity(0, sizeof mine, &mine), 0);
      }
      Buffer x(2, [&](size_t) { return value(r.rank, 0); });
      for (int i = 0; i < 300; ++i) {
        ASSERT_EQ(HcclAllReduce(x.data(), x.data(), 2, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, r.comm, r.stream), 0);
        ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << aclGetRecentErrMsg();
      }
      EXPECT_EQ(x.read(), std::vector<float>(2, value(1, 0)));
      cpu_set_t now;
      ASSERT_EQ(sched_getaffinity(0, sizeof now, &now), 0);
      EXPECT_TRUE(CPU_EQUAL(&now, &mine)) << "rank " << r.rank;
    });
}

TEST(Collective, UnevenParts) {
  as_ranks(3, [](Rank& r) {
    // Rank i sends 100 * i + j + 1 elements to rank j.
    auto count = [](uint32_t i, uint32_t j) { return uint64_t{100} * i + j + 1; };
    std::vector<uint64_t> sc, so, rc, ro, matrix;
    uint64_t s = 0, t = 0;
    for (uint32_t k = 0; k < r.size; ++k) {
      sc.push_back(count(r.rank, k));
      so.push_back(s);
      s += sc.back();
      rc.push_back(count(k, r.rank));
      ro.push_back(t);
      t += rc.back();
      for (uint32_t j = 0; j < r.size; ++j) matrix.push_back(count(k, j));
    }
    Buffer in(s, [&](size_t i) { return value(r.rank, i); }), out(t, [](size_t) { return -1.f; }),
        again(t, [](size_t) { return -1.f; });
    ASSERT_EQ(HcclAlltoAllV(in.data(), sc.data(), so.data(), HCCL_DATA_TYPE_FP32, out.data(), rc.data(), ro.data(),
                            HCCL_DATA_TYPE_FP32, r.comm, r.stream),
              0);
    ASSERT_EQ(HcclAlltoAllVC(in.data(), matrix.data(), HCCL_DATA_TYPE_FP32, again.data(), HCCL_DATA_TYPE_FP32, r.comm,
                             r.stream),
              0);
    // Every rank gives rc-like blocks: rank k has k * 7 + 1 elements.
    std::vector<uint64_t> gc, go;
    uint64_t g = 0;
    for (uint32_t k = 0; k < r.size; ++k) {
      gc.push_back(k * 7 + 1);
      go.push_back(g);
      g += gc.back();
    }
    Buffer gathered(g, [](size_t) { return -1.f; }), scattered(gc[r.rank], [](size_t) { return -1.f; });
    Buffer whole(g, [&](size_t i) { return value(r.rank, i); });
    ASSERT_EQ(HcclAllGatherV(in.data(), gc[r.rank], gathered.data(), gc.data(), go.data(), HCCL_DATA_TYPE_FP32, r.comm,
                             r.stream),
              0);
    ASSERT_EQ(HcclReduceScatterV(whole.data(), gc.data(), go.data(), scattered.data(), gc[r.rank], HCCL_DATA_TYPE_FP32,
                                 HCCL_REDUCE_SUM, r.comm, r.stream),
              0);
    ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << aclGetRecentErrMsg();
    const auto got = out.read(), same = again.read(), all = gathered.read(), part = scattered.read();
    for (uint32_t k = 0; k < r.size; ++k) {
      uint64_t before = 0;
      for (uint32_t j = 0; j < r.rank; ++j) before += count(k, j);
      for (uint64_t i = 0; i < rc[k]; ++i) {
        ASSERT_EQ(got[ro[k] + i], value(k, before + i));
        ASSERT_EQ(same[ro[k] + i], value(k, before + i));
      }
      for (uint64_t i = 0; i < gc[k]; ++i) ASSERT_EQ(all[go[k] + i], value(k, i));
    }
    for (uint64_t i = 0; i < gc[r.rank]; ++i) {
      float want = 0;
      for (uint32_t k = 0; k < r.size; ++k) want += value(k, go[r.rank] + i);
      ASSERT_EQ(part[i], want);
    }
  });
}

TEST(Collective, Messages) {
  as_ranks(3, [](Rank& r) {
    const size_t n = 5000;
    const uint32_t next = (r.rank + 1) % r.size, before = (r.rank + r.size - 1) % r.size;
    for (int round = 0; round < 5; ++round) {
      Buffer out(n, [&](size_t i) { return value(r.rank, i); }), in(n, [](size_t) { return -1.f; });
      HcclSendRecvItem items[] = {{HCCL_SEND, out.data(), n, HCCL_DATA_TYPE_FP32, next},
                                  {HCCL_RECV, in.data(), n, HCCL_DATA_TYPE_FP32, before}};
      ASSERT_EQ(HcclBatchSendRecv(items, 2, r.comm, r.stream), 0);
      ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << aclGetRecentErrMsg();
      const auto got = in.read();
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(got[i], value(before, i));
      // Rank 0 starts a chain of plain sends.
      if (r.rank > 0) { ASSERT_EQ(HcclRecv(in.data(), n, HCCL_DATA_TYPE_FP32, r.rank - 1, r.comm, r.stream), 0); }
      if (r.rank + 1 < r.size) {
        ASSERT_EQ(HcclSend(r.rank ? in.data() : out.data(), n, HCCL_DATA_TYPE_FP32, r.rank + 1, r.comm, r.stream), 0);
      }
      ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << aclGetRecentErrMsg();
      if (r.rank > 0) {
        const auto passed = in.read();
        for (size_t i = 0; i < n; ++i) ASSERT_EQ(passed[i], value(0, i));
      }
    }
  });
}

// The pieces of an all-to-all that a client makes of messages: one of them goes to the rank itself.
TEST(Collective, MessagesToOneself) {
  as_ranks(2, [](Rank& r) {
    const size_t n = 3000;
    Buffer out(2 * n, [&](size_t i) { return value(r.rank, i); }), in(2 * n, [](size_t) { return -1.f; });
    ASSERT_EQ(HcclGroupStart(), 0);
    for (uint32_t peer = 0; peer < 2; ++peer) {
      ASSERT_EQ(HcclSend(out.data() + peer * n, n, HCCL_DATA_TYPE_FP32, peer, r.comm, r.stream), 0);
      ASSERT_EQ(HcclRecv(in.data() + peer * n, n, HCCL_DATA_TYPE_FP32, peer, r.comm, r.stream), 0);
    }
    ASSERT_EQ(HcclGroupEnd(), 0);
    ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << aclGetRecentErrMsg();
    const auto got = in.read();
    for (uint32_t peer = 0; peer < 2; ++peer)
      for (size_t i = 0; i < n; ++i) ASSERT_EQ(got[peer * n + i], value(peer, r.rank * n + i));
  });
}

// Two communicators in opposite order on two ranks: a waiting collective holds no engine.
TEST(Collective, OppositeOrdersDoNotBlock) {
  HcclRootInfo second;
  ASSERT_EQ(HcclGetRootInfo(&second), 0);
  as_ranks(2, [&](Rank& r) {
    HcclComm other = nullptr;
    ASSERT_EQ(HcclCommInitRootInfo(2, &second, r.rank, &other), 0);
    aclrtStream another = nullptr;
    ASSERT_EQ(aclrtCreateStream(&another), 0);
    const size_t n = 20000;
    Buffer a(n, [&](size_t i) { return value(r.rank, i); }), b(n, [&](size_t i) { return value(r.rank, i); });
    auto first = [&] {
      ASSERT_EQ(HcclAllReduce(a.data(), a.data(), n, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r.comm, r.stream), 0);
    };
    auto next = [&] {
      ASSERT_EQ(HcclAllReduce(b.data(), b.data(), n, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, other, another), 0);
    };
    if (r.rank == 0) {
      first();
      next();
    } else {
      next();
      first();
    }
    ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0);
    ASSERT_EQ(aclrtSynchronizeStream(another), 0);
    EXPECT_EQ(a.read()[5], value(0, 5) + value(1, 5));
    EXPECT_EQ(b.read()[7], value(0, 7) + value(1, 7));
    EXPECT_EQ(HcclCommDestroy(other), 0);
    EXPECT_EQ(aclrtDestroyStream(another), 0);
  });
}

TEST(Collective, DisagreementNamesTheRanks) {
  as_ranks(2, [](Rank& r) {
    Buffer data(4000, [](size_t) { return 1.f; });
    ASSERT_EQ(
        HcclAllReduce(data.data(), data.data(), 3000 + r.rank, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r.comm, r.stream),
        0);
    EXPECT_EQ(aclrtSynchronizeStream(r.stream), 507048);
    const std::string text = aclGetRecentErrMsg();
    EXPECT_NE(text.find("EI0005"), std::string::npos) << text;
    EXPECT_NE(text.find("count 3001"), std::string::npos) << text;
    HcclResult error = HCCL_SUCCESS;
    EXPECT_EQ(HcclGetCommAsyncError(r.comm, &error), 0);
    EXPECT_EQ(error, HCCL_E_PARA);
    EXPECT_EQ(HcclAllReduce(data.data(), data.data(), 10, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r.comm, r.stream),
              HCCL_E_PARA);
  });
}

TEST(Collective, DestroyUnblocksAndTheOtherLearns) {
  as_ranks(2, [](Rank& r) {
    Buffer data(4000, [](size_t) { return 1.f; });
    if (r.rank == 0) {
      ASSERT_EQ(HcclAllReduce(data.data(), data.data(), 4000, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r.comm, r.stream),
                0);
      EXPECT_EQ(HcclCommDestroy(r.comm), 0);
      r.comm = nullptr;
      EXPECT_EQ(aclrtSynchronizeStream(r.stream), 507048);
    } else {
      HcclResult error = HCCL_SUCCESS;
      EXPECT_EQ(HcclGetCommAsyncError(r.comm, &error), 0);
      ASSERT_EQ(HcclBarrier(r.comm, r.stream), 0);
      // Rank 0 had come to the all-reduce, or had left before: an error either way, never a hang.
      EXPECT_EQ(aclrtSynchronizeStream(r.stream), 507048);
    }
  });
}

TEST(Collective, CapturedAndReplayed) {
  as_ranks(2, [](Rank& r) {
    const size_t n = 3000;
    Buffer data(n, [&](size_t) { return r.rank ? 2.f : 1.f; });
    aclmdlRI graph = nullptr;
    ASSERT_EQ(aclmdlRICaptureBegin(r.stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), 0);
    ASSERT_EQ(HcclAllReduce(data.data(), data.data(), n, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r.comm, r.stream), 0);
    ASSERT_EQ(aclmdlRICaptureEnd(r.stream, &graph), 0);
    for (int k = 0; k < 3; ++k) ASSERT_EQ(aclmdlRIExecuteAsync(graph, r.stream), 0);
    ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << aclGetRecentErrMsg();
    EXPECT_EQ(data.read()[n - 1], 12.f);  // 1 + 2 = 3, then twice doubled
    EXPECT_EQ(aclmdlRIDestroy(graph), 0);
  });
}

TEST(Collective, RefusesWrongArguments) {
  as_ranks(1, [](Rank& r) {
    Buffer data(10, [](size_t) { return 1.f; });
    float host[4] = {};
    EXPECT_EQ(HcclAllReduce(data.data(), data.data(), 10, HCCL_DATA_TYPE_INT128, HCCL_REDUCE_SUM, r.comm, r.stream),
              HCCL_E_PARA);
    EXPECT_EQ(HcclAllReduce(data.data(), data.data(), 10, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_RESERVED, r.comm, r.stream),
              HCCL_E_PARA);
    EXPECT_EQ(HcclAllReduce(nullptr, data.data(), 10, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r.comm, r.stream),
              HCCL_E_PTR);
    EXPECT_EQ(HcclAllReduce(host, data.data(), 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r.comm, r.stream), HCCL_E_PARA);
    EXPECT_EQ(HcclAllReduce(data.data(), data.data(), 1 << 20, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r.comm, r.stream),
              HCCL_E_PARA);
    EXPECT_EQ(HcclBroadcast(data.data(), 10, HCCL_DATA_TYPE_FP32, 1, r.comm, r.stream), HCCL_E_PARA);
    EXPECT_EQ(HcclSend(data.data(), 10, HCCL_DATA_TYPE_FP32, 1, r.comm, r.stream), HCCL_E_PARA);
    EXPECT_EQ(HcclAllReduce(data.data(), data.data(), 10, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, &host, r.stream),
              HCCL_E_PARA);
    EXPECT_EQ(HcclCommDestroy(host), HCCL_E_PARA);
    EXPECT_EQ(HcclGroupEnd(), HCCL_E_PARA);
    HcclRootInfo wrong = {};
    HcclComm comm = nullptr;
    EXPECT_EQ(HcclCommInitRootInfo(2, &wrong, 0, &comm), HCCL_E_PARA);
    EXPECT_EQ(HcclCommInitRootInfo(2, &wrong, 2, &comm), HCCL_E_PARA);
    EXPECT_EQ(aclrtSynchronizeStream(r.stream), 0);
  });
}

}  // namespace
