// Attention of tokens to the blocks of keys that each of them names: the selected branch of native sparse attention.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "base/parallel.h"
#include "kernels/matmul/matmul.h"
#include "ops/gathered.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

/// Tokens of a sequence in query and key, whose sequences follow each other.
struct Sequence {
  int64_t q_begin, q_end, k_begin, k_end;
};

struct Problem {
  TensorView q{}, k{}, v{}, blocks{}, mask{};  // mask may be absent
  std::vector<Sequence> sequences{};
  int64_t heads = 0, kv_heads = 0, block_size = 0;
  int64_t sparse_mode = 0;
  float scale = 1;
};

std::vector<Sequence> sequences_of(const Op& op, const OptInts& q_ends, const OptInts& k_ends, int64_t q, int64_t k) {
  op.require(q_ends && k_ends && !q_ends->empty() && q_ends->size() == k_ends->size(),
             "actualSeqQLen and actualSeqKvLen are not of one length, want the ends of the sequences in both");
  std::vector<Sequence> all;
  int64_t q_at = 0, k_at = 0;
  for (size_t i = 0; i < q_ends->size(); ++i) {
    const int64_t q_end = (*q_ends)[i], k_end = (*k_ends)[i];
    op.require(q_end >= q_at && k_end >= k_at && q_end <= q && k_end <= k,
               "actualSeqQLen[{}] is {} and actualSeqKvLen is {}: want ascending numbers up to {} and {}", i, q_end,
               k_end, q, k);
    all.push_back({q_at, q_end, k_at, k_end});
    q_at = q_end, k_at = k_end;
  }
  op.require(q_at == q && k_at == k, "the sequences end at {} and {}, want {} and {}", q_at, k_at, q, k);
  return all;
}

Problem check(const Op& op, const In& query, const In& key, const In& value, const In& topk, const OptIn& mask,
              const OptInts& q_ends, const OptInts& k_ends, double scale, int64_t heads, const char* layout,
              int64_t sparse_mode, int64_t block_size, int64_t block_count) {
  op.require(!std::strcmp(layout, "TND"), "inputLayout is \"{}\", want \"TND\"", layout);
  for (const TensorView* t : {&*query, &*key, &*value})
    op.require(t->rank == 3 && compute_of(t->dtype) == Compute::F32, "{} is not [tokens,heads,size] of FLOAT or halves",
               describe(*t));
  Problem p{.q = *query, .k = *key, .v = *value, .blocks = *topk};
  p.heads = p.q.dims[1];
  p.kv_heads = p.k.dims[1];
  op.require(heads == p.heads && p.kv_heads > 0 && p.heads % p.kv_heads == 0 && p.v.dims[1] == p.kv_heads,
             "headNum is {}, query has {} heads, key {} and value {}", heads, p.heads, p.kv_heads, p.v.dims[1]);
  op.require(p.q.dims[2] == p.k.dims[2] && p.k.dims[0] == p.v.dims[0], "query is {}, key {} and value {}",
             describe(p.q), describe(p.k), describe(p.v));
  op.require(block_size > 0 && block_count > 0, "selectBlockSize is {} and selectBlockCount {}, want more than 0",
             block_size, block_count);
  const int64_t want[] = {p.q.dims[0], p.kv_heads, block_count};
  op.require_shape("topkIndices", p.blocks, want, 3);
  op.require(is_integral(p.blocks.dtype), "topkIndices is {}, want INT32", describe(p.blocks));
  p.sequences = sequences_of(op, q_ends, k_ends, p.q.dims[0], p.k.dims[0]);
  if (mask && mask->numel()) {
    op.require(sparse_mode == 0 || sparse_mode == 2, "sparseMode is {}, supported are 0 and 2", sparse_mode);
    op.require(mask->rank == 2 && size_of(mask->dtype) == 1, "attenMask is {}, want a matrix of BOOL or UINT8",
               describe(*mask));
    for (const Sequence& s : p.sequences)
      op.require(sparse_mode == 2 || (mask->dims[0] >= s.q_end - s.q_begin && mask->dims[1] >= s.k_end - s.k_begin),
                 "attenMask is {}, want [{},{}]", describe(*mask), s.q_end - s.q_begin, s.k_end - s.k_begin);
    p.mask = *mask;
  }
  p.sparse_mode = sparse_mode;
  p.block_size = block_size;
  p.scale = static_cast<float>(scale);
  return p;
}

