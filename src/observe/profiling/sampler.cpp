#include "observe/profiling/sampler.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "device/device.h"

namespace updraft::profiling {
namespace {

uint64_t now() { return stamp(watch::kRawTimes).raw; }

uint64_t ticks_to_us(uint64_t ticks) { return ticks * 1000000u / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)); }

// user and system time of this process
void read_process_cpu(HostSampleRecord& s) {
  std::ifstream in("/proc/self/stat");
  std::string line;
  std::getline(in, line);
  const size_t after = line.rfind(')');
  if (after == std::string::npos) return;
  unsigned long user = 0, system = 0;
  if (std::sscanf(line.c_str() + after + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) ==
      2) {
    s.values[0] = ticks_to_us(user);
    s.values[1] = ticks_to_us(system);
  }
}

void read_process_memory(HostSampleRecord& s) {
  std::ifstream in("/proc/self/statm");
  uint64_t size = 0, resident = 0;
  in >> size >> resident;
  s.values[0] = resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  s.values[1] = size * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

void read_system_cpu(HostSampleRecord& s) {
  std::ifstream in("/proc/stat");
  std::string word;
  uint64_t user = 0, nice = 0, system = 0, idle = 0;
  in >> word >> user >> nice >> system >> idle;
  s.values[0] = ticks_to_us(user + nice);
  s.values[1] = ticks_to_us(system);
  s.values[2] = ticks_to_us(idle);
}

void read_system_memory(HostSampleRecord& s) {
  std::ifstream in("/proc/meminfo");
  std::string name, unit;
  uint64_t value = 0, total = 0, available = 0;
  while (in >> name >> value) {
    std::getline(in, unit);
    if (name == "MemTotal:") total = value << 10;
    if (name == "MemAvailable:") available = value << 10;
  }
  s.values[0] = total - available;
  s.values[1] = total;
}

// All interfaces but the loopback.
void read_network(HostSampleRecord& s) {
  std::ifstream in("/proc/net/dev");
  std::string line;
  while (std::getline(in, line)) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || line.find("lo:") != std::string::npos) continue;
    unsigned long received = 0, received_packets = 0, sent = 0, sent_packets = 0;
    if (std::sscanf(line.c_str() + colon + 1, "%lu %lu %*u %*u %*u %*u %*u %*u %lu %lu", &received, &received_packets,
                    &sent, &sent_packets) != 4)
      continue;
    s.values[0] += received;
    s.values[1] += sent;
    s.values[2] += received_packets;
    s.values[3] += sent_packets;
  }
}

}  // namespace

Sampler::Sampler(std::shared_ptr<Recorder> recorder) : recorder_(std::move(recorder)) {
  const Settings& s = recorder_->settings();
  if (s.memory_frequency || s.host_cpu || s.host_memory || s.system_cpu || s.system_memory || s.io_frequency)
    thread_ = std::thread([this] { run(); });
}

Sampler::~Sampler() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void Sampler::run() {
  const Settings& s = recorder_->settings();
  const bool host = s.host_cpu || s.host_memory || s.system_cpu || s.system_memory;
  const int fastest = std::max({s.memory_frequency, host ? s.host_frequency : 0, s.io_frequency, 1});
  auto next = std::chrono::steady_clock::now();
  auto memory_at = next, host_at = next;
  std::unique_lock lock(mutex_);
  while (true) {
    const bool last = stop_;
    lock.unlock();
    const auto time = std::chrono::steady_clock::now();
    if (s.memory_frequency && (last || time >= memory_at)) {
      sample_memory();
      memory_at = time + std::chrono::microseconds(1000000 / s.memory_frequency);
    }
    if (last || time >= host_at) {
      sample_host();
      host_at = time + std::chrono::microseconds(1000000 / std::max({host ? s.host_frequency : 0, s.io_frequency, 1}));
    }
    lock.lock();
    if (last) return;
    next = std::max(next + std::chrono::microseconds(1000000 / fastest), time);
    wake_.wait_until(lock, next, [this] { return stop_; });
  }
}

void Sampler::sample_memory() {
  for (int i = 0; i < std::min(Device::count(), Recorder::kMostDevices); ++i) {
    if (!recorder_->records(i)) continue;
    Device* device = Device::find(i);
    if (!device) continue;
    MemoryRecord record{};
    record.time = now();
    record.used = device->memory().used();
    record.reserved = record.used + device->memory().kept();
    record.moved = recorder_->moved(i);
    record.device = i;
    recorder_->memory(record);
  }
}

void Sampler::sample_host() {
  const Settings& s = recorder_->settings();
  const auto take = [&](bool wanted, HostSampleKind what, void (*read)(HostSampleRecord&)) {
    if (!wanted) return;
    HostSampleRecord record{};
    record.what = static_cast<uint32_t>(what);
    read(record);
    record.time = now();
    recorder_->host_sample(record);
  };
  take(s.host_cpu, HostSampleKind::ProcessCpu, read_process_cpu);
  take(s.host_memory, HostSampleKind::ProcessMemory, read_process_memory);
  take(s.system_cpu, HostSampleKind::SystemCpu, read_system_cpu);
  take(s.system_memory, HostSampleKind::SystemMemory, read_system_memory);
  take(s.io_frequency > 0, HostSampleKind::Network, read_network);
}

}  // namespace updraft::profiling
