// Products of which each rank of a group has a part: their sum for all (AllReduce) or by rows (ReduceScatter), or the
// rows of all ranks by a matrix of one's own (AllGather).
#include <algorithm>
#include <string_view>

#include "kernels/matmul/matmul.h"
#include "ops/exchange.h"
#include "ops/gathered.h"
#include "ops/matmul/between_ranks.h"
#include "ops/matmul/quantised.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

using namespace quantised;
using namespace between_ranks;
using Side = Transfer::Side;
using Kind_ = Transfer::Kind;

/// A product of two matrices, real or quantised, whose operands are checked. x1 and out get their memory when it runs.
struct Product {
  enum class Numbers : uint8_t { Real, Whole, WholeWeights } numbers = Numbers::Real;
  TensorView x1{}, x2{}, out{};
  TensorView bias{};  // of real numbers; may be absent
  QuantProduct whole{};
  WeightProduct weights{};

  void run(const TensorView& from, const TensorView& to) const {
    if (to.empty()) return;
    if (numbers == Numbers::Whole) {
      QuantProduct p = whole;
      p.x1 = from, p.out = to;
      return p.run();
    }
    if (numbers == Numbers::WholeWeights) {
      WeightProduct p = weights;
      p.x = from, p.out = to;
      return p.run();
    }
    multiply(from, x2, bias, to);
  }
};

/// Of two dimensions: those in front become one.
TensorView flat(const Op& op, const char* name, const TensorView& v) {
  op.require(v.rank >= 2, "{} is {}, want a matrix or several", name, describe(v));
  if (v.rank == 2) return v;
  op.require(v.is_contiguous(), "{} is {}, not contiguous: more than two dimensions must lie side by side", name,
             describe(v));
  return reshape(v, {rows_of(v), row_length(v)});
}

/// x1 as a view without memory of so many rows: what is there when all ranks gave theirs.
TensorView of_rows(const TensorView& v, int64_t rows) {
  const int64_t dims[] = {rows, v.dims[1]};
  return TensorView::contiguous(nullptr, v.dtype, dims, 2);
}

void check_whole(const Op& op, Product& p, const TensorView& scale, const TensorView& row_scale, const TensorView& bias,
                 const TensorView& out) {
  p.numbers = Product::Numbers::Whole;
  p.whole = {.x1 = p.x1, .x2 = p.x2, .scale = scale, .x1_scale = row_scale, .bias = bias};
  p.whole = checked(op, p.whole, out);
}

/// What costs of a product of so many rows are.
void count_work(Op& op, const Product& p, int64_t rows, int64_t columns) {
  const int64_t k = p.x1.dims[1] * (p.x1.dtype == DType::Int32 ? 8 : 1);
  op.flops(2 * rows * columns * k);
  op.work(rows * columns * std::max<int64_t>(1, k));
}

/// out = the sum over all ranks of x1 @ x2 + bias + x3.
void plan_sum(Op& op, const Product& p, const TensorView& x3, const char* group, const char* reduce, const Out& out) {
  check_group(op, group, reduce);
  if (given(x3)) op.require_same_shape("x3", x3, "output", *out);
  if (out->empty()) return;
  count_work(op, p, p.out.dims[0], p.out.dims[1]);
  auto exchange = exchange_of(group);
  const Side all{address_of(op, "output", *out.handle)};
  exchange->transfers = {{Kind_::AllReduceSum, out->dtype, out->numel(), all, all}};
  auto before = [p, x3, out = *out] {
    p.run(p.x1, p.out);
    if (!given(x3)) return;
    std::vector<float> sum = floats_of(out);
    const std::vector<float> other = floats_of(x3);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
    write_all(out, sum);
  };
  op.launch(BetweenRanks{std::move(exchange), before, {}});
}

/// The shape of an output that has as many dimensions as x1, the last from x2.
void result_of(const Op& op, const TensorView& x1, const TensorView& x2, const Out& out) {
  TensorView shape = x1;
  shape.dims[shape.rank - 1] = row_length(x2);
  op.result_like("output", *out, shape, x1.dtype == DType::Int8 ? DType::Float16 : x1.dtype);
}

Factors factors(const In& x1, const In& x2, const OptIn& bias) { return {*x1, *x2, optional_view(bias)}; }
Factors factors(const In& x1, const In& x2, const OptIn& bias, const OptIn& x1_scale, const OptIn& x2_scale) {
  return {*x1, *x2, optional_view(bias), optional_view(x1_scale), optional_view(x2_scale)};
}

