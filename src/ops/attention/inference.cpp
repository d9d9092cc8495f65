// Attention of inference by the kernel that training has (flash.cpp). What lies in pages, in two parts or in a type
// that the kernel does not read is brought together first.
#include "ops/attention/inference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/copy.h"
#include "ops/attention/attention.h"
#include "ops/gathered.h"
#include "tensor/view_algebra.h"

namespace updraft::inference {
namespace {

using attention::Heads;
using attention::Problem;
using attention::Sequence;

constexpr float kNone = -std::numeric_limits<float>::infinity();

/// How dimensions stand; BSH keeps heads and their size in one, TND has the tokens of all sequences in one.
enum class Order : uint8_t { BSH, BSND, BNSD, TND };

struct Layout {
  Order in, out;
};
Layout layout_of(const Op& op, std::string_view name) {
  if (name == "BSH") return {Order::BSH, Order::BSH};
  if (name == "BSND") return {Order::BSND, Order::BSND};
  if (name == "BNSD_BSND") return {Order::BNSD, Order::BSND};
  if (name == "TND") return {Order::TND, Order::TND};
  op.require(name == "BNSD", R"(inputLayout is "{}", want "BSH", "BSND", "BNSD", "BNSD_BSND" or "TND")", name);
  return {Order::BNSD, Order::BNSD};
}

/// As [batch, heads, tokens, size]; the batch of TND is one.
TensorView as_heads(const TensorView& v, Order order, int64_t heads) {
  if (order == Order::BNSD) return v;
  if (order == Order::BSND) return v.transpose(1, 2);
  if (order == Order::TND) return unsqueeze(v.transpose(0, 1), 0);
  TensorView r = v;
  r.rank = 4;
  r.dims[3] = v.dims[2] / heads;
  r.strides[3] = v.strides[2];
  r.dims[2] = v.dims[1];
  r.strides[2] = v.strides[1];
  r.dims[1] = heads;
  r.strides[1] = r.dims[3] * v.strides[2];
  return r;
}
/// Pages are [pages, tokens, heads * size] or [pages, heads, tokens, size].
Order order_of_pages(const TensorView& v) { return v.rank == 3 ? Order::BSH : Order::BNSD; }

int rank_of(Order order) { return order == Order::BSH || order == Order::TND ? 3 : 4; }

void require_heads(const Op& op, const char* name, const TensorView& v, Order order, int64_t heads) {
  op.require(v.rank == rank_of(order) && compute_of(v.dtype) == Compute::F32,
             "{} is {}, want {} dimensions of FLOAT, FLOAT16 or BFLOAT16", name, describe(v), rank_of(order));
  const int64_t has = order == Order::BSH ? heads : v.dims[order == Order::BSND ? 2 : 1];
  op.require(has == heads && (order != Order::BSH || v.dims[2] % heads == 0), "{} is {}, want {} heads", name,
             describe(v), heads);
}

/// The operands as [batch, heads, tokens, size], keys and values in pages as [pages, heads, tokens, size].
struct Call {
  Attention a;
  bool packed = false;  ///< TND
  TensorView q{}, q_rope{}, k_rope{}, out{};
  std::vector<TensorView> keys{}, values{};
  Problem p{};  ///< what is known before values are read
};

/// With these modes the mask is a triangle that all calls share; the positions say what it would.
bool mask_is_band(const Attention& a) { return a.sparse_mode >= 2; }

/// The sequences of a packed batch have numbers of their own, which move nothing.
Heads heads_of(const TensorView& v, bool packed) {
  Heads h;
  h.data = v.as<char>();
  h.dtype = v.dtype;
  h.batches = v.dims[0], h.heads = v.dims[1], h.positions = v.dims[2], h.width = v.dims[3];
  h.batch = packed ? 0 : v.strides[0], h.head = v.strides[1], h.position = v.strides[2], h.element = v.strides[3];
  return h;
}
/// [queries, keys], [batch, queries, keys] or [batch, heads, queries, keys]
attention::Extra extra_of(const TensorView& v) { return attention::extra_of(v.rank == 3 ? unsqueeze(v, 1) : v); }

/// Room for so many elements, dense.
TensorView room(ScratchScope& scratch, DType type, std::initializer_list<int64_t> dims) {
  TensorView v = TensorView::contiguous(nullptr, type, dims.begin(), static_cast<int>(dims.size()));
  v.data = scratch.take(v.bytes());
  return v;
}

/// The last dimensions side by side.
TensorView joined(ScratchScope& scratch, const TensorView& a, const TensorView& b) {
  const TensorView all = room(scratch, a.dtype, {a.dims[0], a.dims[1], a.dims[2], a.dims[3] + b.dims[3]});
  copy_elements(narrow(all, 3, 0, a.dims[3]), a);
  copy_elements(narrow(all, 3, a.dims[3], b.dims[3]), b);
  return all;
}

/// The tokens of all sequences, one after the other, out of their pages; `parts` stand side by side.
TensorView from_pages(ScratchScope& scratch, const Call& c, const std::vector<int64_t>& table,
                      std::initializer_list<const TensorView*> parts) {
  const TensorView& first = **parts.begin();
  const int64_t page = first.dims[2], named = c.a.table.dims[1];
  int64_t total = 0, width = 0;
  for (const TensorView* part : parts) width += part->dims[3];
  struct Piece {
    int64_t to, page, count;
  };
  std::vector<Piece> pieces;
  for (const Sequence& s : c.p.sequences) {
    total += s.k_length;
    for (int64_t at = 0; at < s.k_length; at += page) {
      const int64_t number = table[static_cast<size_t>(s.batch * named + at / page)];
      if (number < 0 || number >= first.dims[0])
        fail_kernel(fmt::format("attention: page {} of sequence {} is out of range, want 0 to {}", number, s.batch,
                                first.dims[0] - 1));
      pieces.push_back({s.k_begin + at, number, std::min(page, s.k_length - at)});
    }
  }
  const TensorView all = room(scratch, first.dtype, {1, total, first.dims[1], width}).transpose(1, 2);
  parallel_for(static_cast<int64_t>(pieces.size()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Piece& piece = pieces[static_cast<size_t>(i)];
      const TensorView to = narrow(select(all, 0, 0), 1, piece.to, piece.count);
      int64_t column = 0;
      for (const TensorView* part : parts) {
        copy_elements(narrow(to, 2, column, part->dims[3]), narrow(select(*part, 0, piece.page), 1, 0, piece.count));
        column += part->dims[3];
      }
    }
  });
  return all;
}

/// A mask of other numbers as bytes.
TensorView as_bytes(ScratchScope& scratch, const TensorView& mask) {
  if (size_of(mask.dtype) == 1) return mask;
  auto* bytes = scratch.take<uint8_t>(static_cast<size_t>(mask.numel()));
  const std::vector<float> numbers = floats_of(mask);
  std::transform(numbers.begin(), numbers.end(), bytes, [](float x) { return x != 0; });
  return TensorView::contiguous(bytes, DType::UInt8, mask.dims, mask.rank);
}

/// What is added to scores, where what is above 0 says that a score is hidden.
TensorView without_flags(ScratchScope& scratch, const TensorView& shift) {
  auto* numbers = scratch.take<float>(static_cast<size_t>(shift.numel()));
  gather_to(numbers, DType::Float, shift);
  std::replace_if(
      numbers, numbers + shift.numel(), [](float x) { return x > 0; }, kNone);
  return TensorView::contiguous(numbers, DType::Float, shift.dims, shift.rank);
}

/// Each sequence by itself, where its keys are a tensor of their own or the rows of `shift` are those of its tokens;
/// else all at once.
void run_sequences(const Call& c, const Problem& all, Heads out) {
  const bool own_keys = c.keys.size() > 1, alone = own_keys || c.a.shift_by_token;
  for (size_t i = 0; i < (alone ? all.sequences.size() : 1); ++i) {
    Problem p = all;
    if (alone) p.sequences = {all.sequences[i]};
    if (own_keys) p.k = heads_of(c.keys[i], true), p.v = heads_of(c.values[i], true);
    if (c.a.shift_by_token) p.pse.data = p.pse.at(0, 0, p.sequences[0].q_begin, 0);
    // Rows behind these sequences are not theirs to clear.
    out.positions = 0;
    for (const Sequence& s : p.sequences) out.positions = std::max(out.positions, s.q_begin + s.q_length);
    attention::forward(p, out);
  }
}

void run(const Call& c) {
  ScratchScope scratch;
  Problem p = c.p;
  const bool rope = given(c.q_rope);
  p.q = heads_of(rope ? joined(scratch, c.q, c.q_rope) : c.q, c.packed);
  if (given(c.a.table)) {
    const std::vector<int64_t> table = integers_of(c.a.table);
    const TensorView &k = c.keys[0], &v = c.values[0];
    p.k = heads_of(rope ? from_pages(scratch, c, table, {&k, &c.k_rope}) : from_pages(scratch, c, table, {&k}), true);
    p.v = heads_of(from_pages(scratch, c, table, {&v}), true);
  } else {
    p.k = heads_of(rope ? joined(scratch, c.keys[0], c.k_rope) : c.keys[0], c.packed);
    p.v = heads_of(c.values[0], c.packed);
  }
  if (p.dense) p.mask = extra_of(as_bytes(scratch, c.a.mask));
  if (given(c.a.shift)) p.pse = extra_of(c.a.shift_flags ? without_flags(scratch, c.a.shift) : c.a.shift);
  if (given(c.a.sink)) {
    p.sink.data = c.a.sink.as<char>();
    p.sink.dtype = c.a.sink.dtype;
    p.sink.strides[1] = c.a.sink.strides[0];
  }
  const int64_t heads = c.q.dims[1], tokens = c.q.dims[2], rows = c.q.dims[0] * heads * tokens;
  if (c.a.lse.data) {
    p.max = scratch.take<float>(static_cast<size_t>(rows * 8));
    p.sum = scratch.take<float>(static_cast<size_t>(rows * 8));
    std::fill_n(p.max, rows * 8, kNone);
    std::fill_n(p.sum, rows * 8, 0.0f);
    p.stat_batch = c.packed ? 0 : heads * tokens * 8;
    p.stat_head = c.packed ? 8 : tokens * 8;
    p.stat_position = c.packed ? heads * 8 : 8;
  }
  int64_t written = 0;
  for (const Sequence& s : p.sequences) written += s.q_length;
  if (written < c.q.dims[0] * tokens) fill_zero(c.a.out);
  run_sequences(c, p, heads_of(c.out, c.packed));
  if (!c.a.lse.data) return;
  std::vector<float> lse(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i)
    lse[static_cast<size_t>(i)] =
        p.sum[i * 8] > 0 ? p.max[i * 8] + std::log(p.sum[i * 8]) : std::numeric_limits<float>::infinity();
  write_all(c.a.lse, lse);
}

int64_t length_of(const std::vector<int64_t>& lengths, size_t i, int64_t whole) {
  return lengths.empty() ? whole : lengths[lengths.size() == 1 ? 0 : i];
}

/// The sequences of a batch with rows of their own.
void plan_batch(const Op& op, Call& c, int64_t most_keys) {
  const Attention& a = c.a;
  const int64_t batch = c.q.dims[0], tokens = c.q.dims[2];
  op.require(c.keys.size() == 1 || static_cast<int64_t>(c.keys.size()) == batch, "there are {} keys for {} sequences",
             c.keys.size(), batch);
  for (const std::vector<int64_t>* lengths : {&a.q_lengths, &a.kv_lengths})
    op.require(lengths->size() <= 1 || static_cast<int64_t>(lengths->size()) == batch,
               "there are {} lengths for {} sequences", lengths->size(), batch);
  int64_t k_at = 0;
  for (int64_t b = 0; b < batch; ++b) {
    const auto i = static_cast<size_t>(b);
    const int64_t whole = c.keys.size() > 1 ? c.keys[i].dims[2] : most_keys;
    // With one query a step the lengths of queries say nothing.
    const int64_t queries = tokens > 1 ? length_of(a.q_lengths, i, tokens) : tokens;
    const int64_t keys = length_of(a.kv_lengths, i, whole);
    if (op.inferring()) continue;  // sizes may be unknown
    op.require(queries >= 0 && queries <= tokens, "actualSeqLengths says {} for sequence {}, which has {} tokens",
               queries, b, tokens);
    op.require(keys >= 0 && keys <= whole, "the length of keys is {} for sequence {}, which has room for {}", keys, b,
               whole);
    c.p.sequences.push_back({b, 0, queries, given(a.table) ? k_at : 0, keys, 0, 0, b == 0, b + 1 == batch});
    k_at += keys;
  }
}

/// Sequences one behind the other in one row of tokens.
void plan_packed(const Op& op, Call& c, int64_t most_keys) {
  const Attention& a = c.a;
  const bool pages = given(a.table);
  const size_t count = a.q_lengths.size();
  op.require(count > 0 && count == a.kv_lengths.size(),
             "there are {} lengths of queries and {} of keys, TND wants both for each sequence", count,
             a.kv_lengths.size());
  op.require(c.keys.size() == 1, "there are {} keys, TND has one", c.keys.size());
  int64_t q_at = 0, k_at = 0;
  for (size_t i = 0; i < count; ++i) {
    const int64_t q_end = a.q_lengths[i], keys = pages ? a.kv_lengths[i] : a.kv_lengths[i] - k_at;
    if (op.inferring()) continue;  // sizes may be unknown
    op.require(q_end >= q_at && q_end <= c.q.dims[2],
               "actualSeqLengths[{}] is {}, want where the sequence ends: {} up to {}", i, q_end, q_at, c.q.dims[2]);
    op.require(keys >= 0 && (pages ? keys : k_at + keys) <= most_keys, "actualSeqLengthsKv[{}] is {}, want {} up to {}",
               i, a.kv_lengths[i], pages ? "the keys of the sequence, 0" : "where the sequence ends,", most_keys);
    c.p.sequences.push_back({static_cast<int64_t>(i), q_at, q_end - q_at, k_at, keys, 0, 0, i == 0, i + 1 == count});
    q_at = q_end, k_at += keys;
  }
}

/// Rows of a mask or a shift are read for the keys that the sequences have: rows of all queries, or one for all.
void check_rows(const Op& op, const Call& c, const TensorView& v, bool by_token) {
  int64_t queries = 0, keys = 0;
  for (const Sequence& s : c.p.sequences) queries = std::max(queries, s.q_length), keys = std::max(keys, s.k_length);
  if (by_token) queries = c.q.dims[2];
  op.require(v.rank >= 2 && v.rank <= 4 && v.dims[v.rank - 1] >= keys &&
                 (v.dims[v.rank - 2] == 1 || v.dims[v.rank - 2] >= queries),
             "attenMask or pseShift is {}, want rows of {} for {} queries", describe(v), keys, queries);
  for (int d = 0; d < v.rank - 2; ++d) {
    const int64_t want = d + 3 == v.rank && v.rank == 4 ? c.a.heads : static_cast<int64_t>(c.p.sequences.size());
    op.require(v.dims[d] == 1 || v.dims[d] == want, "attenMask or pseShift is {}, dimension {} wants 1 or {}",
               describe(v), d, want);
  }
}

/// Keys and values as heads, checked against the query.
void plan_keys(const Op& op, Call& c, Order order_in) {
  const Attention& a = c.a;
  const bool pages = given(a.table);
  op.require(!a.keys.empty() && a.keys.size() == a.values.size(), "there are {} keys and {} values", a.keys.size(),
             a.values.size());
  for (size_t i = 0; i < a.keys.size(); ++i) {
    const TensorView &key = a.keys[i], &value = a.values[i];
    require_heads(op, "key", key, pages ? order_of_pages(key) : order_in, a.kv_heads);
    require_heads(op, "value", value, pages ? order_of_pages(value) : order_in, a.kv_heads);
    const TensorView k = as_heads(key, pages ? order_of_pages(key) : order_in, a.kv_heads);
    const TensorView v = as_heads(value, pages ? order_of_pages(value) : order_in, a.kv_heads);
    op.require(k.dims[3] == c.q.dims[3], "key is {} and query {}: heads of {} and {}", describe(key), describe(a.query),
               k.dims[3], c.q.dims[3]);
    op.require(k.dims[0] == v.dims[0] && k.dims[2] == v.dims[2], "key is {} and value {}, want as many tokens",
               describe(key), describe(value));
    op.require(pages || k.dims[0] == (a.keys.size() > 1 ? 1 : c.q.dims[0]), "key or value is {}, query {}",
               describe(key), describe(a.query));
    c.keys.push_back(k);
    c.values.push_back(v);
  }
}

void plan_rope(const Op& op, Call& c, Order order_in) {
  const Attention& a = c.a;
  op.require(given(a.query_rope) == given(a.key_rope), "queryRope and keyRope belong together");
  if (!given(a.query_rope)) return;
  op.require(c.keys.size() == 1, "keyRope is given, which wants one key for all sequences");
  const Order order = given(a.table) ? order_of_pages(a.key_rope) : order_in;
  require_heads(op, "queryRope", a.query_rope, order_in, a.heads);
  require_heads(op, "keyRope", a.key_rope, order, a.kv_heads);
  c.q_rope = as_heads(a.query_rope, order_in, a.heads);
  c.k_rope = as_heads(a.key_rope, order, a.kv_heads);
  const auto fits = [](const TensorView& rope, const TensorView& of) {
    return rope.dtype == of.dtype && std::equal(rope.dims, rope.dims + 3, of.dims);
  };
  op.require(fits(c.q_rope, c.q) && fits(c.k_rope, c.keys[0]) && c.q_rope.dims[3] == c.k_rope.dims[3],
             "queryRope is {} and keyRope {}, want what stands behind the rows of query {} and key {}",
             describe(a.query_rope), describe(a.key_rope), describe(a.query), describe(a.keys[0]));
}

}  // namespace

