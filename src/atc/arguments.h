// The command line of atc.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "atc/option_table.h"

namespace updraft::atc {

class Arguments {
 public:
  /// --name=value or --name value. Throws Refusal for names that there are not, for values that the table does not
  /// have, and for what is refused.
  static Arguments parse(int argc, const char* const* argv);

  bool has(const std::string& name) const { return given_.contains(name); }
  /// The value, or the option's default.
  std::string get(const std::string& name) const;
  bool flag(const std::string& name) const { return get(name) == "1" || get(name) == "true"; }
  /// The value; throws E10007 where it is not there.
  const std::string& need(const std::string& name, const std::string& wanted) const;
  /// All in one line, as it was given.
  const std::string& line() const { return line_; }
  /// Options that were given and do nothing.
  const std::vector<const Option*>& idle() const { return idle_; }

 private:
  void take(const Option& option, std::string value);

  std::map<std::string, std::string> given_;
  std::vector<const Option*> idle_;
  std::string line_;
};

/// The parts of a text, without spaces around them; empty ones are left out.
std::vector<std::string> split(const std::string& text, char at);

}  // namespace updraft::atc
