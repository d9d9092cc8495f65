// Facts: op-plugin's pages and tests of npu_alltoallv_gmm and npu_gmm_alltoallv, and how MindSpeed-MM calls them. A
// card's limits (8 ranks and more, 2 MiB for each) are not limits here.
#include "ops/moe/products_of_ranks.h"

#include <cstring>
#include <numeric>

#include "kernels/matmul/matmul.h"
#include "ops/exchange.h"
#include "ops/gathered.h"
#include "ops/matmul/between_ranks.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace products_of_ranks {
namespace {

using Side = Transfer::Side;

/// Counts as Layer has them.
struct Counts {
  int64_t ranks, experts;
  std::vector<int64_t> rows;

  int64_t total() const { return std::accumulate(rows.begin(), rows.end(), int64_t{0}); }
  int64_t at(int64_t rank, int64_t expert) const { return rows[static_cast<size_t>(rank * experts + expert)]; }
  std::vector<uint64_t> elements(int64_t width) const {
    std::vector<uint64_t> n(static_cast<size_t>(ranks));
    for (int64_t r = 0; r < ranks; ++r)
      for (int64_t e = 0; e < experts; ++e) n[static_cast<size_t>(r)] += static_cast<uint64_t>(at(r, e) * width);
    return n;
  }
  /// Calls f(row in the order of ranks, row in the order of experts, how many) for what lies side by side in both.
  template <class F>
  void each(F&& f) const {
    std::vector<int64_t> begin(rows.size());
    std::exclusive_scan(rows.begin(), rows.end(), begin.begin(), int64_t{0});
    int64_t by_expert = 0;
    for (int64_t e = 0; e < experts; ++e)
      for (int64_t r = 0; r < ranks; ++r) {
        f(begin[static_cast<size_t>(r * experts + e)], by_expert, at(r, e));
        by_expert += at(r, e);
      }
  }
};

Counts counts_of(const Op& op, const char* name, const std::vector<int64_t>& rows, int64_t ranks, int64_t experts) {
  op.require(static_cast<int64_t>(rows.size()) == ranks * experts,
             "{} has {} values, want {}: one for each of {} experts on {} ranks", name, rows.size(), ranks * experts,
             experts, ranks);
  int64_t sum = 0;
  for (int64_t n : rows)
    op.require(n >= 0 && !__builtin_add_overflow(sum, n, &sum), "{} has {}, want counts of rows", name, n);
  return {ranks, experts, rows};
}

/// rows in the order of experts, each expert's by its weight.
void multiply(const TensorView& x, const TensorView& weight, const Counts& counts, const TensorView& y) {
  int64_t at = 0;
  for (int64_t e = 0; e < counts.experts; ++e) {
    int64_t n = 0;
    for (int64_t r = 0; r < counts.ranks; ++r) n += counts.at(r, e);
    if (n && y.dims[1]) matmul(narrow(x, 0, at, n), select(weight, 0, e), narrow(y, 0, at, n));
    at += n;
  }
}

/// The product of the expert that all tokens have, where there is one.
struct Shared {
  TensorView x, weight, y;
  void run() const {
    if (given(x) && !y.empty()) matmul(x, weight, y);
  }
};

Shared shared_of(const Op& op, const Layer& l, const OptOut& y) {
  op.require(given(l.shared_x) == given(l.shared_weight), "mm_x or mm_weight is given without the other");
  if (!given(l.shared_x)) {
    if (y) op.suggest(*y, {0}, l.x.dtype);
    return {};
  }
  Shared s{l.shared_x, l.shared_weight, {}};
  op.require(s.x.rank == 2 && s.weight.rank == 2, "mm_x is {} and mm_weight {}, want matrices", describe(s.x),
             describe(s.weight));
  if (l.turn_shared) s.weight = s.weight.transpose(0, 1);
  between_ranks::check_real(op, s.x, s.weight, {});
  op.require(static_cast<bool>(y), "mm_y is null, which mm_x and mm_weight need");
  op.result("mm_y", *y, {s.x.dims[0], s.weight.dims[1]}, s.x.dtype);
  s.y = *y;
  return s;
}

/// The weights of the experts as [experts, H, N].
TensorView weights_of(const Op& op, const Layer& l) {
  between_ranks::check_group(op, l.group, nullptr);
  op.require(l.ranks > 0, "ep_world_size is {}, want how many ranks {} has", l.ranks, l.group);
  op.require(
      l.x.rank == 2 && compute_of(l.x.dtype) == Compute::F32 && l.weight.rank == 3 && l.weight.dtype == l.x.dtype,
      "gmm_x is {} and gmm_weight {}, want FLOAT16, BFLOAT16 or FLOAT [rows, H] and [experts, H, N]", describe(l.x),
      describe(l.weight));
  const TensorView w = l.turn_weight ? l.weight.transpose(1, 2) : l.weight;
  op.require(l.x.dims[1] == w.dims[1] && w.dims[1] > 0, "gmm_x is {} and gmm_weight {}: {} columns and {} rows",
             describe(l.x), describe(l.weight), l.x.dims[1], w.dims[1]);
  return w;
}

void count_work(Op& op, int64_t rows, const TensorView& w, const Shared& shared) {
  int64_t n = rows * w.dims[1] * w.dims[2];
  if (given(shared.x)) n += shared.x.numel() * shared.weight.dims[1];
  op.flops(2 * n);
  op.work(n);
}

size_t bytes(const TensorView& v, int64_t rows) { return static_cast<size_t>(rows * v.dims[1]) * size_of(v.dtype); }
/// Row i of a matrix whose elements lie side by side.
char* row(const TensorView& v, int64_t i) { return v.as<char>() + bytes(v, i); }

}  // namespace