/// How a card cuts the work between its units and its network, and what it does when another rank fails: the same here.
void ignore_how(int64_t comm_turn, int64_t stream_mode) {
  (void)comm_turn;
  (void)stream_mode;
}

}  // namespace

namespace between_ranks {

void plan_all_reduce(Op& op, const Factors& f, const TensorView& x3, const char* group, const char* reduce,
                     const Out& out) {
  Product p{.x1 = flat(op, "x1", f.x1), .x2 = f.x2};
  op.require(p.x2.rank == 2, "x2 is {}, want a matrix", describe(p.x2));
  if (!given(f.x2_scale)) {
    p.bias = f.bias;
    check_real(op, p.x1, p.x2, p.bias);
  }
  result_of(op, f.x1, f.x2, out);
  p.out = flat(op, "output", *out);
  if (given(f.x2_scale)) {
    op.require(is_half(out->dtype), "output is {}, want FLOAT16 or BFLOAT16", describe(*out));
    check_whole(op, p, f.x2_scale, f.x1_scale, f.bias, p.out);
  } else {
    op.require(out->dtype == f.x1.dtype, "output is {}, want the type of x1, {}", describe(*out), name_of(f.x1.dtype));
  }
  plan_sum(op, p, x3, group, reduce, out);
}

void plan_all_reduce(Op& op, const TensorView& x1, const WholeWeights& w, const TensorView& x3, const char* group,
                     const char* reduce, const Out& out) {
  Product p{.numbers = Product::Numbers::WholeWeights, .x1 = flat(op, "x1", x1), .x2 = w.x2};
  op.require(p.x2.rank == 2, "x2 is {}, want a matrix", describe(p.x2));
  result_of(op, x1, w.x2, out);
  p.out = flat(op, "output", *out);
  p.weights = {.x = p.x1, .weight = p.x2, .scale = w.scale};
  p.weights.offset = w.offset;
  p.weights.bias = w.bias;
  p.weights.group = w.group;
  p.weights = checked(op, p.weights, p.out);
  plan_sum(op, p, x3, group, reduce, out);
}

void plan_all_gather(Op& op, const Factors& f, const char* group, int64_t gather_index, const Out& out,
                     const aclTensor* gather_out) {
  const TensorView &x1 = f.x1, &x2 = f.x2;
  check_group(op, group, nullptr);
  op.require(gather_index == 0, "gatherIndex is {}, supported is 0 (x1)", gather_index);
  op.require(x1.rank == 2 && x2.rank == 2, "x1 is {} and x2 {}, want matrices", describe(x1), describe(x2));
  op.require(out->rank == 2 && x1.dims[0] > 0 && out->dims[0] % x1.dims[0] == 0,
             "output is {}, want the rows of all ranks, {} of each", describe(*out), x1.dims[0]);
  const int64_t own = x1.dims[0], rows = out->dims[0], columns = x1.dims[1];
  Product p{.x1 = of_rows(x1, rows), .x2 = x2, .out = *out};
  auto exchange = exchange_of(group, rows / own);
  // What other ranks read lies in the block, side by side.
  const Side mine = exchange->place(own * columns, x1.dtype), mine_scale = exchange->place(own, DType::Float);
  const bool wanted = gather_out && gather_out->view.numel() > 0;
  if (wanted) {
    const int64_t dims[] = {rows, columns};
    op.require_shape("gatherOut", gather_out->view, dims, 2);
    op.require(gather_out->view.dtype == x1.dtype, "gatherOut is {}, want the type of x1", describe(gather_out->view));
  }
  const Side all = wanted ? Side{address_of(op, "gatherOut", *gather_out)} : exchange->place(rows * columns, x1.dtype);
  const Side all_scale = exchange->place(rows, DType::Float);
  exchange->transfers = {{Kind_::AllGather, x1.dtype, own * columns, mine, all}};
  TensorView scale_of_rows{};
  if (given(f.x2_scale)) {
    if (given(f.x1_scale)) {
      op.require(f.x1_scale.numel() == own && f.x1_scale.dtype == DType::Float, "x1Scale is {}, want {} FLOAT values",
                 describe(f.x1_scale), own);
      const int64_t all_rows[] = {rows};
      scale_of_rows = TensorView::contiguous(nullptr, DType::Float, all_rows, 1);
      exchange->transfers.push_back({Kind_::AllGather, DType::Float, own, mine_scale, all_scale});
    }
    check_whole(op, p, f.x2_scale, scale_of_rows, f.bias, *out);
  } else {
    op.require(!given(f.x1_scale), "x1Scale is given without x2Scale");
    p.bias = f.bias;
    check_real(op, p.x1, p.x2, p.bias);
    const int64_t dims[] = {rows, x2.dims[1]};
    op.result("output", *out, dims, 2, x1.dtype);
  }
  count_work(op, p, rows, out->dims[1]);
  // Who runs the parts holds the exchange.
  auto before = [e = exchange.get(), mine, mine_scale, x1, scale = scale_of_rows, by_row = f.x1_scale] {
    copy_elements(e->view(mine, x1.dtype, {x1.dims[0], x1.dims[1]}), x1);
    if (given(scale)) write_all(e->view(mine_scale, DType::Float, {by_row.numel()}), floats_of(by_row));
  };
  auto after = [e = exchange.get(), p, all, all_scale, rows, columns] {
    Product q = p;
    if (given(q.whole.x1_scale)) q.whole.x1_scale = e->view(all_scale, DType::Float, {rows});
    q.run(e->view(all, q.x1.dtype, {rows, columns}), q.out);
  };
  op.launch(BetweenRanks{std::move(exchange), before, after});
}

void plan_reduce_scatter(Op& op, const Factors& f, const char* group, const char* reduce, const Out& out) {
  const TensorView &x1 = f.x1, &x2 = f.x2;
  check_group(op, group, reduce);
  op.require(x1.rank == 2 && x2.rank == 2, "x1 is {} and x2 {}, want matrices", describe(x1), describe(x2));
  op.require(out->rank == 2 && out->dims[0] > 0 && x1.dims[0] % out->dims[0] == 0,
             "output is {}, want an equal part of the {} rows of x1", describe(*out), x1.dims[0]);
  const int64_t rows = x1.dims[0];
  Product p{.x1 = x1, .x2 = x2};
  const int64_t dims[] = {rows, row_length(*out)};
  const TensorView whole = TensorView::contiguous(nullptr, out->dtype, dims, 2);
  if (given(f.x2_scale)) {
    check_whole(op, p, f.x2_scale, f.x1_scale, f.bias, whole);
  } else {
    op.require(!given(f.x1_scale), "x1Scale is given without x2Scale");
    p.bias = f.bias;
    check_real(op, p.x1, p.x2, p.bias);
    op.require(out->dtype == x1.dtype, "output is {}, want the type of x1, {}", describe(*out), name_of(x1.dtype));
    const int64_t part[] = {out->dims[0], x2.dims[1]};
    op.require_shape("output", *out, part, 2);
  }
  auto exchange = exchange_of(group, rows / out->dims[0]);
  const Side sums = exchange->place(rows * row_length(*out), out->dtype);
  exchange->transfers = {
      {Kind_::ReduceScatterSum, out->dtype, out->numel(), sums, Side{address_of(op, "output", *out.handle)}}};
  count_work(op, p, rows, row_length(*out));
  auto before = [e = exchange.get(), p, sums, whole] {
    p.run(p.x1, e->view(sums, whole.dtype, {whole.dims[0], whole.dims[1]}));
  };
  op.launch(BetweenRanks{std::move(exchange), before, {}});
}

void check_real(const Op& op, const TensorView& x1, const TensorView& x2, const TensorView& bias) {
  op.require(compute_of(x1.dtype) == Compute::F32 && x2.dtype == x1.dtype && x2.rank == 2,
             "x1 is {} and x2 {}, want FLOAT16, BFLOAT16 or FLOAT in both, x2 a matrix", describe(x1), describe(x2));
  op.require(x1.dims[1] == x2.dims[0], "x1 is {} and x2 {}: {} columns and {} rows", describe(x1), describe(x2),
             x1.dims[1], x2.dims[0]);
  op.require(!given(bias) || (bias.numel() == x2.dims[1] && compute_of(bias.dtype) == Compute::F32),
             "bias is {}, want {} values", given(bias) ? describe(bias).text() : "", x2.dims[1]);
}

void multiply(const TensorView& x1, const TensorView& x2, const TensorView& bias, const TensorView& out) {
  if (out.empty()) return;
  MatmulOptions options;
  if (given(bias)) options.beta = 1, options.add = &bias;
  matmul(x1, x2, out, options);
}

void check_group(const Op& op, const char* group, const char* reduce) {
  op.require(*group, "group is empty, want the name of a communicator (HcclGetCommName)");
  op.require(!reduce || !*reduce || std::string_view(reduce) == "sum", "reduceOp is \"{}\", supported is \"sum\"",
             reduce ? reduce : "");
}

void* address_of(const Op& op, const char* name, const aclTensor& t) {
  op.require(t.view.is_contiguous(), "{} is {}, not contiguous: other ranks write there", name, describe(t.view));
  return static_cast<char*>(t.storage) + t.offset * static_cast<int64_t>(size_of(t.view.dtype));
}

void check_mode(const Op& op, const char* name, const char* mode) {
  const std::string_view m = mode;
  op.require(m == "ai_cpu" || m == "aiv", "{} is \"{}\", want \"ai_cpu\" or \"aiv\"", name, mode);
}

}  // namespace between_ranks

