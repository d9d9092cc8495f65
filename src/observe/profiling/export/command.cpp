#include "observe/profiling/export/command.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/json_text.h"
#include "observe/profiling/export/attach.h"
#include "observe/profiling/export/command_options.h"
#include "observe/profiling/export/export.h"
#include "observe/profiling/export/profile.h"
#include "observe/profiling/settings.h"

namespace updraft::profiling {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

void say(const std::string& text) {
  std::fprintf(stdout, "[INFO] %s\n", text.c_str());
  std::fflush(stdout);
}

// The words of a command line in quotes, as a shell splits them (without variables and patterns).
std::vector<std::string> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool any = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      if (c == quote) quote = 0;
      else word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      any = true;
    } else if (c == '\\' && i + 1 < text.size()) {
      word += text[++i];
      any = true;
    } else if (c == ' ' || c == '\t') {
      if (any || !word.empty()) words.push_back(word);
      word.clear();
      any = false;
    } else {
      word += c;
    }
  }
  if (quote) throw Error(code::kAclInvalidParam, "--application ends within quotes: {}", text);
  if (any || !word.empty()) words.push_back(word);
  return words;
}

std::string real_folder(const std::string& path, bool make) {
  std::error_code error;
  if (make) fs::create_directories(path, error);
  char real[PATH_MAX];
  if (error || !realpath(path.c_str(), real))
    throw Error(code::kAclInvalidFile, "--output={}: {}", path, error ? error.message() : std::strerror(errno));
  if (!fs::is_directory(real)) throw Error(code::kAclInvalidFile, "--output={} is no folder", path);
  return real;
}

// What the library reads in the program that is started.
std::string options_of(const CommandLine& line, const std::string& output) {
  Json json;
  json["output"] = output;
  const auto hand = [&](const char* option, const char* key) {
    if (line.has(option)) json[key] = line.value(option);
  };
  const std::string level = line.has("task-trace") ? line.value("task-trace") : line.value("task-time");
  json["task_time"] = level == "off" ? "off" : level == "l0" ? "l0" : "on";
  json["ascendcl"] = line.value("ascendcl");
  for (const auto& [option, key] :
       std::initializer_list<std::pair<const char*, const char*>>{{"runtime-api", "runtime_api"},
                                                                  {"aicpu", "aicpu"},
                                                                  {"hccl", "hccl"},
                                                                  {"msproftx", "msproftx"},
                                                                  {"task-memory", "task_memory"},
                                                                  {"storage-limit", "storage_limit"},
                                                                  {"host-sys", "host_sys"},
                                                                  {"host-sys-usage", "host_sys_usage"},
                                                                  {"host-sys-usage-freq", "host_sys_usage_freq"},
                                                                  {"mstx-domain-include", "mstxDomainInclude"},
                                                                  {"mstx-domain-exclude", "mstxDomainExclude"}})
    hand(option, key);
  if (line.on("model-execution")) json["training_trace"] = "on";
  if (line.on("ai-core") && line.has("aic-metrics")) {
    check_metrics(line.value("aic-metrics"));
    json["aic_metrics"] = line.value("aic-metrics");
  }
  if (line.on("sys-hardware-mem") || line.has("sys-hardware-mem-freq"))
    json["sys_hardware_mem_freq"] = line.value("sys-hardware-mem-freq");
  if (line.on("sys-io-profiling") || line.has("sys-io-sampling-freq"))
    json["sys_io_sampling_freq"] = line.value("sys-io-sampling-freq");
  if (line.on("sys-interconnection-profiling") || line.has("sys-interconnection-freq"))
    json["sys_interconnection_freq"] = line.value("sys-interconnection-freq");
  // Read here already, so that a wrong value is told before the program starts.
  OptionRules rules;
  rules.source = "msprof";
  rules.training = false;
  read_options(json_text(json), rules);
  return json_text(json);
}

pid_t start_program(const std::vector<std::string>& words, const char* variable, const char* value) {
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child < 0) throw Error(code::kAclInternal, "no process can be started: {}", std::strerror(errno));
  if (child == 0) {
    setenv(variable, value, 1);
    execvp(arguments[0], arguments.data());
    std::fprintf(stderr, "[ERROR] %s cannot be started: %s\n", arguments[0], std::strerror(errno));
    _exit(127);
  }
  return child;
}

