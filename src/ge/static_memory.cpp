#include "ge/static_memory.h"

#include <cstdlib>

#include "device/device.h"
#include "device/stream.h"
#include "graph/compile/option_error.h"

namespace ge {

using updraft::graph::OptionError;

StaticMemory::StaticMemory(const std::map<std::string, std::string>& options) {
  const auto option = options.find("ge.exec.staticMemoryPolicy");
  const bool set = option != options.end() && !option->second.empty();
  const char* variable = std::getenv("GE_USE_STATIC_MEMORY");
  if (variable && !*variable) variable = nullptr;
  if (set && variable)
    throw OptionError("GE_USE_STATIC_MEMORY", variable,
                      "ge.exec.staticMemoryPolicy is set, too: leave the variable out");
  const std::string value = set ? option->second : variable ? variable : "0";
  const bool known = value == "0" || value == "2" || (variable && value == "1") || (set && value == "4");
  if (!known) throw OptionError(set ? "ge.exec.staticMemoryPolicy" : "GE_USE_STATIC_MEMORY", value, "want 0 or 2");
  shared_ = value == "2" || (variable && value == "1");
}

StaticMemory& StaticMemory::operator=(StaticMemory&& other) noexcept {
  shared_ = other.shared_;
  block_ = std::move(other.block_);
  stream_ = other.stream_;
  return *this;
}

std::byte* StaticMemory::block(size_t bytes, updraft::Device& device, updraft::Stream& stream) {
  if (stream_ && stream_ != &stream) device.synchronize();
  stream_ = &stream;
  if (block_.bytes() < bytes) {
    stream.synchronize();  // what runs there has the old block
    block_ = updraft::DeviceBlock();
    block_ = updraft::DeviceBlock(device, bytes);
  }
  return block_.data();
}

}  // namespace ge
