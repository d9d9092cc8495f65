#include "migrate/report/table/zip.h"

#include <array>
#include <limits>
#include <stdexcept>
#include <utility>

namespace updraft::migrate {
namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0xEDB88320u : 0u);
    table[i] = value;
  }
  return table;
}

void put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();

/// What a local header and the central directory say alike: version 2.0, UTF-8 names, stored, 1980-01-01.
void put_description(std::string& out, uint32_t sum, uint64_t size, size_t name_size) {
  put(out, 20, 2);
  put(out, 0x0800, 2);
  put(out, 0, 2);
  put(out, 0, 2);
  put(out, (1 << 5) | 1, 2);
  put(out, sum, 4);
  put(out, size, 4);
  put(out, size, 4);
  put(out, name_size, 2);
  put(out, 0, 2);
}

}  // namespace

uint32_t crc32(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> kTable = make_table();
  uint32_t sum = ~0u;
  for (const char c : bytes) sum = (sum >> 8) ^ kTable[(sum ^ static_cast<unsigned char>(c)) & 0xFF];
  return ~sum;
}

void ZipWriter::add(std::string_view name, std::string_view content) {
  if (name.size() > 0xFFFF || entries_ >= 0xFFFF || bytes_.size() + name.size() + content.size() + 64 > kMost)
    throw std::length_error("a zip archive holds 65535 entries and 4 GiB, this is more: " + std::string(name));
  const uint64_t offset = bytes_.size();
  const uint32_t sum = crc32(content);
  put(bytes_, 0x04034b50, 4);
  put_description(bytes_, sum, content.size(), name.size());
  bytes_ += name;
  bytes_ += content;

  put(directory_, 0x02014b50, 4);
  put(directory_, 20, 2);
  put_description(directory_, sum, content.size(), name.size());
  put(directory_, 0, 2);  // comment
  put(directory_, 0, 2);  // disk
  put(directory_, 0, 2);  // internal and
  put(directory_, 0, 4);  // external attributes
  put(directory_, offset, 4);
  directory_ += name;
  ++entries_;
}

std::string ZipWriter::finish() && {
  const uint64_t start = bytes_.size();
  if (start + directory_.size() > kMost) throw std::length_error("a zip archive holds 4 GiB, this is more");
  bytes_ += directory_;
  put(bytes_, 0x06054b50, 4);
  put(bytes_, 0, 4);  // disks
  put(bytes_, entries_, 2);
  put(bytes_, entries_, 2);
  put(bytes_, directory_.size(), 4);
  put(bytes_, start, 4);
  put(bytes_, 0, 2);
  return std::move(bytes_);
}

}  // namespace updraft::migrate