/// What the heads of a token that share a key head see.
struct Scores {
  std::vector<int64_t> tokens;     ///< of the keys that are seen
  std::vector<float> k, v, p;      ///< their rows, and the heads' probabilities [heads, tokens]
  std::vector<float> most, sum;    ///< of each head
  std::vector<float> slope, part;  ///< room for gradients
};

/// The keys that a token sees, in the order in which it names their blocks. Numbers outside its sequence name none.
void see(const Problem& p, const Sequence& s, int64_t token, const int32_t* blocks, const int8_t* mask, Scores& out) {
  out.tokens.clear();
  for (int64_t i = 0; i < p.blocks.dims[2]; ++i) {
    if (blocks[i] < 0) continue;
    const int64_t begin = blocks[i] * p.block_size, end = std::min(begin + p.block_size, s.k_end - s.k_begin);
    for (int64_t j = begin; j < end; ++j) {
      const int64_t row = token - s.q_begin;
      const bool hidden = given(p.mask) && (p.sparse_mode == 2 ? j > row : mask[row * p.mask.dims[1] + j] != 0);
      if (!hidden) out.tokens.push_back(s.k_begin + j);
    }
  }
}

TensorView matrix(std::vector<float>& x, int64_t rows, int64_t columns) {
  x.resize(static_cast<size_t>(rows * columns));
  const int64_t dims[] = {rows, columns};
  return TensorView::contiguous(x.data(), DType::Float, dims, 2);
}

/// Rows `tokens` of one head, as FLOAT.
TensorView pick(const TensorView& v, int64_t head, const std::vector<int64_t>& tokens, std::vector<float>& hold) {
  const TensorView of_head = select(v, 1, head), to = matrix(hold, static_cast<int64_t>(tokens.size()), v.dims[2]);
  for (size_t i = 0; i < tokens.size(); ++i)
    copy_elements(select(to, 0, static_cast<int64_t>(i)), select(of_head, 0, tokens[i]));
  return to;
}

/// Fills in `out` but for v. Returns the rows of q.
TensorView attend(const Problem& p, int64_t token, int64_t head, Scores& out) {
  const int64_t group = p.heads / p.kv_heads, seen = static_cast<int64_t>(out.tokens.size());
  const TensorView q = narrow(select(p.q, 0, token), 0, head * group, group);
  const TensorView k = pick(p.k, head, out.tokens, out.k), s = matrix(out.p, group, seen);
  MatmulOptions options;
  options.alpha = static_cast<double>(p.scale);
  if (seen) matmul(q, k.transpose(0, 1), s, options);
  out.most.assign(static_cast<size_t>(group), kNone);
  out.sum.assign(static_cast<size_t>(group), 0);
  for (int64_t i = 0; i < group && seen; ++i) {
    float* row = s.as<float>() + i * seen;
    const float most = *std::max_element(row, row + seen);
    double sum = 0;
    for (int64_t j = 0; j < seen; ++j) sum += static_cast<double>(row[j] = std::exp(row[j] - most));
    for (int64_t j = 0; j < seen; ++j) row[j] = static_cast<float>(static_cast<double>(row[j]) / sum);
    out.most[static_cast<size_t>(i)] = most;
    out.sum[static_cast<size_t>(i)] = static_cast<float>(sum);
  }
  return q;
}

void round_to(DType half, std::vector<float>& x) {
  for (float& v : x) v = half == DType::Float16 ? static_cast<float>(Half(v)) : static_cast<float>(BFloat16(v));
}

/// Calls f(token, key head, what is seen) for each token and key head: tokens one after the other, key heads of a token
/// in several threads.
template <class F>
void each_token(const Problem& p, F&& f) {
  const std::vector<int32_t> blocks = gathered<int32_t>(p.blocks);
  const std::vector<int8_t> mask = given(p.mask) ? gathered<int8_t>(p.mask) : std::vector<int8_t>();
  parallel_for(p.kv_heads, 1, [&](int64_t begin, int64_t end) {
    Scores scores;
    for (int64_t h = begin; h < end; ++h)
      for (const Sequence& s : p.sequences)
        for (int64_t t = s.q_begin; t < s.q_end; ++t) {
          see(p, s, t, blocks.data() + (t * p.kv_heads + h) * p.blocks.dims[2], mask.data(), scores);
          f(t, h, scores);
        }
  });
}

}  // namespace

