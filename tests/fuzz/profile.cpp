// What msprof and the library read of profiles: a file of raw records, which is exported, or (first byte 'O') the JSON
// of PROFILING_OPTIONS. What is refused is refused by an Error; what is taken gives files.
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "input.h"
#include "observe/profiling/export/tables.h"
#include "observe/profiling/settings.h"

using namespace updraft;
using namespace updraft::profiling;

namespace {

void options(std::string_view text) {
  for (const char* product : {"Ascend910B2", "Ascend310P3", "Ascend910A"}) {
    OptionRules rules;
    rules.product = product;
    rules.usual_output = "/tmp";
    try {
      read_options(text, rules);
    } catch (const Error& e) {
      if (e.code() != 100010) fuzz::wrong("code", e.code());
    }
  }
}

void records(std::string_view bytes) {
  Profile profile;
  profile.metrics = "PipeUtilization";
  profile.soc = "Ascend910B2";
  profile.switches = 0x1ff;
  profile.interconnect_frequency = 50;
  read_records(bytes, profile);
  put_in_order(profile);
  const auto collectives = collectives_of(profile);
  if (profile.tasks.size() > 2000 || collectives.size() > 200) return;
  for (const Collective& c : collectives)
    if (c.ranks > 4096) return;
  Selection selection;
  selection.stamp = "1";
  const auto iterations = iterations_of(profile, collectives);
  write_timeline(profile, collectives, iterations, fuzz::folder(), selection);
  write_operators(profile, collectives, fuzz::folder(), selection);
  write_calls(profile, fuzz::folder(), selection);
  write_communication_statistic(profile, collectives, fuzz::folder(), selection);
  write_communication(profile, collectives, fuzz::folder());
  write_memory(profile, fuzz::folder(), selection);
  write_steps(profile, iterations, fuzz::folder(), selection);
  write_links(profile, collectives, fuzz::folder(), selection);
  write_markers(profile, fuzz::folder(), selection);
  write_host(profile, fuzz::folder(), selection);
  write_aicpu(profile, fuzz::folder(), selection);
  write_database(profile, collectives, fuzz::folder(), selection);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::environment();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!bytes.empty() && bytes[0] == 'O') options(bytes.substr(1));
  else records(bytes);
  return 0;
}
