// Products between which ranks exchange parts: of rows to which all ranks give (AlltoAllMatmul), or whose columns go to
// all ranks (MatmulAlltoAll). Facts: op-plugin's pages and tests of npu_all_to_all_matmul and npu_matmul_all_to_all.
#include "ops/exchange.h"
#include "ops/gathered.h"
#include "ops/matmul/between_ranks.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace between_ranks {
namespace {

using Side = Transfer::Side;

void check_matrices(const Op& op, const Factors& f) {
  op.require(f.x1.rank == 2 && f.x2.rank == 2, "x1 is {} and x2 {}, want matrices", describe(f.x1), describe(f.x2));
}

void count_work(Op& op, int64_t rows, int64_t depth, int64_t columns) {
  op.flops(2 * rows * depth * columns);
  op.work(rows * depth * columns);
}

}  // namespace

void plan_all_to_all_product(Op& op, const Factors& f, const char* group, int64_t ranks, const Out& out,
                             const aclTensor* rows_out) {
  check_group(op, group, nullptr);
  check_matrices(op, f);
  const TensorView& x1 = f.x1;
  op.require(ranks > 0 && x1.dims[0] % ranks == 0, "x1 is {}, want as many rows for each of {} ranks", describe(x1),
             ranks);
  const int64_t rows = x1.dims[0] / ranks, columns = x1.dims[1];
  const int64_t dims[] = {rows, ranks * columns};
  check_real(op, TensorView::contiguous(nullptr, x1.dtype, dims, 2), f.x2, f.bias);
  op.result("output", *out, {rows, f.x2.dims[1]}, x1.dtype);
  op.require(out->dtype == x1.dtype, "output is {}, want the type of x1, {}", describe(*out), name_of(x1.dtype));
  const TensorView wanted = rows_out && rows_out->view.numel() ? rows_out->view : TensorView();
  if (given(wanted)) {
    op.require_shape("alltoAllOut", wanted, dims, 2);
    op.require(wanted.dtype == x1.dtype, "alltoAllOut is {}, want the type of x1", describe(wanted));
  }
  count_work(op, rows, dims[1], f.x2.dims[1]);
  auto exchange = exchange_of(group, ranks);
  const Side mine = exchange->place(x1.numel(), x1.dtype), all = exchange->place(x1.numel(), x1.dtype);
  const Side joined = exchange->place(x1.numel(), x1.dtype);
  exchange->transfers = {{Transfer::Kind::AllToAll, x1.dtype, rows * columns, mine, all}};
  auto before = [e = exchange.get(), mine, x1] {
    copy_elements(e->view(mine, x1.dtype, {x1.dims[0], x1.dims[1]}), x1);
  };
  auto after = [=, e = exchange.get(), x2 = f.x2, bias = f.bias, type = x1.dtype, to = *out] {
    const TensorView parts = e->view(all, type, {ranks, rows, columns});
    copy_elements(e->view(joined, type, {rows, ranks, columns}), parts.transpose(0, 1));
    const TensorView x = e->view(joined, type, {rows, ranks * columns});
    if (given(wanted)) copy_elements(wanted, x);
    multiply(x, x2, bias, to);
  };
  op.launch(BetweenRanks{std::move(exchange), before, after});
}

void plan_product_all_to_all(Op& op, const Factors& f, const char* group, int64_t ranks, const Out& out) {
  check_group(op, group, nullptr);
  check_matrices(op, f);
  check_real(op, f.x1, f.x2, f.bias);
  const DType type = f.x1.dtype;
  const int64_t rows = f.x1.dims[0], columns = f.x2.dims[1];
  op.require(ranks > 0 && columns % ranks == 0, "x2 is {}, want as many columns for each of {} ranks", describe(f.x2),
             ranks);
  const int64_t part = columns / ranks;
  op.result("output", *out, {ranks * rows, part}, type);
  op.require(out->dtype == type, "output is {}, want the type of x1, {}", describe(*out), name_of(type));
  count_work(op, rows, f.x1.dims[1], columns);
  auto exchange = exchange_of(group, ranks);
  const Side whole = exchange->place(rows * columns, type), parts = exchange->place(rows * columns, type);
  exchange->transfers = {
      {Transfer::Kind::AllToAll, type, rows * part, parts, Side{address_of(op, "output", *out.handle)}}};
  auto before = [=, e = exchange.get()] {
    multiply(f.x1, f.x2, f.bias, e->view(whole, type, {rows, columns}));
    copy_elements(e->view(parts, type, {ranks, rows, part}), e->view(whole, type, {rows, ranks, part}).transpose(0, 1));
  };
  op.launch(BetweenRanks{std::move(exchange), before, {}});
}

