#include "graph/executor/shared_constant.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <string_view>
#include <unordered_map>

#include "base/parallel.h"
#include "device/device.h"

namespace updraft::graph {
namespace {

/// Bytes that a thread compares at a time at least.
constexpr int64_t kPiece = 1 << 20;

/// Equal for equal bytes. Of many bytes only some are looked at, because those with the same number are compared
/// anyway.
size_t number_of(const Device& device, std::span<const std::byte> bytes) {
  constexpr size_t kSamples = 32, kSample = 256;
  const auto part = [&](size_t at, size_t size) {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(bytes.data()) + at, size});
  };
  size_t number = reinterpret_cast<uintptr_t>(&device) ^ bytes.size();
  const auto add = [&](size_t more) { number = (number ^ more) * 0x9e3779b97f4a7c15u; };
  if (bytes.size() <= kSamples * kSample) {
    add(part(0, bytes.size()));
    return number;
  }
  const size_t step = (bytes.size() - kSample) / (kSamples - 1);
  for (size_t i = 0; i < kSamples; ++i) add(part(i * step, kSample));
  return number;
}

struct Table {
  std::mutex mutex;  ///< held while a constant is brought: who wants the same one waits for it
  std::unordered_multimap<size_t, std::weak_ptr<SharedConstant>> constants;
  size_t swept = 64;  ///< entries of constants that are gone are removed when there are twice as many

  void sweep() {
    if (constants.size() < 2 * swept) return;
    std::erase_if(constants, [](const auto& entry) { return entry.second.expired(); });
    swept = std::max<size_t>(64, constants.size());
  }
};

Table& table() {
  static auto* t = new Table;  // devices live as long as the process
  return *t;
}

}  // namespace

void copy_to_device(std::byte* to, std::span<const std::byte> bytes) {
  parallel_copy(host_address(to), bytes.data(), bytes.size());
}

SharedConstant::SharedConstant(Device& device, std::span<const std::byte> bytes) : block_(device, bytes.size()) {
  copy_to_device(block_.data(), bytes);
}

bool SharedConstant::has(std::span<const std::byte> bytes) const {
  if (block_.bytes() != bytes.size()) return false;
  const auto* const own = static_cast<const std::byte*>(host_address(block_.data()));
  std::atomic<bool> equal = true;
  parallel_for(static_cast<int64_t>(bytes.size()), kPiece, [&](int64_t begin, int64_t end) {
    if (equal && std::memcmp(own + begin, bytes.data() + begin, static_cast<size_t>(end - begin)) != 0) equal = false;
  });
  return equal;
}

std::shared_ptr<SharedConstant> SharedConstant::of(Device& device, std::span<const std::byte> bytes) {
  const size_t number = number_of(device, bytes);
  Table& all = table();
  std::lock_guard lock(all.mutex);
  for (auto [at, end] = all.constants.equal_range(number); at != end; ++at)
    if (std::shared_ptr<SharedConstant> found = at->second.lock(); found && found->has(bytes)) return found;
  std::shared_ptr<SharedConstant> made(new SharedConstant(device, bytes));
  all.sweep();
  all.constants.emplace(number, made);
  return made;
}

}  // namespace updraft::graph
