#include "migrate/report/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <system_error>

#include "base/error.h"

namespace updraft::migrate {
namespace {

namespace fs = std::filesystem;

int put(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

int replace_whole(const fs::path& path, std::string_view text, std::optional<mode_t> mode) {
  static std::atomic<unsigned> number{0};
  fs::path beside;
  int file = -1;
  do {  // O_EXCL: no link that another user has put there is followed
    beside = path.parent_path() / (".updraft-" + std::to_string(::getpid()) + "-" + std::to_string(number++));
    file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode ? 0600 : 0666);
  } while (file < 0 && (errno == EEXIST || errno == EINTR));
  if (file < 0) return errno;
  int error = put(file, text);
  if (error == 0 && mode && ::fchmod(file, *mode) != 0) error = errno;
  // network file systems report a full disk here
  if (::close(file) != 0 && errno != EINTR && error == 0) error = errno;
  if (error == 0 && ::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(beside.c_str());
  return error;
}

}  // namespace updraft::migrate

namespace updraft::migrate::report {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, int error) {
  const char* advice = error == EACCES || error == EPERM || error == EROFS
                           ? "take a folder that you may write to (-o DIR)"
                       : error == ENOSPC || error == EDQUOT ? "free some space, or take another folder (-o DIR)"
                       : error == EISDIR                    ? "a folder has that name: take another one (-o DIR)"
                       : error == ENOTDIR                   ? "a part of the path is a file, wanted a folder (-o DIR)"
                       : error == ENAMETOOLONG              ? "take a shorter path (-o DIR)"
                                                            : "take another folder (-o DIR)";
  throw Error(code::kAclInvalidFile, "the report {} cannot be written: {}; {}", path.string(), std::strerror(error),
              advice);
}

}  // namespace

void write_file(const fs::path& path, std::string_view text) {
  struct stat at {};
  if (::stat(path.c_str(), &at) == 0 && S_ISDIR(at.st_mode)) refuse(path, EISDIR);
  if (const int error = replace_whole(path, text); error != 0) refuse(path, error);
}

void write_files(const fs::path& folder, std::span<const ReportFile> files) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw Error(code::kAclInvalidFile, "the folder for the reports, {}, cannot be made: {}; take another one (-o DIR)",
                folder.string(), error.message());
  for (const ReportFile& file : files) {
    const fs::path path = folder / file.name;
    if (!file.only_with_text || !file.text.empty()) {
      write_file(path, file.text);
    } else if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
      refuse(path, errno);
    }
  }
}

std::size_t code_point_at(std::string_view text, std::size_t at) noexcept {
  auto byte = [&](std::size_t i) -> unsigned { return static_cast<unsigned char>(text[i]); };
  if (at >= text.size()) return 0;
  const unsigned lead = byte(at);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || text.size() - at < length) return 0;
  // the second byte's range excludes overlong forms, surrogates and what is above U+10FFFF
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(at + 1) < low || byte(at + 1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i)
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  return length;
}

bool is_utf8(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = code_point_at(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::string repaired(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = code_point_at(text, i);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      ++i;
    } else {
      out += text.substr(i, length);
      i += length;
    }
  }
  return out;
}

std::string one_line(std::string_view text) {
  std::string out;
  for (const char c : repaired(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') out += "\\n";
    else if (c == '\r') out += "\\r";
    else if (c == '\t') out += "\\t";
    else if (byte < 0x20 || byte == 0x7F) out += fmt::format("\\x{:02x}", byte);
    else out += c;
  }
  return out;
}

std::size_t utf16_length(std::string_view text) noexcept {
  std::size_t units = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = code_point_at(text, i);
    units += length == 4 ? 2 : 1;
    i += length ? length : 1;
  }
  return units;
}

std::string base64(std::string_view bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t have = bytes.size() - i;
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) group = group << 8 | (k < have ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k) out += k <= have ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

}  // namespace updraft::migrate::report