int status_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

int run_program(const std::vector<std::string>& words, const std::string& options) {
  const pid_t child = start_program(words, "PROFILER_SAMPLECONFIG", options.c_str());
  // A Ctrl-C is the program's; what was recorded until then is exported.
  std::signal(SIGINT, SIG_IGN);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  std::signal(SIGINT, SIG_DFL);
  return status_of(status);
}

ExportOptions export_options(const CommandLine& line) {
  ExportOptions options;
  options.database = line.value("type") == "db";
  options.text = !options.database;
  options.json_tables = line.value("summary-format") == "json";
  if (line.has("iteration-id")) options.iteration = std::stoll(line.value("iteration-id"));
  if (line.has("model-id")) options.model = std::stoll(line.value("model-id"));
  return options;
}

void export_all(const std::vector<std::string>& profiles, const ExportOptions& options) {
  for (size_t i = 0; i < profiles.size(); ++i) {
    say(fmt::format("export {} of {}: {}", i + 1, profiles.size(), profiles[i]));
    for (const std::string& file : export_profile(profiles[i], options)) say("  " + file);
  }
}

// The program has ended, and msprof's status is its own, whatever becomes of the tables.
void export_after_program(const std::vector<std::string>& profiles, const ExportOptions& options) {
  std::string why;
  try {
    export_all(profiles, options);
    for (const std::string& profile : profiles) analyze_profile(profile, {});
    return;
  } catch (const Error& e) { why = e.text(); } catch (const std::exception& e) {
    why = e.what();
  }
  std::fprintf(stderr, "[WARNING] the tables are not whole: %s; msprof --export=on --output=%s makes them anew\n",
               why.c_str(), profiles.front().c_str());
}

int profile_program(const CommandLine& line, std::vector<std::string> words) {
  const std::string output = real_folder(line.has("output") ? line.value("output") : ".", true);
  const std::string options = options_of(line, output);
  std::set<std::string> before;
  for (const auto& entry : fs::directory_iterator(output)) before.insert(entry.path());
  const int status = run_program(words, options);
  std::vector<std::string> made;
  for (const auto& entry : fs::directory_iterator(output))
    if (!before.count(entry.path()) && is_profile(entry.path())) made.push_back(entry.path());
  if (made.empty()) {
    std::fprintf(
        stderr,
        "[WARNING] %s ended with %d and left no profile in %s: it said above why there is none, used no NPU, or not "
        "Updraft's libraries (updraft doctor says which a program loads)\n",
        words[0].c_str(), status, output.c_str());
    return status;
  }
  std::sort(made.begin(), made.end());
  export_after_program(made, export_options(line));
  if (status) std::fprintf(stderr, "[WARNING] %s ended with %d\n", words[0].c_str(), status);
  return status;
}

std::vector<pid_t> processes_of(const std::string& text) {
  std::vector<pid_t> made;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (word.empty() || word.size() > 9 || word.find_first_not_of("0123456789") != std::string::npos || word == "0")
      throw Error(code::kAclInvalidParam, "--pid is \"{}\", want numbers of processes by commas", text);
    made.push_back(static_cast<pid_t>(std::stol(word)));
    at = end + 1;
  }
  return made;
}

// --dynamic, --delay, --duration: profiles begin and end while the program runs.
int profile_parts(const CommandLine& line, const std::vector<std::string>& words) {
  const std::string output = real_folder(line.has("output") ? line.value("output") : ".", true);
  const std::string options = options_of(line, output);
  pid_t child = 0;
  int status = 0;
  const auto alive = [&] {
    if (child > 0 && waitpid(child, &status, WNOHANG) == child) child = -1;
    return child > 0;
  };
  Conversation conversation(options, alive);
  if (line.has("pid"))
    for (pid_t process : processes_of(line.value("pid"))) conversation.attach(process);
  else conversation.launched(child = start_program(words, "PROFILING_MODE", "dynamic"));
  std::signal(SIGINT, SIG_IGN);
  const auto seconds = [&](const char* name, double usual) {
    return line.has(name) ? std::stod(line.value(name)) : usual;
  };
  std::vector<std::string> made =
      line.on("dynamic") ? conversation.by_words() : conversation.by_time(seconds("delay", 0), seconds("duration", -1));
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  std::signal(SIGINT, SIG_DFL);
  std::sort(made.begin(), made.end());
  made.erase(std::unique(made.begin(), made.end()), made.end());
  if (made.empty()) std::fprintf(stderr, "[WARNING] no profile was started\n");
  export_after_program(made, export_options(line));
  return line.has("pid") ? 0 : status_of(status);
}

