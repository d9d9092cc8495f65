// One variable of the environment and the checks that its error (EI0001) comes from.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::collective {

struct Variable {
  const char* name;
  std::string text;  ///< without white space at its ends; never empty

  /// Throws Error (HCCL_E_PARA): EI0001, name, value, wanted, fix. `fix` "": set it so or unset it.
  [[noreturn]] void refuse(const std::string& wanted, const std::string& fix = "") const;
  int64_t integer(int64_t low, int64_t high, const char* unit = "") const;
  /// A finite number of seconds, fractions allowed.
  double seconds(double low, double high) const;
  /// The place of the value in `words`; letters' case does not matter where `any_case`.
  size_t one_of(std::span<const char* const> words, bool any_case = false) const;
  bool flag() const { return integer(0, 1) == 1; }
  /// A numeric IPv4 or IPv6 address in inet_ntop's spelling.
  std::string ip() const;
};

/// Nothing where it is unset or blank.
std::optional<Variable> variable(const char* name);

std::string_view trimmed(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);
/// All of `text` is one number in base 10; no sign but a leading minus.
std::optional<int64_t> parse_integer(std::string_view text);
/// For messages: what is no UTF-8 and no printable character becomes '?', what is longer than `most` bytes ends in "…".
std::string printable(std::string_view text, size_t most = 2000);
/// In inet_ntop's spelling; nothing where it is no numeric address. `family` receives AF_INET or AF_INET6.
std::optional<std::string> parse_ip(const std::string& text, int* family = nullptr);

}  // namespace updraft::collective