SAMPLE(aclnnNsaSelectedAttention,
       "query=f32[3,4,M] key=f32[8,2,M] value=f32[8,2,M] topkIndices=i32[3,2,2]:0..1 attenMaskOptional=null "
       "actualSeqQLenOptional=3 actualSeqKvLenOptional=8 scaleValue=0.5 headNum=4 inputLayout=TND sparseMode=0 "
       "selectedBlockSize=2 selectedBlockCount=2 softmaxMaxOut=f32[3,4,8] softmaxSumOut=f32[3,4,8] "
       "attentionOut=f32[3,4,M]")
ABOUT(aclnnNsaSelectedAttention, MixCube, "Attention of each token to the blocks of keys that topkIndices names for it",
      "每个 token 仅对 topkIndices 所选的键块计算注意力")
ACLNN(aclnnNsaSelectedAttention, (In, query), (In, key), (In, value), (In, topkIndices), (OptIn, attenMaskOptional),
      (OptInts, actualSeqQLenOptional), (OptInts, actualSeqKvLenOptional), (Double, scaleValue), (Int, headNum),
      (Text, inputLayout), (Int, sparseMode), (Int, selectedBlockSize), (Int, selectedBlockCount), (Out, softmaxMaxOut),
      (Out, softmaxSumOut), (Out, attentionOut)) {
  const Problem p =
      check(op, query, key, value, topkIndices, attenMaskOptional, actualSeqQLenOptional, actualSeqKvLenOptional,
            scaleValue, headNum, inputLayout, sparseMode, selectedBlockSize, selectedBlockCount);
  const int64_t tokens = p.q.dims[0];
  op.result("softmaxMaxOut", *softmaxMaxOut, {tokens, p.heads, 8}, DType::Float);
  op.result("softmaxSumOut", *softmaxSumOut, {tokens, p.heads, 8}, DType::Float);
  op.result("attentionOut", *attentionOut, {tokens, p.heads, p.v.dims[2]}, p.q.dtype);
  const int64_t scores = tokens * p.heads * selectedBlockSize * selectedBlockCount;
  op.flops(2 * scores * (p.q.dims[2] + p.v.dims[2]));
  op.work(scores * p.q.dims[2]);
  op.launch([p, most = *softmaxMaxOut, sum = *softmaxSumOut, out = *attentionOut] {
    const int64_t group = p.heads / p.kv_heads;
    each_token(p, [&](int64_t t, int64_t h, Scores& s) {
      attend(p, t, h, s);
      const TensorView to = narrow(select(out, 0, t), 0, h * group, group);
      if (s.tokens.empty()) fill_zero(to);
      else {
        // The unit that multiplies takes the probabilities in the type of the values.
        if (is_half(p.v.dtype)) round_to(p.v.dtype, s.p);
        matmul(matrix(s.p, group, static_cast<int64_t>(s.tokens.size())), pick(p.v, h, s.tokens, s.v), to);
      }
      for (int64_t i = 0; i < group; ++i)
        for (const auto& [stat, values] : {std::pair{&most, &s.most}, {&sum, &s.sum}}) {
          const std::vector<float> eight(8, (*values)[static_cast<size_t>(i)]);
          write_all(select(select(*stat, 0, t), 0, h * group + i), eight);
        }
    });
  });
}

SAMPLE(
    aclnnNsaSelectedAttentionGrad,
    "query=f32[3,4,M] key=f32[8,2,M] value=f32[8,2,M] attentionOut=f32[3,4,M] attentionOutGrad=f32[3,4,M] "
    "softmaxMax=f32[3,4,8] softmaxSum=f32[3,4,8] topkIndices=i32[3,2,2]:0..1 actualSeqQLenOptional=3 "
    "actualSeqKvLenOptional=8 attenMaskOptional=null scaleValue=0.5 selectedBlockSize=2 selectedBlockCount=2 headNum=4 "
    "inputLayout=TND sparseMode=0 dqOut=f32[3,4,M] dkOut=f32[8,2,M] dvOut=f32[8,2,M]")
