// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Offline models made from graphs, in a process of the client.
 */
#ifndef UPDRAFT_GE_GE_IR_BUILD_H_
#define UPDRAFT_GE_GE_IR_BUILD_H_

#include <map>
#include <vector>

#include "graph/graph.h"

namespace ge {

/** An offline model (om) in memory. */
struct ModelBufferData {
  std::shared_ptr<uint8_t> data;
  uint64_t length; /**< bytes */
};

/**
 * Before the other functions, once. Options: ge.socVersion, ge.exec.precision_mode and others
 * (docs/reference/graph-options.md). Returns GRAPH_PARAM_INVALID for a value that an option cannot have;
 * GEGetErrorMsg() tells which.
 */
GE_FUNC_VISIBILITY graphStatus aclgrphBuildInitialize(std::map<AscendString, AscendString>& global_options);
/** After the last of them. */
GE_FUNC_VISIBILITY void aclgrphBuildFinalize();

/**
 * Compiles a graph. Options of this model: input_shape ("x:1,3,224,224;y:2,-1", the bare name for a scalar).
 * The graph stays as it is.
 */
GE_FUNC_VISIBILITY graphStatus aclgrphBuildModel(const Graph& graph,
                                                 const std::map<AscendString, AscendString>& build_options,
                                                 ModelBufferData& model);
/** Writes the model into `output_file`, with .om behind the name where it has none. */
GE_FUNC_VISIBILITY graphStatus aclgrphSaveModel(const char* output_file, const ModelBufferData& model);

/** A graph of a bundle, with the options of aclgrphBuildModel. */
struct GraphWithOptions {
  Graph graph;
  std::map<AscendString, AscendString> build_options;
};

/** A graph whose weights can be refreshed: what aclgrphBundleBuildModel takes. */
struct WeightRefreshableGraphs {
  Graph infer_graph;      /**< reads variables where the graph had constants */
  Graph var_init_graph;   /**< without inputs: gives the variables the values of the constants */
  Graph var_update_graph; /**< gives the variables its inputs, in the order of the names */
};

/**
 * Makes variables of the constants (Const) with these names. The graph stays as it is. GRAPH_FAILED for a name that is
 * none of a constant; GEGetErrorMsg() tells which.
 */
GE_FUNC_VISIBILITY graphStatus
aclgrphConvertToWeightRefreshableGraphs(const Graph& origin_graph, const std::vector<AscendString>& const_names,
                                        WeightRefreshableGraphs& weight_refreshable_graphs);
/**
 * Compiles two graphs or more into one model file. They share variables by their names. aclmdlBundleLoadFromFile and
 * aclmdlBundleLoadFromMem (acl/acl_mdl.h) load it.
 */
GE_FUNC_VISIBILITY graphStatus aclgrphBundleBuildModel(const std::vector<GraphWithOptions>& graph_with_options,
                                                       ModelBufferData& model);
/** Writes such a model into `output_file`, with .om behind the name where it has none. */
GE_FUNC_VISIBILITY graphStatus aclgrphBundleSaveModel(const char* output_file, const ModelBufferData& model);

}  // namespace ge

#endif  // UPDRAFT_GE_GE_IR_BUILD_H_
