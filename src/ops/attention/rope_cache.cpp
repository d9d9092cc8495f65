// Rotary position embedding from a table of cosines and sines that positions name.
#include <vector>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/op.h"

namespace updraft {
namespace {

struct Rope {
  TensorView positions{}, table{};
  std::vector<int64_t> sections{};  // of the half width, one for each row of positions; empty: one row
  int64_t head = 0;
  bool halves = true, interleaved = false;
};

/// Which row of positions says where column c of the half width lies.
int64_t row_of(const Rope& r, int64_t c) {
  if (r.sections.empty()) return 0;
  if (r.interleaved) return c % 3 && c < 3 * r.sections[1] ? c % 3 : 0;
  int64_t row = 0;
  for (int64_t end = r.sections[0]; c >= end && row + 1 < 3; end += r.sections[static_cast<size_t>(++row)]) {}
  return row;
}

void rotate(const Rope& r, const TensorView& from, const TensorView& to) {
  const std::vector<int64_t> at = integers_of(r.positions);
  const std::vector<float> table = floats_of(r.table);
  std::vector<float> x = floats_of(from);
  const int64_t tokens = r.positions.dims[r.positions.rank - 1], width = row_length(r.table), half = width / 2;
  const int64_t entries = r.table.dims[0], heads = from.numel() / std::max<int64_t>(1, tokens * r.head);
  for (int64_t p : at)
    if (p < 0 || p >= entries)
      fail_kernel(fmt::format("rope: position {} is out of range, want 0 to {}", p, entries - 1));
  parallel_for(tokens, 8, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      for (int64_t h = 0; h < heads; ++h) {
        float* v = x.data() + (t * heads + h) * r.head;
        for (int64_t c = 0; c < half; ++c) {
          const float* line = table.data() + at[static_cast<size_t>(row_of(r, c) * tokens + t)] * width;
          float& a = v[r.halves ? c : 2 * c];
          float& b = v[r.halves ? c + half : 2 * c + 1];
          const float first = a * line[c] - b * line[half + c];
          b = b * line[c] + a * line[half + c];
          a = first;
        }
      }
  });
  write_all(to, x);
}

void plan_rope(Op& op, const In& positions, const In& query, const In& key, const In& table, const OptInts& sections,
               int64_t head, bool halves, int64_t mode, const Out& query_out, const Out& key_out) {
  Rope r{.positions = *positions, .table = *table, .head = head, .halves = halves, .interleaved = mode == 1};
  op.require(mode == 0 || mode == 1, "cacheMode is {}, want 0 or 1", mode);
  op.require(
      (positions->rank == 1 || (positions->rank == 2 && positions->dims[0] == 3)) && is_integral(positions->dtype),
      "positions is {}, want integers [N] or [3,N]", describe(*positions));
  op.require(table->rank == 2 && table->dims[1] % 2 == 0 && table->dims[1] <= head,
             "cosSinCache is {}, want [positions, an even width up to {}]", describe(*table), head);
  const int64_t tokens = positions->dims[positions->rank - 1];
  for (const TensorView* v : {&*query, &*key})
    op.require(
        head > 0 && compute_of(v->dtype) == Compute::F32 && v->numel() % std::max<int64_t>(1, tokens * head) == 0,
        "{} has no heads of {} for {} tokens", describe(*v), head, tokens);
  op.result_like("queryOut", *query_out, *query, query->dtype);
  op.result_like("keyOut", *key_out, *key, key->dtype);
  if (positions->rank == 2) {
    op.require(sections && sections->size() == 3, "mropeSection has {} values, want 3",
               sections ? sections->size() : 0);
    r.sections = *sections;
  }
  op.work((query->numel() + key->numel()) * 4);
  op.launch([r, q = *query, k = *key, to_q = *query_out, to_k = *key_out] {
    if (!q.empty()) rotate(r, q, to_q);
    if (!k.empty()) rotate(r, k, to_k);
  });
}

}  // namespace

SAMPLE(aclnnRopeWithSinCosCache,
       "positions=i64[N]:0..5 query=f32[N,16] key=f32[N,8] cosSinCache=f32[5,M] mropeSection=null headSize=8 "
       "isNeoxStyle=true queryOut=f32[N,16] keyOut=f32[N,8]")
ABOUT(aclnnRopeWithSinCosCache, Vector, "Rotary position embedding of query and key by the rows of cosSinCache",
      "按 positions 查 cosSinCache 的旋转位置编码，作用于 query 与 key")
ACLNN(aclnnRopeWithSinCosCache, (In, positions), (In, query), (In, key), (In, cosSinCache), (OptInts, mropeSection),
      (Int, headSize), (Bool, isNeoxStyle), (Out, queryOut), (Out, keyOut)) {
  plan_rope(op, positions, query, key, cosSinCache, mropeSection, headSize, isNeoxStyle, 0, queryOut, keyOut);
}
SAMPLE(aclnnRopeWithSinCosCacheV2,
       "positions=i64[3,N]:0..5 query=f32[N,16] key=f32[N,8] cosSinCache=f32[5,M] mropeSection=1,1,1 headSize=8 "
       "isNeoxStyle=false cacheMode=0 queryOut=f32[N,16] keyOut=f32[N,8]")
ABOUT(aclnnRopeWithSinCosCacheV2, Vector, "As aclnnRopeWithSinCosCache; cacheMode 1 takes the three positions in turn",
      "同 aclnnRopeWithSinCosCache；cacheMode 1 交错使用三组位置")
ACLNN(aclnnRopeWithSinCosCacheV2, (In, positions), (In, query), (In, key), (In, cosSinCache), (OptInts, mropeSection),
      (Int, headSize), (Bool, isNeoxStyle), (Int, cacheMode), (Out, queryOut), (Out, keyOut)) {
  plan_rope(op, positions, query, key, cosSinCache, mropeSection, headSize, isNeoxStyle, cacheMode, queryOut, keyOut);
}

}  // namespace updraft
