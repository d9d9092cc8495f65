// A zip archive of stored (uncompressed) entries, the same bytes for the same content.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace updraft::migrate {

class ZipWriter {
 public:
  /// Entries are read in the order in which they were added. Throws std::length_error beyond 4 GiB or 65535 entries.
  void add(std::string_view name, std::string_view content);
  /// The archive; nothing can be added after it.
  std::string finish() &&;

 private:
  std::string bytes_;
  std::string directory_;
  uint32_t entries_ = 0;
};

/// The checksum of zip and PNG (polynomial 0xEDB88320).
uint32_t crc32(std::string_view bytes);

}  // namespace updraft::migrate
