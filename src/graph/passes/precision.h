// The types that operators compute in: precision_mode, precision_mode_v2, modify_mixlist, keep_dtype, customize_dtypes.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace updraft::graph {

enum class PrecisionMode : uint8_t {
  Origin,        ///< the model's types
  Low,           ///< whatever can: the low type
  CubeLow,       ///< matrix operators the low type, all others the model's
  CubeLowInput,  ///< matrix operators read rounded numbers and write FLOAT; all others FLOAT
  Mixed,         ///< by three lists
};

/// The types that a customize_dtypes line gives; Undefined where it leaves one out.
struct CustomTypes {
  std::vector<DType> inputs, outputs;
};

struct Precision {
  PrecisionMode mode = PrecisionMode::Origin;
  DType low = DType::Float16;
  std::set<std::string, std::less<>> white, black;  ///< of Mixed; other types follow the node before them
  std::set<std::string, std::less<>> keep_nodes, keep_types;
  std::map<std::string, CustomTypes, std::less<>> custom_nodes, custom_types;

  bool changes() const { return mode != PrecisionMode::Origin || !custom_nodes.empty() || !custom_types.empty(); }

  /// Throws OptionError. Without an option it is Origin.
  static Precision parse(const std::map<std::string, std::string>& options);
};

struct PrecisionReport {
  int64_t changed = 0;               ///< nodes with other types than the model's
  int64_t kept = 0;                  ///< nodes that were to change and that have no kernel for it
  int64_t saturated = 0;             ///< constants' numbers that FLOAT16 has not: they became its largest
  std::vector<std::string> unknown;  ///< names in files that no node has
};

/// Rewrites the graph, whose descriptions are filled in; descriptions are stale afterwards. Throws OptionError for a
/// customised type that the operator has not.
PrecisionReport apply_precision(Graph& graph, const Precision& precision);

/// True for matrix products and convolutions.
bool is_cube(const std::string& type);

}  // namespace updraft::graph
