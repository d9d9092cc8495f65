// Attention in which a mask of blocks says which queries see which keys.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/parallel.h"
#include "kernels/matmul/matmul.h"
#include "ops/gathered.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

/// Where the matrices of a sequence and a head lie: BNSD [batch, heads, tokens, size] or TND [tokens, heads, size],
/// where the sequences follow each other.
struct Layout {
  bool packed = false;
  std::vector<int64_t> q_length, kv_length;  // of each sequence

  TensorView matrix(const TensorView& v, int64_t sequence, int64_t head, bool query) const {
    const std::vector<int64_t>& length = query ? q_length : kv_length;
    const auto b = static_cast<size_t>(sequence);
    if (!packed) return narrow(select(select(v, 0, sequence), 0, head), 0, 0, length[b]);
    int64_t begin = 0;
    for (size_t i = 0; i < b; ++i) begin += length[i];
    return select(narrow(v, 0, begin, length[b]), 1, head);
  }
};

struct Problem {
  TensorView q{}, k{}, v{}, mask{};
  Layout layout{};
  int64_t heads = 0, kv_heads = 0, block_q = 128, block_kv = 128;
  float scale = 1;
  int64_t kv_head(int64_t n) const { return n / (heads / kv_heads); }
};

std::vector<int64_t> lengths(const Op& op, const char* name, const OptInts& given, int64_t batch, int64_t tokens,
                             bool packed) {
  std::vector<int64_t> length;
  if (given && !given->empty()) length = *given;
  else if (!packed) length.assign(static_cast<size_t>(batch), tokens);
  op.require(!length.empty(), "{} is missing, which TND needs", name);
  int64_t sum = 0;
  for (int64_t n : length) {
    op.require(n >= 0 && n <= tokens, "{} has a length of {}, want 0 to {}", name, n, tokens);
    sum += n;
  }
  op.require(packed ? sum == tokens : static_cast<int64_t>(length.size()) == batch,
             "{} has {} lengths, {} tokens in all, want {}", name, length.size(), sum, packed ? tokens : batch);
  return length;
}

Problem check(const Op& op, const In& query, const In& key, const In& value, const OptIn& mask, const OptIn& atten_mask,
              const OptInts& block, const OptInts& q_lengths, const OptInts& kv_lengths, const char* q_layout,
              const char* kv_layout, int64_t kv_heads, int64_t mask_type, double scale) {
  op.require(!std::strcmp(q_layout, kv_layout) && (!std::strcmp(q_layout, "BNSD") || !std::strcmp(q_layout, "TND")),
             "the layouts are \"{}\" and \"{}\", want both \"BNSD\" or \"TND\"", q_layout, kv_layout);
  op.require((!atten_mask || atten_mask->numel() == 0) && mask_type == 0,
             "attenMask or maskType {} is given, which is not supported", mask_type);
  Problem p;
  p.layout.packed = q_layout[0] == 'T';
  const int rank = p.layout.packed ? 3 : 4, head = 1;
  for (const TensorView* v : {&*query, &*key, &*value})
    op.require(v->rank == rank && compute_of(v->dtype) == Compute::F32, "{} is not of {} dimensions of FLOAT or halves",
               describe(*v), rank);
  p.q = *query;
  p.k = *key;
  p.v = *value;
  p.heads = p.q.dims[head];
  p.kv_heads = p.k.dims[head];
  op.require(kv_heads == 0 || kv_heads == p.kv_heads, "numKeyValueHeads is {}, key has {}", kv_heads, p.kv_heads);
  op.require(p.kv_heads > 0 && p.heads % p.kv_heads == 0 && p.v.dims[head] == p.kv_heads,
             "query has {} heads, key {} and value {}", p.heads, p.kv_heads, p.v.dims[head]);
  op.require(p.q.dims[rank - 1] == p.k.dims[rank - 1], "query is {} and key {}", describe(p.q), describe(p.k));
  const int64_t tokens = p.q.dims[rank == 3 ? 0 : 2], kv_tokens = p.k.dims[rank == 3 ? 0 : 2];
  const int64_t batch = rank == 4 ? p.q.dims[0] : 1;
  p.layout.q_length = lengths(op, "actualSeqLengths", q_lengths, batch, tokens, p.layout.packed);
  p.layout.kv_length =
      lengths(op, "actualSeqLengthsKv", kv_lengths, rank == 4 ? p.k.dims[0] : 1, kv_tokens, p.layout.packed);
  op.require(p.layout.q_length.size() == p.layout.kv_length.size(), "there are {} sequences of queries and {} of keys",
             p.layout.q_length.size(), p.layout.kv_length.size());
  if (block && !block->empty()) {
    op.require(block->size() == 2 && (*block)[0] > 0 && (*block)[1] > 0, "blockShape has {} values, want 2 above 0",
               block->size());
    p.block_q = (*block)[0];
    p.block_kv = (*block)[1];
  }
  if (mask && mask->numel()) {
    op.require(
        mask->rank == 4 && mask->dims[0] == static_cast<int64_t>(p.layout.q_length.size()) && mask->dims[1] == p.heads,
        "blockSparseMask is {}, want [{},{},blocks of queries,blocks of keys]", describe(*mask),
        p.layout.q_length.size(), p.heads);
    for (size_t b = 0; b < p.layout.q_length.size(); ++b)
      op.require(
          mask->dims[2] * p.block_q >= p.layout.q_length[b] && mask->dims[3] * p.block_kv >= p.layout.kv_length[b],
          "blockSparseMask is {} of blocks [{},{}], want {} queries and {} keys", describe(*mask), p.block_q,
          p.block_kv, p.layout.q_length[b], p.layout.kv_length[b]);
    p.mask = *mask;
  }
  p.scale = static_cast<float>(scale);
  return p;
}

