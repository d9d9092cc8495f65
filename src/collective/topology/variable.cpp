#include "collective/topology/variable.h"

#include <arpa/inet.h>
#include <strings.h>

#include <charconv>
#include <cstdlib>

#include "collective/error.h"

namespace updraft::collective {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r\n";
  const size_t first = text.find_first_not_of(blank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t at = 0;;) {
    const size_t end = text.find(separator, at);
    parts.emplace_back(trimmed(text.substr(at, end == std::string_view::npos ? end : end - at)));
    if (end == std::string_view::npos) return parts;
    at = end + 1;
  }
}

std::optional<int64_t> parse_integer(std::string_view text) {
  int64_t n = 0;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, n);
  if (error != std::errc() || at != end) return {};
  return n;
}

std::optional<std::string> parse_ip(const std::string& text, int* family) {
  char bytes[sizeof(in6_addr)];
  char spelled[INET6_ADDRSTRLEN];
  if (text.find('\0') != std::string::npos) return {};
  for (int f : {AF_INET, AF_INET6}) {
    if (inet_pton(f, text.c_str(), bytes) != 1 || !inet_ntop(f, bytes, spelled, sizeof spelled)) continue;
    if (family) *family = f;
    return spelled;
  }
  return {};
}

std::optional<Variable> variable(const char* name) {
  const char* value = std::getenv(name);
  if (!value) return {};
  std::string_view text = trimmed(value);
  if (text.empty()) return {};
  return Variable{name, std::string(text)};
}

std::string printable(std::string_view text, size_t most) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const unsigned char lead = static_cast<unsigned char>(text[at]);
    const size_t length = lead < 0x80                   ? 1
                          : lead >= 0xc2 && lead < 0xe0 ? 2
                          : lead >= 0xe0 && lead < 0xf0 ? 3
                          : lead >= 0xf0 && lead < 0xf5 ? 4
                                                        : 0;
    bool good = length != 0 && at + length <= text.size() && lead >= 0x20 && lead != 0x7f;
    for (size_t i = 1; good && i < length; ++i) good = (static_cast<unsigned char>(text[at + i]) & 0xc0) == 0x80;
    if (good && length > 2) {  // overlong forms, surrogates, beyond U+10FFFF
      const unsigned char second = static_cast<unsigned char>(text[at + 1]);
      good = !(lead == 0xe0 && second < 0xa0) && !(lead == 0xed && second >= 0xa0) &&
             !(lead == 0xf0 && second < 0x90) && !(lead == 0xf4 && second >= 0x90);
    }
    if (out.size() + (good ? length : 1) > most) return out + "…";
    if (good) out.append(text.substr(at, length));
    else out += '?';
    at += good ? length : 1;
  }
  return out;
}

void Variable::refuse(const std::string& wanted, const std::string& fix) const {
  throw Error(result::kPara, "EI0001: {}=\"{}\" is not valid: want {}. {}", name, printable(text, 200),
              printable(wanted), fix.empty() ? fmt::format("Set {} to that in every process, or unset it", name) : fix);
}

int64_t Variable::integer(int64_t low, int64_t high, const char* unit) const {
  std::optional<int64_t> n = parse_integer(text);
  if (!n || *n < low || *n > high) refuse(fmt::format("an integer in [{}, {}]{}{}", low, high, *unit ? " " : "", unit));
  return *n;
}

double Variable::seconds(double low, double high) const {
  double n = 0;
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, n);
  // The negated comparison is for NaN.
  if (error != std::errc() || at != end || !(n >= low && n <= high))
    refuse(fmt::format("a number in [{}, {}] seconds", low, high));
  return n;
}

size_t Variable::one_of(std::span<const char* const> words, bool any_case) const {
  std::string all;
  for (size_t i = 0; i < words.size(); ++i) {
    if (text == words[i] || (any_case && strcasecmp(text.c_str(), words[i]) == 0)) return i;
    all += std::string(i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  refuse(all);
}

std::string Variable::ip() const {
  std::optional<std::string> address = parse_ip(text);
  if (!address) refuse("one numeric IPv4 or IPv6 address such as 192.168.1.1");
  return *address;
}

}  // namespace updraft::collective
