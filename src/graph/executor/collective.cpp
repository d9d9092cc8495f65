#include "graph/executor/collective.h"

#include "base/error.h"
#include "graph/node_call.h"

namespace updraft::graph {
namespace {

constinit CollectiveDoor g_door = nullptr;
constinit SegmentsDoor g_segments = nullptr;
constinit StrategyDoor g_strategy = nullptr;

}  // namespace

bool is_of_the_door(const Node& node) { return node.type().starts_with("Hcom"); }

bool is_collective(const Node& node) {
  if (is_of_the_door(node)) return true;
  const OpInfo* info = operator_of(node);
  return info && waits_for_ranks(*info);
}

void set_collective_door(CollectiveDoor door) { g_door = door; }

CollectiveDoor collective_door() {
  if (!g_door) throw Error(code::kAclInternal, "this program has no collectives");
  return g_door;
}

void set_segments_door(SegmentsDoor door, StrategyDoor strategy) {
  g_segments = door;
  g_strategy = strategy;
}

std::string collective_strategy(const std::string& group) { return g_strategy ? g_strategy(group) : std::string(); }

SegmentsDoor segments_door() {
  if (!g_segments) throw Error(code::kAclInternal, "this program has no collectives");
  return g_segments;
}

}  // namespace updraft::graph
