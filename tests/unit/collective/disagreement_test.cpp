// Ranks of one host that disagree about parts of different sizes, and ranks that give up without ending: all others are
// told why, soon. Nobody waits for HCCL_EXEC_TIMEOUT, half an hour, which would end the test's own time.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "collective/shared/region.h"
#include "ranks.h"

namespace updraft::collective {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;
using Counts = std::vector<uint64_t>;
constexpr auto kType = HCCL_DATA_TYPE_FP32;

/// Ten times what is promised.
constexpr auto kLongest = seconds(10);

/// The stream fails; the text of the communicator's failure.
std::string failure_of(const Rank& r) {
  const auto start = Clock::now();
  EXPECT_EQ(aclrtSynchronizeStream(r.stream), 507048) << r.rank;
  EXPECT_LT(Clock::now() - start, kLongest) << r.rank;
  HcclResult error = HCCL_SUCCESS;
  EXPECT_EQ(HcclGetCommAsyncError(r.comm, &error), HCCL_SUCCESS);
  EXPECT_NE(error, HCCL_SUCCESS);
  return aclGetRecentErrMsg();
}

void expect_pair(const Rank& r, const std::string& sentence) {
  const std::string text = failure_of(r);
  EXPECT_NE(text.find("EI0005"), std::string::npos) << text;
  EXPECT_NE(text.find(sentence), std::string::npos) << text;
}

constexpr size_t kPart = 5000;  // elements; some tests take less
Counts places(uint64_t part, uint32_t size) {
  Counts at;
  for (uint32_t k = 0; k < size; ++k) at.push_back(k * part);
  return at;
}

TEST(Disagreement, AllToAllV) {
  for (const uint64_t n : {uint64_t{5}, uint64_t{kPart}})
    as_ranks(4, [&](Rank& r) {
      Buffer in(n * 4, [](size_t) { return 1.f; }), out(n * 4, [](size_t) { return 0.f; });
      Counts sent(4, n), received(4, n), at = places(n, 4);
      if (r.rank == 2) received[1] = n - 1;
      ASSERT_EQ(HcclAlltoAllV(in.data(), sent.data(), at.data(), kType, out.data(), received.data(), at.data(), kType,
                              r.comm, r.stream),
                0);
      expect_pair(r, "rank 1 sends " + std::to_string(n * 4) + " bytes to rank 2, which expects " +
                         std::to_string(n * 4 - 4) + " bytes");
    });
}

TEST(Disagreement, AllToAllVC) {
  as_ranks(3, [](Rank& r) {
    Buffer in(64, [](size_t) { return 1.f; }), out(64, [](size_t) { return 0.f; });
    Counts matrix(9, 4);
    if (r.rank == 0) matrix[1 * 3 + 0] = 7;  // what rank 1 sends to rank 0, as rank 0 has it
    ASSERT_EQ(HcclAlltoAllVC(in.data(), matrix.data(), kType, out.data(), kType, r.comm, r.stream), 0);
    expect_pair(r, "rank 1 sends 16 bytes to rank 0, which expects 28 bytes");
  });
}

TEST(Disagreement, AllToAllVCAboutOthers) {
  as_ranks(3, [](Rank& r) {
    Buffer in(64, [](size_t) { return 1.f; }), out(64, [](size_t) { return 0.f; });
    Counts matrix(9, 4);
    if (r.rank == 2) matrix[1 * 3 + 0] = 7;  // what rank 1 sends to rank 0, as rank 2 has it
    ASSERT_EQ(HcclAlltoAllVC(in.data(), matrix.data(), kType, out.data(), kType, r.comm, r.stream), 0);
    expect_pair(r, "rank 2 has another sendCountMatrix than rank 0");
  });
}

TEST(Disagreement, AllGatherV) {
  as_ranks(3, [](Rank& r) {
    Buffer in(64, [](size_t) { return 1.f; }), out(64, [](size_t) { return 0.f; });
    Counts counts = {8, 8, 8}, at = {0, 16, 32};
    if (r.rank == 2) counts[1] = 16;
    ASSERT_EQ(HcclAllGatherV(in.data(), 8, out.data(), counts.data(), at.data(), kType, r.comm, r.stream), 0);
    expect_pair(r, "rank 1 sends 32 bytes to rank 2, which expects 64 bytes");
  });
}

TEST(Disagreement, ReduceScatterV) {
  as_ranks(3, [](Rank& r) {
    Buffer in(64, [](size_t) { return 1.f; }), out(64, [](size_t) { return 0.f; });
    Counts counts = {8, 8, 8}, at = {0, 16, 32};
    if (r.rank == 0) counts[2] = 9;
    ASSERT_EQ(HcclReduceScatterV(in.data(), counts.data(), at.data(), out.data(), 8, kType, HCCL_REDUCE_SUM, r.comm,
                                 r.stream),
              0);
    expect_pair(r, "rank 0 sends 36 bytes to rank 2, which expects 32 bytes");
  });
}

// Rank 1 gives up because rank 2 has left: it tells nobody, and its process lives. Rank 0 waits for rank 1's message.
TEST(Disagreement, AMessageOfARankThatGaveUp) {
  for (const bool sends : {false, true})
    as_ranks(3, [&](Rank& r) {
      Buffer data(64, [](size_t) { return 1.f; });
      if (r.rank == 2) {
        ASSERT_EQ(HcclCommDestroy(std::exchange(r.comm, nullptr)), 0);
        return;
      }
      if (r.rank == 1) {
        ASSERT_EQ(HcclRecv(data.data(), 8, kType, 2, r.comm, r.stream), 0);
        failure_of(r);
        std::this_thread::sleep_for(seconds(1));
        return;
      }
      ASSERT_EQ(sends ? HcclSend(data.data(), 8, kType, 1, r.comm, r.stream)
                      : HcclRecv(data.data(), 8, kType, 1, r.comm, r.stream),
                0);
      const std::string text = failure_of(r);
      EXPECT_NE(text.find("rank 2 has left"), std::string::npos) << text;
    });
}

/// The memory that the only communicator of this process shares.
std::optional<Region> find_region(int ranks) {
  std::ifstream maps("/proc/self/maps");
  std::vector<void*> found;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:updraft-hccl") == std::string::npos) continue;
    found.push_back(reinterpret_cast<void*>(std::stoull(line.substr(0, line.find('-')), nullptr, 16)));
  }
  if (found.size() != 1) return {};
  return Region(found[0], ranks);
}

