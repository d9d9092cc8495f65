// Constants that several models on a device have in common. A client that compiles a network anew for each shape of its
// inputs loads the same weights again and again: they lie on the device once, and so do the forms made of them.
#pragma once
#include <memory>
#include <span>

#include "device/device_block.h"
#include "kernels/constant_operand.h"

namespace updraft {
class Device;
}

namespace updraft::graph {

/// Bytes on a device that stay as they are, until the last model that has them is gone.
class SharedConstant {
 public:
  /// Smaller constants are copied sooner than looked for.
  static constexpr size_t kLeast = 64 << 10;

  /// The constant with these bytes on that device: the one that is there, else a new one. Any number of threads may
  /// ask. Throws 207001 when there is no room.
  static std::shared_ptr<SharedConstant> of(Device& device, std::span<const std::byte> bytes);

  /// As clients see it (device/memory.h).
  std::byte* data() const { return block_.data(); }
  ConstantOperand& operand() { return operand_; }

 private:
  SharedConstant(Device& device, std::span<const std::byte> bytes);
  bool has(std::span<const std::byte> bytes) const;

  DeviceBlock block_;
  ConstantOperand operand_;
};

/// Copies bytes into memory of a device, by several threads.
void copy_to_device(std::byte* to, std::span<const std::byte> bytes);

}  // namespace updraft::graph
