// Products of which each rank of a group has a part (between_ranks.cpp), for the operators of the C interface and of
// graphs.
#pragma once
#include "ops/op.h"

namespace updraft::between_ranks {

/// x1 @ x2 + bias, of real numbers or of INT8 with factors of columns (x2_scale) and rows (x1_scale). What is absent is
/// an empty view.
struct Factors {
  TensorView x1, x2, bias{}, x1_scale{}, x2_scale{};
};
/// Weights in whole numbers: (x2 + offset) * scale.
struct WholeWeights {
  TensorView x2, scale, offset{}, bias{};
  int64_t group = 0;
};

/// out = the sum over all ranks of the product + x3.
void plan_all_reduce(Op& op, const Factors& f, const TensorView& x3, const char* group, const char* reduce,
                     const Out& out);
void plan_all_reduce(Op& op, const TensorView& x1, const WholeWeights& w, const TensorView& x3, const char* group,
                     const char* reduce, const Out& out);
/// out = the rows of x1 of all ranks, one below the other, times x2; gather_out: these rows, where somebody wants them.
void plan_all_gather(Op& op, const Factors& f, const char* group, int64_t gather_index, const Out& out,
                     const aclTensor* gather_out);
/// out = this rank's rows of the sum over all ranks of the product.
void plan_reduce_scatter(Op& op, const Factors& f, const char* group, const char* reduce, const Out& out);
/// out = rows @ x2 + bias; a row holds side by side what the ranks' x1 have in one place: [BS / ranks, ranks * H],
/// where each x1 is [BS, H]. rows_out: these rows, where somebody wants them.
void plan_all_to_all_product(Op& op, const Factors& f, const char* group, int64_t ranks, const Out& out,
                             const aclTensor* rows_out);
/// out = this rank's columns of x1 @ x2 + bias of all ranks, one below the other: [ranks * BS, N / ranks].
void plan_product_all_to_all(Op& op, const Factors& f, const char* group, int64_t ranks, const Out& out);

/// A product of two matrices of real numbers, and what is added to each row.
void check_real(const Op& op, const TensorView& x1, const TensorView& x2, const TensorView& bias);
/// The same when it runs.
void multiply(const TensorView& x1, const TensorView& x2, const TensorView& bias, const TensorView& out);
/// reduce may be null.
void check_group(const Op& op, const char* group, const char* reduce);
/// How a card moves the data.
void check_mode(const Op& op, const char* name, const char* mode);
/// The client's address of a tensor's first element, which other ranks are told.
void* address_of(const Op& op, const char* name, const aclTensor& t);

}  // namespace updraft::between_ranks
