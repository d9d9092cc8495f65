// Graphs of the Ascend IR as protobuf messages (package ge.proto): what TorchAir sends, what an om file holds, and what
// AIR files are. Field numbers: docs/internals/graph.md.
#pragma once
#include <string>

#include "graph/ir/graph.h"

namespace updraft::graph {

/// The bytes of constants beside the message, as an om file has them.
struct WeightBytes {
  std::vector<Bytes> parts;  ///< one after the other, each padded to kWeightAlign
  size_t size = 0;
};
inline constexpr size_t kWeightAlign = 64;

/// A ModelDef message. With `weights` constants lie there, and the message says where; else they are in it.
std::string write_model(const Model& model, WeightBytes* weights = nullptr);

/// The model that a ModelDef describes: its first graph, and the others by their names. Constants share the bytes of
/// `message` or `weights`. Throws 161002 with the place in the message when it is not one, and when a node reads what
/// is not there.
Model read_model(const Bytes& message, const Bytes& weights = {});

/// Numbers of data types in these messages, which differ from those of the interface.
int proto_type(DType type);
DType type_of_proto(int64_t number);

}  // namespace updraft::graph
