// Tokens in the order of their experts and back, where a map [tokens, experts] says which expert takes which token.
// With dropAndPad each expert takes as many rows: those of its first tokens, then of others to fill up.
#include <algorithm>
#include <numeric>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

void require_rows(const Op& op, const char* name, const TensorView& v) {
  op.require(v.rank == 2 && is_floating(v.dtype), "{} is {}, want floating-point rows", name, describe(v));
}
void require_map(const Op& op, const TensorView& map, int64_t tokens) {
  op.require(map.rank == 2 && (map.dtype == DType::Bool || map.dtype == DType::Int8) && map.dims[0] == tokens,
             "routingMap is {}, want BOOL or INT8 [{}, experts]", describe(map), tokens);
}

/// A token and its expert.
struct Choice {
  int64_t token, expert;
};

/// What the map chooses, by tokens.
std::vector<Choice> choices_of(const TensorView& map) {
  const std::vector<int64_t> on = integers_of(map);
  const int64_t experts = map.dims[1];
  std::vector<Choice> all;
  for (size_t i = 0; i < on.size(); ++i)
    if (on[i]) all.push_back({static_cast<int64_t>(i) / experts, static_cast<int64_t>(i) % experts});
  return all;
}

/// The same by experts.
std::vector<Choice> by_expert(const TensorView& map) {
  std::vector<Choice> all = choices_of(map);
  std::ranges::stable_sort(all, {}, &Choice::expert);
  return all;
}

/// `capacity` rows for each expert.
std::vector<Choice> padded(const TensorView& map, int64_t capacity) {
  const std::vector<int64_t> on = integers_of(map);
  const int64_t tokens = map.dims[0], experts = map.dims[1];
  std::vector<Choice> all;
  for (int64_t e = 0; e < experts; ++e) {
    const auto end = static_cast<size_t>((e + 1) * capacity);
    for (const bool chosen : {true, false})
      for (int64_t t = 0; t < tokens && all.size() < end; ++t)
        if ((on[static_cast<size_t>(t * experts + e)] != 0) == chosen) all.push_back({t, e});
  }
  return all;
}

int64_t index_at(const std::vector<int64_t>& indices, size_t i, int64_t end, const char* name) {
  const int64_t at = indices[i];
  if (at < 0 || at >= end) fail_kernel(fmt::format("{} has {} at {}, want 0 to {}", name, at, i, end - 1));
  return at;
}

/// to[row of sums] += weight * from[row], in FLOAT and in the order of the list.
struct Addend {
  int64_t to, from;
  float weight;
};
void add_rows(const TensorView& from, std::vector<Addend> list, const TensorView& to) {
  std::ranges::stable_sort(list, {}, &Addend::to);
  const auto width = static_cast<size_t>(to.dims[1]);
  parallel_for(to.dims[0], std::max<int64_t>(1, 8192 / std::max<int64_t>(1, to.dims[1])),
               [&](int64_t begin, int64_t end) {
                 std::vector<float> sum(width), row(width);
                 auto next = std::ranges::lower_bound(list, begin, {}, &Addend::to);
                 for (int64_t n = begin; n < end; ++n) {
                   std::ranges::fill(sum, 0.0f);
                   for (; next != list.end() && next->to == n; ++next) {
                     gather_to(row.data(), DType::Float, select(from, 0, next->from));
                     for (size_t c = 0; c < width; ++c) sum[c] += next->weight * row[c];
                   }
                   write_all(select(to, 0, n), sum);
                 }
               });
}

float product_of_rows(const TensorView& a, int64_t i, const TensorView& b, int64_t j) {
  const auto width = static_cast<size_t>(a.dims[1]);
  std::vector<float> x(width), y(width);
  gather_to(x.data(), DType::Float, select(a, 0, i));
  gather_to(y.data(), DType::Float, select(b, 0, j));
  double sum = 0;
  for (size_t c = 0; c < width; ++c) sum += static_cast<double>(x[c]) * static_cast<double>(y[c]);
  return static_cast<float>(sum);
}

