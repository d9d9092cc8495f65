#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

constexpr Pass kPasses[] = {
    {"DeadNodeRemovePass", remove_dead_nodes},
    {"IdentityRemovePass", remove_identities},
    {"RequantFusionPass", fuse_quantized},  // before its constant weights become real numbers
    {"ByteTableFusionPass", make_byte_tables},
    {"ConstantFoldingPass", fold_constants},
    {"DeadNodeRemovePass", remove_dead_nodes},
    {"CastRemovePass", cancel_casts},
    {"TransposeRemovePass", cancel_transposes},
    {"MaxPoolPlacesRemovePass", drop_places},
    {"PoolReluGradPass", move_relu_gradients},
    {"FunctionFusionPass", recognise_functions},
    {"LayerNormONNXFusionPass", recognise_layer_norms},
    {"RmsNormFusionPass", recognise_root_norms},
    {"ZAttentionScoreFusionPass", fuse_attention},
    {"TransposeCastFusionPass", cast_behind_transposes},
    {"TransposeMatMulFusionPass", swap_transposed_products},
    {"MatMulCastFusionPass", widen_products},
    {"MatMulBiasAddFusionPass", fuse_products},
    {"ConvBatchnormFusionPass", fold_batch_norms},
    {"ConvBiasAddFusionPass", add_biases},
    {"ConvBatchnormFusionPass", take_batch_norms},
    {"ConvEltwiseFusionPass", fuse_convolutions},
    {"BatchNormEltwiseFusionPass", fuse_training_norms},
    {"MatMulReluFusionPass", take_relu},
    {"ScalarMergePass", merge_equal_numbers},
    {"AdamUpdateFusionPass", fuse_adam_updates},
    {"MomentumUpdateFusionPass", fuse_momentum_updates},
    {"CommonSubexpressionEliminationPass", merge_equal_nodes},  // patterns of passes before have a node for each reader
    {"HcomAllReduceFusionPass", fuse_collectives},
    {"SubnormalFlushPass", flush_subnormals},
};
constexpr int kMostRounds = 4;

}  // namespace

std::span<const Pass> all_passes() { return kPasses; }

std::vector<PassCount> run_passes(Graph& graph, const PassSwitches& switches) {
  std::vector<PassCount> counts;
  for (const Pass& pass : kPasses) counts.push_back({pass.name, 0});
  for (int round = 0; round < kMostRounds; ++round) {
    int64_t changes = 0;
    for (size_t p = 0; p < counts.size(); ++p) {
      if (!switches.on(kPasses[p].name)) continue;
      const int64_t n = kPasses[p].run(graph);
      counts[p].changes += n;
      changes += n;
    }
    if (changes == 0) break;
  }
  return counts;
}

}  // namespace updraft::graph
