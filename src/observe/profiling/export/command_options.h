// The options of msprof: one table, from which follow checks and help.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace updraft::profiling {

/// What an option does here.
enum class Effect : char {
  Has,      ///< it has the effect that it has with a card
  Nothing,  ///< it is checked, accepted with a word, and changes nothing
  Refused,  ///< it is an error that says why
};

struct CommandOption {
  const char* name;    ///< without the dashes
  const char* values;  ///< "on|off"; "MIN-MAX" for numbers; "" any text
  const char* usual;   ///< the default, "" none
  Effect effect;
  const char* key;   ///< what it is called in PROFILING_OPTIONS, "" nothing
  const char* help;  ///< and, of Nothing and Refused, why
};
const std::vector<CommandOption>& command_options();

struct CommandLine {
  std::map<std::string, std::string> given;  ///< options by name
  std::vector<std::string> application;      ///< the program and its arguments
  std::vector<std::string> words;            ///< what is said of options that change nothing
  bool help = false;

  bool has(const char* name) const { return given.count(name) > 0; }
  /// As given, else the default.
  std::string value(const char* name) const;
  bool on(const char* name) const { return value(name) == "on"; }
};
/// Throws Error 100000 that names option, value and what is allowed.
CommandLine read_command_line(int argc, const char* const* argv);
std::string command_help();

}  // namespace updraft::profiling