/// Rank 0 of two, in the middle of an AllReduce to which rank 1 never comes, with what they share; `body` pretends to
/// be rank 1's process.
void without_the_other(const std::function<void(Rank&, const Region&)>& body) {
  std::atomic<bool> done{false};
  as_ranks(2, [&](Rank& r) {
    if (r.rank == 1) {
      while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return;
    }
    const auto region = find_region(2);
    Buffer data(64, [](size_t) { return 1.f; });
    EXPECT_TRUE(region);
    EXPECT_EQ(HcclAllReduce(data.data(), data.data(), 64, kType, HCCL_REDUCE_SUM, r.comm, r.stream), 0);
    if (region) body(r, *region);
    done = true;
  });
}

// What another rank's process writes as it gives up, of which this one hears by nothing else.
TEST(Disagreement, ACollectiveWithARankThatGaveUp) {
  without_the_other([](Rank& r, const Region& region) {
    region.reason(1).code = 9;
    std::strcpy(region.reason(1).text, "EI0002: tired");
    region.broken(1) = kGivenUp;
    region.bell(0).ring();
    const std::string text = failure_of(r);
    EXPECT_NE(text.find("EI0002: tired (reported by rank 1)"), std::string::npos) << text;
  });
}

// Longer than the five seconds after which the client once got its memory back whatever happened to it.
TEST(Disagreement, MemoryIsTheClientsAgainWhenNobodyTouchesIt) {
  without_the_other([](Rank& r, const Region& region) {
    region.busy(1) = 1;  // a process that was stopped in the middle of a copy
    std::atomic<bool> destroyed{false};
    std::thread other([&, comm = std::exchange(r.comm, nullptr)] {
      EXPECT_EQ(HcclCommDestroy(comm), 0);
      destroyed = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5500));
    EXPECT_FALSE(destroyed);
    region.busy(1) = 0;
    other.join();
    EXPECT_EQ(aclrtSynchronizeStream(r.stream), 507048);
  });
}

// Sums and products of counts must not wrap round to something that fits.
TEST(Disagreement, CountsAndPlacesThatWrap) {
  as_ranks(2, [](Rank& r) {
    const uint64_t huge = UINT64_MAX, half = uint64_t{1} << 62;  // 2^62 floats are 0 bytes modulo 2^64
    Buffer data(64, [](size_t) { return 1.f; });
    Counts small = {1, 1}, at = {0, 8};
    const auto refused = [](int code) {
      EXPECT_EQ(code, HCCL_E_PARA);
      EXPECT_NE(std::string(aclGetRecentErrMsg()).find("EI0003"), std::string::npos) << aclGetRecentErrMsg();
    };
    for (const Counts& bad : {Counts{huge, 1}, Counts{half, 1}, Counts{1, half}, Counts{half, half}}) {
      refused(HcclAlltoAllV(data.data(), bad.data(), at.data(), kType, data.data(), small.data(), at.data(), kType,
                            r.comm, r.stream));
      refused(HcclAlltoAllV(data.data(), small.data(), at.data(), kType, data.data(), bad.data(), at.data(), kType,
                            r.comm, r.stream));
      refused(HcclAlltoAllV(data.data(), small.data(), bad.data(), kType, data.data(), small.data(), at.data(), kType,
                            r.comm, r.stream));
      refused(HcclAllGatherV(data.data(), bad[r.rank], data.data(), bad.data(), at.data(), kType, r.comm, r.stream));
      refused(HcclReduceScatterV(data.data(), bad.data(), at.data(), data.data(), bad[r.rank], kType, HCCL_REDUCE_SUM,
                                 r.comm, r.stream));
      const Counts matrix = {bad[0], bad[1], bad[0], bad[1]};
      refused(HcclAlltoAllVC(data.data(), matrix.data(), kType, data.data(), kType, r.comm, r.stream));
    }
    // The place of an empty part is nobody's business.
    Counts none = {0, 0}, anywhere = {huge, half};
    EXPECT_EQ(HcclAlltoAllV(data.data(), none.data(), anywhere.data(), kType, data.data(), none.data(), anywhere.data(),
                            kType, r.comm, r.stream),
              0);
    EXPECT_EQ(aclrtSynchronizeStream(r.stream), 0) << aclGetRecentErrMsg();
  });
}

}  // namespace
}  // namespace updraft::collective