TensorView plain(std::vector<float>& x, int64_t rows, int64_t columns) {
  x.resize(static_cast<size_t>(rows * columns));
  const int64_t dims[] = {rows, columns};
  return TensorView::contiguous(x.data(), DType::Float, dims, 2);
}

/// The probabilities of one head; a row that sees nothing has none. lse: the logarithm of each row's sum.
void probabilities(const Problem& p, const std::vector<int8_t>& mask, int64_t b, int64_t n, const TensorView& s,
                   std::vector<float>& lse) {
  const TensorView q = p.layout.matrix(p.q, b, n, true), k = p.layout.matrix(p.k, b, p.kv_head(n), false);
  MatmulOptions options;
  options.alpha = static_cast<double>(p.scale);
  matmul(q, k.transpose(0, 1), s, options);
  const int64_t rows = s.dims[0], columns = s.dims[1];
  lse.assign(static_cast<size_t>(rows), kNone);
  for (int64_t i = 0; i < rows; ++i) {
    float* row = s.as<float>() + i * columns;
    if (p.mask.data) {
      const int8_t* blocks = mask.data() + ((b * p.heads + n) * p.mask.dims[2] + i / p.block_q) * p.mask.dims[3];
      for (int64_t j = 0; j < columns; ++j)
        if (!blocks[j / p.block_kv]) row[j] = kNone;
    }
    const float most = columns ? *std::max_element(row, row + columns) : kNone;
    double sum = 0;
    for (int64_t j = 0; j < columns; ++j)
      sum += static_cast<double>(row[j] = most == kNone ? 0.0f : std::exp(row[j] - most));
    if (sum == 0) continue;
    for (int64_t j = 0; j < columns; ++j) row[j] = static_cast<float>(static_cast<double>(row[j]) / sum);
    lse[static_cast<size_t>(i)] = most + static_cast<float>(std::log(sum));
  }
}

std::vector<int8_t> mask_of(const Problem& p) { return p.mask.data ? gathered<int8_t>(p.mask) : std::vector<int8_t>(); }

}  // namespace

SAMPLE(aclnnBlockSparseAttention,
       "query=f32[2,4,3,M] key=f32[2,2,3,M] value=f32[2,2,3,M] blockSparseMask=i8[2,4,2,1]:1..2 attenMaskOptional=null "
       "blockShapeOptional=2,4 actualSeqLengthsOptional=null actualSeqLengthsKvOptional=null blockTableOptional=null "
       "qInputLayout=BNSD kvInputLayout=BNSD numKeyValueHeads=2 maskType=0 scaleValue=0.5 innerPrecise=0 blockSize=0 "
       "preTokens=0 nextTokens=0 softmaxLseFlag=1 attentionOut=f32[2,4,3,M] softmaxLse=f32[2,4,3,1]")
