// HcclRootInfo: where the root of a communicator listens and the key that its ranks prove to know.
#pragma once
#include <cstdint>
#include <string>

namespace updraft {

struct RootInfo {
  std::string ip;
  uint16_t port = 0;
  std::string key;   ///< 32 bytes
  std::string name;  ///< the communicator's default name

  /// Opens a root in this process and says where. `ranks` 0: as the first rank says. `port` 0: HCCL_IF_BASE_PORT's or
  /// any.
  static RootInfo open(uint32_t ranks);
  /// Closes the root when it is of this process and nobody has come to it.
  void close() const;
  static RootInfo read(const void* bytes);
  void write(void* bytes) const;
  std::string text() const;
  static RootInfo from_text(const std::string& text);
};

constexpr size_t kRootInfoBytes = 4108;

}  // namespace updraft
