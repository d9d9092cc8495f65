// Device memory of the library's own.
#pragma once
#include <cstddef>

namespace updraft {

class Device;

class DeviceBlock {
 public:
  DeviceBlock() = default;
  /// Throws 207001 with sizes when there is no room.
  DeviceBlock(Device& device, size_t bytes);
  /// With addresses behind it that it may grow into.
  static DeviceBlock that_grows(Device& device, size_t bytes);
  DeviceBlock(DeviceBlock&& other) noexcept;
  DeviceBlock& operator=(DeviceBlock&& other) noexcept;
  ~DeviceBlock();
  /// Has so many bytes from now on where the addresses behind it are free; else false. Throws 207001 without room.
  bool grow(size_t bytes);
  /// As clients see it (device/memory.h).
  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  Device* device_ = nullptr;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace updraft
