// Collectives among threads that stand for ranks of several hosts: a server_id of its own keeps ranks from sharing
// memory, so that everything between "hosts" goes by TCP.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "device/context.h"
#include "hccl/api.h"
#include "hccl/hccl.h"
#include "hccl/join.h"
#include "ranks.h"

namespace updraft {
namespace {

/// By rank.
struct Layout {
  std::vector<int> hosts;
  std::vector<std::string> pods{};
};

/// An algorithm that HCCL_ALGO has no word for.
constexpr const char* kMesh = "mesh";

/// Runs `body` as every rank, with HCCL_ALGO's text as the communicator's own. Gives the first error in making it.
std::string as_ranks(const Layout& layout, const std::string& algorithms, const std::function<void(Rank&)>& body) {
  aclInit(nullptr);
  EXPECT_EQ(aclrtSetDevice(0), 0);
  const auto size = static_cast<uint32_t>(layout.hosts.size());
  const RootInfo info = RootInfo::open(size);
  std::vector<std::string> errors(size);
  as_threads(size, [&](Rank& rank) {
    const uint32_t r = rank.rank;
    CommConfig config;
    config.algorithms.emplace();
    using enum collective::Algorithm;
    if (algorithms == kMesh) config.algorithms->level = {Auto, Mesh, Mesh};
    else config.algorithms->read_algorithms(algorithms);
    Place place{"server " + std::to_string(layout.hosts[r]), layout.pods.empty() ? "" : layout.pods[r]};
    try {
      rank.comm = communicator_pool().create(join(info, r, size, current_context().device(), config, place));
    } catch (const Error& e) { errors[r] = e.text(); }
    if (!rank.comm) return;
    body(rank);
    EXPECT_EQ(HcclCommDestroy(rank.comm), HCCL_SUCCESS);
  });
  for (const std::string& error : errors)
    if (!error.empty()) return error;
  return "";
}

constexpr float kNothing = -1;
float nothing(size_t) { return kNothing; }
float value(uint32_t rank, size_t i) { return static_cast<float>((rank + 1) * 10 + i % 97); }

/// Whole numbers: no order of additions rounds.
void every_collective(Rank& r, size_t n) {
  const auto fp32 = HCCL_DATA_TYPE_FP32;
  const auto own = [&](size_t i) { return value(r.rank, i); };
  const auto sum = [&](size_t i) {
    float s = 0;
    for (uint32_t k = 0; k < r.size; ++k) s += value(k, i);
    return s;
  };
  const auto last = static_cast<uint32_t>(r.size - 1);
  const size_t all = n * r.size, mine = n * r.rank;
  Buffer in(n, own), out(n, nothing), place(n, own), most(n, own), blocks(all, own), part(n, nothing),
      gathered(all, nothing), swapped(all, nothing), part_in_place(all, own);
  Buffer gathered_in_place(all, [&](size_t i) { return i / std::max<size_t>(n, 1) == r.rank ? own(i % n) : kNothing; });
  ASSERT_EQ(HcclAllReduce(in.data(), out.data(), n, fp32, HCCL_REDUCE_SUM, r.comm, r.stream), 0);
  ASSERT_EQ(HcclAllReduce(place.data(), place.data(), n, fp32, HCCL_REDUCE_SUM, r.comm, r.stream), 0);
  ASSERT_EQ(HcclAllReduce(most.data(), most.data(), n, fp32, HCCL_REDUCE_MAX, r.comm, r.stream), 0);
  ASSERT_EQ(HcclReduceScatter(blocks.data(), part.data(), n, fp32, HCCL_REDUCE_SUM, r.comm, r.stream), 0);
  ASSERT_EQ(
      HcclReduceScatter(part_in_place.data(), part_in_place.data() + mine, n, fp32, HCCL_REDUCE_SUM, r.comm, r.stream),
      0);
  ASSERT_EQ(HcclAllGather(in.data(), gathered.data(), n, fp32, r.comm, r.stream), 0);
  ASSERT_EQ(HcclAllGather(gathered_in_place.data() + mine, gathered_in_place.data(), n, fp32, r.comm, r.stream), 0);
  ASSERT_EQ(HcclAlltoAll(blocks.data(), n, fp32, swapped.data(), n, fp32, r.comm, r.stream), 0);
  ASSERT_EQ(HcclBarrier(r.comm, r.stream), 0);
  ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << aclGetRecentErrMsg();
  const auto a = out.read(), b = place.read(), c = most.read(), d = part.read(), e = gathered.read(),
             f = gathered_in_place.read(), g = swapped.read(), h = part_in_place.read();
  for (size_t i = 0; i < n; ++i) {
    ASSERT_EQ(a[i], sum(i)) << i;
    ASSERT_EQ(b[i], sum(i)) << i;
    ASSERT_EQ(c[i], value(last, i)) << i;
    ASSERT_EQ(d[i], sum(mine + i)) << i;
    ASSERT_EQ(h[mine + i], sum(mine + i)) << i;
    for (uint32_t k = 0; k < r.size; ++k) {
      ASSERT_EQ(e[k * n + i], value(k, i)) << k << " " << i;
      ASSERT_EQ(f[k * n + i], value(k, i)) << k << " " << i;
      ASSERT_EQ(g[k * n + i], value(k, mine + i)) << k << " " << i;
    }
  }
  for (uint32_t root = 0; root < r.size; ++root) {
    Buffer reduced(n, nothing), sent(n, own), scattered(n, nothing);
    ASSERT_EQ(HcclReduce(in.data(), reduced.data(), n, fp32, HCCL_REDUCE_SUM, root, r.comm, r.stream), 0);
    ASSERT_EQ(HcclBroadcast(sent.data(), n, fp32, root, r.comm, r.stream), 0);
    ASSERT_EQ(HcclScatter(blocks.data(), scattered.data(), n, fp32, root, r.comm, r.stream), 0);
    ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << aclGetRecentErrMsg();
    const auto x = reduced.read(), y = sent.read(), z = scattered.read();
    for (size_t i = 0; i < n; ++i) {
      ASSERT_EQ(x[i], r.rank == root ? sum(i) : kNothing) << root << " " << i;
      ASSERT_EQ(y[i], value(root, i)) << root << " " << i;
      ASSERT_EQ(z[i], value(root, mine + i)) << root << " " << i;
    }
  }
}

/// Rank k has (k * 5 + 3) % 7 times `n` elements for those that gather, reduce and exchange.
void uneven_parts(Rank& r, size_t n) {
  const auto fp32 = HCCL_DATA_TYPE_FP32;
  std::vector<uint64_t> counts, offsets;
  uint64_t all = 0;
  for (uint32_t k = 0; k < r.size; ++k) {
    counts.push_back((k * 5 + 3) % 7 * n);
    offsets.push_back(all);
    all += counts.back();
  }
  const uint64_t mine = counts[r.rank];
  const std::vector<uint64_t> each(r.size, mine);
  std::vector<uint64_t> at;
  for (uint32_t k = 0; k < r.size; ++k) at.push_back(k * mine);
  Buffer in(all, [&](size_t i) { return value(r.rank, i); }), gathered(all, nothing), part(mine, nothing),
      swapped(mine * r.size, nothing);
  ASSERT_EQ(HcclAllGatherV(in.data(), mine, gathered.data(), counts.data(), offsets.data(), fp32, r.comm, r.stream), 0);
  ASSERT_EQ(HcclReduceScatterV(in.data(), counts.data(), offsets.data(), part.data(), mine, fp32, HCCL_REDUCE_SUM,
                               r.comm, r.stream),
            0);
  ASSERT_EQ(HcclAlltoAllV(in.data(), counts.data(), offsets.data(), fp32, swapped.data(), each.data(), at.data(), fp32,
                          r.comm, r.stream),
            0);
  ASSERT_EQ(aclrtSynchronizeStream(r.stream), 0) << aclGetRecentErrMsg();
  const auto x = gathered.read(), y = part.read(), z = swapped.read();
  for (uint32_t k = 0; k < r.size; ++k) {
    for (uint64_t i = 0; i < counts[k]; ++i) ASSERT_EQ(x[offsets[k] + i], value(k, i));
    for (uint64_t i = 0; i < mine; ++i) ASSERT_EQ(z[at[k] + i], value(k, offsets[r.rank] + i));
  }
  for (uint64_t i = 0; i < mine; ++i) {
    float want = 0;
    for (uint32_t k = 0; k < r.size; ++k) want += value(k, offsets[r.rank] + i);
    ASSERT_EQ(y[i], want);
  }
}

const char* const kWishes[] = {"",
                               "level1:ring;level2:ring",
                               "level1:H-D_R;level2:H-D_R",
                               "level1:NHR;level2:NHR",
                               "level1:NB;level2:NB",
                               "level1:AHC",
                               "level1:pipeline;level2:pipeline",
                               "level1:ring;level2:NHR",
                               "level1:pairwise;level2:AHC",
                               kMesh};

void all_algorithms(const Layout& layout) {
  for (const char* wish : kWishes) {
    SCOPED_TRACE(wish);
    EXPECT_EQ(as_ranks(layout, wish,
                       [](Rank& r) {
                         for (const size_t n : {0u, 1u, 5u, 1000u}) ASSERT_NO_FATAL_FAILURE(every_collective(r, n));
                         for (const size_t n : {1u, 11u, 5000u}) ASSERT_NO_FATAL_FAILURE(uneven_parts(r, n));
                       }),
              "");
  }
}

TEST(Hosts, OfOneSize) { all_algorithms({{0, 0, 1, 1}}); }
TEST(Hosts, ThreeRanksAndOne) { all_algorithms({{0, 0, 0, 1}}); }
TEST(Hosts, OneRankAndTwoAndThree) { all_algorithms({{0, 1, 1, 2, 2, 2}}); }
TEST(Hosts, RanksInTurns) { all_algorithms({{0, 1, 0, 2, 0, 1}}); }
TEST(Hosts, OneRankEach) { all_algorithms({{0, 1, 2, 3, 4}}); }

TEST(Hosts, SuperPodsOfOneSize) {
  all_algorithms({{0, 0, 1, 1, 2, 2, 3, 3}, {"a", "a", "a", "a", "b", "b", "b", "b"}});
}
TEST(Hosts, SuperPodsOfDifferentSizesWithHostsOfDifferentSizes) {
  all_algorithms({{0, 0, 1, 2, 3, 3, 3}, {"a", "a", "a", "a", "b", "b", "b"}});
  all_algorithms({{0, 1, 2, 3, 4, 4}, {"a", "b", "a", "c", "b", "b"}});  // and in turns
}
TEST(Hosts, SuperPodsOfAHostEach) { all_algorithms({{0, 0, 1, 2, 2}, {"a", "a", "b", "c", "c"}}); }

TEST(Hosts, MoreThanAPieceOfATransfer) {
  for (const Layout& layout : {Layout{{0, 0, 0, 1}}, Layout{{0, 1, 2, 2}, {"a", "a", "b", "b"}}})
    EXPECT_EQ(as_ranks(layout, "", [](Rank& r) { ASSERT_NO_FATAL_FAILURE(every_collective(r, 700'001)); }), "");
}

constexpr auto kFloat = HCCL_DATA_TYPE_FP32;
using Counts = std::vector<uint64_t>;
float one(size_t) { return 1; }

/// The operation fails soon, with EI0005 and this sentence.
void expect_disagreement(const Rank& r, const std::string& sentence) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(aclrtSynchronizeStream(r.stream), 507048) << r.rank;
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << r.rank;
  HcclResult error = HCCL_SUCCESS;
  EXPECT_EQ(HcclGetCommAsyncError(r.comm, &error), HCCL_SUCCESS);
  EXPECT_NE(error, HCCL_SUCCESS);
  const std::string text = aclGetRecentErrMsg();
  EXPECT_NE(text.find("EI0005"), std::string::npos) << r.rank << ": " << text;
  EXPECT_NE(text.find(sentence), std::string::npos) << r.rank << ": " << text;
}

void as_hosts(const std::vector<int>& hosts, const std::function<void(Rank&)>& body) {
  EXPECT_EQ(as_ranks({hosts}, "", body), "");
}

TEST(HostsDisagree, AboutAnOperation) {
  as_hosts({0, 0, 0, 1}, [](Rank& r) {
    Buffer data(64, one);
    const uint64_t n = r.rank == 3 ? 32 : 64;
    ASSERT_EQ(HcclAllReduce(data.data(), data.data(), n, kFloat, HCCL_REDUCE_SUM, r.comm, r.stream), 0);
    expect_disagreement(r, "called HcclAllReduce(count 32, fp32, sum)");
  });
}

TEST(HostsDisagree, AboutCountsThatAllHave) {
  as_hosts({0, 0, 1}, [](Rank& r) {
    Buffer in(64, one), out(64, nothing);
    Counts counts = {8, 8, 8}, offsets = {0, 16, 32};
    if (r.rank == 2) counts[1] = 16;
    ASSERT_EQ(HcclAllGatherV(in.data(), 8, out.data(), counts.data(), offsets.data(), kFloat, r.comm, r.stream), 0);
    expect_disagreement(r, "with other counts of the ranks");
  });
}

// Two ranks are no part of the pair, one of them on a host of its own.
TEST(HostsDisagree, AboutWhatOneSendsToAnother) {
  for (const uint64_t n : {uint64_t{5}, uint64_t{100'000}})
    for (const uint64_t wanted : {uint64_t{0}, n + 1})
      as_hosts({0, 1, 2, 2}, [&](Rank& r) {
        const size_t most = n + 1;
        Buffer in(most * 4, one), out(most * 4, nothing);
        Counts sent(4, n), received(4, n), at = {0, most, 2 * most, 3 * most};
        if (r.rank == 3) received[0] = wanted;
        ASSERT_EQ(HcclAlltoAllV(in.data(), sent.data(), at.data(), kFloat, out.data(), received.data(), at.data(),
                                kFloat, r.comm, r.stream),
                  0);
        expect_disagreement(r, "rank 0 sends " + std::to_string(n * 4) + " bytes to rank 3, which expects " +
                                   std::to_string(wanted * 4) + " bytes");
      });
}

TEST(HostsDisagree, AboutTheMatrix) {
  as_hosts({0, 1, 2}, [](Rank& r) {
    Buffer in(64, one), out(64, nothing);
    Counts matrix(9, 4);
    if (r.rank == 0) matrix[1 * 3 + 0] = 7;  // what rank 1 sends to rank 0, as rank 0 has it
    ASSERT_EQ(HcclAlltoAllVC(in.data(), matrix.data(), kFloat, out.data(), kFloat, r.comm, r.stream), 0);
    expect_disagreement(r, "rank 1 sends 16 bytes to rank 0, which expects 28 bytes");
  });
}

TEST(HostsDisagree, AboutTheMatrixOfOthers) {
  as_hosts({0, 1, 2}, [](Rank& r) {
    Buffer in(64, one), out(64, nothing);
    Counts matrix(9, 4);
    if (r.rank == 2) matrix[1 * 3 + 0] = 7;  // what rank 1 sends to rank 0, as rank 2 has it
    ASSERT_EQ(HcclAlltoAllVC(in.data(), matrix.data(), kFloat, out.data(), kFloat, r.comm, r.stream), 0);
    expect_disagreement(r, "with other counts of the ranks");
  });
}

TEST(HostsDisagree, AboutTheSizeOfAMessage) {
  as_hosts({0, 1}, [](Rank& r) {
    Buffer data(100'001, one);
    if (r.rank) ASSERT_EQ(HcclRecv(data.data(), 100'001, kFloat, 0, r.comm, r.stream), 0);
    else ASSERT_EQ(HcclSend(data.data(), 100'000, kFloat, 1, r.comm, r.stream), 0);
    expect_disagreement(r, "a message of 400000 bytes was sent where 400004 bytes are received");
  });
}

TEST(Hosts, AServerIsInOneSuperPod) {
  const std::string error = as_ranks({{0, 0}, {"a", "b"}}, "", [](Rank&) {});
  EXPECT_NE(error.find("EI0001"), std::string::npos) << error;
  EXPECT_NE(error.find("HCCL_LOGIC_SUPERPOD_ID"), std::string::npos) << error;
}

TEST(Hosts, WishesOfLevelTwoMustAgree) {
  aclInit(nullptr);
  const RootInfo info = RootInfo::open(2);
  std::vector<std::string> errors(2);
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < 2; ++r)
    threads.emplace_back([&, r] {
      ASSERT_EQ(aclrtSetDevice(static_cast<int32_t>(r)), 0);
      CommConfig config;
      config.algorithms.emplace();
      config.algorithms->read_algorithms(r ? "level2:ring" : "level2:NHR");
      try {
        join(info, r, 2, current_context().device(), config, {"server " + std::to_string(r), "pod"});
      } catch (const Error& e) { errors[r] = e.text(); }
    });
  for (std::thread& t : threads) t.join();
  for (const std::string& error : errors) EXPECT_NE(error.find("EI0005"), std::string::npos) << error;
}

}  // namespace
}  // namespace updraft