ABOUT(aclnnMatmulAllReduce, MixCube, "output = the sum over all ranks of group of x1 @ x2 + bias",
      "output = 通信域内各卡 x1 @ x2 + bias 之和")
ACLNN(aclnnMatmulAllReduce, (In, x1), (In, x2), (OptIn, bias), (Text, group), (Text, reduceOp), (Int, commTurn),
      (Int, streamMode), (Out, output)) {
  ignore_how(commTurn, streamMode);
  plan_all_reduce(op, factors(x1, x2, bias), {}, group, reduceOp, output);
}
ABOUT(aclnnMatmulAllReduceV2, MixCube, "output = the sum over all ranks of group of x1 @ x2 + bias + x3",
      "output = 通信域内各卡 x1 @ x2 + bias + x3 之和")
ACLNN(aclnnMatmulAllReduceV2, (In, x1), (In, x2), (OptIn, bias), (OptIn, x3), (Text, group), (Text, reduceOp),
      (Int, commTurn), (Int, streamMode), (Out, output)) {
  ignore_how(commTurn, streamMode);
  plan_all_reduce(op, factors(x1, x2, bias), optional_view(x3), group, reduceOp, output);
}
ABOUT(aclnnMatmulAllReduceV3, MixCube, "As aclnnMatmulAllReduceV2; commMode says how a card moves the data",
      "同 aclnnMatmulAllReduceV2，commMode 为通信方式")
