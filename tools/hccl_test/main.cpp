// hccl_test: speed and correctness of the collective operations, by the public interfaces alone.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"
#include "launch.h"
#include "operations.h"
#include "options.h"

namespace hccl_test {
namespace {

constexpr unsigned char kUntouched = 0xa5;
constexpr size_t kMargin = 64;  // bytes behind the receive buffer's end that must stay as they were

struct DeviceBuffer {
  void* data = nullptr;
  size_t bytes = 0;
  explicit DeviceBuffer(size_t n) : bytes(n) { ACL(aclrtMalloc(&data, n, ACL_MEM_MALLOC_HUGE_FIRST)); }
  ~DeviceBuffer() { aclrtFree(data); }
  DeviceBuffer(const DeviceBuffer&) = delete;
  void put(const std::vector<char>& from) {
    ACL(aclrtMemcpy(data, bytes, from.data(), from.size(), ACL_MEMCPY_HOST_TO_DEVICE));
  }
  std::vector<char> get() const {
    std::vector<char> to(bytes);
    ACL(aclrtMemcpy(to.data(), bytes, data, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    return to;
  }
};

class Rank {
 public:
  Rank(const Options& options, const Place& place) : o_(options), place_(place) {
    ACL(aclInit(nullptr));
    ACL(aclrtSetDevice(place.local));
    ACL(aclrtCreateStream(&stream_));
    const auto rank = static_cast<uint32_t>(place.rank);
    if (place.rank_table.empty()) {
      const HcclRootInfo info = exchange(place);
      HCCL(HcclCommInitRootInfo(static_cast<uint32_t>(place.ranks), &info, rank, &comm_));
      forget(place);
    } else {
      uint32_t ranks = 0;
      HCCL(HcclCommInitClusterInfo(place.rank_table.c_str(), rank, &comm_));
      HCCL(HcclGetRankSize(comm_, &ranks));
      place_.ranks = static_cast<int>(ranks);
    }
    ACL(aclrtMalloc(&cell_, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    mine_ = elements_of(o_.number, o_.op, place.rank);
    for (uint64_t i = 0; i < kPeriod; ++i) append(pattern_, mine_[i].bits);
  }

  void close() {
    ACL(aclrtFree(cell_));
    HCCL(HcclCommDestroy(comm_));
    ACL(aclrtDestroyStream(stream_));
    ACL(aclrtResetDevice(place_.local));
    ACL(aclFinalize());
  }

  int ranks() const { return place_.ranks; }

  /// True when all ranks' results were right (or nobody looked).
  bool measure(uint64_t bytes) {
    const Plan p = plan(o_, place_.rank, place_.ranks, bytes);
    DeviceBuffer receive(p.receive * o_.number.size + kMargin);
    DeviceBuffer send(p.one_buffer ? 1 : std::max<uint64_t>(1, p.send * o_.number.size));
    void* from = p.one_buffer ? receive.data : send.data;
    fill(p, send, receive);
    run(p, from, receive.data, o_.warmup);
    worst(0);  // together
    const double mine = run(p, from, receive.data, o_.iterations) / o_.iterations;
    const double seconds = worst(mine);
    std::string verdict = "NULL";
    bool right = true;
    if (o_.check) {
      fill(p, send, receive);
      worst(0);
      run(p, from, receive.data, 1);
      const bool mine_right = correct(p, send, receive);
      right = worst(mine_right ? 0 : 1) == 0 && mine_right;
      verdict = right ? "success" : "failed";
    }
    if (place_.rank == 0) {
      std::printf("%-18llu| %-16.2f| %-24.5f| %s\n", static_cast<unsigned long long>(p.bytes), seconds * 1e6,
                  static_cast<double>(p.bytes) / seconds / 1e9, verdict.c_str());
      std::fflush(stdout);
    }
    return right;
  }

 private:
  void append(std::vector<char>& to, uint64_t bits) const {
    const char* p = reinterpret_cast<const char*>(&bits);
    to.insert(to.end(), p, p + o_.number.size);
  }

  std::vector<char> inputs(uint64_t elements, size_t margin) const {
    const size_t bytes = elements * o_.number.size;
    std::vector<char> all(bytes + margin, static_cast<char>(kUntouched));
    for (size_t at = 0; at < bytes; at += pattern_.size())
      std::memcpy(all.data() + at, pattern_.data(), std::min(pattern_.size(), bytes - at));
    return all;
  }

  void fill(const Plan& p, DeviceBuffer& send, DeviceBuffer& receive) const {
    if (p.one_buffer) return receive.put(inputs(p.receive, kMargin));
    receive.put(std::vector<char>(receive.bytes, static_cast<char>(kUntouched)));
    if (p.send) send.put(inputs(p.send, 0));
  }

  /// Seconds of n operations.
  double run(const Plan& p, void* from, void* to, int n) const {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < n; ++i) {
      HCCL(p.run(from, to, comm_, stream_));
      if (o_.alone) ACL(aclrtSynchronizeStream(stream_));
    }
    ACL(aclrtSynchronizeStream(stream_));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  /// The largest of all ranks' numbers; nobody goes on before all have come.
  // fp32: every product reduces it.
  double worst(double value) const {
    float most = static_cast<float>(value);
    ACL(aclrtMemcpy(cell_, 64, &most, sizeof most, ACL_MEMCPY_HOST_TO_DEVICE));
    HCCL(HcclAllReduce(cell_, cell_, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, comm_, stream_));
    ACL(aclrtSynchronizeStream(stream_));
    ACL(aclrtMemcpy(&most, sizeof most, cell_, sizeof most, ACL_MEMCPY_DEVICE_TO_HOST));
    return most;
  }

  bool right(const Wanted& w, const char* p) const {
    uint64_t bits = 0;
    std::memcpy(&bits, p, o_.number.size);
    if (bits == w.bits) return true;
    if (!o_.number.is_float()) return false;
    const double got = o_.number.decode(bits), want = o_.number.decode(w.bits);
    return got == want || std::abs(got - w.value) < w.tolerance;  // 0 and -0 are equal
  }

  bool complain(const char* what, uint64_t at) const {
    std::fprintf(stderr, "hccl_test: rank %d: %s: %s at %llu\n", place_.rank, o_.operation.c_str(), what,
                 static_cast<unsigned long long>(at));
    return false;
  }

  bool correct(const Plan& p, const DeviceBuffer& send, const DeviceBuffer& receive) const {
    const std::vector<char> got = receive.get();
    const size_t size = o_.number.size;
    std::vector<bool> written(p.receive);
    for (const Segment& s : p.wanted) {
      const std::vector<Wanted> wanted = s.rank == kReduced      ? reduced(o_.number, o_.op, place_.ranks)
                                         : s.rank == place_.rank ? mine_
                                                                 : elements_of(o_.number, o_.op, s.rank);
      for (uint64_t i = 0; i < s.count; ++i)
        if (!right(wanted[(s.from + i) % kPeriod], got.data() + (s.at + i) * size))
          return complain("wrong value in the receive buffer, element", s.at + i);
      std::fill_n(written.begin() + static_cast<int64_t>(s.at), s.count, true);
    }
    auto untouched = [&](size_t at) { return static_cast<unsigned char>(got[at]) == kUntouched; };
    for (uint64_t i = 0; i < p.receive; ++i)
      for (size_t b = 0; !written[i] && b < size; ++b)
        if (!untouched(i * size + b)) return complain("written where nothing was to be received, element", i);
    for (size_t at = p.receive * size; at < got.size(); ++at)
      if (!untouched(at)) return complain("written behind the receive buffer, byte", at);
    if (!p.one_buffer && p.send && send.get() != inputs(p.send, 0))
      return complain("the send buffer was changed, of bytes", p.send * size);
    return true;
  }

  const Options& o_;
  Place place_;
  aclrtStream stream_ = nullptr;
  HcclComm comm_ = nullptr;
  void* cell_ = nullptr;
  std::vector<Wanted> mine_;
  std::vector<char> pattern_;
};

int run(const Options& options, const Place& place) {
  Rank rank(options, place);
  if (place.rank == 0) {
    std::printf("%s: %d ranks, %s, %d operations after %d to warm up%s\n", options.operation.c_str(), rank.ranks(),
                options.number.name, options.iterations, options.warmup, options.alone ? ", each by itself" : "");
    std::printf("%-18s| %-16s| %-24s| %s\n", "data_size(Bytes)", "avg_time(us)", "alg_bandwidth(GB/s)", "check_result");
  }
  bool right = true;
  for (uint64_t bytes = options.begin; bytes <= options.end; bytes = options.next(bytes))
    right = rank.measure(bytes) && right;
  rank.close();
  return right ? 0 : 1;
}

}  // namespace
}  // namespace hccl_test

int main(int argc, char** argv) {
  using namespace hccl_test;
  for (int i = 1; i < argc; ++i)
    if (!std::strcmp(argv[i], "-h") || !std::strcmp(argv[i], "--help")) {
      std::fputs(usage().c_str(), stdout);
      return 0;
    }
  try {
    const Options options = parse(argc, argv);
    if (!launched() && options.rank_table.empty()) {
      if (options.ranks == 0)
        throw std::invalid_argument(
            "-p N starts N ranks here; without it a launcher (mpirun, torchrun) must start them");
      return start_ranks(options, argv);
    }
    return run(options, place(options));
  } catch (const std::invalid_argument& e) {
    std::fprintf(stderr, "hccl_test: %s (hccl_test --help)\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    const char* rank = getenv("HCCL_TEST_RANK");
    std::fprintf(stderr, "hccl_test: %s%s%s%s\n", rank ? "rank " : "", rank ? rank : "", rank ? ": " : "", e.what());
    return 1;
  }
}
