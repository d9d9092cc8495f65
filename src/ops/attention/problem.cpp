// Layouts, masks and checks of attention.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <limits>

#include "ops/attention/attention.h"

namespace updraft::attention {

void Heads::load(float* to, int64_t padded, int64_t b, int64_t h, int64_t begin, int64_t end) const {
  const LoadFn fn = kernels().load[static_cast<int>(dtype)][static_cast<int>(Compute::F32)];
  for (int64_t p = begin; p < end; ++p, to += padded) {
    fn(to, at(b, h, p), element, width);
    std::fill(to + width, to + padded, 0.0f);
  }
}
void Heads::store(const float* from, int64_t padded, int64_t b, int64_t h, int64_t begin, int64_t end) const {
  const StoreFn fn = kernels().store[static_cast<int>(Compute::F32)][static_cast<int>(dtype)];
  for (int64_t p = begin; p < end; ++p, from += padded) fn(at(b, h, p), element, from, width);
}
void Heads::clear(int64_t b, int64_t h, int64_t begin, int64_t end) const {
  std::vector<float> zero(static_cast<size_t>(width));
  for (int64_t p = begin; p < end; ++p) store(zero.data(), width, b, h, p, p + 1);
}

Range Problem::keys_of(const Sequence& s, int64_t i) const {
  if (!ranged) return {0, s.k_length};
  const int64_t shift = s.k_length - s.q_length;
  int64_t begin = 0, end = s.k_length;
  switch (sparse_mode) {
    case 0: begin = i - before, end = i + after + 1; break;  // from the top left
    case 2: end = i + 1; break;
    case 3: end = i + shift + 1; break;
    case 4: begin = i + shift - before, end = i + shift + after + 1; break;  // from the bottom right
    case 6: end = std::max(s.prefix, i + shift + 1); break;
    case 7:
      if (s.last) begin = i + shift - before, end = i + shift + after + 1;
      else end = i + shift + 1;
      break;
    case 8:
      if (s.first) begin = i + shift - before, end = i + shift + after + 1;
      else end = i + 1;
      break;
    default: break;
  }
  begin = std::clamp<int64_t>(begin, 0, s.k_length);
  return {begin, std::clamp(end, begin, s.k_length)};
}

void Problem::hide(float* s, int64_t batch, int64_t head, int64_t row, int64_t col, int64_t cols) const {
  const auto* bytes = reinterpret_cast<const uint8_t*>(mask.at(batch, head, row, col));
  const int64_t step = mask.strides[3];
  if (step == 1 && !mask_keeps && masked == -std::numeric_limits<float>::infinity()) {
    kernels().attention_mask_row(s, bytes, cols);
  } else if (step == 1) {
    for (int64_t j = 0; j < cols; ++j) s[j] = (bytes[j] != 0) != mask_keeps ? masked : s[j];
  } else {
    for (int64_t j = 0; j < cols; ++j)
      if ((bytes[j * step] != 0) != mask_keeps) s[j] = masked;
  }
}

void Problem::mask_tile(float* s, int64_t ld, const Sequence& seq, int64_t head, int64_t row, int64_t rows, int64_t col,
                        int64_t cols, int64_t padded) const {
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
  for (int64_t x = 0; x < rows; ++x, s += ld) {
    const int64_t i = row + x;
    if (dense && mask_first) hide(s, seq.batch, head, i, col, cols);
    if (pse) {
      int64_t line = pse.dims[2] == 1 ? 0 : i, shift = 0;
      if (pse.dims[2] > 1 &&
          pse.dims[2] < seq.q_length) {  // compressed: only the last rows, others lie on their diagonals
        const int64_t skipped = seq.q_length - pse.dims[2];
        line = std::max<int64_t>(0, i - skipped);
        shift = std::max<int64_t>(0, skipped - i);
      }
      const int64_t from = std::min(col + shift, pse.dims[3] - 1), n = std::min(cols, pse.dims[3] - from);
      const char* source = pse.at(seq.batch, head, line, from);
      alignas(64) float bias[256];
      const bool plain = pse.dtype == DType::Float && pse.strides[3] == 1;
      if (!plain)
        kernels().load[static_cast<int>(pse.dtype)][static_cast<int>(Compute::F32)](bias, source, pse.strides[3], n);
      kernels().axpy_f32(s, plain ? reinterpret_cast<const float*>(source) : bias, n, pse_factor);
    }
    if (dense && !mask_first) hide(s, seq.batch, head, i, col, cols);
    if (ranged) {
      const Range r = keys_of(seq, i);
      const int64_t begin = std::clamp<int64_t>(r.begin - col, 0, cols),
                    end = std::clamp<int64_t>(r.end - col, begin, cols);
      std::fill(s, s + begin, kMasked);
      std::fill(s + end, s + cols, kMasked);
    }
    std::fill(s + cols, s + padded, kMasked);
  }
}

void Problem::drop_tile(float* x, int64_t ld, const Sequence& seq, int64_t head, int64_t row, int64_t rows, int64_t col,
                        int64_t cols) const {
  const float factor = static_cast<float>(1.0 / keep_probability);
  for (int64_t r = 0; r < rows; ++r, x += ld) {
    int64_t bit = seq.keep_bits + (head * seq.q_length + row + r) * seq.k_length + col;
    for (int64_t j = 0; j < cols; ++j, ++bit) x[j] = (keep[bit >> 3] >> (bit & 7)) & 1 ? x[j] * factor : 0.0f;
  }
}

Heads heads_of(Op& op, const char* name, const TensorView& v, const std::string& layout, int64_t heads) {
  Heads h;
  h.data = v.as<char>();
  h.dtype = v.dtype;
  const int64_t *d = v.dims, *s = v.strides;
  const int want = layout == "BNSD" || layout == "BSND" ? 4 : 3;
  op.require(v.rank == want, "{} is {}, want {} dimensions for layout {}", name, describe(v), want, layout);
  op.require(v.dtype == DType::Float || is_half(v.dtype), "{} is {}, want FLOAT, FLOAT16 or BFLOAT16", name,
             describe(v));
  if (layout == "BNSD") {
    h.batches = d[0], h.heads = d[1], h.positions = d[2], h.width = d[3];
    h.batch = s[0], h.head = s[1], h.position = s[2], h.element = s[3];
  } else if (layout == "BSND") {
    h.batches = d[0], h.positions = d[1], h.heads = d[2], h.width = d[3];
    h.batch = s[0], h.position = s[1], h.head = s[2], h.element = s[3];
  } else if (layout == "TND") {
    h.batches = 1, h.positions = d[0], h.heads = d[1], h.width = d[2];
    h.batch = 0, h.position = s[0], h.head = s[1], h.element = s[2];
  } else {
    op.require(heads > 0 && d[2] % heads == 0, "{} is {}, want a last dimension that {} heads divide", name,
               describe(v), heads);
    h.heads = heads;
    h.width = d[2] / heads;
    h.element = s[2];
    h.head = h.width * s[2];
    const int b = layout == "BSH" ? 0 : 1;
    h.batches = d[b], h.positions = d[1 - b];
    h.batch = s[b], h.position = s[1 - b];
  }
  return h;
}

Extra extra_of(const TensorView& v) {
  Extra e;
  e.data = v.as<char>();
  e.dtype = v.dtype;
  for (int d = 0; d < v.rank; ++d) {
    e.dims[4 - v.rank + d] = v.dims[d];
    e.strides[4 - v.rank + d] = v.dims[d] == 1 ? 0 : v.strides[d];
  }
  return e;
}

namespace {
bool fits(const Extra& e, int d, int64_t n) { return e.dims[d] == 1 || e.dims[d] == n; }
}  // namespace

Problem plan(Op& op, const Request& r) {
  std::string layout = r.layout ? r.layout : "";
  for (char& c : layout) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  op.require(layout == "BSH" || layout == "SBH" || layout == "BNSD" || layout == "BSND" || layout == "TND",
             "inputLayout is {}, want BSH, SBH, BNSD, BSND or TND", layout);
  Problem p;
  p.q = heads_of(op, "query", *r.q, layout, r.heads);
  op.require(p.q.heads == r.heads, "query is {}, want {} heads", describe(*r.q), r.heads);
  const int64_t d = p.q.width;
  op.require(d > 0, "query is {}, want a head size above 0", describe(*r.q));
  const bool flat = layout == "BSH" || layout == "SBH";
  op.require(!flat || (r.k->rank == 3 && r.k->dims[2] % d == 0), "key is {}, want a multiple of the head size {}",
             describe(*r.k), d);
  const int64_t key_heads = flat ? r.k->dims[2] / d : r.k->dims[layout == "BNSD" || layout == "TND" ? 1 : 2];
  p.k = heads_of(op, "key", *r.k, layout, key_heads);
  p.v = heads_of(op, "value", *r.v, layout, key_heads);
  op.require(p.k.width == d && p.k.batches == p.q.batches && p.v.batches == p.q.batches && p.v.heads == p.k.heads &&
                 p.v.positions == p.k.positions && p.k.heads > 0 && p.q.heads % p.k.heads == 0,
             "query is {}, key is {} and value is {}: batches, heads and sizes do not match", describe(*r.q),
             describe(*r.k), describe(*r.v));
  op.require(!r.padding, "paddingMask is not supported");
  op.require(r.keep_probability > 0 && r.keep_probability <= 1, "keepProb is {}, want (0, 1]", r.keep_probability);
  p.group = p.q.heads / p.k.heads;
  p.scale = static_cast<float>(r.scale);
  p.keep_probability = r.keep_probability;
  p.sparse_mode = r.sparse_mode;
  p.before = r.before;
  p.after = r.after;

  // Sequences, and where their statistics lie.
  const int64_t heads = p.q.heads;
  if (layout == "TND") {
    op.require(r.q_lengths && r.k_lengths && r.q_lengths->size() == r.k_lengths->size() && !r.q_lengths->empty(),
               "actualSeqQLen and actualSeqKvLen are not given or not of one length");
    int64_t q_at = 0, k_at = 0, bits = 0;
    for (size_t i = 0; i < r.q_lengths->size(); ++i) {
      const int64_t q_end = (*r.q_lengths)[i], k_end = (*r.k_lengths)[i];
      if (q_end == 0 && k_end == 0 && i > 0) break;  // batches at the end that do not take part
      op.require(q_end >= q_at && k_end >= k_at && q_end <= p.q.positions && k_end <= p.k.positions,
                 "actualSeqQLen[{}] is {} and actualSeqKvLen is {}: want ascending numbers up to {} and {}", i, q_end,
                 k_end, p.q.positions, p.k.positions);
      const int64_t prefix = r.prefix && i < r.prefix->size() ? (*r.prefix)[i] : 0;
      p.sequences.push_back(
          {static_cast<int64_t>(0), q_at, q_end - q_at, k_at, k_end - k_at, bits, prefix, i == 0, false});
      bits += heads * (q_end - q_at) * (k_end - k_at);
      q_at = q_end, k_at = k_end;
    }
    p.sequences.back().last = true;
    const bool as_input = r.softmax_layout && std::strcmp(r.softmax_layout, "same_as_input") == 0;
    p.stat_head = as_input ? 8 : p.q.positions * 8;
    p.stat_position = as_input ? heads * 8 : 8;
  } else {
    for (int64_t b = 0; b < p.q.batches; ++b) {
      const int64_t prefix =
          r.prefix && static_cast<size_t>(b) < r.prefix->size() ? (*r.prefix)[static_cast<size_t>(b)] : 0;
      p.sequences.push_back({b, 0, p.q.positions, 0, p.k.positions, b * heads * p.q.positions * p.k.positions, prefix,
                             b == 0, b + 1 == p.q.batches});
    }
    p.stat_batch = heads * p.q.positions * 8;
    p.stat_head = p.q.positions * 8;
    p.stat_position = 8;
  }
  int64_t q_most = 0, k_most = 0, bits = 0;
  for (const Sequence& s : p.sequences) {
    q_most = std::max(q_most, s.q_length), k_most = std::max(k_most, s.k_length);
    bits = std::max(bits, s.keep_bits + heads * s.q_length * s.k_length);
  }

  if (r.pse) {
    op.require(r.pse_type == 0 || r.pse_type == 1, "pseType is {}, supported are 0 and 1", r.pse_type);
    op.require(r.pse->rank >= 2 && r.pse->rank <= 4, "pse is {}, want 2 to 4 dimensions", describe(*r.pse));
    op.require(r.pse->dtype == DType::Float || is_half(r.pse->dtype), "pse is {}, want floating point",
               describe(*r.pse));
    p.pse = extra_of(*r.pse);
    op.require(fits(p.pse, 0, p.q.batches) && fits(p.pse, 1, heads) && p.pse.dims[3] >= k_most &&
                   (p.pse.dims[2] == 1 || p.pse.dims[2] >= q_most || p.pse.dims[2] == 1024),
               "pse is {}, want a shape that broadcasts to the scores", describe(*r.pse));
    p.pse_factor = r.pse_type == 1 ? p.scale : 1.0f;
  }
  if (r.mask && r.mask->numel() > 0) {
    op.require(r.sparse_mode >= 0 && r.sparse_mode <= 8, "sparseMode is {}, want 0 to 8", r.sparse_mode);
    op.require(size_of(r.mask->dtype) == 1, "attenMask is {}, want BOOL or UINT8", describe(*r.mask));
    op.require(r.mask->rank >= 2 && r.mask->rank <= 4, "attenMask is {}, want 2 to 4 dimensions", describe(*r.mask));
    p.mask = extra_of(*r.mask);
    const int64_t mode = r.sparse_mode;
    p.dense = mode == 0 || mode == 1 || mode == 5;
    p.ranged = mode != 1 && mode != 5 && (mode != 0 || r.before < q_most || r.after < k_most);
    if (p.dense)
      op.require(fits(p.mask, 0, p.q.batches) && fits(p.mask, 1, heads) &&
                     (p.mask.dims[2] == 1 || p.mask.dims[2] >= q_most) &&
                     (p.mask.dims[3] == 1 || p.mask.dims[3] >= k_most),
                 "attenMask is {}, want a shape that broadcasts to [{},{},{},{}]", describe(*r.mask), p.q.batches,
                 heads, q_most, k_most);
  }
  if (r.keep && r.keep_probability < 1) {
    op.require(r.keep->dtype == DType::UInt8 || r.keep->dtype == DType::Bool || r.keep->dtype == DType::Int8,
               "dropMask is {}, want UINT8", describe(*r.keep));
    op.require(r.keep->is_contiguous() && r.keep->numel() * 8 >= bits, "dropMask is {}, want {} bits",
               describe(*r.keep), bits);
    p.keep = r.keep->as<uint8_t>();
  }
  if (r.sink) {
    op.require(r.sink->numel() == heads && r.sink->rank == 1 && compute_of(r.sink->dtype) == Compute::F32,
               "sink is {}, want {} elements", describe(*r.sink), heads);
    p.sink.data = r.sink->as<char>();
    p.sink.dtype = r.sink->dtype;
    p.sink.strides[1] = r.sink->strides[0];
  }
  int64_t scores = 0;
  for (const Sequence& s : p.sequences) {
    scores += heads * s.q_length * s.k_length;
    for (int64_t i = 0; i < s.q_length && p.ranged; ++i) {
      const Range r = p.keys_of(s, i);
      p.scores += heads * (r.end - r.begin);
    }
  }
  if (!p.ranged) p.scores = scores;
  op.work(scores * d / 4 + 1);
  op.flops(2 * p.scores * (p.q.width + p.v.width));
  return p;
}

}  // namespace updraft::attention
