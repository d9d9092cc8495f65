#include "observe/profiling/settings.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "base/error.h"

namespace updraft::profiling {
namespace {

constexpr int kInvalid = 100010;  // ACL_ERROR_INVALID_PROFILING_CONFIG

constexpr const char* kMetrics[] = {"ArithmeticUtilization", "PipeUtilization", "Memory",  "MemoryL0",
                                    "ResourceConflictRatio", "MemoryUB",        "L2Cache", "PipelineExecuteUtilization",
                                    "MemoryAccess"};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at <= text.size();) {
    size_t end = text.find(',', at);
    if (end == std::string::npos) end = text.size();
    std::string part = text.substr(at, end - at);
    while (!part.empty() && part.front() == ' ') part.erase(0, 1);
    while (!part.empty() && part.back() == ' ') part.pop_back();
    parts.push_back(part);
    at = end + 1;
  }
  return parts;
}

// A register of "Custom:": decimal, or hexadecimal after 0x.
bool is_register(std::string text) {
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    text.erase(0, 2);
    base = 16;
  }
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() && value >= 0x1 && value <= 0x6E;
}

}  // namespace

std::string metrics_name(int number) {
  return number >= 0 && number < static_cast<int>(std::size(kMetrics)) ? kMetrics[number] : "";
}

void check_metrics(const std::string& name) {
  if (name.rfind("Custom:", 0) == 0) {
    const auto registers = split(name.substr(7));
    if (registers.size() > 8)
      throw Error(kInvalid, "aic_metrics Custom has {} registers, the most is 8", registers.size());
    for (const auto& one : registers)
      if (!is_register(one))
        throw Error(kInvalid, "aic_metrics Custom: the register \"{}\" is not a number in [0x1, 0x6E]", one);
    return;
  }
  if (std::find(std::begin(kMetrics), std::end(kMetrics), name) != std::end(kMetrics)) return;
  std::string all;
  for (const char* metric : kMetrics) all += std::string(metric) + ", ";
  throw Error(kInvalid, "aic_metrics is \"{}\", want one of {}Custom:REGISTER,…", name, all);
}

uint64_t read_storage_limit(const std::string& text, const char* source) {
  std::string number = text;
  if (number.size() > 2 && number.substr(number.size() - 2) == "MB") number.resize(number.size() - 2);
  uint64_t megabytes = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), megabytes);
  if (error != std::errc() || end != number.data() + number.size() || megabytes < 200 || megabytes > 4294967296u)
    throw Error(kInvalid, "{}: storage_limit is \"{}\", want megabytes in [200, 4294967296], as in 200MB", source,
                text);
  return megabytes << 20;
}

int read_frequency(const std::string& text, const char* source, const char* key, int lowest, int highest, int usual) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < lowest || value > highest)
    throw Error(kInvalid, "{}: {} is \"{}\", want a number in [{}, {}] (default {})", source, key, text, lowest,
                highest, usual);
  return value;
}

void read_host_system(const std::string& text, const char* source, const char* key, bool& cpu, bool& memory) {
  for (const auto& part : split(text)) {
    if (part == "cpu") cpu = true;
    else if (part == "mem") memory = true;
    else throw Error(kInvalid, "{}: {} is \"{}\", want cpu, mem or both by a comma", source, key, text);
  }
}

}  // namespace updraft::profiling
