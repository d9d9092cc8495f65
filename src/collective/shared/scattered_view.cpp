#include "collective/shared/scattered_view.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "collective/error.h"

namespace updraft::collective {
namespace {
constexpr uint64_t kPage = 4096;
uint64_t page_down(uint64_t n) { return n / kPage * kPage; }
uint64_t page_up(uint64_t n) { return page_down(n + kPage - 1); }
}  // namespace

ScatteredViews::~ScatteredViews() {
  for (const View& view : views_) munmap(view.base, view.bytes);
}

char* ScatteredViews::of(int fd, const Stretch* stretches, size_t count) {
  std::vector<std::pair<uint64_t, uint64_t>> key;
  for (size_t i = 0; i < count; ++i) key.emplace_back(stretches[i].place, stretches[i].bytes);
  std::lock_guard lock(mutex_);
  for (auto it = views_.begin(); it != views_.end(); ++it)
    if (it->key == key) {
      views_.splice(views_.begin(), views_, it);
      return it->start;
    }
  uint64_t bytes = 0;
  for (auto [place, n] : key) bytes += page_up(place + n) - page_down(place);
  void* base = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED)
    throw Error(result::kMemory, "EI0007: no {} bytes of addresses for a peer's buffer: {}", bytes,
                std::strerror(errno));
  char* at = static_cast<char*>(base);
  for (auto [place, n] : key) {
    const uint64_t from = page_down(place), here = page_up(place + n) - from;
    if (mmap(at, here, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, static_cast<off_t>(from)) ==
        MAP_FAILED) {
      const int why = errno;
      munmap(base, bytes);
      throw Error(result::kMemory, "EI0007: {} bytes of a peer's buffer cannot be mapped: {}", here,
                  std::strerror(why));
    }
    at += here;
  }
  madvise(base, bytes, MADV_HUGEPAGE);
  madvise(base, bytes, MADV_DONTFORK);
  madvise(base, bytes, MADV_DONTDUMP);
  char* start = static_cast<char*>(base) + (key[0].first - page_down(key[0].first));
  views_.push_front({std::move(key), static_cast<char*>(base), bytes, start});
  if (views_.size() > kMost) {
    munmap(views_.back().base, views_.back().bytes);
    views_.pop_back();
  }
  return start;
}

}  // namespace updraft::collective
