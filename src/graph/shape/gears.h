// Gears: models whose inputs have one of a few sizes, which the client chooses before each execution
// (dynamic_batch_size and its kin). Such a model has one input more, ascend_mbatch_shape_data, which the choice is
// written to.
#pragma once
#include <optional>
#include <vector>

#include "graph/ir/graph.h"

namespace updraft::graph {

inline constexpr size_t kMostGears = 100;
inline constexpr const char* kGearInput = "ascend_mbatch_shape_data";
/// Of an input of YUV420SP images: below the rows of Y there are half as many of UV, so that its rows are one and a
/// half times those that a gear says.
inline constexpr const char* kSharedPlanes = "_shared_planes";

struct Gears {
  enum class Kind : uint8_t { Batch = 1, Image = 2, Dims = 3 };
  Kind kind = Kind::Batch;
  /// What the client says of each: a batch size, height and width, or a number for each unknown dimension.
  std::vector<Dims> values;

  /// The gear with these numbers; nothing where there is none.
  std::optional<size_t> find(const Dims& value) const;
  /// "1, 2, 4" or "[416, 416], [832, 832]".
  std::string text() const;
};

/// The gears that a graph was compiled with.
std::optional<Gears> gears_of(const Graph& graph);

/// Marks the graph's inputs and gives it the input for the choice. Throws 100000 where the unknown dimensions do not
/// fit.
void set_gears(Graph& graph, const Gears& gears);

/// The number of a gear for an input whose unknown dimension d has that size; -1 where there is none.
int64_t gear_number(const Node& input, size_t d, int64_t size);

/// The shapes of all inputs, the one for the choice included, in that gear.
std::vector<Dims> gear_shapes(const Graph& graph, const Gears& gears, size_t gear);

}  // namespace updraft::graph
