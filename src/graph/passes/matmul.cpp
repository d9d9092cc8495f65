// A product takes the row that is added to it along, and Relu behind it.
#include "graph/passes/match.h"
#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

bool is_row(const TensorDesc& desc, const TensorDesc& product) {
  return desc.dims.size() == 1 && product.rank_known() && product.dims.size() >= 2 && desc.dtype == product.dtype &&
         desc.dims[0] > 0 && desc.dims[0] == product.dims.back();
}

/// Relu behind a product, or behind its bias.
int64_t take_relu(Graph& graph) {
  int64_t changes = 0;
  for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
    Node& relu = **it++;
    if (relu.type() != "Relu" || relu.inputs().size() != 1 || !relu.input(0).from || !relu.control_inputs().empty())
      continue;
    Node& product = *relu.input(0).from.node;
    if ((product.type() != "MatMulV2" && product.type() != "BatchMatMulV2") || only_reader(product) != &relu ||
        !is_floating(product.output().desc.dtype) || find_or(product.attributes, "relu", false))
      continue;
    std::vector<std::string> origins = origins_of(product);
    origins.push_back(relu.name());
    product.attributes["relu"] = true;
    product.attributes["PassName"] = "MatMulBiasAddFusionPass";
    product.attributes["OriginOp"] = std::move(origins);
    graph.replace(relu.out(), product.out());
    graph.move_controls(relu, product);
    graph.remove(relu);
    ++changes;
  }
  return changes;
}

}  // namespace

int64_t fuse_products(Graph& graph) {
  int64_t changes = 0;
  for (Node* sum : graph.in_order()) {
    const bool last =
        sum->type() == "BiasAdd" && !find_or<std::string>(sum->attributes, "data_format", "NHWC").starts_with("NC");
    if ((sum->type() != "Add" && !last) || sum->inputs().size() != 2 || !sum->control_inputs().empty()) continue;
    for (int side : {0, 1}) {
      if (last && side == 1) break;
      const Endpoint from = sum->input(side).from, other = sum->input(1 - side).from;
      if (!from || !other || !(other.node->constant() || other.node->is_data())) continue;
      Node& product = *from.node;
      const bool batched = product.type() == "BatchMatMulV2";
      if (!batched && product.type() != "MatMulV2") continue;
      const int bias = product.find_input("bias");
      if ((bias >= 0 && product.input(bias).from) || product.output().uses.size() != 1 ||
          find_or(product.attributes, "relu", false) ||
          !is_row(other.node->output(other.index).desc, product.output().desc))
        continue;
      if (bias >= 0) graph.connect(product, bias, other);
      else graph.add_input(product, "bias", other);
      product.attributes["PassName"] = "MatMulBiasAddFusionPass";
      product.attributes["OriginOp"] = std::vector<std::string>{product.name(), sum->name()};
      graph.replace(sum->out(), product.out());
      graph.move_controls(*sum, product);
      graph.remove(*sum);
      ++changes;
      break;
    }
  }
  return changes + take_relu(graph);
}

}  // namespace updraft::graph