ABOUT(aclnnBlockSparseAttention, MixCube, "Attention between the blocks of queries and keys that blockSparseMask names",
      "仅在 blockSparseMask 指定的块之间计算注意力")
ACLNN(aclnnBlockSparseAttention, (In, query), (In, key), (In, value), (OptIn, blockSparseMask),
      (OptIn, attenMaskOptional), (OptInts, blockShapeOptional), (OptInts, actualSeqLengthsOptional),
      (OptInts, actualSeqLengthsKvOptional), (OptIn, blockTableOptional), (Text, qInputLayout), (Text, kvInputLayout),
      (Int, numKeyValueHeads), (Int, maskType), (Double, scaleValue), (Int, innerPrecise), (Int, blockSize),
      (Int, preTokens), (Int, nextTokens), (Int, softmaxLseFlag), (Out, attentionOut), (OptOut, softmaxLse)) {
  (void)innerPrecise;  // how exact the card computes: FLOAT here
  (void)blockSize;     // of paged keys, which a block table names
  (void)preTokens;     // of masks that maskType chooses
  (void)nextTokens;
  op.require(!blockTableOptional || blockTableOptional->numel() == 0, "blockTable is given, which is not supported");
  const Problem p =
      check(op, query, key, value, blockSparseMask, attenMaskOptional, blockShapeOptional, actualSeqLengthsOptional,
            actualSeqLengthsKvOptional, qInputLayout, kvInputLayout, numKeyValueHeads, maskType, scaleValue);
  TensorView shape = p.q;
  shape.dims[shape.rank - 1] = p.v.dims[p.v.rank - 1];
  op.result_like("attentionOut", *attentionOut, shape, p.q.dtype);
  TensorView to_lse;
  if (softmaxLseFlag && softmaxLse) {
    shape.dims[shape.rank - 1] = 1;
    op.result_like("softmaxLse", *softmaxLse, shape, DType::Float);
    to_lse = *softmaxLse;
  }
  op.work(p.q.numel() * p.k.numel() / std::max<int64_t>(1, p.k.dims[p.k.rank - 1]));
  op.launch([p, out = *attentionOut, to_lse] {
    const std::vector<int8_t> mask = mask_of(p);
    fill_zero(out);
    std::vector<float> hold, lse;
    for (int64_t b = 0; b < static_cast<int64_t>(p.layout.q_length.size()); ++b)
      for (int64_t n = 0; n < p.heads; ++n) {
        const TensorView s =
            plain(hold, p.layout.q_length[static_cast<size_t>(b)], p.layout.kv_length[static_cast<size_t>(b)]);
        if (!s.dims[0] || !s.dims[1]) continue;
        probabilities(p, mask, b, n, s, lse);
        matmul(s, p.layout.matrix(p.v, b, p.kv_head(n), false), p.layout.matrix(out, b, n, true));
        if (to_lse.data) write_all(p.layout.matrix(to_lse, b, n, true), lse);
      }
  });
}

SAMPLE(aclnnBlockSparseAttentionGrad,
       "dout=f32[2,4,3,M] query=f32[2,4,3,M] key=f32[2,2,3,M] value=f32[2,2,3,M] attentionOut=f32[2,4,3,M] "
       "softmaxLse=f32[2,4,3,1] blockSparseMaskOptional=i8[2,4,2,1]:1..2 attenMaskOptional=null blockShapeOptional=2,4 "
       "actualSeqLengthsOptional=null actualSeqLengthsKvOptional=null qInputLayout=BNSD kvInputLayout=BNSD "
       "numKeyValueHeads=2 maskType=0 scaleValue=0.5 preTokens=0 nextTokens=0 dq=f32[2,4,3,M] dk=f32[2,2,3,M] "
       "dv=f32[2,2,3,M]")
