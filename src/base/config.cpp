#include "base/config.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>

#include "base/environment.h"
#include "base/error.h"
#include "base/visible_devices.h"

namespace updraft {
namespace {

const char* text_of(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

// A malformed variable must not stop an import: say what is wrong, once, and go on with the default.
void complain(const char* name, const char* value, const char* wanted) {
  std::fprintf(stderr, "updraft: %s=%s is not valid: %s; the default is used\n", name, value, wanted);
}

int integer(const char* name, int fallback, int low, int high) {
  const char* value = text_of(name);
  if (!value) return fallback;
  char* end = nullptr;
  long n = std::strtol(value, &end, 10);
  if (*end || n < low || n > high) {
    complain(name, value, fmt::format("want an integer in [{}, {}]", low, high).c_str());
    return fallback;
  }
  return static_cast<int>(n);
}

bool flag(const char* name, bool fallback) {
  const char* value = text_of(name);
  return value ? std::string(value) != "0" : fallback;
}

int default_threads() {
  cpu_set_t set;
  int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  // torchrun starts one process a rank: they share the machine.
  int ranks = 1;
  if (const char* local = text_of("LOCAL_WORLD_SIZE")) ranks = std::max(1, std::atoi(local));
  return std::max(1, cores / ranks);
}

size_t first_number(const char* path) {
  std::ifstream in(path);
  size_t n = 0;
  return in >> n ? n : 0;  // "max" does not parse: no limit
}

}  // namespace

size_t parse_size(const std::string& text, const char* variable) {
  char* end = nullptr;
  double n = std::strtod(text.c_str(), &end);
  std::string unit(end);
  double scale = 1;
  if (!unit.empty()) {
    switch (unit[0] | 0x20) {
      case 'k': scale = 1ull << 10; break;
      case 'm': scale = 1ull << 20; break;
      case 'g': scale = 1ull << 30; break;
      case 't': scale = 1ull << 40; break;
      default: scale = 0;
    }
  }
  // The negated comparisons are for NaN; the most is what an off_t holds.
  if (!(n > 0) || !(n * scale < 0x1p62) || scale == 0 || end == text.c_str())
    throw Error(code::kAclInvalidParam, "{}={}: want a size such as 512M or 16G", variable, text);
  return static_cast<size_t>(n * scale);
}

// Device ids between commas; as on the card, reading ends before the first one that is not valid.
std::vector<int> visible_devices(const char* text, int installed) {
  std::vector<int> ids;
  if (!text) {
    for (int i = 0; i < installed; ++i) ids.push_back(i);
    return ids;
  }
  for (const char* p = text; *p >= '0' && *p <= '9';) {
    int id = 0;
    for (; *p >= '0' && *p <= '9' && id < 10000; ++p) id = id * 10 + (*p - '0');
    if (id >= installed) break;
    if (!ids.empty() && id <= ids.back()) return {};  // ids that do not ascend name no device at all
    ids.push_back(id);
    if (*p != ',') break;
    ++p;
  }
  return ids;
}

size_t machine_memory() {
  size_t ram = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    if (size_t limit = first_number(path)) ram = std::min(ram, limit);
  // a device takes more addresses than memory, and the client has its own
  rlimit addresses{};
  if (getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY)
    ram = std::min<size_t>(ram, addresses.rlim_cur / 8);
  return ram;
}

Config Config::read() {
  Config c;
  c.installed = integer("UPDRAFT_DEVICES", 8, 1, 1024);
  const char* visible = std::getenv("ASCEND_RT_VISIBLE_DEVICES");  // empty: none
  c.restricted = visible != nullptr;
  c.visible = visible_devices(visible, c.installed);
  if (const char* soc = text_of("UPDRAFT_SOC")) c.soc = soc;
  try {
    if (const char* memory = text_of("UPDRAFT_MEMORY")) c.memory = parse_size(memory, "UPDRAFT_MEMORY");
  } catch (const Error& e) { complain("UPDRAFT_MEMORY", text_of("UPDRAFT_MEMORY"), e.what()); }
  if (c.memory == 0) c.memory = machine_memory() / 5 * 4;
  c.threads = integer("UPDRAFT_THREADS", default_threads(), 1, 4096);
  c.strict = flag("UPDRAFT_STRICT", false);
  c.inline_tasks = flag("UPDRAFT_INLINE", !c.strict);
  if (const char* f = text_of("UPDRAFT_FIDELITY")) c.card_fidelity = std::string(f) == "card";
  if (const char* isa = text_of("UPDRAFT_MAX_ISA")) {
    c.max_isa = isa;
    static constexpr std::string_view kSets[] = {"reference", "v2", "v3", "v4"};
    if (std::ranges::find(kSets, c.max_isa) == std::end(kSets))
      complain("UPDRAFT_MAX_ISA", isa, "want reference, v2, v3 or v4");
  }
  if (const char* trace = text_of("UPDRAFT_TRACE")) c.trace = trace;
  if (const char* profile = text_of("UPDRAFT_PROFILE")) c.profile = profile;
  return c;
}

namespace {
Config& process_config() {
  // Never destroyed: the device's threads may still end a task, and ask, while the process exits.
  static Config& config = *new Config([] {
    keep_environment();
    return Config::read();
  }());
  return config;
}
std::atomic<bool> g_visible_kept{false};
}  // namespace

const Config& Config::get() { return process_config(); }

void read_visible_devices() {
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (g_visible_kept.load(std::memory_order_acquire)) return;
  Config& config = process_config();
  const char* text = std::getenv("ASCEND_RT_VISIBLE_DEVICES");
  config.restricted = text != nullptr;
  // Only where it says something else: other threads may be reading.
  if (std::vector<int> now = visible_devices(text, config.installed); now != config.visible)
    config.visible = std::move(now);
}

void keep_visible_devices() {
  if (g_visible_kept.load(std::memory_order_acquire)) return;
  read_visible_devices();
  g_visible_kept.store(true, std::memory_order_release);
}

}  // namespace updraft
