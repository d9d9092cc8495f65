// From a graph as a front end made it to one that is ready to be planned: sizes of inputs, passes, shapes of all
// tensors.
#pragma once
#include <map>
#include <string>

#include "graph/ir/graph.h"
#include "graph/passes/pass.h"
#include "graph/passes/precision.h"
#include "graph/shape/gears.h"

namespace updraft::graph {

using OptionTexts = std::map<std::string, std::string>;

/// By an input's name, the smallest and largest sizes of its dimensions (-1: no upper bound).
using InputRanges = std::map<std::string, std::vector<std::pair<int64_t, int64_t>>>;

/// "x:1,3,224,224;y:2,-1,1~10"; an input without a colon is a scalar. Names may have colons: the last one counts.
/// Throws OptionError with the part that is wrong.
std::map<std::string, Dims> parse_input_shapes(const std::string& text, InputRanges* ranges = nullptr);

/// What dynamic_batch_size, dynamic_image_size or dynamic_dims says; one of them alone. Throws OptionError.
std::optional<Gears> parse_gears(const OptionTexts& options);

/// What was done to a model.
struct CompileReport {
  std::vector<PassCount> passes;
  PrecisionReport precision;
  std::vector<std::string> notes;  ///< what users should know

  void add(const std::vector<PassCount>& counts);
};

/// Refuses (100000) a value that an option cannot have. Names that are not known are let through: clients pass options
/// of other components.
void check_options(const OptionTexts& options);

/// What a profile that records the iterations of training asks of the graphs that are compiled while it runs.
struct IterationTrace {
  bool on = false;
  bool points = false;  ///< the first operator of the forward pass and the last of the backward pass were named
};
void set_iteration_trace(IterationTrace trace);

/// A compiled copy. Throws 161002 with a node's name for what cannot be compiled, OptionError (100000) for options.
/// Throws 100010 where the trace of iterations cannot be had of the graph: one of inference (ge.graphRunMode is 0), or
/// one with unknown sizes whose points were not named.
/// `graph_id` is what files of DUMP_GE_GRAPH are named by.
Model compile(const Model& model, const OptionTexts& options, CompileReport* report = nullptr, uint32_t graph_id = 0);

}  // namespace updraft::graph
