// UPDRAFT_TRACE: a line for every call of the C interface, with the arguments of operators.
#include <unistd.h>

#include <cstdio>
#include <mutex>
#include <string>

#include "base/config.h"
#include "device/observer.h"

namespace updraft {
namespace {

class CallTrace final : public Observer {
 public:
  explicit CallTrace(std::FILE* file) : file_(file) {}

  void call_ended(const ApiCall& call) override {
    if (call.phase == ApiCall::Phase::Launch && call.code == 0) return;  // the first phase has said it all
    std::string detail;
    if (!call.implemented) detail = "not implemented";
    for (size_t i = 0; i < call.argument_count; ++i)
      if (!call.arguments[i].absent()) detail += describe(call.arguments[i]) + ' ';
    const double microseconds = static_cast<double>(call.end.monotonic - call.begin.monotonic) * 1e-3;
    std::lock_guard lock(mutex_);
    std::fprintf(file_, "%d\t%d\t%s\t%d\t%.1f\t%s\n", getpid(), call.thread, call.name, call.code, microseconds,
                 detail.c_str());
    std::fflush(file_);
  }

 private:
  std::FILE* file_;  // never closed: calls may come until the process ends
  std::mutex mutex_;
};

[[maybe_unused]] const bool g_installed = [] {
  at_first_use([] {
    const std::string& path = Config::get().trace;
    if (path.empty()) return;
    if (std::FILE* file = std::fopen(path.c_str(), "ae"))
      subscribe(std::make_shared<CallTrace>(file), watch::kCalls | watch::kArguments);
    else std::fprintf(stderr, "updraft: UPDRAFT_TRACE=%s cannot be written\n", path.c_str());
  });
  return true;
}();

}  // namespace
}  // namespace updraft
