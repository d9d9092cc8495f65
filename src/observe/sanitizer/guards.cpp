#include "observe/sanitizer/guards.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace updraft::sanitizer {
namespace {

uintptr_t page() {
  static const auto size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}
uintptr_t up(uintptr_t at) { return (at + page() - 1) / page() * page(); }

void protect(Range pages, int how) {
  mprotect(reinterpret_cast<void*>(pages.begin), pages.end - pages.begin, how);  // refused: nothing is seen there
}

Range around(Range bytes) { return {bytes.begin / page() * page(), up(bytes.end)}; }

}  // namespace

Range pages_of(Range used, Range allocation) {
  // Pages that hold something else as well stay open: a system call that gets them would fail.
  return {up(used.begin), used.end >= allocation.end ? up(allocation.end) : used.end / page() * page()};
}

void Guards::apply(Range pages) const {
  protect(pages, PROT_READ | PROT_WRITE);
  for (const bool closed : {false, true})  // the stricter ones last
    for (const Guard& g : guards_)
      if (g.closed == closed && g.pages.meets(pages))
        protect({std::max(g.pages.begin, pages.begin), std::min(g.pages.end, pages.end)},
                closed ? PROT_NONE : PROT_READ);
}

void Guards::add(const WorkRef& work, Range pages, bool closed) {
  if (pages.empty() || guards_.size() >= kMost) return;
  guards_.push_back({work, pages, closed});
  apply(pages);
}

void Guards::open(Range bytes) {
  if (guards_.empty() || bytes.empty()) return;
  const Range pages = around(bytes);
  for (const Guard& g : guards_)
    if (g.pages.meets(pages))
      protect({std::max(g.pages.begin, pages.begin), std::min(g.pages.end, pages.end)}, PROT_READ | PROT_WRITE);
}

void Guards::close(Range bytes) {
  if (guards_.empty() || bytes.empty()) return;
  const Range pages = around(bytes);
  for (const Guard& g : guards_)
    if (g.pages.meets(pages)) apply({std::max(g.pages.begin, pages.begin), std::min(g.pages.end, pages.end)});
}

void Guards::release(FunctionRef<bool(const Work&)> over) {
  for (auto it = guards_.begin(); it != guards_.end();) {
    if (!over(*it->work)) {
      ++it;
      continue;
    }
    const Range pages = it->pages;
    it = guards_.erase(it);
    apply(pages);
  }
}

void Guards::forget(Range bytes) {
  for (auto it = guards_.begin(); it != guards_.end();) {
    if (!it->pages.meets(bytes)) {
      ++it;
      continue;
    }
    const Range pages = it->pages;
    it = guards_.erase(it);
    apply(pages);
  }
}

WorkRef Guards::touched(uintptr_t at, bool writes) {
  WorkRef first;
  for (auto it = guards_.begin(); it != guards_.end();) {
    if (at < it->pages.begin || at >= it->pages.end) {
      ++it;
      continue;
    }
    if (!first && (writes || it->closed)) first = it->work;
    const Range pages = it->pages;
    it = guards_.erase(it);
    apply(pages);
  }
  return first;
}

}  // namespace updraft::sanitizer
