// One rank of a job: sums a buffer of floats over all ranks, then takes the maximum in place, and checks both.
//
//   RANK_TABLE_FILE=rank_table.json RANK_ID=0 ASCEND_DEVICE_ID=0 hccl_allreduce [COUNT]
//   RANK_ID=0 RANK_SIZE=2 ASCEND_DEVICE_ID=0 ROOT_INFO_FILE=/tmp/job-17 hccl_allreduce [COUNT]
//
// Start one process for each rank. Without a rank table rank 0 makes the root info and the others wait for the file
// that it writes it to; give each job a file of its own. (A job that has MPI would broadcast it.)
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "hccl/hccl.h"

#define CHECK(call)                                                                      \
  do {                                                                                   \
    int code_ = static_cast<int>(call);                                                  \
    if (code_ != 0) {                                                                    \
      const char* text_ = aclGetRecentErrMsg();                                          \
      std::fprintf(stderr, "%s failed with %d\n%s\n", #call, code_, text_ ? text_ : ""); \
      return EXIT_FAILURE;                                                               \
    }                                                                                    \
  } while (0)

namespace {

const char* variable(const char* name, const char* otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? text : otherwise;
}

void write_root_info(const HcclRootInfo& info, const std::string& path) {
  const std::string part = path + ".part";  // complete or not there at all
  umask(077);                               // it holds the key of the job
  std::ofstream(part, std::ios::binary).write(info.internal, sizeof info.internal).flush();
  std::rename(part.c_str(), path.c_str());
}

bool wait_for_root_info(HcclRootInfo* info, const std::string& path) {
  for (int i = 0; i < 6000; ++i) {
    std::ifstream file(path, std::ios::binary);
    if (file.read(info->internal, sizeof info->internal)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::fprintf(stderr, "rank 0 has written no %s for a minute\n", path.c_str());
  return false;
}

/// What rank `rank` has at `i`: small integers, so that every order of adding gives the same sum.
float value(uint32_t rank, uint64_t i) { return static_cast<float>((i + 3 * rank) % 101); }

bool right(const char* what, const std::vector<float>& got, uint32_t ranks, float (*combine)(float, float)) {
  for (uint64_t i = 0; i < got.size(); ++i) {
    float wanted = value(0, i);
    for (uint32_t r = 1; r < ranks; ++r) wanted = combine(wanted, value(r, i));
    if (got[i] != wanted) {
      std::fprintf(stderr, "%s: element %llu is %g, want %g\n", what, static_cast<unsigned long long>(i),
                   static_cast<double>(got[i]), static_cast<double>(wanted));
      return false;
    }
  }
  return true;
}

float sum(float a, float b) { return a + b; }
float maximum(float a, float b) { return a > b ? a : b; }

}  // namespace

int main(int argc, char** argv) {
  const uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000003;
  const auto rank = static_cast<uint32_t>(std::strtoul(variable("RANK_ID", "0"), nullptr, 10));
  const int device = std::atoi(variable("ASCEND_DEVICE_ID", "0"));

  CHECK(aclInit(nullptr));
  CHECK(aclrtSetDevice(device));
  aclrtStream stream = nullptr;
  CHECK(aclrtCreateStream(&stream));

  HcclComm comm = nullptr;
  if (const char* table = variable("RANK_TABLE_FILE", nullptr)) {
    CHECK(HcclCommInitClusterInfo(table, rank, &comm));
  } else {
    const auto ranks = static_cast<uint32_t>(std::strtoul(variable("RANK_SIZE", "1"), nullptr, 10));
    const char* file = variable("ROOT_INFO_FILE", nullptr);
    if (ranks > 1 && !file) {
      std::fprintf(stderr, "set RANK_TABLE_FILE, or ROOT_INFO_FILE to a file that does not exist yet\n");
      return EXIT_FAILURE;
    }
    HcclRootInfo info;
    if (rank == 0) {
      CHECK(HcclGetRootInfo(&info));
      if (file) write_root_info(info, file);
    } else if (!wait_for_root_info(&info, file)) {
      return EXIT_FAILURE;
    }
    CHECK(HcclCommInitRootInfo(ranks, &info, rank, &comm));
  }
  uint32_t ranks = 0, own = 0;
  CHECK(HcclGetRankSize(comm, &ranks));
  CHECK(HcclGetRankId(comm, &own));

  const size_t bytes = count * sizeof(float);
  void *send = nullptr, *receive = nullptr;
  CHECK(aclrtMalloc(&send, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMalloc(&receive, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
  std::vector<float> mine(count), result(count);
  for (uint64_t i = 0; i < count; ++i) mine[i] = value(own, i);
  CHECK(aclrtMemcpy(send, bytes, mine.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));

  CHECK(HcclAllReduce(send, receive, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
  CHECK(HcclAllReduce(send, send, count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, comm, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtMemcpy(result.data(), bytes, receive, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  bool good = right("sum", result, ranks, sum);
  CHECK(aclrtMemcpy(result.data(), bytes, send, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
  good = right("maximum in place", result, ranks, maximum) && good;

  CHECK(HcclCommDestroy(comm));
  CHECK(aclrtFree(send));
  CHECK(aclrtFree(receive));
  CHECK(aclrtDestroyStream(stream));
  CHECK(aclrtResetDevice(device));
  CHECK(aclFinalize());
  std::printf("rank %u of %u on device %d: all-reduce of %llu floats is %s\n", own, ranks, device,
              static_cast<unsigned long long>(count), good ? "right" : "WRONG");
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
