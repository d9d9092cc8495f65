#include "verify.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace updraft::migrate {

void verify(const Arguments& a) {
  const char* chosen = std::getenv("UPDRAFT_PYTHON");  // `updraft migrate` sets it to its own
  const std::string python = chosen && *chosen ? chosen : "python3";
  std::vector<std::string> words = {python,
                                    "-m",
                                    "updraft.verify",
                                    "--original",
                                    a.options.input.string(),
                                    "--migrated",
                                    a.options.output.string(),
                                    "--reports",
                                    (a.reports / "verify").string(),
                                    fmt::format("--rtol={}", a.rtol),
                                    fmt::format("--timeout={}", a.verify_timeout),
                                    "--command=" + a.verify};
  if (a.verify_twice) words.emplace_back("--twice");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::setenv("UPDRAFT_LANG", a.chinese ? "zh" : "en", 1);
  std::fflush(nullptr);
  ::execvp(argv[0], argv.data());
  throw Error(code::kAclInvalidFile,
              "--verify: {} cannot be run: {}; name a Python in which Updraft is installed by UPDRAFT_PYTHON", python,
              std::strerror(errno));
}

}  // namespace updraft::migrate
