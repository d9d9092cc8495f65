#include "device/host_layout.h"

#include <cstdint>
#include <mutex>

#include "base/config.h"
#include "device/intervals.h"

namespace updraft {
namespace {

std::mutex g_mutex;
Intervals& of_host() {
  static auto* ranges = new Intervals;
  return *ranges;
}

void note(const void* p, size_t bytes, bool host) {
  if (!Config::get().card_rules() || bytes == 0) return;
  const auto begin = reinterpret_cast<uintptr_t>(p);
  std::lock_guard lock(g_mutex);
  if (host) of_host().add(begin, begin + bytes);
  else of_host().remove(begin, begin + bytes);
}

}  // namespace

void note_host_write(const void* p, size_t bytes) { note(p, bytes, true); }
void note_device_write(const void* p, size_t bytes) { note(p, bytes, false); }
void note_device_copy(const void* to, const void* from, size_t bytes) {
  note(to, bytes, laid_out_by_host(from, bytes));
}

bool laid_out_by_host(const void* p, size_t bytes) {
  if (!Config::get().card_rules()) return false;
  const auto begin = reinterpret_cast<uintptr_t>(p);
  std::lock_guard lock(g_mutex);
  return of_host().meets(begin, begin + bytes);
}

}  // namespace updraft
