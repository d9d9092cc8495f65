#include "device/process_record.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "base/config.h"
#include "base/folders.h"
#include "base/fork.h"

namespace updraft {
namespace {

constexpr int kDevices = 1024;
constexpr size_t kMost = size_t{1} << 48;    // what a record can say without the sum going round
constexpr int64_t kPids = int64_t{1} << 22;  // more than Linux gives out
constexpr int kNames = 64;
std::atomic<int> g_files[kDevices];      // descriptor + 1; 0: none
std::atomic<int64_t> g_names[kDevices];  // of their files
std::atomic<size_t> g_written[kDevices];
std::atomic<uint64_t> g_readings{0};

std::string root() {
  if (const char* p = std::getenv("UPDRAFT_RUN_DIR"); p && *p) return p;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  return fmt::format("{}/updraft-{}", runtime && *runtime ? runtime : "/tmp", getuid());
}

// By the device's number on the machine: processes may see it under different indices.
int number_of(int index) {
  const auto& visible = Config::get().visible;
  return index < static_cast<int>(visible.size()) ? visible[static_cast<size_t>(index)] : index;
}
std::string folder_of(int index) { return fmt::format("{}/devices/{}", root(), number_of(index)); }

void remove_stale(const std::string& folder) {
  DIR* dir = opendir(folder.c_str());
  if (!dir) return;
  while (dirent* entry = readdir(dir)) {
    std::string path = folder + "/" + entry->d_name;
    int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) continue;
    struct stat info;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0) unlink(path.c_str());
    close(fd);
  }
  closedir(dir);
}

void write_record(int index, int fd, size_t used) {
  std::string text = fmt::format("{{\"pid\": {}, \"name\": \"{}\", \"device\": {}, \"used_bytes\": {}}}\n", getpid(),
                                 program_invocation_short_name, number_of(index), used);
  // Longer than any earlier record or padded: readers never see two records mixed.
  text.resize(std::max<size_t>(text.size(), 160), ' ');
  [[maybe_unused]] ssize_t n = pwrite(fd, text.data(), text.size(), 0);
  g_written[index] = used;
}

// A child would hold the locks, and with them a dead parent's bytes.
void close_in_child() {
  for (auto& file : g_files)
    if (const int fd = file.exchange(0)) close(fd - 1);
}

}  // namespace

void open_process_record(int index) {
  if (g_files[index] != 0) return;
  at_fork_in_child(close_in_child);
  std::string folder = folder_of(index);
  if (!make_folders(folder, 0700)) return;
  remove_stale(folder);
  // The process id names the record, unless that file is taken: containers that share the folder may have processes of
  // the same id, and readers hold a lock for a moment. Never waits for a lock.
  for (int i = 0; i < kNames; ++i) {
    const int64_t name = getpid() + i * kPids;
    int fd = open(fmt::format("{}/{}", folder, name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) return;
    struct stat info;
    // Held until the process ends, however it ends. A file without links was new and taken for a stale one.
    if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &info) == 0 && info.st_nlink > 0) {
      write_record(index, fd, 0);
      g_names[index] = name;
      g_files[index] = fd + 1;
      return;
    }
    close(fd);
  }
}

void update_process_record(int index, size_t used) {
  int fd = g_files[index] - 1;
  if (fd < 0) return;
  size_t before = g_written[index], change = used > before ? used - before : before - used;
  if (change >= (16u << 20) || change > before / 16) write_record(index, fd, used);
}

size_t other_processes_use(int index) {
  g_readings.fetch_add(1, std::memory_order_relaxed);
  if (g_files[index] == 0) return 0;  // no records at all
  std::string folder = folder_of(index);
  DIR* dir = opendir(folder.c_str());
  if (!dir) return 0;
  size_t total = 0;
  const std::string own = std::to_string(g_names[index]);
  while (dirent* entry = readdir(dir)) {
    if (entry->d_name[0] == '.' || own == entry->d_name) continue;
    std::string path = folder + "/" + entry->d_name;
    int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) continue;
    char text[256] = {};
    // A lock that can be taken belongs to a process that died.
    if (flock(fd, LOCK_SH | LOCK_NB) != 0 && read(fd, text, sizeof text - 1) > 0)
      if (const char* at = std::strstr(text, "\"used_bytes\": "))
        total += std::min<size_t>(std::strtoull(at + 14, nullptr, 10), kMost);
    close(fd);
  }
  closedir(dir);
  return total;
}

uint64_t record_readings() { return g_readings.load(std::memory_order_relaxed); }

}  // namespace updraft
