// Bundles: offline models of several graphs that share variables, so that weights can be refreshed between executions.
#include "base/error.h"
#include "ge/build.h"
#include "ge/graph_impl.h"
#include "graph/compile/refreshable.h"
#include "graph/compile/variables.h"
#include "om/om_file.h"

namespace ge {

using updraft::Error;
namespace code = updraft::code;
namespace ir = updraft::graph;

namespace {

/// Variables become inputs of the model, which say so in its file.
void bind(ir::Model& model) {
  if (!ir::has_variables(model)) return;
  model.graph = ir::copy(*model.graph);
  const auto variables = ir::bind_variables(model);
  ir::note_variables(*model.graph, variables);
}

Graph graph_of(ir::Model model) {
  Graph graph(model.graph->name().c_str());
  graph_impl(graph).model = std::move(model);
  return graph;
}

}  // namespace

graphStatus aclgrphConvertToWeightRefreshableGraphs(const Graph& origin, const std::vector<AscendString>& const_names,
                                                    WeightRefreshableGraphs& graphs) {
  return build_status("aclgrphConvertToWeightRefreshableGraphs", [&] {
    const GraphImpl* impl = graph_impl(origin);
    const ir::Model model = impl ? impl->made() : ir::Model();
    if (!model.graph) throw Error(code::kAclInvalidParam, "the graph has no nodes, or sizes of its inputs are missing");
    if (const_names.empty()) throw Error(code::kAclInvalidParam, "const_names is empty: name the constants to refresh");
    std::vector<std::string> names;
    for (const AscendString& name : const_names) names.emplace_back(name.GetString());
    ir::Refreshable made = ir::make_refreshable(model, names);
    graphs = {graph_of(std::move(made.infer)), graph_of(std::move(made.init)), graph_of(std::move(made.update))};
  });
}

graphStatus aclgrphBundleBuildModel(const std::vector<GraphWithOptions>& graphs, ModelBufferData& model) {
  return build_status("aclgrphBundleBuildModel", [&] {
    if (graphs.size() < 2)
      throw Error(code::kAclInvalidParam, "a bundle has two graphs or more, got {}: aclgrphBuildModel builds one",
                  graphs.size());
    std::vector<ir::Model> models;
    for (const GraphWithOptions& g : graphs)
      models.push_back(compiled("aclgrphBundleBuildModel", g.graph, g.build_options, bind));
    give(model, updraft::om::write_bundle(models));
  });
}

graphStatus aclgrphBundleSaveModel(const char* output_file, const ModelBufferData& model) {
  return build_status("aclgrphBundleSaveModel", [&] {
    if (model.data) updraft::om::bundle_members({nullptr, model.data.get(), model.length});  // refuses what is none
    save(output_file, model);
  });
}

}  // namespace ge
