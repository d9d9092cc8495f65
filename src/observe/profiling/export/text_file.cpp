#include "observe/profiling/export/text_file.h"

#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace updraft::profiling {
namespace {
constexpr int kWriteFile = 100004;  // ACL_ERROR_WRITE_FILE
}

std::string draft_of(const std::string& path) { return fmt::format("{}.{}.part", path, getpid()); }

TextFile::TextFile(std::string path) : path_(std::move(path)) {
  file_ = std::fopen(draft_of(path_).c_str(), "we");
  if (!file_) throw Error(kWriteFile, "{} cannot be written: {}", path_, std::strerror(errno));
  text_.reserve(kFull + 4096);
}

TextFile::~TextFile() {
  if (!file_) return;
  std::fclose(file_);
  std::remove(draft_of(path_).c_str());
}

void TextFile::flush() {
  if (std::fwrite(text_.data(), 1, text_.size(), file_) != text_.size()) failed_ = true;
  text_.clear();
}

TextFile& TextFile::microseconds(int64_t nanoseconds) {
  const bool negative = nanoseconds < 0;
  const auto n = static_cast<uint64_t>(negative ? -nanoseconds : nanoseconds);
  if (negative) *this << '-';
  number(n / 1000);
  const auto rest = static_cast<unsigned>(n % 1000);
  const char digits[4] = {'.', static_cast<char>('0' + rest / 100), static_cast<char>('0' + rest / 10 % 10),
                          static_cast<char>('0' + rest % 10)};
  return *this << std::string_view(digits, 4);
}

TextFile& TextFile::real(double value, int decimals) {
  if (!std::isfinite(value)) return *this << "0";
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find('.') != std::string::npos) {
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
  }
  return *this << text;
}

TextFile& TextFile::json(std::string_view text) {
  *this << '"';
  size_t from = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // Bytes that are no UTF-8 would make the whole file none: they become '?'.
    size_t more = c < 0x80 ? 0 : c >= 0xC2 && c < 0xE0 ? 1 : c >= 0xE0 && c < 0xF0 ? 2 : c >= 0xF0 && c < 0xF5 ? 3 : 4;
    bool good = more < 4 && i + more < text.size();
    for (size_t k = 1; good && k <= more; ++k) good = (static_cast<unsigned char>(text[i + k]) & 0xC0) == 0x80;
    if (good && c == 0xE0) good = static_cast<unsigned char>(text[i + 1]) >= 0xA0;
    if (good && c == 0xED) good = static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (good && c == 0xF0) good = static_cast<unsigned char>(text[i + 1]) >= 0x90;
    if (good && c == 0xF4) good = static_cast<unsigned char>(text[i + 1]) < 0x90;
    if (good && c >= 0x20 && c != '"' && c != '\\') {
      i += more;
      continue;
    }
    *this << text.substr(from, i - from);
    from = i + 1;
    if (!good) *this << '?';
    else if (c == '"' || c == '\\') *this << '\\' << static_cast<char>(c);
    else if (c == '\n') *this << "\\n";
    else if (c == '\t') *this << "\\t";
    else *this << fmt::format("\\u{:04x}", c);
  }
  *this << text.substr(from);
  return *this << '"';
}

TextFile& TextFile::csv(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return *this << text;
  *this << '"';
  for (const char c : text) {
    if (c == '"') *this << '"';
    *this << c;
  }
  return *this << '"';
}

void TextFile::done() {
  flush();
  if (std::fclose(file_) != 0) failed_ = true;
  file_ = nullptr;
  const std::string part = draft_of(path_);
  if (failed_ || std::rename(part.c_str(), path_.c_str()) != 0) {
    const int why = errno;
    std::remove(part.c_str());
    throw Error(kWriteFile, "{} cannot be written: {}", path_, std::strerror(why));
  }
}

}  // namespace updraft::profiling