void plan_arriving(Op& op, const Layer& l, const Out& y, const OptOut& shared_y, const OptOut& rows_out) {
  const TensorView w = weights_of(op, l);
  const DType type = l.x.dtype;
  const int64_t h = w.dims[1];
  const Counts sent = counts_of(op, "send_counts", l.send_counts, l.ranks, w.dims[0]);
  const Counts got = counts_of(op, "recv_counts", l.receive_counts, l.ranks, w.dims[0]);
  op.require(sent.total() == l.x.dims[0], "gmm_x is {}, send_counts make {} rows", describe(l.x), sent.total());
  const int64_t rows = got.total();
  op.result("gmm_y", *y, {rows, w.dims[2]}, type);
  op.require(y->dtype == type, "gmm_y is {}, want the type of gmm_x, {}", describe(*y), name_of(type));
  const Shared shared = shared_of(op, l, shared_y);
  TensorView wanted{};
  if (rows_out && !rows_out->empty()) {
    const int64_t dims[] = {rows, h};
    op.require_shape("permute_out", *rows_out, dims, 2);
    op.require(rows_out->dtype == type, "permute_out is {}, want {}", describe(*rows_out), name_of(type));
    wanted = *rows_out;
  }
  count_work(op, rows, w, shared);
  auto exchange = exchange_of(l.group, l.ranks);
  const Side mine = exchange->place(l.x.numel(), type), all = exchange->place(rows * h, type);
  const Side by_expert = exchange->place(rows * h, type);
  exchange->transfers = {{Transfer::Kind::AllToAllV, type, 0, mine, all, sent.elements(h), got.elements(h)}};
  auto before = [e = exchange.get(), mine, x = l.x, shared] {
    copy_elements(e->view(mine, x.dtype, {x.dims[0], x.dims[1]}), x);
    shared.run();
  };
  auto after = [=, e = exchange.get(), to = *y] {
    const TensorView from = e->view(all, type, {rows, h}), x = e->view(by_expert, type, {rows, h});
    got.each([&](int64_t i, int64_t k, int64_t n) { std::memcpy(row(x, k), row(from, i), bytes(x, n)); });
    if (given(wanted)) copy_elements(wanted, x);
    multiply(x, w, got, to);
  };
  op.launch(BetweenRanks{std::move(exchange), before, after});
}

void plan_leaving(Op& op, const Layer& l, const Out& y, const OptOut& shared_y) {
  const TensorView w = weights_of(op, l);
  const DType type = l.x.dtype;
  const int64_t n = w.dims[2];
  const Counts sent = counts_of(op, "send_counts", l.send_counts, l.ranks, w.dims[0]);
  const Counts got = counts_of(op, "recv_counts", l.receive_counts, l.ranks, w.dims[0]);
  const int64_t rows = l.x.dims[0];
  op.require(sent.total() == rows, "gmm_x is {}, send_counts make {} rows", describe(l.x), sent.total());
  op.result("y", *y, {got.total(), n}, type);
  op.require(y->dtype == type, "y is {}, want the type of gmm_x, {}", describe(*y), name_of(type));
  const Shared shared = shared_of(op, l, shared_y);
  count_work(op, rows, w, shared);
  auto exchange = exchange_of(l.group, l.ranks);
  const Side by_expert = exchange->place(rows * n, type), mine = exchange->place(rows * n, type);
  exchange->transfers = {{Transfer::Kind::AllToAllV, type, 0, mine, Side{between_ranks::address_of(op, "y", *y.handle)},
                          sent.elements(n), got.elements(n)}};
  auto before = [=, e = exchange.get(), x = l.x] {
    const TensorView from = e->view(by_expert, type, {rows, n}), to = e->view(mine, type, {rows, n});
    multiply(x, w, sent, from);
    sent.each([&](int64_t i, int64_t k, int64_t count) { std::memcpy(row(to, i), row(from, k), bytes(to, count)); });
    shared.run();
  };
  op.launch(BetweenRanks{std::move(exchange), before, {}});
}

}  // namespace products_of_ranks

