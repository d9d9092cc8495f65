// Nodes of graphs that are collectives (HcomAllReduce …): they are operations of a stream, beside the work of engines.
#pragma once
#include <vector>

#include "graph/ir/graph.h"

namespace updraft {
class Stream;
}

namespace updraft::graph {

/// A tensor of a collective, on the device as clients see it.
struct CollectiveTensor {
  void* data = nullptr;
  DType dtype = DType::Undefined;
  Dims dims;
};

/// Puts the node's operation on the stream. Throws for a group that nobody has made, and what the operation refuses.
using CollectiveDoor = void (*)(const Node& node, const std::vector<CollectiveTensor>& inputs,
                                const std::vector<CollectiveTensor>& outputs, Stream& stream);

/// True for types that are collectives, products between ranks (MatmulAllReduce) among them.
bool is_collective(const Node& node);
/// True for those that the door knows; the others are operators, whose plans the stream takes (ops/exchange.h).
bool is_of_the_door(const Node& node);

/// Who knows groups of ranks (src/hccl) says once how it is done.
void set_collective_door(CollectiveDoor door);
CollectiveDoor collective_door();

/// The last of each part into which a group's strategy divides gradients of so many bytes, in the order in which they
/// become ready. Throws where the strategy is one for another number of gradients.
using SegmentsDoor = std::vector<size_t> (*)(const std::string& group, const std::vector<uint64_t>& bytes);
/// A group's strategy in words, empty where it has none of its own: what is compiled by it is good for no other.
using StrategyDoor = std::string (*)(const std::string& group);
void set_segments_door(SegmentsDoor door, StrategyDoor strategy);
SegmentsDoor segments_door();
/// Empty also in a program without collectives.
std::string collective_strategy(const std::string& group);

}  // namespace updraft::graph
