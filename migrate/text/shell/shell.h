// Shell scripts, job scripts, makefiles and command lines: device arguments, environment variables, launchers and
// tools.
#pragma once
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/text/python_findings.h"

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

}  // namespace updraft::migrate::text
