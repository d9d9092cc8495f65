#include "ge/network_analysis.h"

#include <algorithm>
#include <cstdio>

#include "base/log.h"
#include "graph/node_call.h"

namespace ge {

void report_failure(uint32_t id, const updraft::graph::Graph& graph, const std::string& reason) {
  std::string text = fmt::format("graph {} ({}) cannot be compiled: {}", id, graph.name(), reason);
  static constexpr std::string_view kOwn[] = {"Data",      "RefData",      "Const",           "Constant",
                                              "NetOutput", "FileConstant", "ConstPlaceHolder"};
  for (const auto& node : graph.nodes()) {
    const bool known = updraft::graph::operator_of(*node) || updraft::graph::is_control_flow(*node) ||
                       std::ranges::find(kOwn, std::string_view(node->type())) != std::end(kOwn);
    if (!known && reason.find(node->name()) == std::string::npos)
      text += fmt::format("\n  node {}: the virtual NPU has no operator {}", node->name(), node->type());
  }
  UPDRAFT_LOG(kError, "GE", "{}", text);
  std::fprintf(stderr, "updraft: ENABLE_NETWORK_ANALYSIS_DEBUG: %s\n", text.c_str());
}

}  // namespace ge
