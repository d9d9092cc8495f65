// Attention in tiles of queries and keys with a running softmax. Scores live only in a tile; the backward pass makes
// them again from the maximum and the sum of each row. Everything is f32 inside; tiles lie at fixed positions, so
// results do not depend on the thread count.
#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/parallel.h"
#include "base/scratch.h"
#include "ops/attention/attention.h"

namespace updraft::attention {
namespace {

constexpr int64_t kQueries = 64;  // rows of a tile
constexpr int64_t kKeys = 128;    // columns of a tile (at most 256: mask_tile's buffer)
constexpr int64_t kFew = 4;       // so few queries (a step of generation) read keys and values where they lie

/// Cuts one block of scratch memory into arrays of floats, each 64-byte aligned.
class Arena {
 public:
  explicit Arena(int64_t floats) : at_(scratch_.take<float>(static_cast<size_t>(floats))) {}
  float* take(int64_t floats) {
    float* p = at_;
    at_ += padded(floats);
    return p;
  }

 private:
  ScratchScope scratch_;
  float* at_;
};

/// Keys that any of the queries [row, row + rows) sees.
Range keys_of(const Problem& p, const Sequence& s, int64_t row, int64_t rows) {
  if (!p.ranged) return {0, s.k_length};
  Range all = p.keys_of(s, row);
  for (int64_t i = row + 1; i < row + rows; ++i) {
    const Range r = p.keys_of(s, i);
    if (r.begin == r.end) continue;
    if (all.begin == all.end) all = r;
    else all = {std::min(all.begin, r.begin), std::max(all.end, r.end)};
  }
  return all;
}

/// Whether every score of the tile takes part as it is.
bool untouched(const Problem& p, const Sequence& s, int64_t row, int64_t rows, int64_t col, int64_t cols) {
  if (p.pse || p.dense || cols % kPad) return false;
  if (!p.ranged) return true;
  // Bounds are monotonous in the row: its ends decide.
  for (int64_t i : {row, row + rows - 1}) {
    const Range r = p.keys_of(s, i);
    if (r.begin > col || r.end < col + cols) return false;
  }
  return true;
}

/// Few queries read each key once, as it lies.
bool few_queries(const Problem& p, const Sequence& seq) { return seq.q_length <= kFew && p.k.element == 1; }

/// Scores of n queries and `span` keys from `col` on, of which `cols` are there: in the same way in both directions,
/// because the gradient takes the maximum and the sum that the forward direction has found, and scores of some hundreds
/// whose last bits differ would not belong to them. kt: the keys of the block, turned; not read with few queries.
void scores(const Problem& p, const Sequence& seq, int64_t key_head, int64_t n, int64_t col, int64_t cols, int64_t span,
            const float* q, const float* kt, float* s) {
  const KernelTable& t = kernels();
  const int64_t d = padded(p.q.width);
  if (!few_queries(p, seq)) return t.tile_gemm_f32(n, span, d, q, d, 1, kt, kKeys, s, kKeys, false);
  const char* const keys = p.k.at(seq.batch, key_head, seq.k_begin + col);
  for (int64_t i = 0; i < n; ++i)
    t.gemv_rows(std::min(cols, span), p.k.width, keys, p.k.position, 1, q + i * d, d, s + i * kKeys, kKeys, p.k.dtype);
}

struct Chunk {
  int64_t sequence, head, begin, end;
};

void forward_chunk(const Problem& p, const Heads& out, const Chunk& c) {
  const KernelTable& t = kernels();
  const Sequence& seq = p.sequences[static_cast<size_t>(c.sequence)];
  const int64_t d = padded(p.q.width), dv = padded(p.v.width), rows = c.end - c.begin;
  Arena arena(rows * (d + dv + 2) + kKeys * (2 * d + dv) + kQueries * kKeys + 256);
  float *q = arena.take(rows * d), *o = arena.take(rows * dv), *max = arena.take(rows), *sum = arena.take(rows);
  float *k = arena.take(kKeys * d), *kt = arena.take(d * kKeys), *v = arena.take(kKeys * dv),
        *s = arena.take(kQueries * kKeys);
  p.q.load(q, d, seq.batch, c.head, seq.q_begin + c.begin, seq.q_begin + c.end);
  t.scale_f32(q, rows * d, p.scale);
  std::fill_n(o, rows * dv, 0.0f);
  std::fill_n(max, rows, -std::numeric_limits<float>::infinity());
  std::fill_n(sum, rows, 0.0f);
  if (p.sink) {  // a score without a value
    float sink;
    t.load[static_cast<int>(p.sink.dtype)][static_cast<int>(Compute::F32)](&sink, p.sink.at(0, c.head, 0, 0), 1, 1);
    std::fill_n(max, rows, sink);
    std::fill_n(sum, rows, 1.0f);
  }
  const int64_t key_head = c.head / p.group;
  const bool few = few_queries(p, seq), few_values = few && p.v.element == 1 && p.v.dtype == DType::Float;
  // Rows of whole vectors are read where they lie.
  const bool whole_keys = p.k.dtype == DType::Float && p.k.element == 1 && p.k.width == d,
             whole_values = p.v.dtype == DType::Float && p.v.element == 1 && p.v.width == dv;
  const Range all = keys_of(p, seq, c.begin, rows);
  for (int64_t col = all.begin / kKeys * kKeys; col < all.end; col += kKeys) {
    const int64_t cols = std::min(kKeys, seq.k_length - col), wide = padded(cols);
    if (!few) {
      const char* keys = p.k.at(seq.batch, key_head, seq.k_begin + col);
      if (!whole_keys) p.k.load(k, d, seq.batch, key_head, seq.k_begin + col, seq.k_begin + col + cols);
      t.transpose_f32(kt, kKeys, whole_keys ? reinterpret_cast<const float*>(keys) : k, whole_keys ? p.k.position : d,
                      cols, d);
      for (int64_t x = 0; x < d && wide > cols; ++x) std::fill(kt + x * kKeys + cols, kt + x * kKeys + wide, 0.0f);
    }
    const auto* values = reinterpret_cast<const float*>(p.v.at(seq.batch, key_head, seq.k_begin + col));
    if (!few_values && !whole_values) p.v.load(v, dv, seq.batch, key_head, seq.k_begin + col, seq.k_begin + col + cols);
    for (int64_t row = 0; row < rows; row += kQueries) {
      const int64_t n = std::min(kQueries, rows - row);
      const Range r = keys_of(p, seq, c.begin + row, n);
      if (r.end <= col || r.begin >= col + cols) continue;
      // Columns beyond what the rows see are left out, not only masked.
      const int64_t here = std::min(cols, r.end - col), span = std::min(wide, padded(here));
      scores(p, seq, key_head, n, col, cols, span, q + row * d, kt, s);
      if (!untouched(p, seq, c.begin + row, n, col, here))
        p.mask_tile(s, kKeys, seq, c.head, c.begin + row, n, col, std::min(cols, span), span);
      t.attention_softmax(s, kKeys, n, span, max + row, sum + row, o + row * dv, dv, dv);
      if (p.keep) p.drop_tile(s, kKeys, seq, c.head, c.begin + row, n, col, here);
      if (few_values) {
        for (int64_t i = 0; i < n; ++i) {
          t.gemv_columns_f32(here, p.v.width, values, p.v.position, s + i * kKeys, v);
          t.axpy_f32(o + (row + i) * dv, v, p.v.width, 1.0f);
        }
      } else {
        t.tile_gemm_f32(n, dv, here, s, kKeys, 1, whole_values ? values : v, whole_values ? p.v.position : dv,
                        o + row * dv, dv, true);
      }
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    if (p.nan_as_zero && !(sum[i] > 0)) std::fill_n(o + i * dv, dv, 0.0f);
    else t.scale_f32(o + i * dv, dv, sum[i] > 0 ? 1.0f / sum[i] : sum[i] == 0 ? p.unseen : sum[i]);
    if (!p.max) continue;
    const int64_t at = p.stat(seq, c.head, c.begin + i);
    std::fill_n(p.max + at, 8, max[i]);
    std::fill_n(p.sum + at, 8, sum[i]);
  }
  out.store(o, dv, seq.batch, c.head, seq.q_begin + c.begin, seq.q_begin + c.end);
}

/// Scores of a tile whose gradient is wanted, added into the gradient of pse (f32, summed over what pse broadcasts).
void add_dpse(const Problem& p, const Extra& dpse, const float* g, int64_t ld, const Sequence& seq, int64_t head,
              int64_t row, int64_t rows, int64_t col, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) {
      const int64_t line = dpse.dims[2] == 1 ? 0 : std::min(row + i, dpse.dims[2] - 1);
      *reinterpret_cast<float*>(dpse.at(dpse.dims[0] == 1 ? 0 : seq.batch, dpse.dims[1] == 1 ? 0 : head, line,
                                        col + j)) += p.pse_factor * g[i * ld + j];
    }
}

/// The keys and values of one head of one sequence as the products want them, blocks of kKeys.
struct KeySide {
  float *k, *kt, *vt;  ///< [block][key][d], [block][d][key], [block][dv][key]
};
int64_t blocks_of(const Sequence& seq) { return (seq.k_length + kKeys - 1) / kKeys; }

void load_keys(const Problem& p, const Sequence& seq, int64_t key_head, const KeySide& side, int64_t block) {
  const KernelTable& t = kernels();
  const int64_t d = padded(p.q.width), dv = padded(p.v.width);
  const int64_t col = block * kKeys, cols = std::min(kKeys, seq.k_length - col);
  Arena arena(kKeys * dv);
  float *k = side.k + col * d, *v = arena.take(kKeys * dv);
  p.k.load(k, d, seq.batch, key_head, seq.k_begin + col, seq.k_begin + col + cols);
  std::fill_n(k + cols * d, (kKeys - cols) * d, 0.0f);
  t.transpose_f32(side.kt + col * d, kKeys, k, d, kKeys, d);
  p.v.load(v, dv, seq.batch, key_head, seq.k_begin + col, seq.k_begin + col + cols);
  std::fill_n(v + cols * dv, (kKeys - cols) * dv, 0.0f);
  t.transpose_f32(side.vt + col * dv, kKeys, v, dv, kKeys, dv);
}

/// Queries [begin, end) of one head against all keys that they see: stores dq, adds to dk and dv (of all key blocks).
void backward_chunk(const Problem& p, const Gradients& g, const Sequence& seq, int64_t head, int64_t begin, int64_t end,
                    const KeySide& side, float* dk, float* dvalue) {
  const KernelTable& t = kernels();
  const int64_t d = padded(p.q.width), dv = padded(p.v.width), rows = end - begin, nk = seq.k_length;
  Arena arena(rows * (2 * d + dv + 3) + 2 * kQueries * kKeys + kKeys * dv + 256);
  float *q = arena.take(rows * d), *dq = arena.take(rows * d), *go = arena.take(rows * dv);
  float *max = arena.take(rows), *inverse = arena.take(rows), *delta = arena.take(rows);
  float *s = arena.take(kQueries * kKeys), *gs = arena.take(kQueries * kKeys), *row_buffer = arena.take(kKeys * dv);
  p.q.load(q, d, seq.batch, head, seq.q_begin + begin, seq.q_begin + end);
  t.scale_f32(q, rows * d, p.scale);
  g.grad_out.load(go, dv, seq.batch, head, seq.q_begin + begin, seq.q_begin + end);
  float dsink = 0;
  for (int64_t i = 0; i < rows; i += kKeys) {  // the output is only needed for delta
    const int64_t n = std::min(kKeys, rows - i), from = seq.q_begin + begin + i;
    g.out.load(row_buffer, dv, seq.batch, head, from, from + n);
    for (int64_t x = 0; x < n; ++x) {
      delta[i + x] = t.dot_f32(go + (i + x) * dv, row_buffer + x * dv, dv);
      const int64_t at = p.stat(seq, head, begin + i + x);
      const float sum = p.sum[at];
      max[i + x] = p.max[at] == -std::numeric_limits<float>::infinity() ? 0.0f : p.max[at];
      inverse[i + x] = sum > 0 ? 1.0f / sum : sum;
      if (g.dsink) {
        float sink;
        t.load[static_cast<int>(p.sink.dtype)][static_cast<int>(Compute::F32)](&sink, p.sink.at(0, head, 0, 0), 1, 1);
        dsink -= std::exp(sink - max[i + x]) * inverse[i + x] * delta[i + x];
      }
    }
  }
  if (g.dsink) g.dsink[head] += dsink;
  std::fill_n(dq, rows * d, 0.0f);
  for (int64_t col = 0; col < nk; col += kKeys) {
    const int64_t cols = std::min(kKeys, nk - col);
    for (int64_t row = 0; row < rows; row += kQueries) {
      const int64_t n = std::min(kQueries, rows - row), at = begin + row;
      const Range r = keys_of(p, seq, at, n);
      if (r.end <= col || r.begin >= col + cols) continue;
      const int64_t here = std::min(cols, r.end - col), span = padded(here);
      scores(p, seq, head / p.group, n, col, cols, span, q + row * d, side.kt + col * d, s);
      if (!untouched(p, seq, at, n, col, here))
        p.mask_tile(s, kKeys, seq, head, at, n, col, std::min(cols, span), span);
      t.tile_gemm_f32(n, span, dv, go + row * dv, dv, 1, side.vt + col * dv, kKeys, gs, kKeys, false);
      if (p.keep) p.drop_tile(gs, kKeys, seq, head, at, n, col, here);
      t.attention_softmax_grad(s, gs, kKeys, n, span, max + row, inverse + row, delta + row);
      if (g.dpse) add_dpse(p, g.dpse, gs, kKeys, seq, head, at, n, col, here);
      if (p.keep) p.drop_tile(s, kKeys, seq, head, at, n, col, here);
      t.tile_gemm_f32(here, dv, n, s, 1, kKeys, go + row * dv, dv, dvalue + col * dv, dv, true);
      t.tile_gemm_f32(here, d, n, gs, 1, kKeys, q + row * d, d, dk + col * d, d, true);
      t.tile_gemm_f32(n, d, here, gs, kKeys, 1, side.k + col * d, d, dq + row * d, d, true);
    }
  }
  t.scale_f32(dq, rows * d, p.scale);
  g.dq.store(dq, d, seq.batch, head, seq.q_begin + begin, seq.q_begin + end);
}

/// One key head of one sequence with the query heads that share it.
void backward_group(const Problem& p, const Gradients& g, const Sequence& seq, int64_t key_head) {
  const int64_t d = padded(p.q.width), dv = padded(p.v.width), blocks = blocks_of(seq), all_keys = blocks * kKeys;
  Arena arena(all_keys * (3 * d + 2 * dv) + 256);
  const KeySide side{arena.take(all_keys * d), arena.take(all_keys * d), arena.take(all_keys * dv)};
  float *dk = arena.take(all_keys * d), *dvalue = arena.take(all_keys * dv);
  std::fill_n(dk, all_keys * d, 0.0f);
  std::fill_n(dvalue, all_keys * dv, 0.0f);
  for (int64_t b = 0; b < blocks; ++b) load_keys(p, seq, key_head, side, b);
  for (int64_t head = key_head * p.group; head < (key_head + 1) * p.group; ++head)
    backward_chunk(p, g, seq, head, 0, seq.q_length, side, dk, dvalue);
  g.dk.store(dk, d, seq.batch, key_head, seq.k_begin, seq.k_begin + seq.k_length);
  g.dv.store(dvalue, dv, seq.batch, key_head, seq.k_begin, seq.k_begin + seq.k_length);
}

/// The same for few key heads (MQA, a batch of one): the queries of each, of all heads that share it, are dealt out in
/// chunks to `parts`, each with gradients of keys and values of its own, which are added in their order. The number of
/// parts depends on the shapes alone, and so do the results' bits.
constexpr int64_t kChunkRows = 256;
constexpr int64_t kParts = 16;  // altogether; half as many heads need no more

int64_t chunks_of(const Problem& p, const Sequence& seq) {
  return p.group * ((seq.q_length + kChunkRows - 1) / kChunkRows);
}
constexpr int64_t kPartFloats = int64_t{1} << 25;  // of all parts' gradients

int64_t parts_of(const Problem& p) {
  const int64_t groups = p.k.heads * static_cast<int64_t>(p.sequences.size());
  if (groups == 0 || groups > kParts / 2) return 1;
  int64_t chunks = 1, blocks = 1;
  for (const Sequence& seq : p.sequences) {
    chunks = std::max(chunks, chunks_of(p, seq));
    blocks = std::max(blocks, blocks_of(seq));
  }
  const int64_t floats = groups * blocks * kKeys * (padded(p.q.width) + padded(p.v.width));
  return std::max<int64_t>(1, std::min({chunks, kParts / groups, kPartFloats / floats}));
}

void backward_in_parts(const Problem& p, const Gradients& g, int64_t parts) {
  const int64_t d = padded(p.q.width), dv = padded(p.v.width), heads = p.k.heads;
  const int64_t groups = heads * static_cast<int64_t>(p.sequences.size());
  int64_t blocks = 0;
  for (const Sequence& seq : p.sequences) blocks = std::max(blocks, blocks_of(seq));
  const int64_t all_keys = blocks * kKeys;
  Arena arena(groups * all_keys * (2 * d + dv + parts * (d + dv)) + 64);
  const auto of_all = [&](int64_t width) { return arena.take(groups * all_keys * width); };
  const KeySide sides{of_all(d), of_all(d), of_all(dv)};
  float *dk = of_all(parts * d), *dvalue = of_all(parts * dv);
  const auto sequence = [&](int64_t group) -> const Sequence& {
    return p.sequences[static_cast<size_t>(group / heads)];
  };
  const auto side_of = [&](int64_t group) {
    const int64_t at = group * all_keys;
    return KeySide{sides.k + at * d, sides.kt + at * d, sides.vt + at * dv};
  };
  const auto each = [](int64_t n, auto&& f) {
    parallel_for(n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) f(i);
    });
  };
  each(groups * blocks, [&](int64_t i) {
    const int64_t group = i / blocks;
    if (i % blocks < blocks_of(sequence(group)))
      load_keys(p, sequence(group), group % heads, side_of(group), i % blocks);
  });
  each(groups * parts, [&](int64_t i) {
    const int64_t group = i / parts, key_head = group % heads;
    const Sequence& seq = sequence(group);
    float *own_dk = dk + i * all_keys * d, *own_dv = dvalue + i * all_keys * dv;
    std::fill_n(own_dk, all_keys * d, 0.0f);
    std::fill_n(own_dv, all_keys * dv, 0.0f);
    const int64_t chunks = chunks_of(p, seq), each_head = chunks / p.group;
    // Causal work grows with the row: every part gets early and late chunks.
    for (int64_t c = i % parts; c < chunks; c += parts) {
      const int64_t begin = c % each_head * kChunkRows;
      backward_chunk(p, g, seq, key_head * p.group + c / each_head, begin, std::min(seq.q_length, begin + kChunkRows),
                     side_of(group), own_dk, own_dv);
    }
  });
  each(groups * blocks, [&](int64_t i) {
    const int64_t group = i / blocks, block = i % blocks, key_head = group % heads;
    const Sequence& seq = sequence(group);
    if (block >= blocks_of(seq)) return;
    const int64_t begin = block * kKeys, end = std::min(seq.k_length, begin + kKeys), n = end - begin;
    const auto sum = [&](float* all, int64_t width) {
      float* to = all + (group * parts * all_keys + begin) * width;
      for (int64_t part = 1; part < parts; ++part)
        kernels().axpy_f32(to, to + part * all_keys * width, n * width, 1.0f);
      return to;
    };
    g.dk.store(sum(dk, d), d, seq.batch, key_head, seq.k_begin + begin, seq.k_begin + end);
    g.dv.store(sum(dvalue, dv), dv, seq.batch, key_head, seq.k_begin + begin, seq.k_begin + end);
  });
}

