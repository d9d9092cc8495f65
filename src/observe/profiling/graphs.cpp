// The trace of iterations that PROFILING_OPTIONS asks for is about graphs of training: the graph engine is told of it.
#include "graph/compile/compile.h"
#include "observe/profiling/session.h"

namespace updraft::profiling {
namespace {

[[maybe_unused]] const bool g_installed = [] {
  listen([](bool start, uint64_t, const Settings& settings) {
    graph::set_iteration_trace({start && settings.training, !settings.fp_point.empty() && !settings.bp_point.empty()});
  });
  return true;
}();

}  // namespace
}  // namespace updraft::profiling
