// The summary of an operator's arguments in the message of its failure.
#include "base/error.h"
#include "device/failure_summary.h"
#include "observe/dump/statistics.h"

namespace updraft {
namespace {

/// A message is read by people: no more of it.
constexpr size_t kMostArguments = 24;
/// Figures of larger inputs would hold up the message.
constexpr int64_t kMostElements = int64_t{1} << 28;

std::string text_of(std::span<const Argument> arguments) {
  std::string text = "\n  called with:";
  size_t told = 0;
  for (const Argument& argument : arguments) {
    if (argument.absent()) continue;
    if (++told > kMostArguments) return text + fmt::format("\n    … ({} more)", arguments.size() - kMostArguments);
    text += "\n    " + describe(argument);
    const TensorArgument* tensor = argument.tensor();
    if (tensor && is_read(argument.direction) && tensor->view.data && tensor->view.numel() <= kMostElements)
      text += ": " + dump::describe(dump::statistics_of(tensor->view));
  }
  return told ? text : std::string();
}

[[maybe_unused]] const bool g_set = [] {
  set_failure_text(text_of);
  return true;
}();

}  // namespace
}  // namespace updraft
