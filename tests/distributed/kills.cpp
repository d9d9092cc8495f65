// A rank for test_kills.py: all kinds of operations in an order that the seed gives, the same on all ranks; checks what
// comes out, and says what failed.
//
//   kills RANK RANKS FOLDER SEED STEPS
//
// It says "BEGIN N" before it joins its Nth communicator of all ranks, and "JOINED N" afterwards.
// Status 0: all is done. 3: an operation failed; the last line says "FAILED ranks R,R,…: TEXT", by the members of its
// communicator. 4: rank 0 wrote no root info. 5: a result is wrong.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "hccl/hccl.h"

namespace {

struct Group {
  HcclComm comm = nullptr;
  std::vector<uint32_t> ranks;
  uint32_t me = 0;
};

[[noreturn]] void failed(Group& group, int code, const char* also = "") {
  const char* text = aclGetRecentErrMsg();
  std::string names;
  for (uint32_t r : group.ranks) names += (names.empty() ? "" : ",") + std::to_string(r);
  std::printf("FAILED ranks %s%s: code %d %s\n", names.c_str(), also, code, text ? text : "");
  std::fflush(stdout);
  if (group.comm) HcclCommDestroy(group.comm);  // it must not hang either
  std::_Exit(3);
}

#define CHECK(group, call)                                          \
  do {                                                              \
    if (int code_ = static_cast<int>(call)) failed((group), code_); \
  } while (0)

float value(uint32_t rank, size_t i) { return static_cast<float>((rank + 1) * 10 + i % 97); }

class Rank {
 public:
  Rank(uint32_t rank, uint32_t ranks, std::string folder, unsigned seed)
      : rank_(rank), folder_(std::move(folder)), random_(seed) {
    for (uint32_t r = 0; r < ranks; ++r) world_.ranks.push_back(r);
    world_.me = rank;
    CHECK(world_, aclInit(nullptr));
    CHECK(world_, aclrtSetDevice(static_cast<int32_t>(rank)));
    CHECK(world_, aclrtCreateStream(&stream_));
    CHECK(world_, aclrtMalloc(reinterpret_cast<void**>(&in_), kMost * 4 * ranks, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(world_, aclrtMalloc(reinterpret_cast<void**>(&out_), kMost * 4 * ranks, ACL_MEM_MALLOC_HUGE_FIRST));
    begin();
  }

  void step() {
    const unsigned what = random_() % 12;
    const size_t count = random_() % 3 == 0 ? kMost : 1 + random_() % 2000;
    if (what == 10) {
      CHECK(world_, HcclCommDestroy(std::exchange(world_.comm, nullptr)));
      begin();
    } else if (what == 11 || what == 9) {
      sub_group(count);
    } else if (what >= 6) {
      messages(world_, count);
    } else {
      collective(world_, what, count);
    }
  }

  void end() {
    // Rank 0's process is where the others meet for sub-groups: it must not end before they have made theirs.
    CHECK(world_, HcclBarrier(world_.comm, stream_));
    CHECK(world_, aclrtSynchronizeStream(stream_));
    CHECK(world_, HcclCommDestroy(std::exchange(world_.comm, nullptr)));
    CHECK(world_, aclrtDestroyStream(stream_));
    CHECK(world_, aclFinalize());
  }

 private:
  static constexpr size_t kMost = 200000;

  void begin() {
    std::printf("BEGIN %d\n", generation_);
    std::fflush(stdout);
    const std::string path = folder_ + "/root." + std::to_string(generation_), part = path + ".part";
    HcclRootInfo info;
    if (rank_ == 0) {
      CHECK(world_, HcclGetRootInfo(&info));
      std::ofstream(part, std::ios::binary).write(info.internal, sizeof info.internal).flush();
      std::rename(part.c_str(), path.c_str());
    } else {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
      while (!std::ifstream(path, std::ios::binary).read(info.internal, sizeof info.internal)) {
        if (std::chrono::steady_clock::now() > end) std::_Exit(4);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    CHECK(world_, HcclCommInitRootInfo(static_cast<uint32_t>(world_.ranks.size()), &info, rank_, &world_.comm));
    std::printf("JOINED %d\n", generation_++);
    std::fflush(stdout);
  }

  /// What all ranks of the group have, before; the result, after.
  void fill(const Group& group, size_t n) {
    std::vector<float> host(n);
    for (size_t i = 0; i < n; ++i) host[i] = value(group.me, i);
    CHECK(world_, aclrtMemcpy(in_, n * 4, host.data(), n * 4, ACL_MEMCPY_HOST_TO_DEVICE));
  }
  std::vector<float> finish(Group& group, size_t n) {
    CHECK(group, aclrtSynchronizeStream(stream_));
    std::vector<float> host(n);
    CHECK(group, aclrtMemcpy(host.data(), n * 4, out_, n * 4, ACL_MEMCPY_DEVICE_TO_HOST));
    return host;
  }
  void expect(bool good, const char* what) {
    if (good) return;
    std::printf("WRONG %s\n", what);
    std::fflush(stdout);
    std::_Exit(5);
  }

  void collective(Group& group, unsigned what, size_t n) {
    const auto size = static_cast<uint32_t>(group.ranks.size());
    const uint32_t root = static_cast<uint32_t>(n) % size;
    fill(group, n * size);
    if (what <= 1) {
      CHECK(group, HcclAllReduce(in_, out_, n, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, group.comm, stream_));
      CHECK(group, HcclAllReduce(out_, out_, n, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, group.comm, stream_));
      const auto got = finish(group, n);
      float want = 0;
      for (uint32_t r = 0; r < size; ++r) want += value(r, n - 1);
      expect(got[n - 1] == want, "all-reduce");
    } else if (what == 2) {
      CHECK(group, HcclAllGather(in_, out_, n, HCCL_DATA_TYPE_FP32, group.comm, stream_));
      const auto got = finish(group, n * size);
      for (uint32_t r = 0; r < size; ++r) expect(got[r * n + n - 1] == value(r, n - 1), "all-gather");
    } else if (what == 3) {
      CHECK(group, HcclBroadcast(in_, n, HCCL_DATA_TYPE_FP32, root, group.comm, stream_));
      CHECK(group, HcclAllReduce(in_, out_, n, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MIN, group.comm, stream_));
      expect(finish(group, n)[n - 1] == value(root, n - 1), "broadcast");
    } else if (what == 4) {
      CHECK(group, HcclAlltoAll(in_, n, HCCL_DATA_TYPE_FP32, out_, n, HCCL_DATA_TYPE_FP32, group.comm, stream_));
      const auto got = finish(group, n * size);
      for (uint32_t r = 0; r < size; ++r) expect(got[r * n] == value(r, group.me * n), "all-to-all");
    } else {
      CHECK(group, HcclReduceScatter(in_, out_, n, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, group.comm, stream_));
      const auto got = finish(group, n);
      float want = 0;
      for (uint32_t r = 0; r < size; ++r) want += value(r, group.me * n);
      expect(got[0] == want, "reduce-scatter");
    }
  }

  /// Round the ring, several at once.
  void messages(Group& group, size_t n) {
    const auto size = static_cast<uint32_t>(group.ranks.size());
    const uint32_t next = (group.me + 1) % size, before = (group.me + size - 1) % size;
    fill(group, n);
    for (int k = 0; k < 3; ++k) {
      HcclSendRecvItem items[] = {{HCCL_SEND, in_, n, HCCL_DATA_TYPE_FP32, next},
                                  {HCCL_RECV, out_, n, HCCL_DATA_TYPE_FP32, before}};
      CHECK(group, HcclBatchSendRecv(items, 2, group.comm, stream_));
    }
    expect(finish(group, n)[n - 1] == value(before, n - 1), "messages");
  }

  void sub_group(size_t n) {
    Group sub;
    const uint32_t absent = random_() % static_cast<uint32_t>(world_.ranks.size() + 1);  // maybe nobody
    for (uint32_t r : world_.ranks)
      if (r != absent) {
        if (r == rank_) sub.me = static_cast<uint32_t>(sub.ranks.size());
        sub.ranks.push_back(r);
      }
    const unsigned what = random_() % 6;
    if (absent == rank_) return;
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    if (int code = HcclCreateSubCommConfig(&world_.comm, static_cast<uint32_t>(sub.ranks.size()), sub.ranks.data(), 7,
                                           sub.me, &config, &sub.comm))
      failed(sub, code, " or 0,1,2");  // the text may be about the world, by which the ranks meet
    collective(sub, what, n);
    messages(sub, n);
    CHECK(sub, HcclCommDestroy(std::exchange(sub.comm, nullptr)));
  }

  const uint32_t rank_;
  const std::string folder_;
  std::mt19937 random_;
  Group world_;
  int generation_ = 0;
  aclrtStream stream_ = nullptr;
  float *in_ = nullptr, *out_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  Rank rank(static_cast<uint32_t>(std::atoi(argv[1])), static_cast<uint32_t>(std::atoi(argv[2])), argv[3],
            static_cast<unsigned>(std::atoi(argv[4])));
  for (int step = 0; step < std::atoi(argv[5]); ++step) rank.step();
  rank.end();
  return 0;
}