/// The rows that came from each token, as the way there named them: of row i of the list its place among the permuted
/// rows and its expert (-1 where no map says it).
struct Way {
  int64_t row, token, expert;
};
std::vector<Way> ways(const TensorView& rows_of, const TensorView& tokens_of, const TensorView& map, int64_t tokens,
                      int64_t rows, int64_t capacity, bool pad) {
  const std::vector<int64_t> at = integers_of(rows_of), from = pad ? integers_of(tokens_of) : std::vector<int64_t>();
  const std::vector<Choice> chosen = !pad && given(map) ? choices_of(map) : std::vector<Choice>();
  const int64_t each = tokens ? rows / tokens : 0;
  std::vector<Way> all(at.size());
  for (size_t i = 0; i < at.size(); ++i) {
    const int64_t row = index_at(at, i, rows, "sortedIndices");
    if (pad) all[i] = {row, index_at(from, i, tokens, "permutedTokenId"), capacity ? row / capacity : -1};
    else if (i < chosen.size()) all[i] = {row, chosen[i].token, chosen[i].expert};
    else all[i] = {row, each ? static_cast<int64_t>(i) / each : 0, -1};
  }
  return all;
}

/// How many of a map's tokens lie behind each other: all of them the same number of times.
int64_t times_of(const Op& op, int64_t rows, int64_t tokens) {
  op.require(tokens > 0 ? rows % tokens == 0 : rows == 0, "{} rows do not belong to {} tokens equally", rows, tokens);
  return tokens ? rows / tokens : 0;
}

}  // namespace

SAMPLE(aclnnMoeTokenPermuteWithRoutingMap,
       "tokens=f32[3,M] routingMap=i8[3,2]:1..2 probsOptional=f32[3,2] numOutTokens=6 dropAndPad=false "
       "permuteTokensOut=f32[6,M] permuteProbsOutOptional=f32[6] sortedIndicesOut=i32[6]")
ABOUT(aclnnMoeTokenPermuteWithRoutingMap, Vector,
      "Rows of tokens and probabilities in the order of the experts that routingMap gives them",
      "按 routingMap 将 token 及其概率按专家重排")
ACLNN(aclnnMoeTokenPermuteWithRoutingMap, (In, tokens), (In, routingMap), (OptIn, probsOptional), (Int, numOutTokens),
      (Bool, dropAndPad), (Out, permuteTokensOut), (OptOut, permuteProbsOutOptional), (Out, sortedIndicesOut)) {
  require_rows(op, "tokens", *tokens);
  require_map(op, *routingMap, tokens->dims[0]);
  const int64_t count = tokens->dims[0], experts = routingMap->dims[1], unit = dropAndPad ? experts : count;
  op.require(numOutTokens >= 0, "numOutTokens is {}, want 0 or more", int64_t{numOutTokens});
  const int64_t rows = unit ? numOutTokens / unit * unit : 0, capacity = experts ? rows / experts : 0;
  op.require(!dropAndPad || capacity <= count, "numOutTokens is {}: an expert takes {} rows of {} tokens",
             int64_t{numOutTokens}, capacity, count);
  op.result("permuteTokensOut", *permuteTokensOut, {rows, tokens->dims[1]}, tokens->dtype);
  op.result("sortedIndicesOut", *sortedIndicesOut, {rows}, DType::Int32);
  TensorView probs, to_probs;
  if (probsOptional) {
    op.require_same_shape("probs", *probsOptional, "routingMap", *routingMap);
    op.require(static_cast<bool>(permuteProbsOutOptional), "permuteProbsOut is null, which probs needs");
    op.result("permuteProbsOut", *permuteProbsOutOptional, {rows}, probsOptional->dtype);
    probs = *probsOptional, to_probs = *permuteProbsOutOptional;
  }
  if (!rows) return;
  op.work(permuteTokensOut->numel() + routingMap->numel() * 4);
  op.launch([=, pad = static_cast<bool>(dropAndPad), from = *tokens, map = *routingMap, to = *permuteTokensOut,
             indices = *sortedIndicesOut] {
    std::vector<Choice> list = pad ? padded(map, capacity) : by_expert(map);
    if (static_cast<int64_t>(list.size()) > rows) list.resize(static_cast<size_t>(rows));  // the last are dropped
    std::vector<int64_t> places(static_cast<size_t>(rows));
    std::iota(places.begin(), places.end(), 0);
    if (pad) std::ranges::transform(list, places.begin(), &Choice::token);
    else
      std::ranges::stable_sort(places.begin(), places.begin() + static_cast<int64_t>(list.size()), {},
                               [&](int64_t i) { return list[static_cast<size_t>(i)].token; });
    write_all(indices, places);
    if (static_cast<int64_t>(list.size()) < rows) fill_zero(to);
    parallel_for(static_cast<int64_t>(list.size()), 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        copy_elements(select(to, 0, i), select(from, 0, list[static_cast<size_t>(i)].token));
    });
    if (!given(probs)) return;
    const std::vector<float> p = floats_of(probs);
    std::vector<float> kept(static_cast<size_t>(rows));
    for (size_t i = 0; i < list.size(); ++i) kept[i] = p[static_cast<size_t>(list[i].token * experts + list[i].expert)];
    write_all(to_probs, kept);
  });
}

