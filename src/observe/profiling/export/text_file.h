// A file of text that is written fast, and that others see only when it is whole.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace updraft::profiling {

/// Where a file is written until it is whole: "PATH.PROCESS.part", since several may export the same profile at once.
std::string draft_of(const std::string& path);

class TextFile {
 public:
  /// Writes to a draft. Throws Error 100004 when it cannot be made.
  explicit TextFile(std::string path);
  /// Without done() the file goes.
  ~TextFile();
  TextFile(const TextFile&) = delete;

  TextFile& operator<<(std::string_view text) {
    if (text_.size() + text.size() > kFull) flush();
    text_.append(text);
    return *this;
  }
  TextFile& operator<<(const char* text) { return *this << std::string_view(text); }
  TextFile& operator<<(char c) {
    text_.push_back(c);
    return *this;
  }
  TextFile& number(uint64_t value) { return *this << std::string_view(fmt::format_int(value).str()); }
  TextFile& number(int64_t value) { return *this << std::string_view(fmt::format_int(value).str()); }
  TextFile& number(uint32_t value) { return number(static_cast<uint64_t>(value)); }
  TextFile& number(int value) { return number(static_cast<int64_t>(value)); }
  /// Nanoseconds as microseconds with three decimals.
  TextFile& microseconds(int64_t nanoseconds);
  /// A number with at most `decimals` of them.
  TextFile& real(double value, int decimals = 3);
  /// As JSON has texts, with the quotes.
  TextFile& json(std::string_view text);
  /// As CSV has fields: in quotes where it must be.
  TextFile& csv(std::string_view text);

  /// The file is whole: it gets its name. Throws Error 100004 when something could not be written.
  void done();
  const std::string& path() const { return path_; }

 private:
  static constexpr size_t kFull = 1 << 20;
  void flush();

  const std::string path_;
  std::FILE* file_ = nullptr;
  bool failed_ = false;
  std::string text_;
};

}  // namespace updraft::profiling
