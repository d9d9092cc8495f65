// atc, from the command line to the exit status. Lines that scripts look for go to stdout, as clients expect.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>

#include "atc/modes.h"
#include "atc/refusal.h"
#include "base/log_to_stdout.h"

namespace updraft::atc {
namespace {

std::string stamp() {
  const auto now = std::chrono::system_clock::now();
  const auto micro = std::chrono::duration_cast<std::chrono::microseconds>(now.time_since_epoch()).count() % 1000000;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d-%H:%M:%S", &parts);
  return fmt::format("{}.{:03}.{:03}", text, micro / 1000, micro % 1000);
}

void print_refusal(const std::string& code, const std::string& text, const std::string& solution) {
  std::printf("ATC run failed, Please check the detail log, Try 'atc --help' for more information\n");
  std::printf("%s: [PID: %d] %s %s\n", code.c_str(), getpid(), stamp().c_str(), text.c_str());
  if (!solution.empty()) std::printf("        Solution: %s\n", solution.c_str());
}

void set_log(const std::string& level) {
  static constexpr std::string_view kLevels[] = {"debug", "info", "warning", "error"};
  for (size_t i = 0; i < std::size(kLevels); ++i)
    if (kLevels[i] == level) log::print_from(static_cast<log::Level>(i));
}

void run_mode(const Arguments& arguments) {
  Progress progress;
  const std::string mode = arguments.get("mode");
  if (mode == "1" || mode == "5") write_json(arguments, progress);
  else if (mode == "3") check_model(arguments, progress);
  else if (mode == "6") print_model(arguments.need("om", "the path of an om file"));
  else if (arguments.has("singleop")) compile_operators(arguments, progress);
  else compile_model(arguments, progress);
}

}  // namespace

int run(int argc, const char* const* argv) {
  bool started = false;
  const auto start = [&] {
    if (!started) std::printf("ATC start working now, please wait for a moment.\n");
    std::fflush(stdout);
    started = true;
  };
  try {
    const Arguments arguments = Arguments::parse(argc, argv);
    if (arguments.has("help")) {
      std::fputs(help().c_str(), stdout);
      return 0;
    }
    set_log(arguments.get("log"));
    start();
    run_mode(arguments);
    std::printf("ATC run success, welcome to the next use.\n");
    for (const Option* option : arguments.idle())
      std::printf("WARNING: --%s has no effect: %s.\n", option->name, option->about);
    return 0;
  } catch (const Refusal& refusal) {
    start();
    print_refusal(refusal.name, refusal.text(), refusal.solution);
  } catch (const Error& e) {
    start();
    // what the engine refuses is about the model: its sentence names the node
    const bool no_operator = e.text().find("no operator of type") != std::string::npos;
    print_refusal(
        no_operator ? "EZ3003" : "E10001", e.text(),
        no_operator ? "docs/reference/operators.md lists the graph operators; atc --mode=3 checks a whole model." : "");
  } catch (const std::exception& e) {
    start();
    print_refusal("E10001", e.what(), "");
  }
  return 1;
}

}  // namespace updraft::atc

/// What the program atc calls.
extern "C" __attribute__((visibility("default"))) int updraft_atc(int argc, const char* const* argv) {
  return updraft::atc::run(argc, argv);
}
