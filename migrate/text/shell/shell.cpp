#include "migrate/text/shell/shell.h"

#include "migrate/text/sheet.h"
#include "migrate/text/shell/lexer.h"
#include "migrate/text/shell/rules.h"

namespace updraft::migrate::text {

std::vector<Finding> shell(std::string_view text, const PythonFindings& python, const ShellOptions& options) {
  if (auto failure = too_large(text, "TX300"); !failure.empty()) return failure;
  Sheet sheet(text);
  ShellRules rules(sheet, python, options);
  ShellLexer(text, options.lines || options.makefile, rules).run();
  return sheet.take();
}

std::vector<Finding> arguments(std::string_view text, const std::vector<Argument>& words,
                               const PythonFindings& python) {
  Sheet sheet(text);
  ShellRules rules(sheet, python, {});
  ShellCommand command;
  for (const Argument& argument : words) {
    ShellWord& word = command.words.emplace_back();
    word.begin = argument.begin;
    word.end = argument.begin + argument.text.size();
    word.text = argument.text;
    for (std::size_t i = word.begin; i < word.end; ++i) word.at.push_back(static_cast<std::uint32_t>(i));
    word.quoted = true;
    command.end = word.end;
  }
  rules.command(command);
  return sheet.take();
}

}  // namespace updraft::migrate::text