ABOUT(aclnnNsaSelectedAttentionGrad, MixCube, "Gradients of aclnnNsaSelectedAttention for query, key and value",
      "aclnnNsaSelectedAttention 对 query、key、value 的反向梯度")
ACLNN(aclnnNsaSelectedAttentionGrad, (In, query), (In, key), (In, value), (In, attentionOut), (In, attentionOutGrad),
      (In, softmaxMax), (In, softmaxSum), (In, topkIndices), (OptInts, actualSeqQLenOptional),
      (OptInts, actualSeqKvLenOptional), (OptIn, attenMaskOptional), (Double, scaleValue), (Int, selectedBlockSize),
      (Int, selectedBlockCount), (Int, headNum), (Text, inputLayout), (Int, sparseMode), (Out, dqOut), (Out, dkOut),
      (Out, dvOut)) {
  (void)attentionOut;  // the probabilities are computed again, and with them what these would say
  (void)softmaxMax;
  (void)softmaxSum;
  const Problem p =
      check(op, query, key, value, topkIndices, attenMaskOptional, actualSeqQLenOptional, actualSeqKvLenOptional,
            scaleValue, headNum, inputLayout, sparseMode, selectedBlockSize, selectedBlockCount);
  op.result_like("dqOut", *dqOut, p.q, p.q.dtype);
  op.result_like("dkOut", *dkOut, p.k, p.k.dtype);
  op.result_like("dvOut", *dvOut, p.v, p.v.dtype);
  const int64_t of_grad[] = {p.q.dims[0], p.heads, p.v.dims[2]};
  op.require_shape("attentionOutGrad", *attentionOutGrad, of_grad, 3);
  const int64_t scores = p.q.dims[0] * p.heads * selectedBlockSize * selectedBlockCount;
  op.flops(4 * scores * (p.q.dims[2] + p.v.dims[2]));
  op.work(scores * p.q.dims[2] * 3);
  op.launch([p, g = *attentionOutGrad, dq = *dqOut, dk = *dkOut, dv = *dvOut] {
    // Tokens that see a key add up in FLOAT, one after the other, and are rounded once. Key heads share nothing.
    std::vector<float> all_k, all_v;
    const TensorView sum_k = matrix(all_k, p.k.dims[0] * p.kv_heads, p.k.dims[2]),
                     sum_v = matrix(all_v, p.v.dims[0] * p.kv_heads, p.v.dims[2]);
    const int64_t group = p.heads / p.kv_heads;
    each_token(p, [&](int64_t t, int64_t h, Scores& s) {
      const TensorView q = attend(p, t, h, s), to = narrow(select(dq, 0, t), 0, h * group, group);
      const auto seen = static_cast<int64_t>(s.tokens.size());
      if (!seen) return fill_zero(to);
      const TensorView w = matrix(s.p, group, seen), go = narrow(select(g, 0, t), 0, h * group, group);
      const TensorView ds = matrix(s.slope, group, seen);
      matmul(go, pick(p.v, h, s.tokens, s.v).transpose(0, 1), ds);
      for (int64_t i = 0; i < group; ++i) {
        float* d = ds.as<float>() + i * seen;
        const float* row = w.as<float>() + i * seen;
        double mean = 0;
        for (int64_t j = 0; j < seen; ++j) mean += static_cast<double>(d[j]) * static_cast<double>(row[j]);
        for (int64_t j = 0; j < seen; ++j) d[j] = row[j] * (d[j] - static_cast<float>(mean)) * p.scale;
      }
      matmul(ds, matrix(s.k, seen, p.k.dims[2]), to);
      auto add = [&](const TensorView& left, const TensorView& right, const TensorView& sum) {
        const TensorView rows = matrix(s.part, seen, right.dims[1]);
        matmul(left.transpose(0, 1), right, rows);
        for (int64_t j = 0; j < seen; ++j) {
          float* row = sum.as<float>() + (s.tokens[static_cast<size_t>(j)] * p.kv_heads + h) * right.dims[1];
          for (int64_t c = 0; c < right.dims[1]; ++c) row[c] += rows.as<float>()[j * right.dims[1] + c];
        }
      };
      add(ds, q, sum_k);
      add(w, go, sum_v);
    });
    write_all(dk, all_k);
    write_all(dv, all_v);
  });
}

}  // namespace updraft
