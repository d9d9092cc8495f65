// Attention and embeddings of the domain com.microsoft, which onnxruntime's optimiser for transformers makes.
#include <cmath>
#include <limits>

#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {
namespace {

Endpoint length_of(Conversion& c, Endpoint v, int64_t d) { return c.gather(c.shape(v), c.integer_scalar(d), 0); }
Endpoint count(Conversion& c, Endpoint n) { return c.emit("Range", {c.integer_scalar(0), n, c.integer_scalar(1)}); }

/// [batch, sequence, heads * size] as [batch, heads, sequence, size].
Endpoint heads_first(Conversion& c, Endpoint v, int64_t heads) {
  const int64_t hidden = c.size(v, 2, "an input");
  c.require(heads > 0 && hidden % heads == 0, "{} elements in {} heads", hidden, heads);
  return c.transpose(c.reshape(v, Dims{0, 0, heads, hidden / heads}), {0, 2, 1, 3});
}

struct Attending {
  Endpoint q, k, v;                   ///< [batch, heads, …, size]
  std::vector<Endpoint> biases = {};  ///< added to the scores, [batch or 1, heads or 1, rows or 1, columns]
  bool causal = false;
};

/// softmax(q kᵀ scale + biases) v as [batch, sequence, heads * size].
void attend(Conversion& c, const Attending& a, int64_t heads) {
  const DType type = c.type(a.q);
  const double width = static_cast<double>(c.size(a.q, 3, "the query"));
  float scale = c.real("scale", 0);
  if (scale == 0) scale = static_cast<float>(1 / std::sqrt(width));
  Endpoint scores = c.mul(c.emit("BatchMatMulV2", {a.q, a.k}, {{"adj_x2", true}}), scale);
  for (const Endpoint bias : a.biases) scores = c.add(scores, c.cast(bias, type));
  if (a.causal) {  // the last row sees all columns
    const Endpoint behind = c.sub(length_of(c, a.k, 2), length_of(c, a.q, 2));
    const Endpoint rows = c.add(c.unsqueeze(count(c, length_of(c, a.q, 2)), {1}), behind);
    const Endpoint hidden = c.emit("Greater", {c.unsqueeze(count(c, length_of(c, a.k, 2)), {0}), rows});
    const double lowest = -std::numeric_limits<double>::infinity();
    scores = c.emit("SelectV2", {hidden, c.scalar(lowest, type), scores});
  }
  const Endpoint y = c.emit("BatchMatMulV2", {c.emit("SoftmaxV2", {scores}, {{"axes", Dims{-1}}}), a.v});
  c.result("Reshape", {c.transpose(y, {0, 2, 1, 3}), c.ints({0, 0, heads * c.size(a.v, 3, "the value")})});
}

/// What a mask adds: nothing where it says 1, mask_filter_value where it says 0. Of one number a sequence, those are
/// the lengths.
Endpoint bias_of_mask(Conversion& c, Endpoint mask, Endpoint k, DType type) {
  const int64_t rank = c.rank(mask);
  const double filter = c.real("mask_filter_value", -10000);
  Endpoint looks;
  if (rank == 1) {
    const Endpoint columns = c.reshape(count(c, length_of(c, k, 2)), Dims{1, -1});
    looks = c.unsqueeze(c.emit("Less", {columns, c.unsqueeze(c.cast(mask, DType::Int64), {1})}), {1, 2});
    const int64_t batch = c.dims(k)[0], given = c.dims(mask)[0];
    c.require(batch < 0 || given < 0 || batch == given,
              "the mask is {} for {} sequences: starts of sequences are not implemented", describe(c.desc(mask)),
              batch);
  } else {
    c.require(rank == 2 || rank == 3, "the mask is {}, want 1 to 3 dimensions", describe(c.desc(mask)));
    looks = c.unsqueeze(c.emit("NotEqual", {mask, c.scalar_like(0, mask)}), rank == 2 ? Dims{1, 2} : Dims{1});
  }
  return c.emit("SelectV2", {looks, c.scalar(0, type), c.scalar(filter, type)});
}

void attention(Conversion& c) {
  const Endpoint x = c.in(0), weights = c.in(1), bias = c.maybe(2), past = c.maybe(4);
  const int64_t heads = c.integer("num_heads");
  c.only("do_rotary", c.integer("do_rotary", 0), 0);
  c.only("past_present_share_buffer", c.integer("past_present_share_buffer", 0), 0);
  c.ignore("rotary_embedding_dim");
  const int64_t all = c.size(weights, 1, "the weights");
  const Dims sizes = c.integers("qkv_hidden_sizes", {all / 3, all / 3, all / 3});
  c.require(sizes.size() == 3 && sizes[0] + sizes[1] + sizes[2] == all && sizes[0] == sizes[1],
            "attribute qkv_hidden_sizes is {} for weights {}", describe(sizes), describe(c.desc(weights)));
  Endpoint y = c.emit("BatchMatMulV2", {x, weights});
  if (bias) y = c.add(y, bias);
  auto part = [&](int64_t from, int64_t size) { return heads_first(c, c.slice(y, {from}, {from + size}, {2}), heads); };
  Attending a{part(0, sizes[0]), part(sizes[0], sizes[1]), part(sizes[0] + sizes[1], sizes[2])};
  if (past) {  // [2, batch, heads, …, size]: keys and values
    a.k = c.concat({c.squeeze(c.slice(past, {0}, {1}, {0}), {0}), a.k}, 2);
    a.v = c.concat({c.squeeze(c.slice(past, {1}, {2}, {0}), {0}), a.v}, 2);
  }
  if (c.wants(1)) c.give(1, c.concat({c.unsqueeze(a.k, {0}), c.unsqueeze(a.v, {0})}, 0));
  if (const Endpoint mask = c.maybe(3)) a.biases.push_back(bias_of_mask(c, mask, a.k, c.type(x)));
  else c.ignore("mask_filter_value");
  if (const Endpoint added = c.maybe(5)) a.biases.push_back(added);
  a.causal = c.flag("unidirectional");
  attend(c, a, heads);
}

void multi_head_attention(Conversion& c) {
  Endpoint q = c.in(0);
  const int64_t heads = c.integer("num_heads");
  c.require(
      c.has(1) && c.has(2) && c.rank(q) == 3,
      "the query is {}: want three dimensions, and a key and a value of their own (packed ones are not implemented)",
      describe(c.desc(q)));
  Endpoint k = c.in(1), v = c.in(2);
  if (const Endpoint bias = c.maybe(3)) {
    const int64_t own = c.size(q, 2, "the query"), all = c.size(bias, 0, "the bias");
    q = c.add(q, c.slice(bias, {0}, {own}, {0}));
    if (c.rank(k) == 3) k = c.add(k, c.slice(bias, {own}, {2 * own}, {0}));
    if (c.rank(v) == 3) v = c.add(v, c.slice(bias, {2 * own}, {all}, {0}));
  }
  Attending a{heads_first(c, q, heads), c.rank(k) == 3 ? heads_first(c, k, heads) : k,
              c.rank(v) == 3 ? heads_first(c, v, heads) : v};
  c.require(!c.has(8) && !c.has(9), "past_sequence_length or cache_indirection is given, want none");
  if (const Endpoint past = c.maybe(6)) a.k = c.concat({past, a.k}, 2);
  if (const Endpoint past = c.maybe(7)) a.v = c.concat({past, a.v}, 2);
  c.give(1, a.k);
  c.give(2, a.v);
  if (const Endpoint mask = c.maybe(4)) a.biases.push_back(bias_of_mask(c, mask, a.k, c.type(q)));
  else c.ignore("mask_filter_value");
  if (const Endpoint added = c.maybe(5)) a.biases.push_back(added);
  a.causal = c.flag("unidirectional");
  attend(c, a, heads);
}

/// y = LayerNorm(word[ids] + position[0, 1, …] + segment[segments])
void embed_layer_norm(Conversion& c) {
  const Endpoint ids = c.in(0), word = c.in(2), position = c.in(3), scale = c.in(5), offset = c.in(6);
  Endpoint places = c.maybe(8);
  if (!places) places = c.unsqueeze(count(c, length_of(c, ids, 1)), {0});
  Endpoint sum = c.add(c.gather(word, ids, 0), c.gather(position, places, 0));
  if (const Endpoint segments = c.maybe(1)) sum = c.add(sum, c.gather(c.in(4), segments, 0));
  const int64_t axis = c.rank(sum) - 1;
  graph::Node& norm =
      c.node("LayerNormV3", {sum, scale, offset},
             {{"begin_norm_axis", axis}, {"begin_params_axis", axis}, {"epsilon", c.real("epsilon", 1e-12f)}});
  c.give(0, norm.out());
  c.only("mask_index_type", c.integer("mask_index_type", 0), 0);
  if (c.wants(1)) {
    const Endpoint mask = c.maybe(7);
    const Endpoint batch = c.slice(c.shape(ids), {0}, {1}, {0});
    c.give(1, mask ? c.cast(c.emit("ReduceSum", {mask, c.ints({1})}), DType::Int32)
                   : c.emit("Fill", {batch, c.scalar(0, DType::Int32)}));
  }
  c.give(2, sum);
}

constexpr Row kRows[] = {
    {"Attention", 1, attention, "BatchMatMulV2, SoftmaxV2", "no rotary embedding, no shared buffers",
     "不支持旋转位置编码与共享缓冲"},
    {"EmbedLayerNormalization", 1, embed_layer_norm, "GatherV2, LayerNormV3"},
    {"MultiHeadAttention", 1, multi_head_attention, "BatchMatMulV2, SoftmaxV2",
     "query, key and value are tensors of their own", "query、key、value 须为各自的张量"},
};

}  // namespace

std::span<const Row> microsoft_attention_rows() { return kRows; }

}  // namespace updraft::onnx
