// The command line of updraft-migrate.
#pragma once
#include <string>
#include <vector>

#include "migrate/run/pipeline.h"

namespace updraft::migrate {

/// How a run shows itself.
struct Arguments {
  run::Options options;
  std::filesystem::path destination;  ///< -o: folder in which the output tree is made
  bool diff = false, check = false, json = false, in_place = false, force = false, quiet = false, chinese = false;
  bool from_stdin = false;
  bool guide_words = false;          ///< print what the original TensorFlow tool prints
  std::string explain, check_rules;  ///< --explain ID, --check-rules FILE
  bool list_rules = false;
  std::string mode;  ///< of pytorch_analyse: only this mode's tables; empty: all
  std::string last_line;
  std::filesystem::path reports;      ///< folder of the reports; empty: none
  std::filesystem::path sarif, html;  ///< further copies of reports
  std::string verify;                 ///< a command: both trees are run and their losses compared
  bool verify_twice = false;          ///< the original is run again, against itself
  double rtol = 1e-2, verify_timeout = 1800;
};

/// The entry file of a project as a path relative to `input` (a folder, or the file itself), with '/'. `main` is seen
/// from here, else from `input`. Throws Error, which names `option`, where it is no file in it.
std::string entry_file(const std::filesystem::path& input, const std::filesystem::path& main, const char* option);

/// Returns false where the program is to end with `status` (help, a wrong option: said on stderr).
bool parse(int argc, char** argv, Arguments& arguments, int& status);
/// analyse SRC: nothing is rewritten.
bool parse_analyse(int argc, char** argv, Arguments& arguments, int& status);

}  // namespace updraft::migrate
