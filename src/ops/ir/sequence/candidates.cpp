// Classes that are drawn for a loss over some of many classes, and how often each was to be expected.
#include <cmath>
#include <limits>
#include <random>
#include <unordered_map>
#include <unordered_set>

#include "ops/gathered.h"
#include "ops/index/indices.h"
#include "ops/ir/random/seeds.h"
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
ABOUT(ComputeAccidentalHits, AICPU,
      "Where drawn classes are among the true ones of an example: both places, and a weight",
      "采样类别命中真实类别的位置及其权重")
IR_OP(ComputeAccidentalHits, ComputeAccidentalHits, (In, true_classes), (In, sampled_candidates), (Out, indices),
      (Out, ids), (Out, weights), (Int, num_true), (Int, seed, 0), (Int, seed2, 0)) {
  (void)seed, (void)seed2;  // nothing is drawn
  op.require(true_classes->rank == 2 && true_classes->dims[1] == num_true && is_integral(true_classes->dtype),
             "true_classes is {}, attribute num_true is {}: want integers [batch, num_true]", describe(*true_classes),
             num_true);
  op.require(sampled_candidates->rank == 1 && is_integral(sampled_candidates->dtype),
             "sampled_candidates is {}, want a vector of integers", describe(*sampled_candidates));
  const int64_t most = true_classes->numel() * sampled_candidates->numel();
  op.suggest_up_to(*indices, &most, 1, DType::Int32, 0);
  op.suggest_up_to(*ids, &most, 1, DType::Int64, 0);
  op.suggest_up_to(*weights, &most, 1, DType::Float, 0);
  if (op.inferring()) return;
  for (const Out& out : {indices, ids, weights})
    op.require(out->rank == 1, "an output is {}, want a vector with room for the hits", describe(*out));
  op.work(most + 1);
  op.launch([truth = *true_classes, drawn = *sampled_candidates, rows = *indices, places = *ids, to = *weights,
             found_rows = ResultShape(indices.handle), found_places = ResultShape(ids.handle),
             found = ResultShape(weights.handle)] {
    std::unordered_map<int64_t, std::vector<int64_t>> at;
    const std::vector<int64_t> candidates = integers_of(drawn), wanted = integers_of(truth);
    for (size_t i = 0; i < candidates.size(); ++i) at[candidates[i]].push_back(static_cast<int64_t>(i));
    std::vector<int64_t> hits, where;
    for (size_t i = 0; i < wanted.size(); ++i)
      if (const auto place = at.find(wanted[i]); place != at.end())
        for (const int64_t k : place->second) {
          hits.push_back(static_cast<int64_t>(i) / truth.dims[1]);
          where.push_back(k);
        }
    const auto n = static_cast<int64_t>(hits.size());
    const auto first = [n](const TensorView& v) {
      // MindSpore has room for candidates of which each comes once.
      if (v.dims[0] < n) fail_kernel(fmt::format("there are {} hits, and an output has room for {}", n, v.dims[0]));
      return ir::part_of(v, 0, 0, n);
    };
    if (n) {
      write_all(first(rows), hits);
      write_all(first(places), where);
      write_all(first(to), std::vector<float>(hits.size(), std::numeric_limits<float>::lowest()));
    }
    found_rows.set({n}), found_places.set({n}), found.set({n});
  });
}
ABOUT(CustNoRepeatNGram, AICPU,
      "log_probs where no token gets a chance that would end a sequence of tokens that was there",
      "抑制会重复已出现 n-gram 的词元概率")
IR_OP(CustNoRepeatNGram, CustNoRepeatNGram, (In, state_seq), (In, log_probs), (Out, out), (Int, ngram_size)) {
  op.require(state_seq->rank >= 1 && state_seq->rank == log_probs->rank && is_integral(state_seq->dtype) &&
                 std::equal(state_seq->dims, state_seq->dims + state_seq->rank - 1, log_probs->dims),
             "state_seq is {} and log_probs {}, want integers, and the same dimensions but the last",
             describe(*state_seq), describe(*log_probs));
  op.require(ngram_size >= 1, "attribute ngram_size is {}, want above 0", ngram_size);
  op.result_like("out", *out, *log_probs, log_probs->dtype);
  if (op.inferring() || out->empty()) return;
  op.work(log_probs->numel() + state_seq->numel() * ngram_size);
  op.launch([=, tokens = *state_seq, from = *log_probs, to = *out, n = int64_t{ngram_size}] {
    const std::vector<int64_t> all = integers_of(tokens);
    std::vector<double> chances = gathered<double>(from);
    const int64_t length = row_length(tokens), classes = row_length(from);
    for (int64_t row = 0; row < rows_of(tokens); ++row) {
      const int64_t *begin = all.data() + row * length, *last = begin + length - (n - 1);
      for (int64_t i = 0; i + n <= length; ++i) {
        if (!std::equal(begin + i, begin + i + n - 1, last)) continue;
        const int64_t next = begin[i + n - 1];
        if (next < 0 || next >= classes)
          fail_kernel(fmt::format("state_seq has {}, log_probs has {} tokens", next, classes));
        chances[static_cast<size_t>(row * classes + next)] = static_cast<double>(std::numeric_limits<float>::lowest());
      }
    }
    write_all(to, chances);
  });
}

}  // namespace updraft