void refuse_given(const Op& op, const char* name, const OptIn& tensor) {
  op.require(!tensor || tensor->numel() == 0, "{} is given, which is not supported", name);
}

void plan_attention(Op& op, Attention request, const TensorView& out, const TensorView* lse) {
  const Layout layout = layout_of(op, request.layout);
  Call c;
  c.a = std::move(request);
  Attention& a = c.a;
  op.require(a.heads > 0, "numHeads is {}, want above 0", a.heads);
  if (!a.kv_heads) a.kv_heads = a.heads;
  op.require(a.kv_heads > 0 && a.heads % a.kv_heads == 0, "numKeyValueHeads is {}, want a divisor of {}", a.kv_heads,
             a.heads);
  op.require(a.sparse_mode >= 0 && a.sparse_mode <= 4, "sparseMode is {}, want 0 to 4", a.sparse_mode);
  require_heads(op, "query", a.query, layout.in, a.heads);
  c.packed = layout.in == Order::TND;
  c.q = as_heads(a.query, layout.in, a.heads);
  plan_keys(op, c, layout.in);
  plan_rope(op, c, layout.in);
  int64_t most_keys = c.keys[0].dims[2];
  if (given(a.table)) {
    const auto named = static_cast<int64_t>(c.packed ? a.q_lengths.size() : c.q.dims[0]);
    op.require(a.table.rank == 2 && is_integral(a.table.dtype) &&
                   (c.packed ? a.table.dims[0] >= named : a.table.dims[0] == named),
               "blockTable is {}, want integers [{},pages]", describe(a.table), named);
    op.require(!a.kv_lengths.empty(), "blockTable is given, which wants the lengths of keys");
    op.require(c.keys.size() == 1, "blockTable is given with {} keys, want one", c.keys.size());
    most_keys *= a.table.dims[1];
  }
  if (c.packed) plan_packed(op, c, most_keys);
  else plan_batch(op, c, most_keys);
  c.p.dense = given(a.mask) && !mask_is_band(a);
  if (c.p.dense) check_rows(op, c, a.mask, false);
  if (given(a.shift)) {
    check_rows(op, c, a.shift, a.shift_by_token);
    op.require(compute_of(a.shift.dtype) == Compute::F32, "pseShift is {}, want FLOAT, FLOAT16 or BFLOAT16",
               describe(a.shift));
  }
  if (given(a.sink))
    op.require(a.sink.rank == 1 && a.sink.dims[0] == a.heads && compute_of(a.sink.dtype) == Compute::F32,
               "learnableSink is {}, want {} numbers", describe(a.sink), a.heads);
  c.p.group = a.heads / a.kv_heads;
  c.p.scale = static_cast<float>(a.scale);
  c.p.sparse_mode = a.sparse_mode;
  // Far beyond any sequence, and sums with positions stay numbers.
  c.p.before = std::clamp<int64_t>(a.before, -(int64_t{1} << 40), int64_t{1} << 40);
  c.p.after = std::clamp<int64_t>(a.after, -(int64_t{1} << 40), int64_t{1} << 40);
  c.p.ranged = mask_is_band(a) || (a.sparse_mode == 0 && given(a.mask));

  TensorView shape = a.query;
  if (layout.out != layout.in) shape = a.query.transpose(1, 2);
  const int64_t size = c.values[0].dims[3];
  shape.dims[shape.rank - 1] = layout.out == Order::BSH ? size * a.heads : size;
  op.result_like("attentionOut", out, shape, a.query.dtype);
  a.out = out;
  const int64_t tokens = c.q.dims[2], rows = c.q.dims[0] * a.heads * tokens;
  if (lse) {
    if (c.packed) op.suggest(*lse, {tokens, a.heads, 1}, DType::Float);
    else op.suggest(*lse, {c.q.dims[0], a.heads, tokens, 1}, DType::Float);
    op.require(lse->numel() == rows, "softmaxLse is {}, want {} elements", describe(*lse), rows);
    a.lse = *lse;
  }
  if (a.out.empty()) return;
  c.out = as_heads(a.out, layout.out, a.heads);
  int64_t scores = 0;
  for (const Sequence& s : c.p.sequences) scores += a.heads * s.q_length * s.k_length;
  op.flops(2 * scores * (c.q.dims[3] + size));
  op.work(scores * c.q.dims[3] / 4 + rows);
  op.launch([c = std::move(c)] { run(c); });
}

}  // namespace updraft::inference