AnalysisOptions analysis_options(const CommandLine& line) {
  AnalysisOptions options;
  options.database = line.value("type") == "db";
  options.communication = options.matrix = false;
  std::string rest = line.value("rule");
  while (!rest.empty()) {
    const size_t end = rest.find(',');
    const std::string rule = rest.substr(0, end);
    if (rule == "communication") options.communication = true;
    else if (rule == "communication_matrix") options.matrix = true;
    else throw Error(code::kAclInvalidParam, "--rule has \"{}\", want communication, communication_matrix", rule);
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  return options;
}

int run(int argc, char** argv) {
  const CommandLine line = read_command_line(argc, argv);
  if (line.help || argc < 2) {
    std::fputs(command_help().c_str(), stdout);
    return 0;
  }
  for (const std::string& word : line.words) say(word);
  std::vector<std::string> words = line.application;
  if (line.has("application")) {
    if (!words.empty())
      throw Error(code::kAclInvalidParam, "the program is named twice, by --application and by \"{}\"", words[0]);
    words = split_words(line.value("application"));
    if (words.empty()) throw Error(code::kAclInvalidParam, "--application is empty");
  }
  const bool timed = line.has("delay") || line.has("duration");
  if (line.on("dynamic") && timed)
    throw Error(code::kAclInvalidParam, "--dynamic=on is by hand, --delay and --duration by time: give one of the two");
  if (line.has("pid") && !line.on("dynamic")) throw Error(code::kAclInvalidParam, "--pid wants --dynamic=on");
  if (line.on("dynamic") && line.has("pid") == !words.empty())
    throw Error(code::kAclInvalidParam,
                "--dynamic=on wants a program to start, or --pid=N of one that runs: one of the two");
  if (timed && words.empty()) throw Error(code::kAclInvalidParam, "--delay and --duration want a program");
  const bool exports = line.on("export"), analyzes = line.on("analyze"), queries = line.on("query"),
             parses = line.on("parse");
  if (!words.empty()) {
    if (exports || analyzes || queries)
      throw Error(code::kAclInvalidParam, "a program and --{}: a program is exported in any case; give one of the two",
                  exports    ? "export=on"
                  : analyzes ? "analyze=on"
                             : "query=on");
    return line.on("dynamic") || timed ? profile_parts(line, words) : profile_program(line, words);
  }
  if (line.has("pid")) return profile_parts(line, words);
  if (!exports && !analyzes && !queries && !parses)
    throw Error(code::kAclInvalidParam,
                "nothing to do: name a program, or --export=on, --analyze=on or --query=on; msprof --help tells more");
  if (!line.has("output"))
    throw Error(code::kAclInvalidParam, "--output is missing: the folder PROF_*, or one with such folders in it");
  const auto profiles = find_profiles(real_folder(line.value("output"), false));
  if (exports) {
    export_all(profiles, export_options(line));
    // torch_npu looks for these files ten times a second, and gives up when msprof has ended and it has not seen them.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
  if (analyzes)
    for (const std::string& profile : profiles) {
      const auto written = analyze_profile(profile, analysis_options(line));
      for (const std::string& file : written) say("  " + file);
      if (written.empty()) say(profile + " has no collectives: there is nothing to analyze");
    }
  if (queries)
    for (const std::string& profile : profiles) std::fputs(query_profile(profile).c_str(), stdout);
  return 0;
}

}  // namespace

int msprof(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Error& e) {
    std::fprintf(stderr, "[ERROR] msprof: %s\n", e.text().c_str());
  } catch (const std::exception& e) { std::fprintf(stderr, "[ERROR] msprof: %s\n", e.what()); }
  return 1;
}

}  // namespace updraft::profiling
