// What graphs of TorchAir mean where it is not what their operators' descriptions say.
#pragma once
#include "graph/ir/graph.h"

namespace ge {

/// Changes the model's graph, which is copied before, where TorchAir made it.
///
/// In training, its converters hand the second and third output of BatchNormV3 (by its description the running
/// statistics) from the forward to the backward graph, which takes them for mean and variance of the batch
/// (BNTrainingUpdateGrad), and the fourth and fifth to the running statistics of the module. They get what they are
/// taken for, so that a compiled training step is the eager one.
void adapt_torchair(updraft::graph::Model& model);

}  // namespace ge
