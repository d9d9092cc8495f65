// Steps that take a batch a few images at a time: what one of them makes of the whole batch would have left the cache
// before the next one reads it.
#pragma once
#include <vector>

#include "base/parallel.h"
#include "graph/planner/program.h"

namespace updraft::graph {

struct ImageBlock {
  size_t begin, end;  ///< its steps; `end` is not one of them
  int64_t batch;      ///< images that its tensors hold
  int64_t images;     ///< how many of them go through all of its steps before the next ones do; divides `batch`
};

/// Which inputs of the step hold the images of a batch, in their first dimension, as its outputs do. Empty where the
/// step does not treat each image by itself. `fixed` is true of a tensor that is the same in all runs.
std::vector<bool> holds_images(const Step& step, FunctionRef<bool(const StepTensor&)> fixed);

/// The blocks among the steps of a program, in ascending order, for a device of so many threads; places are by the
/// index of their memory (roots of the planner). Steps belong to a block where they move more memory than stays in the
/// caches, and moving their weights once for each round is less than that.
std::vector<ImageBlock> find_image_blocks(const std::vector<Step>& steps, FunctionRef<bool(const StepTensor&)> fixed,
                                          int threads);

}  // namespace updraft::graph
