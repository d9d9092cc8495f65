#include "observe/profiling/export/command_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "base/error.h"

namespace updraft::profiling {
namespace {

constexpr Effect kHas = Effect::Has, kNothing = Effect::Nothing, kRefused = Effect::Refused;

bool in_list(std::string_view list, std::string_view value) {
  while (true) {
    const size_t end = list.find('|');
    if (list.substr(0, end) == value) return true;
    if (end == std::string_view::npos) return false;
    list.remove_prefix(end + 1);
  }
}

bool read_number(std::string_view text, int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

void check(const CommandOption& option, const std::string& value) {
  const std::string_view values = option.values;
  if (values.empty()) {
    if (value.empty()) throw Error(code::kAclInvalidParam, "--{} has no value", option.name);
    return;
  }
  if (values[0] >= '0' && values[0] <= '9') {  // a range
    int64_t lowest = 0, highest = 0, number = 0;
    const size_t dash = values.find('-');
    read_number(values.substr(0, dash), lowest);
    read_number(values.substr(dash + 1), highest);
    if (!read_number(value, number) || number < lowest || number > highest)
      throw Error(code::kAclInvalidParam, "--{} is \"{}\", want a number in [{}, {}]{}", option.name, value, lowest,
                  highest, *option.usual ? fmt::format(" (default {})", option.usual) : "");
    return;
  }
  if (!in_list(values, value))
    throw Error(code::kAclInvalidParam, "--{} is \"{}\", want {}", option.name, value, values);
}

const CommandOption* find(std::string_view name) {
  for (const CommandOption& option : command_options())
    if (name == option.name) return &option;
  return nullptr;
}

// The known option that is nearest to a mistyped one: the longest common beginning.
const char* nearest(std::string_view name) {
  const char* best = "";
  size_t length = 2;
  for (const CommandOption& option : command_options()) {
    const std::string_view known = option.name;
    size_t same = 0;
    while (same < std::min(known.size(), name.size()) && known[same] == name[same]) ++same;
    if (same > length) {
      length = same;
      best = option.name;
    }
  }
  return best;
}

}  // namespace

const std::vector<CommandOption>& command_options() {
  static const std::vector<CommandOption> list = {
      // profile a program
      {"application", "", "", kHas, "", "the program with its arguments, in quotes; or write them behind the options"},
      {"output", "", "", kHas, "output", "folder for PROF_*, or the folder PROF_* to export (default: where you are)"},
      {"storage-limit", "", "", kHas, "storage_limit",
       "most megabytes of raw records, 200MB to 4294967296MB; the oldest go"},
      {"ascendcl", "on|off", "on", kHas, "ascendcl", "calls of the C interface"},
      {"runtime-api", "on|off", "off", kHas, "runtime_api", "calls of the runtime as a level of their own"},
      {"task-time", "on|off|l0|l1|l2", "on", kHas, "task_time", "times of tasks; l0 without shapes"},
      {"task-trace", "on|off|l0|l1|l2", "", kHas, "task_time", "the same by its older name"},
      {"ai-core", "on|off", "on", kHas, "", "metrics of AI cores, modelled, with --aic-metrics"},
      {"aic-mode", "task-based|sample-based", "task-based", kHas, "",
       "metrics by task; sample-based is refused, a CPU has no such counters"},
      {"aic-metrics", "", "", kHas, "aic_metrics",
       "PipeUtilization, ArithmeticUtilization, Memory, MemoryL0, MemoryUB, ResourceConflictRatio, L2Cache, "
       "MemoryAccess (modelled)"},
      {"aicpu", "on|off", "off", kHas, "aicpu", "operators that run on the host's cores"},
      {"hccl", "on|off", "off", kHas, "hccl", "collectives"},
      {"model-execution", "on|off", "off", kHas, "training_trace", "iterations of graphs"},
      {"task-memory", "on|off", "off", kHas, "task_memory", "memory of operators"},
      {"msproftx", "on|off", "off", kHas, "msproftx", "marks and ranges of mstx and aclprof"},
      {"mstx-domain-include", "", "", kHas, "mstxDomainInclude", "only marks of these domains (clients read it)"},
      {"mstx-domain-exclude", "", "", kHas, "mstxDomainExclude", "no marks of these domains (clients read it)"},
      {"sys-hardware-mem", "on|off", "off", kHas, "", "samples of device memory and its traffic"},
      {"sys-hardware-mem-freq", "1-100", "50", kHas, "sys_hardware_mem_freq", "how many of them a second"},
      {"sys-io-profiling", "on|off", "off", kHas, "", "samples of the network"},
      {"sys-io-sampling-freq", "1-100", "100", kHas, "sys_io_sampling_freq", "how many of them a second"},
      {"sys-interconnection-profiling", "on|off", "off", kHas, "", "bytes that ranks exchange through shared memory"},
      {"sys-interconnection-freq", "1-50", "50", kHas, "sys_interconnection_freq", "how many samples of them a second"},
      {"host-sys", "", "", kHas, "host_sys", "samples of this program: cpu, mem"},
      {"host-sys-usage", "", "", kHas, "host_sys_usage", "samples of the machine: cpu, mem"},
      {"host-sys-usage-freq", "1-50", "50", kHas, "host_sys_usage_freq", "how many of them a second"},
      {"dynamic", "on|off", "off", kHas, "", "start, stop and quit, typed in, start and stop profiles of a program"},
      {"pid", "", "", kHas, "",
       "with --dynamic=on: running programs (N, or N,N…), started with PROFILING_MODE=dynamic"},
      {"delay", "1-4294967295", "", kHas, "", "the profile begins so many seconds after the program"},
      {"duration", "1-4294967295", "", kHas, "", "the profile ends after so many seconds, the program goes on"},
      // export
      {"export", "on|off", "off", kHas, "", "makes tables of the profile in --output"},
      {"type", "text|db", "text", kHas, "", "of the tables: text, csv files and a timeline, or db, a SQLite database"},
      {"summary-format", "csv|json", "csv", kHas, "", "of the tables with --type=text; json writes them in both forms"},
      {"iteration-id", "1-4294967295", "", kHas, "", "exports only this iteration"},
      {"model-id", "0-4294967295", "", kHas, "", "exports only tasks of this graph"},
      {"query", "on|off", "off", kHas, "", "prints graphs and iterations of the profile in --output"},
      {"analyze", "on|off", "off", kHas, "", "collectives by operation and link, in PROF_*/analyze"},
      {"rule", "", "communication,communication_matrix", kHas, "", "what --analyze makes"},
      {"parse", "on|off", "off", kNothing, "", "raw records need no step before the export"},
      {"clear", "on|off", "off", kNothing, "", "an export leaves nothing behind that could be cleared"},
      {"reports", "", "", kNothing, "", "all layers of the timeline are written"},
      {"python-path", "", "", kNothing, "", "the export is no Python program"},
      // of a card
      {"environment", "", "", kNothing, "", "set variables in front of the command"},
      {"ge-api", "off|l0|l1", "off", kNothing, "", "the graph engine has no layers of calls"},
      {"l2", "on|off", "off", kNothing, "", "a CPU has no counters of the card's L2 cache"},
      {"dvpp-profiling", "on|off", "off", kNothing, "", "pictures are decoded by the CPU"},
      {"dvpp-freq", "1-100", "50", kNothing, "", "pictures are decoded by the CPU"},
      {"llc-profiling", "read|write|capacity|bandwidth", "read", kNothing, "",
       "the CPU's last-level cache is not sampled"},
      {"aic-freq", "1-100", "100", kNothing, "", "metrics are modelled by task"},
      {"aiv", "on|off", "off", kNothing, "", "vector cores are modelled with AI cores"},
      {"aiv-mode", "task-based|sample-based", "task-based", kNothing, "", "vector cores are modelled with AI cores"},
      {"aiv-metrics", "", "", kNothing, "", "vector cores are modelled with AI cores"},
      {"aiv-freq", "1-100", "100", kNothing, "", "vector cores are modelled with AI cores"},
      {"instr-profiling", "on|off", "off", kNothing, "", "a CPU has no instructions of AI cores"},
      {"instr-profiling-freq", "300-30000", "1000", kNothing, "", "a CPU has no instructions of AI cores"},
      {"sys-cpu-profiling", "on|off", "off", kNothing, "", "AI CPU and control CPU are the host: --host-sys-usage=cpu"},
      {"sys-cpu-freq", "1-50", "50", kNothing, "", "AI CPU and control CPU are the host: --host-sys-usage=cpu"},
      {"sys-profiling", "on|off", "off", kNothing, "", "the device's system is the host: --host-sys-usage=cpu,mem"},
      {"sys-sampling-freq", "1-10", "10", kNothing, "", "the device's system is the host: --host-sys-usage=cpu,mem"},
      {"sys-pid-profiling", "on|off", "off", kNothing, "", "the device's processes are the host's: --host-sys=cpu,mem"},
      {"sys-pid-sampling-freq", "1-10", "10", kNothing, "",
       "the device's processes are the host's: --host-sys=cpu,mem"},
      {"host-sys-pid", "1-4194304", "", kRefused, "",
       "only the program that msprof starts can be sampled: name it by --application"},
      {"sys-devices", "", "", kRefused, "",
       "a virtual device does nothing without a program: name one by --application"},
      {"sys-period", "1-2592000", "", kRefused, "",
       "a virtual device does nothing without a program: name one by --application"},
  };
  return list;
}

std::string CommandLine::value(const char* name) const {
  const auto found = given.find(name);
  if (found != given.end()) return found->second;
  const CommandOption* option = find(name);
  return option ? option->usual : "";
}

CommandLine read_command_line(int argc, const char* const* argv) {
  CommandLine line;
  int i = 1;
  for (; i < argc; ++i) {
    std::string word = argv[i];
    if (word == "-h" || word == "--help") {
      line.help = true;
      return line;
    }
    if (word == "--") {
      ++i;
      break;
    }
    if (word.rfind("--", 0) != 0) break;
    word.erase(0, 2);
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const CommandOption* option = find(name);
    if (!option) {
      const char* near = nearest(name);
      throw Error(code::kAclInvalidParam, "the option --{} is not known{}; msprof --help lists them", name,
                  *near ? fmt::format(", did you mean --{}?", near) : "");
    }
    std::string value;
    if (equals != std::string::npos) value = word.substr(equals + 1);
    else if (i + 1 < argc) value = argv[++i];
    else throw Error(code::kAclInvalidParam, "--{} has no value", name);
    check(*option, value);
    if (option->effect == Effect::Refused && value != "off")
      throw Error(code::kAclInvalidParam, "--{} is not possible: {}", name, option->help);
    if (option->effect == Effect::Nothing)
      line.words.push_back(fmt::format("--{}={} changes nothing: {}", name, value, option->help));
    line.given[name] = value;
  }
  for (; i < argc; ++i) line.application.push_back(argv[i]);
  if (line.on("ai-core") && line.value("aic-mode") == "sample-based")
    throw Error(code::kAclInvalidParam,
                "--aic-mode=sample-based is not possible: a CPU has no counters of AI cores to sample");
  return line;
}

std::string command_help() {
  std::string text =
      "Profiles a program on the virtual NPU, and makes tables of profiles.\n\n"
      "usage: msprof [OPTIONS] PROGRAM [ARGUMENTS]     profiles it and exports what was recorded\n"
      "       msprof --dynamic=on [--pid=N]            the same, by start, stop and quit\n"
      "       msprof --export=on --output=PROF_*       exports again (--type=db for a database)\n"
      "       msprof --analyze=on --output=PROF_*      collectives by operation and link\n"
      "       msprof --query=on --output=PROF_*        graphs and iterations\n";
  const auto section = [&](const char* title, Effect effect) {
    text += fmt::format("\n{}\n", title);
    for (const CommandOption& option : command_options()) {
      if (option.effect != effect) continue;
      const std::string form =
          fmt::format("--{}{}", option.name, *option.values ? fmt::format("=<{}>", option.values) : "=<TEXT>");
      text += fmt::format("  {:<44} {}{}\n", form, option.help,
                          *option.usual ? fmt::format(" (default {})", option.usual) : "");
    }
  };
  section("Options:", Effect::Has);
  section("Accepted, and nothing happens, because:", Effect::Nothing);
  section("Refused, because:", Effect::Refused);
  return text;
}

}  // namespace updraft::profiling
