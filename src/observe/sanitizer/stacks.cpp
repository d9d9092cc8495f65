#include "observe/sanitizer/stacks.h"

#include <array>

namespace updraft::sanitizer {

uint32_t Stacks::keep(const PythonPlace* places, size_t count) {
  if (count == 0) return 0;
  uint64_t hash = count;
  for (size_t i = 0; i < count; ++i) {
    hash = (hash ^ reinterpret_cast<uintptr_t>(places[i].code)) * 0x9e3779b97f4a7c15u;
    hash = (hash ^ (hash >> 29) ^ static_cast<uint64_t>(places[i].at)) * 0xbf58476d1ce4e5b9u;
  }
  std::lock_guard lock(mutex_);
  const auto [found, fresh] = known_.emplace(hash, 0);
  if (!fresh) return found->second;
  std::vector<PythonFrame> frames;
  for (size_t i = 0; i < count; ++i) frames.push_back(python_frame(places[i]));
  // other instructions of the same lines
  const auto [same, other] = by_lines_.emplace(frames, static_cast<uint32_t>(stacks_.size()) + 1);
  if (other) stacks_.push_back(std::move(frames));
  return found->second = same->second;
}

uint32_t Stacks::here() {
  uint32_t stack = 0;
  with_python_places(kMostFrames, true, [&](const PythonPlace* places, size_t n) { stack = keep(places, n); });
  return stack;
}

uint32_t Stacks::here_at_once() {
  uint32_t stack = 0;
  with_python_places(kMostFrames, false, [&](const PythonPlace* places, size_t n) { stack = keep(places, n); });
  return stack;
}

std::vector<PythonFrame> Stacks::frames(uint32_t stack) const {
  std::lock_guard lock(mutex_);
  return stack && stack <= stacks_.size() ? stacks_[stack - 1] : std::vector<PythonFrame>{};
}

}  // namespace updraft::sanitizer