SAMPLE(aclnnMoeTokenPermuteWithRoutingMapGrad,
       "permutedTokenOutputGrad=f32[6,M] permutedProbsOutputGradOptional=f32[6] sortedIndices=i32[6] "
       "routingMap=i8[3,2]:1..2 expertsNum=2 tokensNum=3 dropAndPad=false tokensGradOut=f32[3,M] "
       "probsGradOutOptional=f32[3,2]")
ABOUT(aclnnMoeTokenPermuteWithRoutingMapGrad, Vector,
      "Gradients of aclnnMoeTokenPermuteWithRoutingMap for the tokens and the probabilities",
      "aclnnMoeTokenPermuteWithRoutingMap 对 token 与概率的反向梯度")
ACLNN(aclnnMoeTokenPermuteWithRoutingMapGrad, (In, permutedTokenOutputGrad), (OptIn, permutedProbsOutputGradOptional),
      (In, sortedIndices), (In, routingMap), (Int, expertsNum), (Int, tokensNum), (Bool, dropAndPad),
      (Out, tokensGradOut), (OptOut, probsGradOutOptional)) {
  require_rows(op, "permutedTokenOutputGrad", *permutedTokenOutputGrad);
  require_map(op, *routingMap, tokensNum);
  op.require(routingMap->dims[1] == expertsNum, "expertsNum is {}, routingMap has {}", int64_t{expertsNum},
             routingMap->dims[1]);
  const int64_t rows = permutedTokenOutputGrad->dims[0], tokens = tokensNum, experts = expertsNum;
  op.require(sortedIndices->numel() == rows && is_integral(sortedIndices->dtype),
             "sortedIndices is {}, want {} integers", describe(*sortedIndices), rows);
  if (!dropAndPad) times_of(op, rows, tokens);
  op.result("tokensGradOut", *tokensGradOut, {tokens, permutedTokenOutputGrad->dims[1]},
            permutedTokenOutputGrad->dtype);
  TensorView slopes, to_slopes;
  if (permutedProbsOutputGradOptional) {
    op.require(permutedProbsOutputGradOptional->numel() == rows, "permutedProbsOutputGrad is {}, want {} values",
               describe(*permutedProbsOutputGradOptional), rows);
    op.require(static_cast<bool>(probsGradOutOptional), "probsGradOut is null, which permutedProbsOutputGrad needs");
    op.result("probsGradOut", *probsGradOutOptional, {tokens, experts}, permutedProbsOutputGradOptional->dtype);
    slopes = *permutedProbsOutputGradOptional, to_slopes = *probsGradOutOptional;
  }
  if (tokensGradOut->empty()) return;
  op.work(permutedTokenOutputGrad->numel() * 2 + routingMap->numel());
  op.launch([=, pad = static_cast<bool>(dropAndPad), g = *permutedTokenOutputGrad, indices = *sortedIndices,
             map = *routingMap, to = *tokensGradOut] {
    const int64_t capacity = experts ? rows / experts : 0;
    std::vector<Way> all;
    if (pad) {  // sortedIndices has the tokens
      const std::vector<int64_t> of = integers_of(indices);
      for (size_t i = 0; i < of.size(); ++i)
        all.push_back({static_cast<int64_t>(i), index_at(of, i, tokens, "sortedIndices"),
                       capacity ? static_cast<int64_t>(i) / capacity : -1});
    } else {
      all = ways(indices, {}, map, tokens, rows, capacity, false);
    }
    std::vector<Addend> list;
    for (const Way& w : all) list.push_back({w.token, w.row, 1});
    add_rows(g, std::move(list), to);
    if (!given(slopes)) return;
    const std::vector<float> s = floats_of(slopes);
    std::vector<float> out(static_cast<size_t>(tokens * experts));
    for (const Way& w : all)
      if (w.expert >= 0) out[static_cast<size_t>(w.token * experts + w.expert)] += s[static_cast<size_t>(w.row)];
    write_all(to_slopes, out);
  });
}

SAMPLE(aclnnMoeTokenUnpermuteWithRoutingMap,
       "permutedTokens=f32[6,M] sortedIndices=i32[6] routingMapOptional=i8[3,2]:1..2 probsOptional=f32[3,2] "
       "paddedMode=false restoreShapeOptional=3,M unpermutedTokens=f32[3,M] outIndex=i32[6] permuteTokenId=i32[6] "
       "permuteProbs=f32[6]")