ABOUT(aclnnBlockSparseAttentionGrad, MixCube, "Gradients of aclnnBlockSparseAttention for query, key and value",
      "aclnnBlockSparseAttention 对 query、key、value 的反向梯度")
ACLNN(aclnnBlockSparseAttentionGrad, (In, dout), (In, query), (In, key), (In, value), (In, attentionOut),
      (In, softmaxLse), (OptIn, blockSparseMaskOptional), (OptIn, attenMaskOptional), (OptInts, blockShapeOptional),
      (OptInts, actualSeqLengthsOptional), (OptInts, actualSeqLengthsKvOptional), (Text, qInputLayout),
      (Text, kvInputLayout), (Int, numKeyValueHeads), (Int, maskType), (Double, scaleValue), (Int, preTokens),
      (Int, nextTokens), (Out, dq), (Out, dk), (Out, dv)) {
  (void)attentionOut;  // the probabilities are computed again, and with them what these would say
  (void)softmaxLse;
  (void)preTokens;  // of masks that maskType chooses
  (void)nextTokens;
  const Problem p = check(op, query, key, value, blockSparseMaskOptional, attenMaskOptional, blockShapeOptional,
                          actualSeqLengthsOptional, actualSeqLengthsKvOptional, qInputLayout, kvInputLayout,
                          numKeyValueHeads, maskType, scaleValue);
  op.result_like("dq", *dq, p.q, p.q.dtype);
  op.result_like("dk", *dk, p.k, p.k.dtype);
  op.result_like("dv", *dv, p.v, p.v.dtype);
  op.require(dout->rank == p.q.rank && dout->dims[1] == p.heads, "dout is {}, want as the result", describe(*dout));
  op.work(p.q.numel() * p.k.numel() / std::max<int64_t>(1, p.k.dims[p.k.rank - 1]) * 3);
  op.launch([p, g = *dout, dq = *dq, dk = *dk, dv = *dv] {
    const std::vector<int8_t> mask = mask_of(p);
    for (const TensorView* v : {&dq, &dk, &dv}) fill_zero(*v);
    std::vector<float> hold, slope, lse, sum_k, sum_v;
    const int64_t group = p.heads / p.kv_heads;
    for (int64_t b = 0; b < static_cast<int64_t>(p.layout.q_length.size()); ++b) {
      const int64_t rows = p.layout.q_length[static_cast<size_t>(b)],
                    columns = p.layout.kv_length[static_cast<size_t>(b)];
      if (!rows || !columns) continue;
      for (int64_t n = 0; n < p.heads; ++n) {
        const TensorView s = plain(hold, rows, columns), ds = plain(slope, rows, columns);
        probabilities(p, mask, b, n, s, lse);
        const TensorView k = p.layout.matrix(p.k, b, p.kv_head(n), false),
                         v = p.layout.matrix(p.v, b, p.kv_head(n), false);
        const TensorView go = p.layout.matrix(g, b, n, true), q = p.layout.matrix(p.q, b, n, true);
        matmul(go, v.transpose(0, 1), ds);
        for (int64_t i = 0; i < rows; ++i) {
          float* d = ds.as<float>() + i * columns;
          const float* w = s.as<float>() + i * columns;
          double mean = 0;
          for (int64_t j = 0; j < columns; ++j) mean += static_cast<double>(d[j]) * static_cast<double>(w[j]);
          for (int64_t j = 0; j < columns; ++j) d[j] = w[j] * (d[j] - static_cast<float>(mean)) * p.scale;
        }
        matmul(ds, k, p.layout.matrix(dq, b, n, true));
        // Heads that share a key add up in FLOAT, and are rounded once.
        MatmulOptions more;
        more.beta = n % group ? 1 : 0;
        const TensorView to_k = plain(sum_k, columns, k.dims[1]), to_v = plain(sum_v, columns, v.dims[1]);
        matmul(ds.transpose(0, 1), q, to_k, more);
        matmul(s.transpose(0, 1), go, to_v, more);
        if (n % group + 1 < group) continue;
        copy_elements(p.layout.matrix(dk, b, p.kv_head(n), false), to_k);
        copy_elements(p.layout.matrix(dv, b, p.kv_head(n), false), to_v);
      }
    }
  });
}

}  // namespace updraft
