#include "device/device_block.h"

#include <algorithm>
#include <utility>

#include "device/device.h"

namespace updraft {

DeviceBlock::DeviceBlock(Device& device, size_t bytes) : device_(&device), bytes_(bytes) {
  if (bytes) data_ = static_cast<std::byte*>(device.memory().allocate(bytes, DeviceMemory::Owner::Library));
}
DeviceBlock DeviceBlock::that_grows(Device& device, size_t bytes) {
  DeviceBlock block(device, 0);
  block.data_ = static_cast<std::byte*>(device.memory().allocate_to_grow(bytes));
  block.bytes_ = bytes;
  return block;
}
bool DeviceBlock::grow(size_t bytes) {
  if (!data_ || !device_->memory().grow(data_, bytes)) return false;
  bytes_ = std::max(bytes_, bytes);
  return true;
}
DeviceBlock::DeviceBlock(DeviceBlock&& other) noexcept
    : device_(other.device_), data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
DeviceBlock& DeviceBlock::operator=(DeviceBlock&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}
DeviceBlock::~DeviceBlock() {
  if (data_) device_->memory().free(data_, DeviceMemory::Owner::Library);
}

}  // namespace updraft
