// Classes that are drawn for a loss over some of many classes, and how often each was to be expected.
#include <cmath>
#include <random>
#include <unordered_set>

#include "ops/gathered.h"
#include "ops/ir/random_seeds.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

struct Draws {
  bool logarithmic, unique;
  int64_t count, range, seed, seed2;

  double chance(int64_t k) const {
    const auto n = static_cast<double>(k);
    return logarithmic ? std::log1p(1 / (n + 1)) / std::log1p(static_cast<double>(range))
                       : 1 / static_cast<double>(range);
  }
  template <class Random>
  int64_t next(Random& random) const {
    if (!logarithmic) return std::uniform_int_distribution<int64_t>(0, range - 1)(random);
    const double u = std::uniform_real_distribution<double>()(random);
    return std::min(static_cast<int64_t>(std::exp(u * std::log1p(static_cast<double>(range)))) - 1, range - 1);
  }
  /// Draws until there are enough, and says how many draws that took.
  int64_t draw(std::vector<int64_t>& drawn) const {
    std::mt19937_64 random(static_cast<uint64_t>(seed) * 0x9E3779B97F4A7C15ULL + static_cast<uint64_t>(seed2));
    std::unordered_set<int64_t> seen;
    int64_t tries = 0;
    while (static_cast<int64_t>(drawn.size()) < count) {
      const int64_t k = next(random);
      ++tries;
      if (!unique || seen.insert(k).second) drawn.push_back(k);
    }
    return tries;
  }
  float expected(int64_t k, int64_t tries) const {
    const double p = chance(k);
    if (tries == count) return static_cast<float>(p * static_cast<double>(count));
    return static_cast<float>(-std::expm1(static_cast<double>(tries) * std::log1p(-p)));
  }
};

void plan_draws(Op& op, const In& classes, Draws d, int64_t num_true, const Out& sampled, const Out& of_true,
                const Out& of_sampled) {
  op.require(classes->rank == 2 && classes->dims[1] == num_true && is_integral(classes->dtype),
             "true_classes is {}, attribute num_true is {}: want integers [batch, num_true]", describe(*classes),
             num_true);
  op.require(d.count > 0 && d.range > 0 && (!d.unique || d.count <= d.range),
             "attribute num_sampled is {} and range_max {}, want numbers above 0, and not more than there are classes",
             d.count, d.range);
  op.result("sampled_candidates", *sampled, {d.count}, DType::Int64);
  op.result_like("true_expected_count", *of_true, *classes, DType::Float);
  op.result("sampled_expected_count", *of_sampled, {d.count}, DType::Float);
  if (op.inferring()) return;
  if (d.seed == 0 && d.seed2 == 0) d.seed = ir::fresh_seed();
  op.launch([d, from = *classes, to = *sampled, to_true = *of_true, to_sampled = *of_sampled] {
    std::vector<int64_t> drawn;
    const int64_t tries = d.draw(drawn);
    std::vector<float> wanted, expected;
    for (int64_t k : integers_of(from)) wanted.push_back(k < 0 || k >= d.range ? 0.0F : d.expected(k, tries));
    for (int64_t k : drawn) expected.push_back(d.expected(k, tries));
    write_all(to, drawn);
    write_all(to_true, wanted);
    write_all(to_sampled, expected);
  });
}

}  // namespace

ABOUT(UniformCandidateSampler, AICPU, "Classes drawn with equal chances, and how often each was to be expected",
      "均匀采样候选类别及其期望次数")
IR_OP(UniformCandidateSampler, UniformCandidateSampler, (In, true_classes), (Out, sampled_candidates),
      (Out, true_expected_count), (Out, sampled_expected_count), (Int, num_true), (Int, num_sampled), (Bool, unique),
      (Int, range_max), (Int, seed, 0), (Int, seed2, 0)) {
  plan_draws(op, true_classes, {false, unique, num_sampled, range_max, seed, seed2}, num_true, sampled_candidates,
             true_expected_count, sampled_expected_count);
}
ABOUT(LogUniformCandidateSampler, AICPU,
      "Classes drawn with chances that fall as theirs do who are ordered by frequency",
      "按对数均匀分布采样候选类别及其期望次数")
IR_OP(LogUniformCandidateSampler, LogUniformCandidateSampler, (In, true_classes), (Out, sampled_candidates),
      (Out, true_expected_count), (Out, sampled_expected_count), (Int, num_true), (Int, num_sampled), (Bool, unique),
      (Int, range_max), (Int, seed, 0), (Int, seed2, 0)) {
  plan_draws(op, true_classes, {true, unique, num_sampled, range_max, seed, seed2}, num_true, sampled_candidates,
             true_expected_count, sampled_expected_count);
}
IR_OP(CustLogUniformCandidateSampler, LogUniformCandidateSampler, (In, true_classes), (Out, sampled_candidates),
      (Out, true_expected_count), (Out, sampled_expected_count), (Int, num_true), (Int, num_sampled), (Bool, unique),
      (Int, range_max), (Int, seed, 0)) {
  plan_draws(op, true_classes, {true, unique, num_sampled, range_max, seed, 0}, num_true, sampled_candidates,
             true_expected_count, sampled_expected_count);
}

}  // namespace updraft
