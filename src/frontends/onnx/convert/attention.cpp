// Attention and rotary embeddings of ONNX's own set.
#include <cmath>
#include <limits>

#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {
namespace {

constexpr double kLowest = -std::numeric_limits<double>::infinity();

/// [batch, sequence, heads * size] as [batch, heads, sequence, size].
Endpoint heads_first(Conversion& c, Endpoint v, int64_t heads) {
  const int64_t hidden = c.size(v, 2, "an input");
  c.require(heads > 0 && hidden % heads == 0, "{} elements in {} heads", hidden, heads);
  return c.transpose(c.reshape(v, Dims{0, 0, heads, hidden / heads}), {0, 2, 1, 3});
}

/// Each head as often as there are heads of the query for it.
Endpoint repeated(Conversion& c, Endpoint v, int64_t times) {
  if (times == 1) return v;
  const int64_t heads = c.size(v, 1, "the key or value");
  c.few(heads, "heads"), c.few(times, "heads"), c.few(heads * times, "heads");
  std::vector<int64_t> at;
  for (int64_t i = 0; i < heads * times; ++i) at.push_back(i / times);
  return c.gather(v, c.ints(at), 1);
}

Endpoint length_of(Conversion& c, Endpoint v, int64_t d) { return c.gather(c.shape(v), c.integer_scalar(d), 0); }
/// 0, 1, … below n as INT64.
Endpoint count(Conversion& c, Endpoint n) { return c.emit("Range", {c.integer_scalar(0), n, c.integer_scalar(1)}); }

/// What is added before the softmax: 0, or minus infinity where nobody may look.
Endpoint hidden_where(Conversion& c, Endpoint forbidden, DType type) {
  return c.emit("SelectV2", {forbidden, c.scalar(kLowest, type), c.scalar(0, type)});
}

void attention(Conversion& c) {
  Endpoint q = c.in(0), k = c.in(1), v = c.in(2);
  const bool flat = c.rank(q) == 3;
  const DType type = c.type(q);
  int64_t query_heads = c.integer("q_num_heads", 0), heads = c.integer("kv_num_heads", 0);
  if (flat) {
    q = heads_first(c, q, query_heads);
    k = heads_first(c, k, heads);
    v = heads_first(c, v, heads);
  } else {
    query_heads = c.size(q, 1, "the query");
    heads = c.size(k, 1, "the key");
  }
  const int64_t width = c.size(q, 3, "the query");
  const double scale =
      std::sqrt(c.has("scale") ? static_cast<double>(c.real("scale")) : 1 / std::sqrt(static_cast<double>(width)));
  const Endpoint past = c.maybe(4);
  if (past) k = c.concat({past, k}, 2);
  if (const Endpoint past_value = c.maybe(5)) v = c.concat({past_value, v}, 2);
  c.give(1, k);
  c.give(2, v);
  c.require(heads > 0 && query_heads % heads == 0, "{} heads of the query for {}", query_heads, heads);
  const Endpoint all_k = repeated(c, k, query_heads / heads), all_v = repeated(c, v, query_heads / heads);
  Endpoint scores = c.emit("BatchMatMulV2", {c.mul(q, scale), c.mul(all_k, scale)}, {{"adj_x2", true}});
  const int64_t shown = c.integer("qk_matmul_output_mode", 0);
  c.require(shown >= 0 && shown <= 3, "attribute qk_matmul_output_mode is {}, want 0 to 3", shown);
  if (shown == 0) c.give(3, scores);

  if (Endpoint mask = c.maybe(3)) {
    const bool truth = c.type(mask) == DType::Bool;
    // A mask may end before the keys do: what is behind it is not looked at.
    const int64_t rank = c.rank(mask);
    const int64_t own = c.dims(mask)[static_cast<size_t>(rank - 1)], total = c.dims(k)[2];
    Endpoint bias = truth ? hidden_where(c, c.emit("LogicalNot", {mask}), type) : mask;
    if (own != total || own < 0) {
      const Endpoint missing = c.sub(length_of(c, k, 2), length_of(c, mask, rank - 1));
      const Endpoint pads =
          c.concat({c.ints(Dims(static_cast<size_t>(2 * rank - 1), 0)), c.reshape(missing, Dims{1})}, 0);
      bias = c.emit("PadV3", {bias, pads, c.scalar(kLowest, c.type(bias))}, {{"mode", "constant"}});
    }
    scores = c.add(scores, c.cast(bias, type));
  }
  if (c.flag("is_causal")) {
    Endpoint rows = c.unsqueeze(count(c, length_of(c, q, 2)), {1});
    if (past) rows = c.add(rows, length_of(c, past, 2));
    const Endpoint columns = c.unsqueeze(count(c, length_of(c, k, 2)), {0});
    scores = c.add(scores, hidden_where(c, c.emit("Greater", {columns, rows}), type));
  }
  if (const Endpoint lengths = c.maybe(6)) {
    const Endpoint columns = c.reshape(count(c, length_of(c, k, 2)), Dims{1, 1, 1, -1});
    scores =
        c.add(scores, hidden_where(c, c.emit("GreaterEqual", {columns, c.reshape(lengths, Dims{-1, 1, 1, 1})}), type));
  }
  if (shown == 1) c.give(3, scores);
  if (const float cap = c.real("softcap", 0); cap > 0)
    scores = c.mul(c.emit("Tanh", {c.mul(scores, 1 / static_cast<double>(cap))}), cap);
  if (shown == 2) c.give(3, scores);
  const DType precise = c.element_type("softmax_precision", type);
  const Endpoint weights = c.cast(c.emit("SoftmaxV2", {c.cast(scores, precise)}, {{"axes", Dims{-1}}}), type);
  if (shown == 3) c.give(3, weights);
  const Endpoint y = c.emit("BatchMatMulV2", {weights, all_v});
  if (!flat) c.give(0, y);
  else c.result("Reshape", {c.transpose(y, {0, 2, 1, 3}), c.ints({0, 0, query_heads * c.size(v, 3, "the value")})});
}

void rotary(Conversion& c) {
  const Endpoint x = c.in(0);
  const bool flat = c.rank(x) == 3;
  Endpoint rows = x;  // [batch, sequence, heads, size]
  const int64_t heads = c.integer("num_heads", 0);
  if (flat) {
    const int64_t hidden = c.size(x, 2, "the input");
    c.require(heads > 0 && hidden % heads == 0, "{} elements in {} heads", hidden, heads);
    rows = c.reshape(x, Dims{0, 0, heads, hidden / heads});
  } else {
    rows = c.transpose(x, {0, 2, 1, 3});
  }
  const int64_t size = c.size(rows, 3, "the input");
  int64_t turned = c.integer("rotary_embedding_dim", 0);
  if (turned == 0) turned = size;
  const int64_t half = turned / 2;
  Endpoint cosine = c.in(1), sine = c.in(2);
  if (const Endpoint positions = c.maybe(3)) {
    cosine = c.gather(cosine, positions, 0);
    sine = c.gather(sine, positions, 0);
  }
  cosine = c.unsqueeze(cosine, {2});
  sine = c.unsqueeze(sine, {2});
  const bool interleaved = c.flag("interleaved");
  const Endpoint first = interleaved ? c.slice(rows, {0}, {turned}, {3}, {2}) : c.slice(rows, {0}, {half}, {3});
  const Endpoint second = interleaved ? c.slice(rows, {1}, {turned}, {3}, {2}) : c.slice(rows, {half}, {turned}, {3});
  const Endpoint real = c.sub(c.mul(cosine, first), c.mul(sine, second));
  const Endpoint imaginary = c.add(c.mul(sine, first), c.mul(cosine, second));
  Endpoint y;
  if (interleaved) {
    y = c.concat({c.unsqueeze(real, {-1}), c.unsqueeze(imaginary, {-1})}, -1);
    y = c.reshape(y, Dims{0, 0, 0, turned});
  } else {
    y = c.concat({real, imaginary}, -1);
  }
  if (turned < size) y = c.concat({y, c.slice(rows, {turned}, {size}, {3})}, -1);
  if (flat) c.result("Reshape", {y, c.shape(x)});
  else c.result("Transpose", {y, c.ints({0, 2, 1, 3})});
}

constexpr Row kRows[] = {
    {"Attention", 23, attention, "BatchMatMulV2, SoftmaxV2"},
    {"RotaryEmbedding", 23, rotary, "Mul, Add, Sub, ConcatV2"},
};

}  // namespace

std::span<const Row> attention_rows() { return kRows; }

}  // namespace updraft::onnx
