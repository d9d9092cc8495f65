// Products of experts whose tokens come from all ranks, or go back to them (products_of_ranks.cpp), for the operators
// of the C interface and of graphs.
#pragma once
#include <vector>

#include "ops/op.h"

namespace updraft::products_of_ranks {

/// `ranks` have as many experts each. Counts are of rows: those of rank r and an expert e lie at r * experts + e, for
/// what is sent (to the expert, or of this rank's expert to the rank) as for what is received. Rows between ranks lie
/// in this order; rows of products by experts, those of an expert by ranks.
struct Layer {
  TensorView x, weight;  ///< [rows, H]; [experts, H, N], or [experts, N, H] where turn_weight
  const char* group;
  int64_t ranks;
  const std::vector<int64_t>& send_counts;
  const std::vector<int64_t>& receive_counts;
  bool turn_weight;
  TensorView shared_x, shared_weight;  ///< of an expert that all tokens have, on this rank alone; may be absent
  bool turn_shared;
};

/// Tokens of all ranks for the experts of this one: y = rows @ weight, shared_y = shared_x @ shared_weight. rows_out:
/// the tokens by experts, where somebody wants them.
void plan_arriving(Op& op, const Layer& layer, const Out& y, const OptOut& shared_y, const OptOut& rows_out);
/// What the experts of this rank make of the tokens of all ranks, back at these: y = rows of x @ weight of all ranks.
void plan_leaving(Op& op, const Layer& layer, const Out& y, const OptOut& shared_y);

}  // namespace updraft::products_of_ranks