ACLNN(aclnnMatmulAllReduceV3, (In, x1), (In, x2), (OptIn, bias), (OptIn, x3), (Text, group), (Text, reduceOp),
      (Text, commMode), (Int, commTurn), (Int, streamMode), (Out, output)) {
  ignore_how(commTurn, streamMode);
  check_mode(op, "commMode", commMode);
  plan_all_reduce(op, factors(x1, x2, bias), optional_view(x3), group, reduceOp, output);
}

ABOUT(aclnnQuantMatmulAllReduce, MixCube,
      "output = the sum over all ranks of group of (x1 @ x2 + bias) * dequantScale + x3, of INT8",
      "output = 通信域内各卡 INT8 量化矩阵乘 (x1 @ x2 + bias) * dequantScale + x3 之和")
ACLNN(aclnnQuantMatmulAllReduce, (In, x1), (In, x2), (OptIn, bias), (OptIn, x3), (In, dequantScale), (Text, group),
      (Text, reduceOp), (Int, commTurn), (Int, streamMode), (Out, output)) {
  ignore_how(commTurn, streamMode);
  plan_all_reduce(op, {*x1, *x2, optional_view(bias), {}, *dequantScale}, optional_view(x3), group, reduceOp, output);
}
ABOUT(aclnnQuantMatmulAllReduceV2, MixCube, "As aclnnQuantMatmulAllReduce; pertokenScale multiplies the rows",
      "同 aclnnQuantMatmulAllReduce，pertokenScale 乘各行")
ACLNN(aclnnQuantMatmulAllReduceV2, (In, x1), (In, x2), (OptIn, bias), (OptIn, x3), (In, dequantScale),
      (OptIn, pertokenScale), (Text, group), (Text, reduceOp), (Int, commTurn), (Int, streamMode), (Out, output)) {
  ignore_how(commTurn, streamMode);
  plan_all_reduce(op, {*x1, *x2, optional_view(bias), optional_view(pertokenScale), *dequantScale}, optional_view(x3),
                  group, reduceOp, output);
}

ABOUT(aclnnWeightQuantMatmulAllReduce, MixCube,
      "output = the sum over all ranks of x1 @ ((x2 + antiquantOffset) * antiquantScale) + bias + x3",
      "output = 各卡 x1 @ ((x2 + antiquantOffset) * antiquantScale) + bias + x3 之和")
ACLNN(aclnnWeightQuantMatmulAllReduce, (In, x1), (In, x2), (OptIn, bias), (In, antiquantScale),
      (OptIn, antiquantOffset), (OptIn, x3), (Text, group), (Text, reduceOp), (Int, commTurn), (Int, streamMode),
      (Int, antiquantGroupSize), (Out, output)) {
  ignore_how(commTurn, streamMode);
  plan_all_reduce(op, *x1,
                  {*x2, *antiquantScale, optional_view(antiquantOffset), optional_view(bias), antiquantGroupSize},
                  optional_view(x3), group, reduceOp, output);
}

