// Graphs as files while they are compiled: DUMP_GE_GRAPH, DUMP_GRAPH_LEVEL and DUMP_GRAPH_PATH.
//
//   ge_proto_00003_graph_1_Build.txt     ge.proto.ModelDef as text, which atc --mode=5 turns into JSON
//   ge_onnx_00003_graph_1_Build.pbtxt    the same nodes as an ONNX model in text, for viewers
#pragma once
#include <cstdint>
#include <string>

#include "graph/ir/graph.h"

namespace updraft::graph {

class GraphDump {
 public:
  /// What the variables say now. Throws OptionError for a value that one cannot have, and for a folder that is missing
  /// or that nobody may write to.
  explicit GraphDump(uint32_t graph_id);

  bool on() const { return detail_ != Detail::None; }
  /// Writes both files where the variables ask for this stage; kFirst and kLast are the ends of a compilation.
  void stage(const Model& model, const char* name);

  static constexpr const char* kFirst = "PreRunBegin";
  static constexpr const char* kLast = "Build";

 private:
  enum class Detail : uint8_t { None, Full, NoWeights, EdgesOnly };
  enum class Level : uint8_t { All = 1, NoSubgraphs, Last, First };

  uint32_t graph_id_;
  Detail detail_ = Detail::None;
  Level level_ = Level::NoSubgraphs;
  std::string folder_;
};

/// A model as an ONNX ModelProto in text. Operator types have "ge:" in front, since they are no operators of ONNX; the
/// bytes of constants are left out. Without `attributes` nodes have their edges alone.
std::string onnx_text(const Model& model, bool attributes);

}  // namespace updraft::graph
