#include "observe/profiling/folder.h"

#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/folders.h"
#include "base/json_text.h"
#include "base/random_bytes.h"
#include "base/wall_clock.h"
#include "device/device.h"
#include "device/soc.h"

namespace updraft::profiling {
namespace {

using Json = nlohmann::ordered_json;

uint64_t nanoseconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::trunc);
  out << text;
  out.close();
  if (!out) throw Error(kFailure, "{} cannot be written: {}", path, std::strerror(errno));
}

/// The processor's counter, which MindSpore stamps its own records with.
uint64_t cycles() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t count = 0;
  asm volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return nanoseconds(CLOCK_MONOTONIC_RAW);
#endif
}

/// The clock and the counter at one moment: get_msprof_info.py finds the counter's rate by those of start and end.
void write_counter(const std::string& file) {
  const uint64_t before = nanoseconds(CLOCK_MONOTONIC_RAW), count = cycles(), after = nanoseconds(CLOCK_MONOTONIC_RAW);
  write_file(file, fmt::format("[Host]\nclock_monotonic_raw = {}\ncntvct = {}\ncntvct_diff = 0\n",
                               before + (after - before) / 2, count));
}

std::string times(const char* wall_name) {
  // The two clocks as near to each other as can be: the shortest of three tries.
  uint64_t wall = 0, raw = 0, best = UINT64_MAX;
  for (int i = 0; i < 3; ++i) {
    const uint64_t before = nanoseconds(CLOCK_MONOTONIC_RAW);
    const uint64_t w = nanoseconds(CLOCK_REALTIME);
    const uint64_t after = nanoseconds(CLOCK_MONOTONIC_RAW);
    if (after - before >= best) continue;
    best = after - before;
    // what falls below a microsecond is cut off in both
    raw = (before + after) / 2 - w % 1000;
    wall = w / 1000;
  }
  return json_text(Json{{wall_name, std::to_string(wall)}, {"clockMonotonicRaw", std::to_string(raw)}});
}

Json host_info() {
  utsname system{};
  uname(&system);
  Json json;
  json["version"] = "1.0";
  json["hostname"] = system.nodename;
  json["OS"] = fmt::format("{}-{}", system.sysname, system.release);
  json["hostUid"] = fmt::format("{:x}", static_cast<unsigned long>(gethostid()));
  json["cpuCores"] = std::thread::hardware_concurrency();
  // stamps are CLOCK_MONOTONIC_RAW's nanoseconds: a counter of 1000 MHz
  json["CPU"] =
      Json::array({{{"Id", 0}, {"Frequency", "1000"}, {"Logical_CPU_Count", std::thread::hardware_concurrency()}}});
  json["pid"] = std::to_string(getpid());
  const char* rank = std::getenv("RANK");
  json["rank_id"] = rank && *rank ? std::atoi(rank) : -1;
  json["platform"] = "Updraft";
  json["soc"] = soc().name;
  return json;
}

Json device_info(int device) {
  const SocProfile& product = soc();
  Json one;
  one["id"] = device;
  one["env_type"] = 3;
  one["ctrl_cpu_num"] = product.aicpu_cores;
  one["ai_core_num"] = product.cube_cores;
  one["aiv_num"] = product.vector_cores;
  one["ai_cpu_core_num"] = product.aicpu_cores;
  one["hwts_frequency"] = "1000";
  one["platform"] = product.name;
  Json json;
  json["devices"] = std::to_string(device);
  json["DeviceInfo"] = Json::array({one});
  return json;
}

}  // namespace

std::string make_profile_folder(const std::string& output) {
  static std::atomic<int> number{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    const WallClock time = wall_clock("%Y%m%d%H%M%S");
    unsigned char random[16];
    fill_random(random, sizeof(random), kFailure);
    std::string letters;
    for (const unsigned char r : random) letters += static_cast<char>('A' + r % 26);
    const std::string path =
        fmt::format("{}/PROF_{:06}_{}{:03}_{}", output, number++ % 1000000 + 1, time.text, time.milliseconds, letters);
    if (access(path.c_str(), F_OK) == 0) continue;
    if (!make_folders(path + "/host/data", 0750))
      throw Error(kFailure, "the folder {} cannot be made: {}", path, std::strerror(errno));
    return path;
  }
  throw Error(kFailure, "no name for a folder PROF_* is free in {}", output);
}

void write_start(const std::string& folder, const Settings& settings) {
  if (access((folder + "/host/start_info").c_str(), F_OK) == 0) return;  // started again: the clocks are known
  const std::string start = times("collectionTimeBegin");
  write_file(folder + "/host/start_info", start);
  write_counter(folder + "/host/host_start.log");
  write_file(folder + "/host/info.json", json_text(host_info(), 2));
  Json sample;
  sample["dataTypeConfig"] = settings.data;
  sample["aicMetrics"] = settings.metrics;
  sample["storageLimit"] = settings.storage_limit >> 20;
  sample["fpPoint"] = settings.fp_point;
  sample["bpPoint"] = settings.bp_point;
  sample["collectives"] = settings.collectives;
  sample["iterations"] = settings.iterations;
  sample["memoryFrequency"] = settings.memory_frequency;
  sample["ioFrequency"] = settings.io_frequency;
  sample["interconnectionFrequency"] = settings.interconnect_frequency;
  sample["devices"] = settings.devices;
  sample["remarks"] = settings.remarks;
  write_file(folder + "/host/sample.json", json_text(sample, 2));
  std::vector<int> devices = settings.devices;
  if (devices.empty())
    for (int i = 0; i < Device::count(); ++i)
      if (Device::find(i)) devices.push_back(i);
  for (const int device : devices) {
    const std::string own = fmt::format("{}/device_{}", folder, device);
    if (!make_folders(own + "/data", 0750))
      throw Error(kFailure, "the folder {} cannot be made: {}", own, std::strerror(errno));
    write_file(fmt::format("{}/start_info.{}", own, device), start);
    write_file(fmt::format("{}/info.json.{}", own, device), json_text(device_info(device), 2));
  }
}

void write_end(const std::string& folder, const Settings&) {
  write_file(folder + "/host/end_info", times("collectionTimeEnd"));
  write_counter(folder + "/host/host_end.log");
}

}  // namespace updraft::profiling
