// A product takes the row that is added to it along, and Relu behind it.
#include <unordered_set>

#include "graph/passes/match.h"
#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

bool is_row(const TensorDesc& desc, const TensorDesc& product) {
  return desc.dims.size() == 1 && product.rank_known() && product.dims.size() >= 2 && desc.dtype == product.dtype &&
         desc.dims[0] > 0 && desc.dims[0] == product.dims.back();
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
  return changes;
}

int64_t take_relu(Graph& graph) {
  int64_t changes = 0;
  std::unordered_set<const Node*> gone;
  for (Node* product : graph.in_order()) {
    if (gone.contains(product) || (product->type() != "MatMulV2" && product->type() != "BatchMatMulV2")) continue;
    const auto flags = product_flags(*product, true);
    Node* relu = flags ? only_reader(*product, "Relu") : nullptr;
    if (!relu || !is_floating(product->output().desc.dtype) || !product->control_inputs().empty()) continue;
    // Who trains looks at layers by their names: dumps and traces have both there.
    if (!constant_at(product->input(1).from)) continue;
    gone.insert(relu);
    take_along(graph, *product, *flags, "relu", *relu, "MatMulReluFusionPass");
    ++changes;
  }
  return changes;
}

}  // namespace updraft::graph
