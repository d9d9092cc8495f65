// Products between ranks (MatmulAllReduce …) by the names of graphs. Like collectives they are operations of a stream:
// the graph's executor puts them there between its parts.
#include "ops/matmul/between_ranks.h"

#include <numeric>

#include "ops/exchange.h"
#include "ops/gathered.h"
#include "ops/ir/shapes.h"
#include "ops/matmul/quantised.h"
#include "ops/moe/products_of_ranks.h"

namespace updraft {
namespace {

using between_ranks::Factors;
using ir::Dims;

constexpr int64_t kOpen = 28;  // a type that is left to the operator

/// What y is: as the attribute says, else `type`.
DType type_of_product(const Op& op, int64_t y_dtype, DType type) {
  if (y_dtype == kOpen) return type;
  const auto named = static_cast<DType>(y_dtype);
  op.require(named == DType::Float || is_half(named),
             "attribute y_dtype is {}, want 0 (FLOAT), 1 (FLOAT16), 27 (BFLOAT16) or 28 (as x1)", y_dtype);
  return named;
}

struct Turned {
  TensorView x1, x2;
  Turned(const Op& op, const In& a, const In& b, bool turn_a, bool turn_b)
      : x1(ir::turned(op, "x1", *a, turn_a)), x2(ir::turned(op, "x2", *b, turn_b)) {
    op.require(x1.rank >= 2 && x2.rank == 2, "x1 is {} and x2 {}, want matrices", describe(*a), describe(*b));
  }
};

void plan_gather(Op& op, const Factors& f, int64_t gather_index, int64_t rank_size, bool gathered, const char* group,
                 DType type, const Out& y, const Out& gather_out) {
  op.require(rank_size > 0, "attribute rank_size is {}, want how many ranks {} has", rank_size, group);
  const int64_t rows = f.x1.dims[0] * rank_size;
  ir::result(op, "y", *y, {rows, f.x2.dims[1]}, type);
  ir::result(op, "gather_out", *gather_out, gathered ? Dims{rows, f.x1.dims[1]} : Dims{0}, f.x1.dtype);
  between_ranks::plan_all_gather(op, f, group, gather_index, y, gather_out.handle);
}

void plan_scatter(Op& op, const Factors& f, int64_t rank_size, const char* group, const char* reduce, DType type,
                  const Out& y) {
  op.require(rank_size > 0 && f.x1.dims[0] % rank_size == 0,
             "x1 is {}: want rows for each of the {} ranks that attribute rank_size names", describe(f.x1), rank_size);
  ir::result(op, "y", *y, {f.x1.dims[0] / rank_size, f.x2.dims[1]}, type);
  between_ranks::plan_reduce_scatter(op, f, group, reduce, y);
}

/// Of the second forms: what only newer products have.
void refuse_new(const Op& op, const OptIn& quant_scale, int64_t block_size, int64_t group_size, bool amax) {
  op.require(!quant_scale, "quant_scale is given, which is not supported");
  ir::want(op, "block_size", block_size, 0);
  ir::want(op, "group_size", group_size, 0);
  ir::want(op, "is_amax_out", amax, false);
}

/// The type of a product where the attribute is FLOAT by default, which INT8 has no product of.
DType type_of_v2(const Op& op, int64_t y_dtype, const TensorView& x1) {
  return x1.dtype == DType::Int8 ? type_of_product(op, y_dtype, DType::Float16) : x1.dtype;
}

void refuse_quantised(const Op& op, bool factors, std::initializer_list<int64_t> modes,
                      std::initializer_list<int64_t> types) {
  op.require(!factors, "x1_scale, x2_scale, comm_scale, x1_offset or x2_offset is given, which is not supported");
  for (int64_t mode : modes)
    op.require(mode == 0, "an attribute of quantised operands (…_quant_mode, group_size) is {}, want 0", mode);
  for (int64_t type : types)
    op.require(type == kOpen, "an attribute of quantised operands (…_quant_dtype) is {}, want {}", type, kOpen);
}

void want_real(const Op& op, int64_t y_dtype, const TensorView& x1, const char* comm_mode) {
  op.require(y_dtype == kOpen || static_cast<DType>(y_dtype) == x1.dtype,
             "attribute y_dtype is {}, want the type of x1, {}", y_dtype, static_cast<int>(x1.dtype));
  between_ranks::check_mode(op, "comm_mode", comm_mode);
}

void want_axes(const Op& op, const Dims& axes, int64_t from, int64_t to) {
  op.require(axes.empty() || axes == Dims{from, to}, "attribute all2all_axes is [{}], want [{}, {}]",
             fmt::join(axes, ", "), from, to);
}

void refuse_count_tensors(const Op& op, bool given) {
  op.require(!given, "send_counts_tensor or recv_counts_tensor is given, which is not supported: give the lists alone");
}

}  // namespace

IR_OP(MatmulAllReduce, aclnnMatmulAllReduceV3, (In, x1), (In, x2), (OptIn, bias), (OptIn, x3), (OptIn, antiquant_scale),
      (OptIn, antiquant_offset), (OptIn, dequant_scale), (OptIn, pertoken_scale), (OptIn, comm_quant_scale_1),
      (OptIn, comm_quant_scale_2), (Out, y), (Text, group), (Text, reduce_op, "sum"), (Bool, is_trans_a, false),
      (Bool, is_trans_b, false), (Int, comm_turn, 0), (Int, antiquant_group_size, 0), (Int, group_size, 0),
      (Int, y_dtype, 28), (Int, comm_quant_mode, 0), (Text, comm_mode, "ai_cpu")) {
  (void)comm_turn;  // how a card cuts the work
  op.require(!comm_quant_scale_1 && !comm_quant_scale_2,
             "comm_quant_scale_1 or comm_quant_scale_2 is given: what ranks exchange is not quantised here");
  ir::want(op, "comm_quant_mode", comm_quant_mode, 0);
  ir::want(op, "group_size", group_size, 0);
  between_ranks::check_mode(op, "comm_mode", comm_mode);
  const Turned t(op, x1, x2, is_trans_a, is_trans_b);
  Dims dims = ir::dims_of(t.x1);
  dims.back() = t.x2.dims[1];
  ir::suggest(op, *y, dims, type_of_product(op, y_dtype, dequant_scale ? DType::Float16 : t.x1.dtype));
  if (antiquant_scale)
    return between_ranks::plan_all_reduce(
        op, t.x1, {t.x2, *antiquant_scale, optional_view(antiquant_offset), optional_view(bias), antiquant_group_size},
        optional_view(x3), group, reduce_op, y);
  between_ranks::plan_all_reduce(
      op, {t.x1, t.x2, optional_view(bias), optional_view(pertoken_scale), optional_view(dequant_scale)},
      optional_view(x3), group, reduce_op, y);
}
IR_OP(AllGatherMatmul, aclnnAllGatherMatmul, (In, x1), (In, x2), (OptIn, bias), (Out, y), (Out, gather_out),
      (Text, group), (Bool, is_trans_a, false), (Bool, is_trans_b, false), (Int, gather_index, 0), (Int, comm_turn, 0),
      (Int, rank_size, 0), (Bool, is_gather_out, true)) {
  (void)comm_turn;
  const Turned t(op, x1, x2, is_trans_a, is_trans_b);
  plan_gather(op, {t.x1, t.x2, optional_view(bias)}, gather_index, rank_size, is_gather_out, group, t.x1.dtype, y,
              gather_out);
}
IR_OP(AllGatherMatmulV2, aclnnAllGatherMatmulV2, (In, x1), (In, x2), (OptIn, bias), (OptIn, x1_scale),
      (OptIn, x2_scale), (OptIn, quant_scale), (Out, y), (Out, gather_out), (Out, amax_out), (Text, group),
      (Bool, is_trans_a, false), (Bool, is_trans_b, false), (Int, gather_index, 0), (Int, comm_turn, 0),
      (Int, rank_size, 0), (Int, block_size, 0), (Int, group_size, 0), (Bool, is_gather_out, true),
      (Bool, is_amax_out, false), (Int, y_dtype, 0), (Text, comm_mode, "")) {
  (void)comm_turn;
  refuse_new(op, quant_scale, block_size, group_size, is_amax_out);
  if (*comm_mode) between_ranks::check_mode(op, "comm_mode", comm_mode);
  ir::result(op, "amax_out", *amax_out, {0}, DType::Float);
  const Turned t(op, x1, x2, is_trans_a, is_trans_b);
  plan_gather(op, {t.x1, t.x2, optional_view(bias), optional_view(x1_scale), optional_view(x2_scale)}, gather_index,
              rank_size, is_gather_out, group, type_of_v2(op, y_dtype, t.x1), y, gather_out);
}
IR_OP(MatmulReduceScatter, aclnnMatmulReduceScatter, (In, x1), (In, x2), (OptIn, bias), (Out, y), (Text, group),
      (Text, reduce_op, "sum"), (Bool, is_trans_a, false), (Bool, is_trans_b, false), (Int, comm_turn, 0),
      (Int, rank_size, 0)) {
  (void)comm_turn;
  const Turned t(op, x1, x2, is_trans_a, is_trans_b);
  plan_scatter(op, {t.x1, t.x2, optional_view(bias)}, rank_size, group, reduce_op, t.x1.dtype, y);
}
IR_OP(MatmulReduceScatterV2, aclnnMatmulReduceScatterV2, (In, x1), (In, x2), (OptIn, bias), (OptIn, x1_scale),
      (OptIn, x2_scale), (OptIn, quant_scale), (Out, y), (Out, amax_out), (Text, group), (Text, reduce_op, "sum"),
      (Bool, is_trans_a, false), (Bool, is_trans_b, false), (Int, comm_turn, 0), (Int, rank_size, 0),
      (Int, block_size, 0), (Int, group_size, 0), (Bool, is_amax_out, false), (Int, y_dtype, 28),
      (Text, comm_mode, "ai_cpu")) {
  (void)comm_turn;
  refuse_new(op, quant_scale, block_size, group_size, is_amax_out);
  between_ranks::check_mode(op, "comm_mode", comm_mode);
  ir::result(op, "amax_out", *amax_out, {0}, DType::Float);
  const Turned t(op, x1, x2, is_trans_a, is_trans_b);
  plan_scatter(op, {t.x1, t.x2, optional_view(bias), optional_view(x1_scale), optional_view(x2_scale)}, rank_size,
               group, reduce_op, type_of_v2(op, y_dtype, t.x1), y);
}

// Quantised operands of these two are of newer products alone.
#define ALL_TO_ALL_TENSORS                                                                                          \
  (In, x1), (In, x2), (OptIn, bias), (OptIn, x1_scale), (OptIn, x2_scale), (OptIn, comm_scale), (OptIn, x1_offset), \
      (OptIn, x2_offset)
IR_OP(AlltoAllMatmul, aclnnAlltoAllMatmulV2, ALL_TO_ALL_TENSORS, (Out, y), (Out, all2all_out), (Text, group),
      (Int, world_size), (Ints, all2all_axes, -2, -1), (Int, y_dtype, 28), (Int, x1_quant_mode, 0),
      (Int, x2_quant_mode, 0), (Int, comm_quant_mode, 0), (Int, x1_quant_dtype, 28), (Int, comm_quant_dtype, 28),
      (Bool, transpose_x1, false), (Bool, transpose_x2, false), (Int, group_size, 0), (Bool, alltoall_out_flag, true),
      (Text, comm_mode, "ai_cpu")) {
  refuse_quantised(op, x1_scale || x2_scale || comm_scale || x1_offset || x2_offset,
                   {x1_quant_mode, x2_quant_mode, comm_quant_mode, group_size}, {x1_quant_dtype, comm_quant_dtype});
  const Turned t(op, x1, x2, transpose_x1, transpose_x2);
  want_real(op, y_dtype, t.x1, comm_mode);
  want_axes(op, *all2all_axes, -2, -1);
  const int64_t rows = world_size > 0 ? t.x1.dims[0] / world_size : 0;
  op.suggest(*y, {rows, t.x2.dims[1]}, t.x1.dtype);
  ir::result(op, "all2all_out", *all2all_out, alltoall_out_flag ? Dims{rows, t.x1.dims[1] * world_size} : Dims{0},
             t.x1.dtype);
  between_ranks::plan_all_to_all_product(op, {t.x1, t.x2, optional_view(bias)}, group, world_size, y,
                                         all2all_out.handle);
}
IR_OP(MatmulAlltoAll, aclnnMatmulAlltoAllV2, ALL_TO_ALL_TENSORS, (Out, y), (Text, group), (Int, world_size),
      (Ints, all2all_axes, -1, -2), (Int, y_dtype, 28), (Int, x1_quant_mode, 0), (Int, x2_quant_mode, 0),
      (Int, comm_quant_mode, 0), (Int, comm_quant_dtype, 28), (Bool, transpose_x1, false), (Bool, transpose_x2, false),
      (Int, group_size, 0), (Text, comm_mode, "ai_cpu")) {
  refuse_quantised(op, x1_scale || x2_scale || comm_scale || x1_offset || x2_offset,
                   {x1_quant_mode, x2_quant_mode, comm_quant_mode, group_size}, {comm_quant_dtype});
  const Turned t(op, x1, x2, transpose_x1, transpose_x2);
  want_real(op, y_dtype, t.x1, comm_mode);
  want_axes(op, *all2all_axes, -1, -2);
  between_ranks::plan_product_all_to_all(op, {t.x1, t.x2, optional_view(bias)}, group, world_size, y);
}

// Experts: tokens for those of this rank, and what these made of them back.
#define EXPERT_TENSORS                                                                                    \
  (In, gmm_x), (In, gmm_weight), (OptIn, send_counts_tensor), (OptIn, recv_counts_tensor), (OptIn, mm_x), \
      (OptIn, mm_weight)
#define EXPERT_NUMBERS                                                                                            \
  (Text, group), (Int, ep_world_size), (Ints, send_counts), (Ints, recv_counts), (Bool, trans_gmm_weight, false), \
      (Bool, trans_mm_weight, false)
#define EXPERT_LAYER                                                                                              \
  {                                                                                                               \
    *gmm_x, *gmm_weight, group, ep_world_size, *send_counts, *recv_counts, trans_gmm_weight, optional_view(mm_x), \
        optional_view(mm_weight), trans_mm_weight                                                                 \
  }
IR_OP(AlltoAllvGroupedMatMul, aclnnAlltoAllvGroupedMatMulV2, EXPERT_TENSORS, (Out, gmm_y), (OptOut, mm_y),
      (OptOut, permute_out), EXPERT_NUMBERS, (Bool, permute_out_flag, false), (Text, comm_mode, "ai_cpu")) {
  between_ranks::check_mode(op, "comm_mode", comm_mode);
  refuse_count_tensors(op, send_counts_tensor || recv_counts_tensor);
  if (permute_out) {
    const int64_t rows = std::accumulate(recv_counts->begin(), recv_counts->end(), int64_t{0});
    op.suggest(*permute_out, {permute_out_flag ? rows : 0, permute_out_flag ? row_length(*gmm_x) : 0}, gmm_x->dtype);
  }
  products_of_ranks::plan_arriving(op, EXPERT_LAYER, gmm_y, mm_y, permute_out_flag ? permute_out : OptOut{});
}
IR_OP(GroupedMatMulAlltoAllv, aclnnGroupedMatMulAlltoAllvV2, EXPERT_TENSORS, (Out, y), (OptOut, mm_y), EXPERT_NUMBERS,
      (Text, comm_mode, "ai_cpu")) {
  between_ranks::check_mode(op, "comm_mode", comm_mode);
  refuse_count_tensors(op, send_counts_tensor || recv_counts_tensor);
  products_of_ranks::plan_leaving(op, EXPERT_LAYER, y, mm_y);
}

namespace {
[[maybe_unused]] const WaitsForRanks waiting[] = {
    WaitsForRanks(MatmulAllReduce_ir_info),        WaitsForRanks(AllGatherMatmul_ir_info),
    WaitsForRanks(AllGatherMatmulV2_ir_info),      WaitsForRanks(MatmulReduceScatter_ir_info),
    WaitsForRanks(MatmulReduceScatterV2_ir_info),  WaitsForRanks(AlltoAllMatmul_ir_info),
    WaitsForRanks(MatmulAlltoAll_ir_info),         WaitsForRanks(AlltoAllvGroupedMatMul_ir_info),
    WaitsForRanks(GroupedMatMulAlltoAllv_ir_info),
};
}  // namespace

}  // namespace updraft