ABOUT(aclnnMoeTokenUnpermuteWithRoutingMap, Vector,
      "Each token = the sum of its rows, each times the probability of its expert by routingMap",
      "各 token 为其各行按 routingMap 所选专家概率加权之和")
ACLNN(aclnnMoeTokenUnpermuteWithRoutingMap, (In, permutedTokens), (In, sortedIndices), (OptIn, routingMapOptional),
      (OptIn, probsOptional), (Bool, paddedMode), (Ints, restoreShapeOptional), (Out, unpermutedTokens),
      (Out, outIndex), (Out, permuteTokenId), (OptOut, permuteProbs)) {
  require_rows(op, "permutedTokens", *permutedTokens);
  op.require(restoreShapeOptional.size() == 2 && restoreShapeOptional[0] >= 0 &&
                 restoreShapeOptional[1] == permutedTokens->dims[1],
             "restoreShape has {} values, want tokens and {}", restoreShapeOptional.size(), permutedTokens->dims[1]);
  const int64_t rows = permutedTokens->dims[0], tokens = restoreShapeOptional[0];
  op.require(sortedIndices->rank == 1 && sortedIndices->dims[0] == rows && is_integral(sortedIndices->dtype),
             "sortedIndices is {}, want {} integers", describe(*sortedIndices), rows);
  TensorView map, probs, to_probs;
  if (routingMapOptional) {
    require_map(op, *routingMapOptional, tokens);
    map = *routingMapOptional;
  }
  int64_t experts = given(map) ? map.dims[1] : 0;
  if (probsOptional) {
    op.require(paddedMode || given(map), "routingMap is null, which probs needs");
    op.require(
        probsOptional->rank == 2 && probsOptional->dims[0] == tokens && (!experts || probsOptional->dims[1] == experts),
        "probs is {}, want [{}, experts]", describe(*probsOptional), tokens);
    op.require(static_cast<bool>(permuteProbs), "permuteProbs is null, which probs needs");
    op.result_like("permuteProbs", *permuteProbs, *sortedIndices, probsOptional->dtype);
    probs = *probsOptional, to_probs = *permuteProbs, experts = probs.dims[1];
  }
  if (!paddedMode) times_of(op, rows, tokens);
  op.result("unpermutedTokens", *unpermutedTokens, {tokens, permutedTokens->dims[1]}, permutedTokens->dtype);
  op.result_like("outIndex", *outIndex, *sortedIndices, sortedIndices->dtype);
  op.result_like("permuteTokenId", *permuteTokenId, *sortedIndices, sortedIndices->dtype);
  if (unpermutedTokens->empty()) return;
  op.work(permutedTokens->numel() * 3);
  op.launch([=, pad = static_cast<bool>(paddedMode), from = *permutedTokens, indices = *sortedIndices,
             to = *unpermutedTokens, index = *outIndex, ids = *permuteTokenId] {
    std::vector<Way> all;
    if (pad) {  // sortedIndices has the tokens: their rows by tokens
      const std::vector<int64_t> of = integers_of(indices);
      const int64_t capacity = experts ? rows / experts : 0;
      for (size_t i = 0; i < of.size(); ++i)
        all.push_back({static_cast<int64_t>(i), index_at(of, i, tokens, "sortedIndices"),
                       capacity ? static_cast<int64_t>(i) / capacity : -1});
      std::ranges::stable_sort(all, {}, &Way::token);
    } else {
      all = ways(indices, {}, map, tokens, rows, 0, false);
    }
    const std::vector<float> p = given(probs) ? floats_of(probs) : std::vector<float>();
    std::vector<Addend> list;
    std::vector<int64_t> row(all.size()), token(all.size());
    std::vector<float> weights(all.size());
    for (size_t i = 0; i < all.size(); ++i) {
      const Way& w = all[i];
      const float by = p.empty() || w.expert < 0 ? 1.0f : p[static_cast<size_t>(w.token * experts + w.expert)];
      list.push_back({w.token, w.row, by});
      row[i] = w.row, token[i] = w.token;
      weights[pad ? static_cast<size_t>(w.row) : i] = by;
    }
    add_rows(from, std::move(list), to);
    write_all(index, row);
    write_all(ids, token);
    if (given(probs)) write_all(to_probs, weights);
  });
}