/// Rows of flat layouts that belong to no sequence.
void clear_rest(const Heads& h, int64_t used) {
  for (int64_t b = 0; b < h.batches; ++b)
    for (int64_t head = 0; head < h.heads; ++head) h.clear(b, head, used, h.positions);
}

}  // namespace

void forward(const Problem& p, const Heads& out) {
  // Long sequences are cut so that every thread has work; a cut is a multiple of a tile and changes no result.
  int64_t chunk = 512;
  const int64_t heads = static_cast<int64_t>(p.sequences.size()) * p.q.heads;
  if (heads < 4 * parallel_width()) chunk = 128;
  std::vector<Chunk> chunks;
  for (size_t s = 0; s < p.sequences.size(); ++s) {
    const int64_t n = p.sequences[s].q_length, parts = (n + chunk - 1) / chunk;
    for (int64_t h = 0; h < p.q.heads; ++h)
      for (int64_t i = 0; i < parts; ++i) {
        const int64_t part = i % 2 ? parts - 1 - i / 2 : i / 2;  // causal work grows with the row: pair early with late
        chunks.push_back({static_cast<int64_t>(s), h, part * chunk, std::min(n, (part + 1) * chunk)});
      }
  }
  parallel_for(static_cast<int64_t>(chunks.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) forward_chunk(p, out, chunks[static_cast<size_t>(i)]);
  });
  if (!p.sequences.empty() && p.sequences.back().q_begin + p.sequences.back().q_length < out.positions)
    clear_rest(out, p.sequences.back().q_begin + p.sequences.back().q_length);
}

