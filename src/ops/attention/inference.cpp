#include "ops/attention/inference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "base/parallel.h"
#include "kernels/matmul/matmul.h"
#include "ops/gathered.h"
#include "tensor/view_algebra.h"

namespace updraft::inference {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();

/// How dimensions stand; rank 3 keeps heads and their size in one.
enum class Order : uint8_t { BSH, BSND, BNSD };

struct Layout {
  Order in, out;
};
Layout layout_of(const Op& op, std::string_view name) {
  if (name == "BSH") return {Order::BSH, Order::BSH};
  if (name == "BSND") return {Order::BSND, Order::BSND};
  if (name == "BNSD_BSND") return {Order::BNSD, Order::BSND};
  op.require(name == "BNSD", "inputLayout is \"{}\", want \"BSH\", \"BSND\", \"BNSD\" or \"BNSD_BSND\"", name);
  return {Order::BNSD, Order::BNSD};
}

/// As [batch, heads, tokens, size].
TensorView as_heads(const TensorView& v, Order order, int64_t heads) {
  if (order == Order::BNSD) return v;
  if (order == Order::BSND) return v.transpose(1, 2);
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

void require_heads(const Op& op, const char* name, const TensorView& v, Order order, int64_t heads) {
  op.require(v.rank == (order == Order::BSH ? 3 : 4) && compute_of(v.dtype) == Compute::F32,
             "{} is {}, want {} dimensions of FLOAT, FLOAT16 or BFLOAT16", name, describe(v),
             order == Order::BSH ? 3 : 4);
  const int64_t has = order == Order::BSH ? heads : v.dims[order == Order::BSND ? 2 : 1];
  op.require(has == heads && (order != Order::BSH || v.dims[2] % heads == 0), "{} is {}, want {} heads", name,
             describe(v), heads);
}

/// Which keys a query sees beside what the mask says.
struct Band {
  int64_t low = std::numeric_limits<int64_t>::min(), high = std::numeric_limits<int64_t>::max();  // of key - query
};
Band band_of(const Attention& a, int64_t queries, int64_t keys) {
  const int64_t end = keys - queries;  // the diagonal that ends in the lower right corner
  auto sum = [](int64_t x, int64_t y) { return std::clamp<int64_t>(x, -(int64_t{1} << 40), int64_t{1} << 40) + y; };
  switch (a.sparse_mode) {
    case 0: return given(a.mask) ? Band{-sum(a.before, 0), sum(a.after, 0)} : Band{};
    case 2: return {std::numeric_limits<int64_t>::min(), 0};
    case 3: return {std::numeric_limits<int64_t>::min(), end};
    case 4: return {-sum(a.before, -end), sum(a.after, end)};
    default: return {};
  }
}
/// With these modes the mask is a triangle that all calls share; the band says what it would.
bool mask_is_band(const Attention& a) { return a.sparse_mode >= 2; }

/// One head of one sequence: its keys or values, brought together where they lie in pages.
TensorView of_head(const Attention& a, const std::vector<TensorView>& tensors, Order order, int64_t b, int64_t head,
                   int64_t length, const std::vector<int64_t>& pages, std::vector<float>& hold) {
  if (!given(a.table)) {
    const bool own = tensors.size() > 1;
    const TensorView all = as_heads(tensors[own ? static_cast<size_t>(b) : 0], order, a.kv_heads);
    return narrow(select(select(all, 0, own ? 0 : b), 0, head), 0, 0, length);
  }
  // [pages, tokens, heads * size] or [pages, heads, tokens, size]
  const TensorView all = as_heads(tensors[0], tensors[0].rank == 3 ? Order::BSH : Order::BNSD, a.kv_heads);
  const int64_t size = all.dims[3], page = all.dims[2], width = a.table.dims[1];
  hold.resize(static_cast<size_t>(length * size));
  const int64_t dims[] = {length, size};
  const TensorView to = TensorView::contiguous(hold.data(), DType::Float, dims, 2);
  for (int64_t at = 0; at < length; at += page) {
    const int64_t number = pages[static_cast<size_t>(b * width + at / page)], count = std::min(page, length - at);
    if (number < 0 || number >= all.dims[0])
      fail_kernel(fmt::format("attention: page {} is out of range, want 0 to {}", number, all.dims[0] - 1));
    copy_elements(narrow(to, 0, at, count), narrow(select(select(all, 0, number), 0, head), 0, 0, count));
  }
  return to;
}

void run(const Attention& a, Layout layout) {
  const TensorView q = as_heads(a.query, layout.in, a.heads), out = as_heads(a.out, layout.out, a.heads);
  const std::vector<int64_t> pages = given(a.table) ? integers_of(a.table) : std::vector<int64_t>();
  const int64_t batch = q.dims[0], tokens = q.dims[2], group = a.heads / a.kv_heads;
  fill_zero(a.out);
  std::vector<float> scores, key_hold, value_hold, line, lse;
  if (a.lse.data) lse.assign(static_cast<size_t>(a.lse.numel()), std::numeric_limits<float>::infinity());
  for (int64_t b = 0; b < batch; ++b) {
    const auto i = static_cast<size_t>(b);
    int64_t queries = tokens, keys = 0;
    // With one query a step the lengths of queries say nothing.
    if (!a.q_lengths.empty() && tokens > 1)
      queries = std::clamp<int64_t>(a.q_lengths[a.q_lengths.size() == 1 ? 0 : i], 0, tokens);
    if (given(a.table)) keys = a.table.dims[1] * (a.keys[0].rank == 3 ? a.keys[0].dims[1] : a.keys[0].dims[2]);
    else keys = as_heads(a.keys[a.keys.size() > 1 ? i : 0], layout.in, a.kv_heads).dims[2];
    if (!a.kv_lengths.empty()) keys = std::clamp<int64_t>(a.kv_lengths[a.kv_lengths.size() == 1 ? 0 : i], 0, keys);
    if (!queries || !keys) continue;
    const Band band = band_of(a, queries, keys);
    for (int64_t n = 0; n < a.heads; ++n) {
      const TensorView k = of_head(a, a.keys, layout.in, b, n / group, keys, pages, key_hold);
      const TensorView v = of_head(a, a.values, layout.in, b, n / group, keys, pages, value_hold);
      const TensorView one = narrow(select(select(q, 0, b), 0, n), 0, 0, queries);
      scores.resize(static_cast<size_t>(queries * keys));
      const int64_t dims[] = {queries, keys};
      const TensorView s = TensorView::contiguous(scores.data(), DType::Float, dims, 2);
      MatmulOptions options;
      options.alpha = a.scale;
      matmul(one, k.transpose(0, 1), s, options);
      line.resize(static_cast<size_t>(keys));
      for (int64_t r = 0; r < queries; ++r) {
        float* row = scores.data() + r * keys;
        auto line_of = [&](const TensorView& whole) {
          // [queries, keys], [batch, queries, keys] or [batch, heads, queries, keys]; a dimension of one serves all.
          TensorView m = whole;
          if (m.rank == 4) m = select(m, 0, m.dims[0] == 1 ? 0 : b);
          if (m.rank == 3) m = select(m, 0, m.dims[0] == 1 ? 0 : whole.rank == 4 ? n : b);
          m = select(m, 0, m.dims[0] == 1 ? 0 : r);
          gather_to(line.data(), DType::Float, narrow(m, 0, 0, keys));
        };
        if (given(a.shift)) {
          line_of(a.shift);
          for (int64_t c = 0; c < keys; ++c) row[c] += line[static_cast<size_t>(c)];
        }
        if (given(a.mask) && !mask_is_band(a)) {
          line_of(a.mask);
          for (int64_t c = 0; c < keys; ++c)
            if (line[static_cast<size_t>(c)] != 0) row[c] = kNone;
        }
        for (int64_t c = 0; c < keys; ++c)
          if (c - r < band.low || c - r > band.high) row[c] = kNone;
        const float most = *std::max_element(row, row + keys);
        double sum = 0;
        for (int64_t c = 0; c < keys; ++c)
          sum += static_cast<double>(row[c] = most == kNone ? 0.0f : std::exp(row[c] - most));
        if (sum == 0) continue;
        for (int64_t c = 0; c < keys; ++c) row[c] = static_cast<float>(static_cast<double>(row[c]) / sum);
        if (a.lse.data)
          lse[static_cast<size_t>((b * a.heads + n) * tokens + r)] = most + static_cast<float>(std::log(sum));
      }
      matmul(s, v, narrow(select(select(out, 0, b), 0, n), 0, 0, queries));
    }
  }
  if (a.lse.data) write_all(a.lse, lse);
}

}  // namespace

void refuse_given(const Op& op, const char* name, const OptIn& tensor) {
  op.require(!tensor || tensor->numel() == 0, "{} is given, which is not supported", name);
}

void plan_attention(Op& op, Attention a, const TensorView& out, const TensorView* lse) {
  const Layout layout = layout_of(op, a.layout);
  op.require(a.heads > 0, "numHeads is {}, want above 0", a.heads);
  if (!a.kv_heads) a.kv_heads = a.heads;
  op.require(a.kv_heads > 0 && a.heads % a.kv_heads == 0, "numKeyValueHeads is {}, want a divisor of {}", a.kv_heads,
             a.heads);
  op.require(a.sparse_mode >= 0 && a.sparse_mode <= 4, "sparseMode is {}, want 0 to 4", a.sparse_mode);
  require_heads(op, "query", a.query, layout.in, a.heads);
  op.require(!a.keys.empty() && a.keys.size() == a.values.size(), "there are {} keys and {} values", a.keys.size(),
             a.values.size());
  const TensorView q = as_heads(a.query, layout.in, a.heads);
  for (const std::vector<TensorView>* list : {&a.keys, &a.values})
    for (const TensorView& v : *list) {
      const Order order = given(a.table) ? v.rank == 3 ? Order::BSH : Order::BNSD : layout.in;
      require_heads(op, list == &a.keys ? "key" : "value", v, order, a.kv_heads);
      const TensorView h = as_heads(v, order, a.kv_heads);
      op.require(list != &a.keys || h.dims[3] == q.dims[3], "key is {} and query {}: heads of {} and {}", describe(v),
                 describe(a.query), h.dims[3], q.dims[3]);
      op.require(given(a.table) || (a.keys.size() > 1 ? h.dims[0] == 1 : h.dims[0] == q.dims[0]),
                 "key or value is {}, query {}", describe(v), describe(a.query));
    }
  op.require(a.keys.size() == 1 || static_cast<int64_t>(a.keys.size()) == q.dims[0],
             "there are {} keys for {} sequences", a.keys.size(), q.dims[0]);
  if (given(a.table)) {
    op.require(a.table.rank == 2 && a.table.dims[0] == q.dims[0] && is_integral(a.table.dtype),
               "blockTable is {}, want integers [{},pages]", describe(a.table), q.dims[0]);
    op.require(!a.kv_lengths.empty(), "blockTable is given, which wants the lengths of keys");
  }
  for (const std::vector<int64_t>* lengths : {&a.q_lengths, &a.kv_lengths})
    op.require(lengths->size() <= 1 || static_cast<int64_t>(lengths->size()) == q.dims[0],
               "there are {} lengths for {} sequences", lengths->size(), q.dims[0]);
  int64_t most = 0;
  for (const TensorView& k : a.keys)
    most = std::max(most, given(a.table) ? a.table.dims[1] * k.dims[k.rank == 3 ? 1 : 2]
                                         : as_heads(k, layout.in, a.kv_heads).dims[2]);
  // What a row of a mask or a shift is read for: the keys that the lengths leave.
  int64_t seen = most;
  if (!a.kv_lengths.empty()) seen = std::min(seen, *std::max_element(a.kv_lengths.begin(), a.kv_lengths.end()));
  for (const TensorView* v : {&a.mask, &a.shift}) {
    if (!given(*v) || (v == &a.mask && mask_is_band(a))) continue;
    op.require(v->rank >= 2 && v->rank <= 4 && v->dims[v->rank - 1] >= seen &&
                   (v->dims[v->rank - 2] == 1 || v->dims[v->rank - 2] >= q.dims[2]),
               "attenMask or pseShift is {}, want rows of {} for {} queries", describe(*v), seen, q.dims[2]);
    for (int d = 0; d < v->rank - 2; ++d) {
      const int64_t want = d + 3 == v->rank && v->rank == 4 ? a.heads : q.dims[0];
      op.require(v->dims[d] == 1 || v->dims[d] == want, "attenMask or pseShift is {}, dimension {} wants 1 or {}",
                 describe(*v), d, want);
    }
  }
  TensorView shape = a.query;
  if (layout.out == Order::BSND && layout.in == Order::BNSD) shape = a.query.transpose(1, 2);
  const Order kv_order = given(a.table) ? a.values[0].rank == 3 ? Order::BSH : Order::BNSD : layout.in;
  const int64_t value_size = as_heads(a.values[0], kv_order, a.kv_heads).dims[3];
  shape.dims[shape.rank - 1] = layout.out == Order::BSH ? value_size * a.heads : value_size;
  op.result_like("attentionOut", out, shape, a.query.dtype);
  a.out = out;
  if (lse) {
    op.suggest(*lse, {q.dims[0], a.heads, q.dims[2], 1}, DType::Float);
    op.require(lse->numel() == q.dims[0] * a.heads * q.dims[2], "softmaxLse is {}, want [{},{},{},1]", describe(*lse),
               q.dims[0], a.heads, q.dims[2]);
    a.lse = *lse;
  }
  if (a.out.empty()) return;
  op.flops(4 * q.numel() * most);
  op.work(2 * q.numel() * most);
  op.launch([a, layout] { run(a, layout); });
}

}  // namespace updraft::inference
