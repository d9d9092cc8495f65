// Memory for what lives during the runs of models.
#pragma once
#include <list>
#include <memory>
#include <mutex>
#include <span>

#include "device/device_block.h"

namespace updraft::graph {

/// As many blocks as runs were under way at a time on a device, whatever their models and sizes: one after the other
/// they use the same one. So a model that was run with a hundred sizes does not keep memory for each, and a client that
/// makes a model of each size does not either. For any number of threads.
class Arenas {
 public:
  /// Those of a device, as long as somebody has them.
  static std::shared_ptr<Arenas> of(Device& device);
  explicit Arenas(Device& device) : device_(device) {}

  /// A block of so many bytes or more, until give_back(); nothing for none. `wanted`, of which plans may hold
  /// addresses, where it is free and large enough; else another one, which grows, and lies elsewhere then, where it is
  /// too small.
  std::span<std::byte> take(size_t bytes, const std::byte* wanted);
  void give_back(const std::byte* block);
  /// Blocks that nobody has go back to the device.
  void clear();

 private:
  struct Block {
    DeviceBlock memory;
    bool taken = false;
  };
  Device& device_;
  std::mutex mutex_;
  std::list<Block> blocks_;
};

}  // namespace updraft::graph