namespace {

/// What the C functions are told in the same words. `from`, `to`: the only axes.
Factors factors(const Op& op, const In& x1, const In& x2, const OptIn& bias, const OptInts& axes, int64_t from,
                int64_t to, bool turn_x1, bool turn_x2) {
  op.require(!axes || axes->empty() || *axes == std::vector<int64_t>{from, to}, "alltoAllAxes is {}, want [{}, {}]",
             axes ? fmt::format("[{}]", fmt::join(*axes, ", ")) : "null", from, to);
  op.require(!turn_x1, "transposeX1 is true, want false");
  op.require(x1->rank == 2 && x2->rank == 2, "x1 is {} and x2 {}, want matrices", describe(*x1), describe(*x2));
  return {*x1, turn_x2 ? x2->transpose(0, 1) : *x2, optional_view(bias)};
}

void all_to_all_product(Op& op, const Factors& f, const char* group, const Out& out, const OptOut& rows_out) {
  op.require(f.x1.dims[1] > 0 && f.x2.dims[0] % f.x1.dims[1] == 0,
             "x1 is {} and x2 {}: want as many rows in x2 as all ranks have columns in x1", describe(f.x1),
             describe(f.x2));
  plan_all_to_all_product(op, f, group, f.x2.dims[0] / f.x1.dims[1], out, rows_out.handle);
}

void product_all_to_all(Op& op, const Factors& f, const char* group, const Out& out) {
  op.require(out->rank == 2 && out->dims[1] > 0 && f.x2.dims[1] % out->dims[1] == 0,
             "output is {}, want an equal part of the {} columns of x2", describe(*out), f.x2.dims[1]);
  plan_product_all_to_all(op, f, group, f.x2.dims[1] / out->dims[1], out);
}

}  // namespace
}  // namespace between_ranks

using namespace between_ranks;

ABOUT(aclnnAlltoAllMatmul, MixCube,
      "output = alltoAllOut @ x2 + bias, alltoAllOut the places of all ranks' x1 side by side",
      "output = alltoAllOut @ x2 + bias，alltoAllOut 为 AlltoAll 后各卡 x1 的列拼接")
ACLNN(aclnnAlltoAllMatmul, (In, x1), (In, x2), (OptIn, bias), (OptInts, alltoAllAxes), (Text, group),
      (Bool, transposeX1), (Bool, transposeX2), (Out, output), (OptOut, alltoAllOut)) {
  all_to_all_product(op, factors(op, x1, x2, bias, alltoAllAxes, -2, -1, transposeX1, transposeX2), group, output,
                     alltoAllOut);
}
ABOUT(aclnnAlltoAllMatmulV2, MixCube, "As aclnnAlltoAllMatmul; commMode says how a card moves the data",
      "同 aclnnAlltoAllMatmul，commMode 为通信方式")
ACLNN(aclnnAlltoAllMatmulV2, (In, x1), (In, x2), (OptIn, bias), (OptInts, alltoAllAxes), (Text, group),
      (Text, commMode), (Bool, transposeX1), (Bool, transposeX2), (Out, output), (OptOut, alltoAllOut)) {
  check_mode(op, "commMode", commMode);
  all_to_all_product(op, factors(op, x1, x2, bias, alltoAllAxes, -2, -1, transposeX1, transposeX2), group, output,
                     alltoAllOut);
}
ABOUT(aclnnMatmulAlltoAll, MixCube, "output = this rank's columns of x1 @ x2 + bias of all ranks, one below the other",
      "output = 各卡 x1 @ x2 + bias 经 AlltoAll 后本卡的列，按卡拼接为行")
ACLNN(aclnnMatmulAlltoAll, (In, x1), (In, x2), (OptIn, bias), (OptInts, alltoAllAxes), (Text, group),
      (Bool, transposeX1), (Bool, transposeX2), (Out, output)) {
  product_all_to_all(op, factors(op, x1, x2, bias, alltoAllAxes, -1, -2, transposeX1, transposeX2), group, output);
}
ABOUT(aclnnMatmulAlltoAllV2, MixCube, "As aclnnMatmulAlltoAll; commMode says how a card moves the data",
      "同 aclnnMatmulAlltoAll，commMode 为通信方式")
ACLNN(aclnnMatmulAlltoAllV2, (In, x1), (In, x2), (OptIn, bias), (OptInts, alltoAllAxes), (Text, group),
      (Text, commMode), (Bool, transposeX1), (Bool, transposeX2), (Out, output)) {
  check_mode(op, "commMode", commMode);
  product_all_to_all(op, factors(op, x1, x2, bias, alltoAllAxes, -1, -2, transposeX1, transposeX2), group, output);
}

namespace {
[[maybe_unused]] const WaitsForRanks waiting[] = {
    WaitsForRanks(aclnnAlltoAllMatmul_info),
    WaitsForRanks(aclnnAlltoAllMatmulV2_info),
    WaitsForRanks(aclnnMatmulAlltoAll_info),
    WaitsForRanks(aclnnMatmulAlltoAllV2_info),
};
}  // namespace

}  // namespace updraft