SAMPLE(aclnnMoeTokenUnpermuteWithRoutingMapGrad,
       "unpermutedTokensGrad=f32[1,M] outIndex=i32[1]:0..1 permuteTokenId=i32[1]:0..1 routingMapOptional=i8[1,1]:1..2 "
       "permutedTokensOptional=f32[1,M] probsOptional=f32[1,1] dropAndPad=false restoreShapeOptional=1,M "
       "permutedTokensGradOut=f32[1,M] probsGradOutOptional=f32[1,1]")
ABOUT(aclnnMoeTokenUnpermuteWithRoutingMapGrad, Vector,
      "Gradients of aclnnMoeTokenUnpermuteWithRoutingMap for the rows and the probabilities",
      "aclnnMoeTokenUnpermuteWithRoutingMap 对各行与概率的反向梯度")
ACLNN(aclnnMoeTokenUnpermuteWithRoutingMapGrad, (In, unpermutedTokensGrad), (In, outIndex), (In, permuteTokenId),
      (OptIn, routingMapOptional), (OptIn, permutedTokensOptional), (OptIn, probsOptional), (Bool, dropAndPad),
      (OptInts, restoreShapeOptional), (Out, permutedTokensGradOut), (OptOut, probsGradOutOptional)) {
  (void)restoreShapeOptional;  // the gradient's
  require_rows(op, "unpermutedTokensGrad", *unpermutedTokensGrad);
  const int64_t rows = outIndex->numel(), tokens = unpermutedTokensGrad->dims[0];
  op.require(is_integral(outIndex->dtype) && is_integral(permuteTokenId->dtype) && permuteTokenId->numel() == rows,
             "outIndex is {} and permuteTokenId {}, want as many integers", describe(*outIndex),
             describe(*permuteTokenId));
  TensorView map, probs, to_probs, from;
  if (routingMapOptional) {
    require_map(op, *routingMapOptional, tokens);
    map = *routingMapOptional;
  }
  if (probsOptional) {
    op.require(probsOptional->rank == 2 && probsOptional->dims[0] == tokens &&
                   (!given(map) || probsOptional->dims[1] == map.dims[1]),
               "probs is {}, want [{}, experts]", describe(*probsOptional), tokens);
    op.require(dropAndPad || given(map), "routingMap is null, which probs needs");
    probs = *probsOptional;
    if (probsGradOutOptional) {
      op.require(static_cast<bool>(permutedTokensOptional),
                 "permutedTokens is null, which the gradient of probs needs");
      op.require(permutedTokensOptional->rank == 2 && permutedTokensOptional->dims[0] == rows &&
                     permutedTokensOptional->dims[1] == unpermutedTokensGrad->dims[1],
                 "permutedTokens is {}, want [{}, {}]", describe(*permutedTokensOptional), rows,
                 unpermutedTokensGrad->dims[1]);
      op.result_like("probsGradOut", *probsGradOutOptional, probs, unpermutedTokensGrad->dtype);
      from = *permutedTokensOptional, to_probs = *probsGradOutOptional;
    }
  }
  if (!dropAndPad) times_of(op, rows, tokens);
  op.result("permutedTokensGradOut", *permutedTokensGradOut, {rows, unpermutedTokensGrad->dims[1]},
            unpermutedTokensGrad->dtype);
  if (permutedTokensGradOut->empty()) return;
  op.work(permutedTokensGradOut->numel() * 4);
  op.launch([=, pad = static_cast<bool>(dropAndPad), g = *unpermutedTokensGrad, index = *outIndex,
             ids = *permuteTokenId, to = *permutedTokensGradOut] {
    const int64_t experts = given(probs) ? probs.dims[1] : given(map) ? map.dims[1] : 0;
    const std::vector<Way> all = ways(index, ids, map, tokens, rows, experts ? rows / experts : 0, pad);
    const std::vector<float> p = given(probs) ? floats_of(probs) : std::vector<float>();
    std::vector<Addend> list;
    for (const Way& w : all) {
      const bool weighed = !p.empty() && w.expert >= 0;
      list.push_back({w.row, w.token, weighed ? p[static_cast<size_t>(w.token * experts + w.expert)] : 1.0f});
    }
    add_rows(g, std::move(list), to);
    if (!given(to_probs)) return;
    std::vector<float> slopes(static_cast<size_t>(tokens * experts));
    parallel_for(static_cast<int64_t>(all.size()), 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Way& w = all[static_cast<size_t>(i)];
        if (w.expert >= 0)
          slopes[static_cast<size_t>(w.token * experts + w.expert)] = product_of_rows(g, w.token, from, w.row);
      }
    });
    write_all(to_probs, slopes);
  });
}

}  // namespace updraft
