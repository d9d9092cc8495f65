#include "graph/executor/arenas.h"

#include <algorithm>
#include <map>

#include "base/error.h"

namespace updraft::graph {

std::shared_ptr<Arenas> Arenas::of(Device& device) {
  static std::mutex mutex;
  static auto* all = new std::map<const Device*, std::weak_ptr<Arenas>>;  // devices live as long as the process
  std::lock_guard lock(mutex);
  std::weak_ptr<Arenas>& kept = (*all)[&device];
  std::shared_ptr<Arenas> found = kept.lock();
  if (!found) kept = found = std::make_shared<Arenas>(device);
  return found;
}

std::span<std::byte> Arenas::take(size_t bytes, const std::byte* wanted) {
  if (bytes == 0) return {};
  std::lock_guard lock(mutex_);
  Block* best = nullptr;
  for (Block& block : blocks_) {
    if (block.taken) continue;
    if (block.memory.data() == wanted && block.memory.bytes() >= bytes) {
      best = &block;
      break;
    }
    if (!best || block.memory.bytes() > best->memory.bytes()) best = &block;
  }
  if (!best) best = &blocks_.emplace_back();
  if (best->memory.bytes() < bytes && !best->memory.grow(bytes)) {
    best->memory = DeviceBlock();  // first, because both may not find room
    best->memory = DeviceBlock::that_grows(device_, bytes);
  }
  best->taken = true;
  return {best->memory.data(), best->memory.bytes()};
}

void Arenas::give_back(const std::byte* block) {
  std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(blocks_, block, [](const Block& b) { return b.memory.data(); });
  if (found != blocks_.end()) found->taken = false;
}

void Arenas::clear() {
  std::lock_guard lock(mutex_);
  blocks_.remove_if([](const Block& block) { return !block.taken; });
}

}  // namespace updraft::graph