ABOUT(aclnnAllGatherMatmul, MixCube, "output = gatherOut @ x2 + bias, gatherOut the rows of x1 of all ranks of group",
      "output = gatherOut @ x2 + bias，gatherOut 为各卡 x1 的行拼接")
ACLNN(aclnnAllGatherMatmul, (In, x1), (In, x2), (OptIn, bias), (Text, group), (Int, gatherIndex), (Int, commTurn),
      (Int, streamMode), (Out, output), (OptOut, gatherOut)) {
  ignore_how(commTurn, streamMode);
  plan_all_gather(op, factors(x1, x2, bias), group, gatherIndex, output, gatherOut.handle);
}
ABOUT(aclnnAllGatherMatmulV2, MixCube,
      "As aclnnAllGatherMatmul, for INT8 with x1Scale of rows and x2Scale of columns, too",
      "同 aclnnAllGatherMatmul，另支持 INT8 及 x1Scale、x2Scale")
ACLNN(aclnnAllGatherMatmulV2, (In, x1), (In, x2), (OptIn, bias), (OptIn, x1Scale), (OptIn, x2Scale),
      (OptIn, quantScale), (Int, blockSize), (Text, group), (Int, gatherIndex), (Int, commTurn), (Int, streamMode),
      (Int, groupSize), (Text, commMode), (Out, output), (OptOut, gatherOut), (OptOut, amaxOut)) {
  ignore_how(commTurn, streamMode);
  check_mode(op, "commMode", commMode);
  op.require(!given(optional_view(quantScale)) && blockSize == 0 && groupSize == 0 && (!amaxOut || amaxOut->empty()),
             "quantScale, blockSize, groupSize or amaxOut is given, which is not supported");
  plan_all_gather(op, factors(x1, x2, bias, x1Scale, x2Scale), group, gatherIndex, output, gatherOut.handle);
}

ABOUT(aclnnMatmulReduceScatter, MixCube,
      "output = this rank's rows of the sum over all ranks of group of x1 @ x2 + bias",
      "output = 通信域内各卡 x1 @ x2 + bias 之和中本卡的行")
ACLNN(aclnnMatmulReduceScatter, (In, x1), (In, x2), (OptIn, bias), (Text, group), (Text, reduceOp), (Int, commTurn),
      (Int, streamMode), (Out, output)) {
  ignore_how(commTurn, streamMode);
  plan_reduce_scatter(op, factors(x1, x2, bias), group, reduceOp, output);
}
ABOUT(aclnnMatmulReduceScatterV2, MixCube,
      "As aclnnMatmulReduceScatter, for INT8 with x1Scale of rows and x2Scale of columns, too",
      "同 aclnnMatmulReduceScatter，另支持 INT8 及 x1Scale、x2Scale")
ACLNN(aclnnMatmulReduceScatterV2, (In, x1), (In, x2), (OptIn, bias), (OptIn, x1Scale), (OptIn, x2Scale),
      (OptIn, quantScale), (Int, blockSize), (Text, group), (Text, reduceOp), (Int, commTurn), (Int, streamMode),
      (Int, groupSize), (Text, commMode), (Out, output), (OptOut, amaxOut)) {
  ignore_how(commTurn, streamMode);
  check_mode(op, "commMode", commMode);
  op.require(!given(optional_view(quantScale)) && blockSize == 0 && groupSize == 0 && (!amaxOut || amaxOut->empty()),
             "quantScale, blockSize, groupSize or amaxOut is given, which is not supported");
  plan_reduce_scatter(op, factors(x1, x2, bias, x1Scale, x2Scale), group, reduceOp, output);
}

namespace {
[[maybe_unused]] const WaitsForRanks waiting[] = {
    WaitsForRanks(aclnnMatmulAllReduce_info),        WaitsForRanks(aclnnMatmulAllReduceV2_info),
    WaitsForRanks(aclnnMatmulAllReduceV3_info),      WaitsForRanks(aclnnQuantMatmulAllReduce_info),
    WaitsForRanks(aclnnQuantMatmulAllReduceV2_info), WaitsForRanks(aclnnWeightQuantMatmulAllReduce_info),
    WaitsForRanks(aclnnAllGatherMatmul_info),        WaitsForRanks(aclnnAllGatherMatmulV2_info),
    WaitsForRanks(aclnnMatmulReduceScatter_info),    WaitsForRanks(aclnnMatmulReduceScatterV2_info),
};
}  // namespace

}  // namespace updraft
