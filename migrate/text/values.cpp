#include "migrate/text/values.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "migrate/rules/rule.h"
#include "migrate/source/words.h"
#include "migrate/support/settings.h"

namespace updraft::migrate::text {
namespace {

constexpr std::array<std::string_view, 6> kOtherDevices = {"cpu", "mps", "meta", "xpu", "auto", "npu"};
constexpr std::array<std::string_view, 8> kOtherBackends = {"gloo", "mpi",  "ucc",  "hccl",
                                                            "ccl",  "xccl", "fake", "undefined"};

using source::among;

bool is_digits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// 0, or what a program or a shell fills in: {}, {rank}, %d, $RANK, ${RANK}, <id>
bool is_index(std::string_view s) {
  if (is_digits(s)) return true;
  if (s.size() < 2 || std::string_view("{%$<").find(s[0]) == std::string_view::npos) return false;
  const bool braces = s.find('{') != std::string_view::npos;
  return std::all_of(s.begin(), s.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("{}%$<>_.[]()").find(c) != std::string_view::npos ||
           (braces && (c == '-' || c == '+' || c == ' ' || c == ':'));
  });
}

/// Items between commas outside braces, without white space around them.
template <class Visit>
bool items(std::string_view value, Visit visit) {
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= value.size(); ++i) {
    if (i < value.size() && value[i] == '{') ++depth;
    if (i < value.size() && value[i] == '}') --depth;
    if (i < value.size() && (value[i] != ',' || depth > 0)) continue;
    std::size_t from = begin, to = i;
    while (from < to && (value[from] == ' ' || value[from] == '\t')) ++from;
    while (to > from && (value[to - 1] == ' ' || value[to - 1] == '\t')) --to;
    if (!visit(from, value.substr(from, to - from))) return false;
    begin = i + 1;
  }
  return true;
}

constexpr std::size_t kLongestValue = 400;  // nobody writes longer lists of devices

}  // namespace

std::string plain_key(std::string_view key) { return key.size() > kLongestValue ? std::string() : plain_setting(key); }

std::vector<Word> device_words(std::string_view value) {
  std::vector<Word> words;
  if (value.size() > kLongestValue) return words;
  const bool all = items(value, [&](std::size_t at, std::string_view item) {
    const std::size_t colon = item.find(':');
    const std::string_view device = item.substr(0, colon);
    const bool index = colon != std::string_view::npos;
    if (index && !is_index(item.substr(colon + 1))) return false;
    if (device == "cuda") words.push_back({at, at + 4, "npu"});
    else if (!among(kOtherDevices, device) && (index || !is_digits(item))) return false;
    return true;
  });
  if (!all) words.clear();
  return words;
}

std::vector<Word> backend_words(std::string_view value) {
  std::vector<Word> words;
  if (value.size() > kLongestValue) return words;
  const bool all = items(value, [&](std::size_t at, std::string_view item) {
    std::size_t colon = item.find(':');
    if (colon != std::string_view::npos) {
      const std::string_view device = item.substr(0, colon);
      if (device == "cuda") words.push_back({at, at + 4, "npu"});
      else if (!among(kOtherDevices, device)) return false;
      item.remove_prefix(++colon);
      at += colon;
    }
    if (item == "nccl") words.push_back({at, at + 4, "hccl"});
    else if (!among(kOtherBackends, item)) return false;
    return true;
  });
  if (!all) words.clear();
  return words;
}

std::optional<Judgement> judge(std::string_view key, std::string_view value) {
  if (value.size() < 3 || value.size() > kLongestValue) return std::nullopt;
  const std::string k = plain_key(key);
  if (k == "accelerator" && (value == "gpu" || value == "cuda"))
    return Judgement{Meaning::Accelerator, Confidence::Review, {{0, value.size(), "npu"}}};
  if (auto words = backend_words(value); !words.empty()) {
    const bool torch = k == "dist_backend" || k == "ddp_backend" || k == "distributed_backend" ||
                       k == "process_group_backend" || k == "torch_distributed_backend" || k == "comm_backend_name" ||
                       k == "communication_backend_name";
    const Confidence sure = torch                        ? Confidence::Certain
                            : holds(k) == Holds::Backend ? Confidence::Likely
                                                         : Confidence::Review;
    return Judgement{Meaning::Backend, sure, std::move(words)};
  }
  auto words = device_words(value);
  if (words.empty()) return std::nullopt;
  if (k == "map_location" || k == "torch_device")
    return Judgement{Meaning::Device, Confidence::Certain, std::move(words)};
  if (holds(k) == Holds::Device) return Judgement{Meaning::Device, Confidence::Likely, std::move(words)};
  if (value.find(':') == std::string_view::npos) return std::nullopt;  // cuda may be a label, a language, a tag
  return Judgement{Meaning::Device, Confidence::Review, std::move(words)};
}

Text reason(const Judgement& judgement, std::string_view key) {
  const std::string_view k = key.substr(0, 60);
  const bool unsure = judgement.confidence == Confidence::Review;
  switch (judgement.meaning) {
    case Meaning::Accelerator: return rules::told("value.accelerator", {k});
    case Meaning::Backend: return rules::told(unsure ? "value.backend.unsure" : "value.backend", {k});
    case Meaning::Device: break;
  }
  return rules::told(unsure ? "value.device.unsure" : "value.device", {k});
}

void says_registered(Text& message) { message += rules::told("value.registered"); }

}  // namespace updraft::migrate::text
