// What every target shares: numbers out of the input's bytes, and the environment of a small virtual device.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace fuzz {

/// A folder for the files of this process, which goes when it ends.
inline const std::string& folder() {
  static const std::string* made = [] {
    char name[] = "/tmp/updraft-fuzz-XXXXXX";
    const char* path = mkdtemp(name);
    std::atexit([] { std::filesystem::remove_all(folder()); });
    return new std::string(path ? path : "/tmp/updraft-fuzz");  // is used at exit
  }();
  return *made;
}

/// Reads from the front; zeros after the end.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
  bool empty() const { return at_ == end_; }
  uint8_t byte() { return empty() ? 0 : *at_++; }
  /// 0 to n - 1
  int below(int n) { return byte() % n; }
  bool one_in(int n) { return byte() % n == 1; }
  template <class T>
  T number() {
    T value{};
    size_t n = std::min(sizeof value, static_cast<size_t>(end_ - at_));
    std::memcpy(&value, at_, n);
    at_ += n;
    return value;
  }
  std::string text(size_t most) {
    size_t n = std::min(most, static_cast<size_t>(end_ - at_));
    std::string s(reinterpret_cast<const char*>(at_), n);
    at_ += n;
    return s;
  }
  /// Mostly a small number, sometimes one at the edge of a type.
  int64_t odd_number() {
    static constexpr int64_t edges[] = {
        -1,           -2,      INT32_MAX, INT32_MIN, int64_t{1} << 31, int64_t{1} << 40, INT64_MAX, INT64_MIN,
        -(1LL << 40), 1 << 20, 65536,     255};
    uint8_t b = byte();
    return b < 200 ? b % 9 : edges[b % (sizeof edges / sizeof *edges)];
  }

 private:
  const uint8_t *at_, *end_;
};

/// Ends the program with what was wrong: libFuzzer keeps the input.
[[noreturn]] inline void wrong(const char* what, int64_t value) {
  std::fprintf(stderr, "fuzz: %s: %lld\n", what, static_cast<long long>(value));
  std::abort();
}

/// Codes that the interface documents; what it calls an internal failure is a finding.
inline void documented(const char* what, int code) {
  if (code == 0) return;
  if (code == 500000 || code == 507000 || code == 561000) wrong(what, code);
  const bool known = (code >= 100000 && code < 100100) || (code >= 107000 && code < 107100) || code == 145000 ||
                     (code >= 148000 && code < 148100) || (code >= 161001 && code <= 161002) ||
                     (code >= 200000 && code < 200100) || (code >= 207000 && code < 207100) || code == 361001 ||
                     (code >= 500001 && code < 500100) || (code > 507000 && code < 507999) || code == 561003;
  if (!known) wrong(what, code);
}

/// A small device whose records and logs lie in a folder of this process.
inline void environment() {
  static const std::string folder = "/tmp/updraft-fuzz-" + std::to_string(getpid());
  setenv("UPDRAFT_RUN_DIR", folder.c_str(), 1);
  setenv("ASCEND_PROCESS_LOG_PATH", folder.c_str(), 1);
  setenv("ASCEND_GLOBAL_LOG_LEVEL", "4", 1);
  setenv("UPDRAFT_MEMORY", "64M", 1);
  setenv("UPDRAFT_DEVICES", "2", 1);
  setenv("UPDRAFT_THREADS", "2", 1);
  std::atexit([] { [[maybe_unused]] int code = std::system(("rm -rf " + folder).c_str()); });
}

}  // namespace fuzz

#ifndef LLVMFuzzerTestOneInput  // defined where one program holds all targets: it has these as ASAN_OPTIONS
/// Memory that cannot be had is an answer of the library, not of the sanitizer.
extern "C" __attribute__((used, visibility("default"))) const char* __asan_default_options() {
  return "allocator_may_return_null=1:detect_leaks=0:handle_segv=1";
}
#endif
