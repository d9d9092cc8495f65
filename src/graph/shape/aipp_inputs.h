// What AIPP makes of a model's inputs: which node reads their images, and how much memory clients give for them.
#pragma once
#include "graph/ir/graph.h"

namespace updraft::graph {

/// The input for the parameters of dynamic AIPP; of a model with several the next ones are …_1, …_2.
inline constexpr const char* kAippInput = "ascend_dynamic_aipp_data";

/// The Aipp node that reads the images of an input; null where there is none.
const Node* aipp_of(const Node& data);
/// The Aipp node whose parameters an input is; null where it is none.
const Node* aipp_with_parameters(const Node& data);
/// True when clients give the parameters with each execution.
bool is_dynamic_aipp(const Node& aipp);
/// The Data or Const nodes of its images and of its parameters; null where they are absent.
const Node* aipp_images(const Node& aipp);
const Node* aipp_parameters(const Node& aipp);

/// Bytes of an input with these sizes, which are known: of images of dynamic AIPP those of the largest source.
size_t input_bytes(const Node& data, const Dims& dims);

}  // namespace updraft::graph
