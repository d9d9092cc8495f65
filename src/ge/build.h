// What the functions that build offline models (aclgrph…) share.
#pragma once
#include <functional>

#include "base/boundary.h"
#include "ge/ge_ir_build.h"
#include "graph/ir/graph.h"

namespace ge {

/// Codes of these functions. Clients such as onnxruntime print the number alone, so the sentence goes to stderr as
/// well.
graphStatus build_status(const char* name, updraft::FunctionRef<void()> body);

/// What is done to a model before it is compiled; it may be the client's own, so its graph is copied before a change.
using Prepare = std::function<void(updraft::graph::Model&)>;

/// The graph with the options of aclgrphBuildInitialize and these, compiled. Throws 100000 for a graph without nodes.
/// `door`: the function that got the options, which says which of them nobody knows.
updraft::graph::Model compiled(const char* door, const Graph& graph,
                               const std::map<AscendString, AscendString>& options, const Prepare& prepare);

/// The file becomes the model's.
void give(ModelBufferData& model, updraft::graph::Bytes file);

/// Writes the model into `output_file`, with .om behind the name where it has none. Throws 100003.
void save(const char* output_file, const ModelBufferData& model);

}  // namespace ge