void backward(const Problem& p, const Gradients& g) {
  const int64_t heads = p.k.heads, sequences = static_cast<int64_t>(p.sequences.size());
  // What sums over batches goes through them in order.
  const bool over_batches = (g.dpse && g.dpse.dims[0] == 1) || g.dsink;
  const bool over_heads = g.dpse && g.dpse.dims[1] == 1;
  const int64_t parts = g.dpse || g.dsink ? 1 : parts_of(p);
  if (parts > 1) backward_in_parts(p, g, parts);
  const int64_t tasks = over_heads ? 1 : over_batches ? heads : heads * sequences;
  parallel_for(parts > 1 ? 0 : tasks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t u = i; u < heads * sequences; u += tasks) {
        const int64_t head = u % heads, s = u / heads;  // tasks is 1, heads or all: a task keeps its head
        backward_group(p, g, p.sequences[static_cast<size_t>(s)], head);
      }
  });
  if (!p.sequences.empty()) {
    const Sequence& last = p.sequences.back();
    if (last.q_begin + last.q_length < p.q.positions) clear_rest(g.dq, last.q_begin + last.q_length);
    if (last.k_begin + last.k_length < p.k.positions) {
      clear_rest(g.dk, last.k_begin + last.k_length);
      clear_rest(g.dv, last.k_begin + last.k_length);
    }
  }
}

}  // namespace updraft::attention
