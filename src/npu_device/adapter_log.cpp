#include "npu_device/adapter_log.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

namespace updraft::npu_device {

bool silent() {
  static const bool wanted = [] {
    const char* level = std::getenv("TF_CPP_MIN_LOG_LEVEL");
    return level && *level && *level != '0';
  }();
  return wanted;
}

bool switched_on(const char* variable) {
  const char* value = std::getenv(variable);
  return value && (std::string_view(value) == "1" || std::string_view(value) == "true");
}

void say(const char* file, int line, const std::string& text, bool always) {
  if (silent() && !always) return;
  const auto now = std::chrono::system_clock::now();
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1000000;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", &parts);
  const std::string whole = fmt::format("{}.{:06}: I {}:{}] {}\n", stamp, micro, file, line, text);
  std::fwrite(whole.data(), 1, whole.size(), stderr);
  std::fflush(stderr);
}

}  // namespace updraft::npu_device
