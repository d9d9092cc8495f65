// Experts within the best groups: GroupTopkOperation, AtbFusedAddTopkDiv.
#include <algorithm>
#include <cmath>

#include "atb/atb_op.h"
#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/moe/largest.h"

namespace updraft::atb_ops {
namespace {

constexpr int32_t kSigmoid = 8;

std::vector<int64_t> largest(const std::vector<float>& x, int64_t k) {
  std::vector<int64_t> order;
  moe::largest(x.data(), static_cast<int64_t>(x.size()), k, order);
  return order;
}

struct Groups {
  int64_t count, kept, summed;  ///< a group counts as the sum of so many of its largest
};

void check_groups(const Op& op, const Groups& g, int64_t experts) {
  op.require(g.count > 0 && experts % g.count == 0, "groupNum is {}, want a divisor of the {} experts", g.count,
             experts);
  op.require(g.kept > 0 && g.kept <= g.count, "the number of groups is {}, want 1 to {}", g.kept, g.count);
  op.require(g.summed > 0 && g.summed <= experts / g.count, "n is {}, want 1 to {}, the experts of a group", g.summed,
             experts / g.count);
}

/// Writes `instead` over the scores of the groups that are not among the best.
void keep_best(std::vector<float>& scores, const Groups& g, float instead) {
  const auto size = static_cast<int64_t>(scores.size()) / g.count;
  std::vector<float> best, own;
  for (int64_t i = 0; i < g.count; ++i) {
    own.assign(scores.begin() + i * size, scores.begin() + (i + 1) * size);
    float sum = 0;
    for (int64_t at : largest(own, g.summed)) sum += own[static_cast<size_t>(at)];
    best.push_back(sum);
  }
  std::vector<bool> kept(static_cast<size_t>(g.count));
  for (int64_t i : largest(best, g.kept)) kept[static_cast<size_t>(i)] = true;
  for (int64_t i = 0; i < g.count; ++i)
    if (!kept[static_cast<size_t>(i)]) std::fill_n(scores.begin() + i * size, size, instead);
}

void require_scores(const Op& op, const TensorView& x) {
  op.require(x.rank == 2 && x.dims[1] > 0 && compute_of(x.dtype) == Compute::F32,
             "x is {}, want [tokens, experts] of FLOAT, FLOAT16 or BFLOAT16", describe(x));
}

/// body(row, number), in threads.
template <class F>
void each_row(const TensorView& x, F&& body) {
  const std::vector<float> all = floats_of(x);
  const int64_t n = x.dims[1];
  parallel_for(x.dims[0], std::max<int64_t>(1, 2048 / n), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(std::vector<float>(all.begin() + i * n, all.begin() + (i + 1) * n), i);
  });
}

}  // namespace

// y = x, but 0 where the group of an expert is not among the best.
ATB_OP(GroupTopk, aclnnMoeGatingTopK, (In, x), (OptIn, positions), (Out, y), (Int, groupNum), (Int, k), (Int, n),
       (Int, groupMultiFlag)) {
  (void)positions;  // numbers from 0 on, which the card's kernel wants
  require_scores(op, *x);
  const Groups groups{groupNum, k, groupMultiFlag ? n : 1};
  check_groups(op, groups, x->dims[1]);
  op.result_like("y", *y, *x, x->dtype);
  if (x->empty()) return;
  op.work(x->numel() * 8);
  op.launch([x = *x, y = *y, groups] {
    std::vector<float> all(static_cast<size_t>(x.numel()));
    each_row(x, [&](std::vector<float> row, int64_t i) {
      keep_best(row, groups, 0);
      std::copy(row.begin(), row.end(), all.begin() + i * x.dims[1]);
    });
    write_all(y, all);
  });
}

// The experts with the k largest sigmoid(x) + addNum in the best groups, and their sigmoid(x), divided by its sum where
// isNorm, times scale.
ATB_FUNCTIONS(AtbFusedAddTopkDiv, FusedAddTopkDiv, aclnnMoeGatingTopK, (In, x), (In, addNum), (OptIn, mappingNum),
              (OptIn, mappingTable), (Int, groupNum), (Int, groupTopk), (Int, n), (Int, k), (Int32, activationType),
              (Bool, isNorm), (Float, scale), (Bool, enableExpertMapping), (Out, y), (Out, indices)) {
  require_scores(op, *x);
  const int64_t experts = x->dims[1];
  op.require(activationType == kSigmoid, "activationType is {}, supported is 8 (sigmoid)", activationType);
  op.require(!enableExpertMapping && !mappingNum && !mappingTable,
             "mappings of experts are not supported: give neither mappingNum nor mappingTable");
  const Groups groups{groupNum, groupTopk, n};
  check_groups(op, groups, experts);
  op.require(k > 0 && k <= groupTopk * (experts / groupNum), "k is {}, want 1 to {}, the experts of the best groups", k,
             groupTopk * (experts / groupNum));
  op.require(addNum->numel() == experts && compute_of(addNum->dtype) == Compute::F32, "addNum is {}, want {} numbers",
             describe(*addNum), experts);
  op.result("y", *y, {x->dims[0], k}, DType::Float);
  op.result("indices", *indices, {x->dims[0], k}, DType::Int32);
  if (x->empty()) return;
  op.work(x->numel() * 16);
  op.launch([=, x = *x, add = *addNum, y = *y, indices = *indices] {
    const std::vector<float> more = floats_of(add);
    std::vector<float> weights(static_cast<size_t>(x.dims[0] * k));
    std::vector<int32_t> chosen(weights.size());
    each_row(x, [&](std::vector<float> p, int64_t i) {
      for (float& v : p) v = 1 / (1 + std::exp(-v));
      std::vector<float> by(p.size());
      std::transform(p.begin(), p.end(), more.begin(), by.begin(), std::plus<>());
      keep_best(by, groups, -std::numeric_limits<float>::infinity());
      const std::vector<int64_t> best = largest(by, k);
      double sum = 0;
      for (int64_t e : best) sum += static_cast<double>(p[static_cast<size_t>(e)]);
      for (int64_t j = 0; j < k; ++j) {
        const int64_t e = best[static_cast<size_t>(j)];
        const auto to = static_cast<size_t>(i * k + j);
        weights[to] = static_cast<float>(static_cast<double>(p[static_cast<size_t>(e)]) / (isNorm ? sum : 1)) * scale;
        chosen[to] = static_cast<int32_t>(e);
      }
    });
    write_all(y, weights);
    write_all(indices, chosen);
  });
}

}  // namespace updraft::atb_ops

template <>
atb::Status atb::CreateOperation(const infer::GroupTopkParam& param, Operation** operation) {
  using namespace updraft;
  return atb_ops::make({"GroupTopkOperation",
                        &atb_ops::GroupTopk_info,
                        {"x", "positions"},
                        {"y"},
                        [param](OpCall& call) {
                          call.set("groupNum", int64_t{param.groupNum});
                          call.set("k", int64_t{param.k});
                          call.set("n", int64_t{param.n});
                          call.set("groupMultiFlag", int64_t{param.groupMultiFlag});
                        }},
                       operation);
}
