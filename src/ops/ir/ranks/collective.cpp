// Collectives as nodes of graphs (HcomAllReduce …). What stands here are their shapes: the graph's executor puts the
// operation itself on the stream, between the parts of the graph before and behind it.
#include <numeric>

#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

/// `read`: parameters that the operation itself reads.
template <class... A>
void leave_to_the_graph(Op& op, const A&... read) {
  (static_cast<void>(read), ...);
  op.launch([] {
    throw Error(code::kRtFeatureNotSupport,
                "a collective runs as a node of a graph whose shapes are known before, and not by itself");
  });
}

}  // namespace

ABOUT(HcomAllReduce, AICPU, "y = the sum, product, max or min of x over the ranks of group",
      "y = group 各 rank 的 x 归约")
IR_OP(HcomAllReduce, HcomAllReduce, (In, x), (Out, y), (Text, reduction), (Text, group), (Int, fusion, 1),
      (Int, fusion_id, -1)) {
  op.result_like("y", *y, *x, x->dtype);
  leave_to_the_graph(op, reduction, group, fusion, fusion_id);
}
ABOUT(HcomReduce, AICPU, "y on root_rank = x reduced over the ranks of group",
      "root_rank 上 y = group 各 rank 的 x 归约")
IR_OP(HcomReduce, HcomReduce, (In, x), (Out, y), (Int, root_rank), (Text, reduction), (Text, group), (Int, fusion, 0),
      (Int, fusion_id, -1)) {
  op.result_like("y", *y, *x, x->dtype);
  leave_to_the_graph(op, root_rank, reduction, group, fusion, fusion_id);
}
ABOUT(HcomAllGather, AICPU, "y = x of all ranks of group, one behind the other", "y = group 各 rank 的 x 依次拼接")
IR_OP(HcomAllGather, HcomAllGather, (In, x), (Out, y), (Int, rank_size), (Text, group), (Int, fusion, 0),
      (Int, fusion_id, -1)) {
  op.require(x->rank > 0 && rank_size > 0, "x is {} and rank_size {}, want a dimension and a rank", describe(*x),
             rank_size);
  Dims dims = ir::dims_of(*x);
  dims[0] *= rank_size;
  ir::result(op, "y", *y, dims, x->dtype);
  leave_to_the_graph(op, group, fusion, fusion_id);
}
ABOUT(HcomReduceScatter, AICPU, "y = this rank's part of x reduced over the ranks of group",
      "y = x 在 group 上归约后本 rank 的部分")
IR_OP(HcomReduceScatter, HcomReduceScatter, (In, x), (Out, y), (Text, reduction), (Int, fusion, 0),
      (Int, fusion_id, -1), (Text, group), (Int, rank_size)) {
  op.require(x->rank > 0 && rank_size > 0 && x->dims[0] % rank_size == 0,
             "x is {}: dimension 0 is no multiple of the {} ranks", describe(*x), rank_size);
  Dims dims = ir::dims_of(*x);
  dims[0] /= rank_size;
  ir::result(op, "y", *y, dims, x->dtype);
  leave_to_the_graph(op, reduction, fusion, fusion_id, group);
}
namespace {
/// The rows of dimension 0 that each rank has, as a tensor says it; where the next begins follows from that.
Dims rows_of_ranks(const Op& op, const char* name, const In& counts, const char* places, const OptIn& displacements) {
  const Dims rows = op.integers(name, counts.handle);
  const Dims begins = displacements ? op.integers(places, displacements.handle) : Dims();
  int64_t begin = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    op.require(rows[i] >= 0, "{} has {} at {}, want 0 or more", name, rows[i], i);
    op.require(begins.empty() || (begins.size() == rows.size() && begins[i] == begin),
               "{} leaves room between ranks or lets them overlap: that is not supported", places);
    begin += rows[i];
  }
  return rows;
}
int64_t sum_of(const Dims& rows) { return std::accumulate(rows.begin(), rows.end(), int64_t{0}); }
}  // namespace
ABOUT(HcomAllGatherV, AICPU, "y = the rows of x of all ranks of group, recv_counts of each, one behind the other",
      "y = group 各 rank 的 x 依次拼接，各 rank 行数为 recv_counts")