using namespace products_of_ranks;

namespace {

void refuse_tensors(const Op& op, const OptIn& send_counts, const OptIn& receive_counts) {
  op.require(!given(optional_view(send_counts)) && !given(optional_view(receive_counts)),
             "sendCountsTensor or recvCountsTensor is given, which is not supported: give the lists alone");
}

}  // namespace

// What both ways are told, and what it is to a Layer.
#define TENSORS                                                                                      \
  (In, gmmX), (In, gmmWeight), (OptIn, sendCountsTensorOptional), (OptIn, recvCountsTensorOptional), \
      (OptIn, mmXOptional), (OptIn, mmWeightOptional)
#define NUMBERS \
  (Int, epWorldSize), (Ints, sendCounts), (Ints, recvCounts), (Bool, transGmmWeight), (Bool, transMmWeight)
#define LAYER                                                                                                    \
  {                                                                                                              \
    *gmmX, *gmmWeight, group, epWorldSize, *sendCounts, *recvCounts, transGmmWeight, optional_view(mmXOptional), \
        optional_view(mmWeightOptional), transMmWeight                                                           \
  }

ABOUT(aclnnAlltoAllvGroupedMatMul, MixCube,
      "Tokens of all ranks for the experts of this one, each by its expert's weights",
      "各卡发来的 token 按专家重排后与本卡各专家权重相乘（AlltoAllv + GroupedMatMul）")
ACLNN(aclnnAlltoAllvGroupedMatMul, TENSORS, (Text, group), NUMBERS, (Bool, permuteOutFlag), (Out, gmmY),
      (OptOut, mmYOptional), (OptOut, permuteOutOptional)) {
  refuse_tensors(op, sendCountsTensorOptional, recvCountsTensorOptional);
  plan_arriving(op, LAYER, gmmY, mmYOptional, permuteOutFlag ? permuteOutOptional : OptOut{});
}
ABOUT(aclnnAlltoAllvGroupedMatMulV2, MixCube, "As aclnnAlltoAllvGroupedMatMul; commMode says how a card moves the data",
      "同 aclnnAlltoAllvGroupedMatMul，commMode 为通信方式")
ACLNN(aclnnAlltoAllvGroupedMatMulV2, TENSORS, (Text, group), (Text, commMode), NUMBERS, (Bool, permuteOutFlag),
      (Out, gmmY), (OptOut, mmYOptional), (OptOut, permuteOutOptional)) {
  between_ranks::check_mode(op, "commMode", commMode);
  refuse_tensors(op, sendCountsTensorOptional, recvCountsTensorOptional);
  plan_arriving(op, LAYER, gmmY, mmYOptional, permuteOutFlag ? permuteOutOptional : OptOut{});
}
ABOUT(aclnnGroupedMatMulAlltoAllv, MixCube,
      "What this rank's experts make of the tokens of all ranks, back at these ranks",
      "本卡各专家的矩阵乘结果送回 token 所在的卡（GroupedMatMul + AlltoAllv）")
ACLNN(aclnnGroupedMatMulAlltoAllv, TENSORS, (Text, group), NUMBERS, (Out, y), (OptOut, mmYOptional)) {
  refuse_tensors(op, sendCountsTensorOptional, recvCountsTensorOptional);
  plan_leaving(op, LAYER, y, mmYOptional);
}
ABOUT(aclnnGroupedMatMulAlltoAllvV2, MixCube, "As aclnnGroupedMatMulAlltoAllv; commMode says how a card moves the data",
      "同 aclnnGroupedMatMulAlltoAllv，commMode 为通信方式")
ACLNN(aclnnGroupedMatMulAlltoAllvV2, TENSORS, (Text, group), (Text, commMode), NUMBERS, (Out, y),
      (OptOut, mmYOptional)) {
  between_ranks::check_mode(op, "commMode", commMode);
  refuse_tensors(op, sendCountsTensorOptional, recvCountsTensorOptional);
  plan_leaving(op, LAYER, y, mmYOptional);
}

namespace {
[[maybe_unused]] const WaitsForRanks waiting[] = {
    WaitsForRanks(aclnnAlltoAllvGroupedMatMul_info),
    WaitsForRanks(aclnnAlltoAllvGroupedMatMulV2_info),
    WaitsForRanks(aclnnGroupedMatMulAlltoAllv_info),
    WaitsForRanks(aclnnGroupedMatMulAlltoAllvV2_info),
};
}  // namespace

}  // namespace updraft
