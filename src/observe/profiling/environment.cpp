// Profiles that nobody's program asks for: PROFILING_MODE with PROFILING_OPTIONS, what msprof hands to the program that
// it runs (PROFILER_SAMPLECONFIG), and the object "profiler" of acl.json.
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>

#include "acl/configuration.h"
#include "base/config.h"
#include "base/error.h"
#include "base/log.h"
#include "device/soc.h"
#include "observe/profiling/dynamic.h"
#include "observe/profiling/folder.h"
#include "observe/profiling/session.h"

namespace updraft::profiling {
namespace {

// What was wrong with the variables: told once on stderr, and by aclInit.
std::optional<Error>& refusal() {
  static auto* e = new std::optional<Error>;
  return *e;
}
bool g_by_file = false;  // a profile of acl.json runs; aclInit and aclFinalize hold a lock

OptionRules rules(const char* source) {
  OptionRules r;
  r.source = source;
  r.product = soc().name;
  r.card = Config::get().card_fidelity;
  return r;
}

void start_by(const char* source, const std::string& options, bool training, const char* usual_output = nullptr) {
  OptionRules r = rules(source);
  r.training = training;
  r.usual_output = usual_output;
  run_until_exit(read_options(options, r));
}

/// True for what the disk refuses, which is told and stops nothing: the program has done nothing wrong.
bool tell(const Error& e) {
  const bool goes_on = e.code() == kFailure;
  std::fprintf(stderr, "updraft: nothing is profiled%s: %s\n", goes_on ? ", the program goes on" : "",
               e.text().c_str());
  UPDRAFT_LOG(kError, "PROFILING", "nothing is profiled: {}", e.text());
  return goes_on;
}

void read_environment() {
  const char* handed = std::getenv("PROFILER_SAMPLECONFIG");
  if (handed && *handed) return start_by("msprof", handed, false);
  const char* mode = std::getenv("PROFILING_MODE");
  if (!mode || !*mode) return;
  const std::string word = mode;
  if (word == "false") return;
  if (word == "dynamic") return wait_for_msprof();
  if (word != "true") {
    UPDRAFT_LOG(kWarning, "PROFILING",
                "PROFILING_MODE is \"{}\", which is neither true, dynamic nor false and counts as false", word);
    return;
  }
  const char* options = std::getenv("PROFILING_OPTIONS");
  if (!options || !*options)
    throw Error(100010,
                "PROFILING_MODE is true and PROFILING_OPTIONS is not set: it wants at least {{\"output\":\"FOLDER\"}}");
  start_by("PROFILING_OPTIONS", options, true);
}

void initialize(const char* file, const std::string& json) {
  first_use();
  if (refusal()) throw Error(*refusal());
  if (json.empty()) return;
  if (running()) {
    UPDRAFT_LOG(kWarning, "PROFILING", "{}: profiler is passed over, a profile runs already", file);
    return;
  }
  const std::string source = fmt::format("{}: profiler", file);
  try {
    start_by(source.c_str(), json, false, ".");
    g_by_file = true;
  } catch (const Error& e) {
    if (e.code() != kFailure) throw;
    tell(e);
  }
}

void finalize() {
  if (!g_by_file) return;
  g_by_file = false;
  if (prepared()) finish();
}

[[maybe_unused]] const bool g_installed = [] {
  set_profiler_hook({initialize, finalize});
  at_first_use([] {
    try {
      read_environment();
    } catch (const Error& e) {
      if (!tell(e)) refusal() = e;
    }
  });
  return true;
}();

}  // namespace
}  // namespace updraft::profiling