IR_OP(HcomAllGatherV, HcomAllGatherV, (In, x), (In, send_count), (In, recv_counts), (OptIn, recv_displacements),
      (Out, y), (Text, group)) {
  const Dims rows = rows_of_ranks(op, "recv_counts", recv_counts, "recv_displacements", recv_displacements);
  const int64_t own = integer_of(op, "send_count", send_count.handle);
  op.require(x->rank > 0 && own == x->dims[0], "x is {}, want the {} rows that send_count says", describe(*x), own);
  Dims dims = ir::dims_of(*x);
  dims[0] = sum_of(rows);
  ir::result(op, "y", *y, dims, x->dtype);
  leave_to_the_graph(op, group);
}
ABOUT(HcomReduceScatterV, AICPU, "y = this rank's rows, send_counts of each, of x reduced over the ranks of group",
      "y = x 在 group 上归约后本 rank 的行，各 rank 行数为 send_counts")
IR_OP(HcomReduceScatterV, HcomReduceScatterV, (In, x), (In, recv_count), (In, send_counts), (OptIn, send_displacements),
      (Out, y), (Text, reduction), (Text, group)) {
  const Dims rows = rows_of_ranks(op, "send_counts", send_counts, "send_displacements", send_displacements);
  op.require(x->rank > 0 && sum_of(rows) == x->dims[0], "x is {}, want the {} rows that send_counts says", describe(*x),
             sum_of(rows));
  Dims dims = ir::dims_of(*x);
  dims[0] = integer_of(op, "recv_count", recv_count.handle);
  ir::result(op, "y", *y, dims, x->dtype);
  leave_to_the_graph(op, reduction, group);
}
ABOUT(HcomBroadcast, AICPU, "y = x of root_rank, on all ranks of group", "y = root_rank 的 x，送到 group 各 rank")
IR_OP(HcomBroadcast, HcomBroadcast, (Tensors, x), (OutTensors, y), (Int, root_rank), (Text, group), (Int, fusion, 0),
      (Int, fusion_id, -1)) {
  op.require(x.size() == y.size(), "there are {} inputs and {} outputs, want as many", x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    if (!y.handle->items[i]) throw Error(code::kAclnnNullptr, "y{} is null", i);
    op.result_like("y", y.handle->items[i]->view, x[i], x[i].dtype);
  }
  leave_to_the_graph(op, root_rank, group, fusion, fusion_id);
}
ABOUT(HcomAllToAll, AICPU, "Each rank of group sends an equal part of x to each other",
      "group 中每个 rank 将 x 等分后发送给各 rank")
IR_OP(HcomAllToAll, HcomAllToAll, (In, x), (Out, y), (Text, group)) {
  op.result_like("y", *y, *x, x->dtype);
  leave_to_the_graph(op, group);
}
ABOUT(HcomAllToAllV, AICPU, "Each rank of group sends a part of send_data to each other",
      "group 中每个 rank 向其他 rank 各发送 send_data 的一部分")
IR_OP(HcomAllToAllV, HcomAllToAllV, (In, send_data), (In, send_counts), (In, send_displacements), (In, recv_counts),
      (In, recv_displacements), (Out, recv_data), (Text, group)) {
  int64_t most = 0;
  const auto counts = op.integers("recv_counts", recv_counts.handle);
  const auto places = op.integers("recv_displacements", recv_displacements.handle);
  op.require(counts.size() == places.size(), "there are {} recv_counts and {} recv_displacements, want as many",
             counts.size(), places.size());
  for (size_t i = 0; i < counts.size(); ++i) most = std::max(most, counts[i] ? places[i] + counts[i] : 0);
  ir::result(op, "recv_data", *recv_data, {most}, send_data->dtype);
  leave_to_the_graph(op, group, send_counts, send_displacements);
}
ABOUT(HcomSend, AICPU, "Sends x to dest_rank of group", "将 x 发送给 group 的 dest_rank")
IR_OP(HcomSend, HcomSend, (In, x), (Text, group), (Int, sr_tag), (Int, dest_rank)) {
  leave_to_the_graph(op, x, group, sr_tag, dest_rank);
}
ABOUT(HcomReceive, AICPU, "y = what src_rank of group sends", "y = group 的 src_rank 发来的数据")
IR_OP(HcomReceive, HcomReceive, (Out, y), (Text, group), (Int, sr_tag), (Int, src_rank), (Ints, shape), (Type, dtype)) {
  ir::result(op, "y", *y, *shape, dtype);
  leave_to_the_graph(op, group, sr_tag, src_rank);
}

}  // namespace updraft
