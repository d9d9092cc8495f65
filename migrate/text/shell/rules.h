// Shell scripts, job scripts, makefiles and command lines: device arguments, environment variables, launchers and
// tools.
#pragma once
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/text/file.h"
#include "migrate/text/sheet.h"
#include "migrate/text/shell/lexer.h"

namespace updraft::migrate::text {

struct ShellOptions {
  bool makefile = false;   ///< NAME ?= value, $(NAME), $$NAME; quotes end with their line
  bool lines = false;      ///< quotes end with their line
  bool expansions = true;  ///< $NAME was not seen yet by who looks at the text around
  int depth = 0;           ///< of texts in texts
};

std::vector<Finding> shell(std::string_view text, const PythonFindings& python = {}, const ShellOptions& options = {});

/// Arguments without a shell (Docker's exec form), each with its place.
struct Argument {
  std::string_view text;
  std::size_t begin;
};
std::vector<Finding> arguments(std::string_view text, const std::vector<Argument>& words, const PythonFindings& python);

// What is said about one command of a shell, whatever it was read from.

class ShellRules : public ShellHandler {
 public:
  ShellRules(Sheet& sheet, const PythonFindings& python, const ShellOptions& options)
      : sheet_(sheet), python_(python), options_(options) {}

  void command(const ShellCommand& command) override;
  void expansion(std::size_t begin, std::size_t end) override;
  void comment(std::size_t begin, std::size_t end) override;
  void patterns(const ShellWord& subject, const std::vector<ShellWord>& words) override;
  void here_document(const ShellCommand& command, std::size_t begin, std::size_t end, bool literal) override;

 private:
  /// Renames the variable at [begin, end) of the script, or says that it has no effect.
  void rename(std::size_t begin, std::size_t end, std::string_view value);
  /// Changes the words of `value`, which stands in `word` from `offset` on.
  bool judged(const ShellWord& word, std::size_t offset, std::string_view key, std::string_view value, bool known);
  bool setting(const ShellWord& word, std::size_t offset, std::string_view key, std::string_view value);
  void flag(const ShellWord& word);
  void variables(const ShellCommand& command);
  void options(const ShellCommand& command);
  void comparisons(const ShellCommand& command);
  static std::size_t code_of(const ShellCommand& command, bool& python);
  void nested(const ShellCommand& command);
  void inside(const ShellWord& word, std::size_t from, bool python);
  void tools(const ShellCommand& command);
  void packages(const ShellCommand& command, std::size_t from);

  Sheet& sheet_;
  const PythonFindings& python_;
  const ShellOptions options_;
};

/// The name of a program without its folder.
std::string_view program_name(std::string_view word);
/// python, python3.11, pypy3 …
bool is_python(std::string_view program);

}  // namespace updraft::migrate::text
