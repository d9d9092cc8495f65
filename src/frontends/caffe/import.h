// Caffe's models become graphs of the Ascend IR.
#pragma once
#include "frontends/import_options.h"
#include "graph/ir/graph.h"

namespace updraft::caffe {

/// Outputs are named "layer:index", "layer:index:top" or by a top alone. Without names they are the tops that no layer
/// reads, in the order of the layers.
using frontends::ImportOptions;

/// The graph of a net as it is tested (`.prototxt`) with its weights (`.caffemodel`). Data nodes have the names of the
/// inputs; the graph's attribute "output_names" is a list with "layer:index:top". Without named outputs all layers are
/// converted, else those that they need. Constants share the bytes of the weights. Throws 161002 with the layer's name,
/// its type and the reason.
graph::Model import(const graph::Bytes& prototxt, graph::Bytes caffemodel, const ImportOptions& options = {});

}  // namespace updraft::caffe
