// Recurrent networks.
#include <algorithm>

#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {
namespace {

struct Layer {
  Endpoint x;  ///< [steps, batch, input]
  int64_t hidden = 0, directions = 1;
  bool first_reversed = false, batch_first = false;
  Endpoint w, r, b;  ///< [directions, …]
  Endpoint h, c;     ///< first states [directions, batch, hidden], or nothing
  Endpoint lengths;  ///< [batch], where not all are as long as X
  Endpoint peepholes;
  graph::Attributes attributes;  ///< of the operator that has all variants
  bool plain = true;             ///< what the faster operators have
};

Layer layer_of(Conversion& c, int64_t gates, const std::vector<std::string>& usual) {
  Layer l;
  l.w = c.in(1), l.r = c.in(2), l.b = c.maybe(3);
  c.require(c.rank(l.r) == 3, "R is {}, want three dimensions", describe(c.desc(l.r)));
  l.hidden = c.integer("hidden_size", c.dims(l.r)[2]);
  c.require(l.hidden > 0 && l.hidden < 1 << 24, "the hidden size is {}", l.hidden);
  const std::string direction = c.text("direction", "forward");
  c.require(direction == "forward" || direction == "reverse" || direction == "bidirectional",
            "attribute direction is \"{}\", want forward, reverse or bidirectional", direction);
  l.directions = direction == "bidirectional" ? 2 : 1;
  l.first_reversed = direction == "reverse";
  c.require(c.rank(l.w) == 3 && c.rank(l.r) == 3 && c.dims(l.r) == Dims({l.directions, gates * l.hidden, l.hidden}),
            "R is {}, want [{}, {}, {}]", describe(c.desc(l.r)), l.directions, gates * l.hidden, l.hidden);
  l.batch_first = c.integer("layout", 0) != 0;
  l.x = c.in(0);
  c.require(c.rank(l.x) == 3, "X is {}, want three dimensions", describe(c.desc(l.x)));
  if (l.batch_first) l.x = c.transpose(l.x, {1, 0, 2});
  auto state = [&](size_t i) {
    const Endpoint s = c.maybe(i);
    return s && l.batch_first ? c.transpose(s, {1, 0, 2}) : s;
  };
  l.h = state(5);
  if (gates == 4) l.c = state(6);
  if (const Endpoint lengths = c.maybe(4)) {
    const Tensor* value = c.value(lengths);
    const int64_t steps = c.dims(l.x)[0];
    if (!value || steps < 0 || !std::ranges::all_of(value->integers(), [&](int64_t n) { return n == steps; }))
      l.lengths = lengths;
  }
  if (gates == 4) l.peepholes = c.maybe(7);
  const float clip = c.has("clip") ? c.real("clip", 0) : -1;
  const std::vector<std::string> names = c.texts("activations");
  const size_t count = usual.size() * static_cast<size_t>(l.directions);
  l.plain = !l.lengths && !l.peepholes && clip <= 0 && (names.empty() || names.size() >= count);
  for (size_t i = 0; i < std::min(names.size(), count); ++i) l.plain = l.plain && names[i] == usual[i % usual.size()];
  l.attributes = {{"activation_alpha", c.reals("activation_alpha")},
                  {"activation_beta", c.reals("activation_beta")},
                  {"activations", names},
                  {"clip", clip},
                  {"direction", direction},
                  {"hidden_size", l.hidden}};
  return l;
}

/// What direction d has of a tensor [directions, …].
Endpoint of_direction(Conversion& c, Endpoint v, int64_t d) { return c.squeeze(c.slice(v, {d}, {d + 1}, {0}), {0}); }
Endpoint rows(Conversion& c, Endpoint v, int64_t from, int64_t n) { return c.slice(v, {from}, {from + n}, {0}); }
/// Blocks of `hidden` rows in another order.
Endpoint ordered(Conversion& c, Endpoint v, int64_t hidden, const Dims& order) {
  std::vector<Endpoint> parts;
  for (int64_t k : order) parts.push_back(rows(c, v, k * hidden, hidden));
  return c.concat(parts, 0);
}

/// All results of the directions, [steps, batch, hidden] each, and their last states.
struct Results {
  std::vector<Endpoint> y, h, cell;
};
void give(Conversion& c, const Layer& l, const Results& r) {
  auto joined = [&](const std::vector<Endpoint>& parts, int64_t axis) {
    std::vector<Endpoint> wide;
    for (Endpoint e : parts) wide.push_back(c.unsqueeze(e, {axis}));
    return wide.size() == 1 ? wide[0] : c.concat(wide, axis);
  };
  if (c.wants(0)) {
    const Endpoint y = joined(r.y, 1);  // [steps, directions, batch, hidden]
    c.give(0, l.batch_first ? c.transpose(y, {2, 0, 1, 3}) : y);
  }
  auto state = [&](size_t i, const std::vector<Endpoint>& parts) {
    if (!c.wants(i)) return;
    const Endpoint s = joined(parts, 0);
    c.give(i, l.batch_first ? c.transpose(s, {1, 0, 2}) : s);
  };
  state(1, r.h);
  state(2, r.cell);
}
bool reversed(const Layer& l, int64_t d) { return d == 1 || l.first_reversed; }
/// [batch, hidden] of the step that comes last.
Endpoint last_step(Conversion& c, Endpoint all, bool reverse) {
  return c.gather(all, c.integer_scalar(reverse ? 0 : -1), 0);
}
Endpoint turned(Conversion& c, Endpoint v) { return c.transpose(v, {1, 0}); }

/// The operator that has all variants of a layer; `states` of its outputs are last ones.
void general(Conversion& c, const Layer& l, std::string_view type, size_t states) {
  std::vector<Operand> operands = {l.x, l.w, l.r, l.b, l.lengths, l.h};
  if (states == 2) operands.insert(operands.end(), {l.c, l.peepholes});
  graph::Node& n = c.node(type, operands, l.attributes, 1 + states);
  if (c.wants(0)) c.give(0, l.batch_first ? c.transpose(n.out(0), {2, 0, 1, 3}) : n.out(0));
  for (size_t i = 1; i <= states; ++i)
    if (c.wants(i)) c.give(i, l.batch_first ? c.transpose(n.out(i), {1, 0, 2}) : n.out(i));
}

void lstm(Conversion& c) {
  Layer l = layer_of(c, 4, {"Sigmoid", "Tanh", "Tanh"});
  const bool coupled = c.flag("input_forget");
  if (!l.plain || coupled) {
    l.attributes["input_forget"] = int64_t{coupled};
    return general(c, l, "CommonLSTM", 2);
  }
  const Dims order = {0, 2, 3, 1};  // i o f c as i f c o
  Results r;
  for (int64_t d = 0; d < l.directions; ++d) {
    const Endpoint w = turned(c, ordered(c, of_direction(c, l.w, d), l.hidden, order));
    const Endpoint u = turned(c, ordered(c, of_direction(c, l.r, d), l.hidden, order));
    Endpoint b, h, cell;
    if (l.b) {
      const Endpoint both = of_direction(c, l.b, d);
      b = ordered(c, c.add(rows(c, both, 0, 4 * l.hidden), rows(c, both, 4 * l.hidden, 4 * l.hidden)), l.hidden, order);
    }
    if (l.h) h = c.slice(l.h, {d}, {d + 1}, {0});
    if (l.c) cell = c.slice(l.c, {d}, {d + 1}, {0});
    graph::Node& n =
        c.node("DynamicRNNV2", {l.x, w, u, b, nullptr, h, cell},
               {{"direction", reversed(l, d) ? "REDIRECTIONAL" : "UNIDIRECTIONAL"}, {"gate_order", "ifjo"}});
    r.y.push_back(n.out(0));
    r.h.push_back(last_step(c, n.out(1), reversed(l, d)));
    r.cell.push_back(last_step(c, n.out(2), reversed(l, d)));
  }
  give(c, l, r);
}

void gru(Conversion& c) {
  Layer l = layer_of(c, 3, {"Sigmoid", "Tanh"});
  const int64_t n = l.hidden;
  const bool before = c.flag("linear_before_reset");
  if (before && l.plain) {
    Results r;
    for (int64_t d = 0; d < l.directions; ++d) {
      Endpoint b, bh, h;
      if (l.b) {
        const Endpoint both = of_direction(c, l.b, d);
        b = rows(c, both, 0, 3 * n), bh = rows(c, both, 3 * n, 3 * n);
      }
      if (l.h) h = c.slice(l.h, {d}, {d + 1}, {0});
      graph::Node& node =
          c.node("DynamicGRUV2",
                 {l.x, turned(c, of_direction(c, l.w, d)), turned(c, of_direction(c, l.r, d)), b, bh, nullptr, h},
                 {{"direction", reversed(l, d) ? "REDIRECTIONAL" : "UNIDIRECTIONAL"}, {"gate_order", "zrh"}});
      r.y.push_back(node.out(0));
      r.h.push_back(last_step(c, node.out(1), reversed(l, d)));
    }
    return give(c, l, r);
  }
  l.attributes["linear_before_reset"] = int64_t{before};
  general(c, l, "CommonGRU", 1);
}

void plain(Conversion& c) { general(c, layer_of(c, 1, {"Tanh"}), "CommonRNN", 1); }

constexpr Row kRows[] = {
    {"GRU", 7, gru, "DynamicGRUV2, CommonGRU"},
    {"LSTM", 7, lstm, "DynamicRNNV2, CommonLSTM"},
    {"RNN", 7, plain, "CommonRNN"},
};

}  // namespace

std::span<const Row> rnn_rows() { return kRows; }

}  // namespace updraft::onnx
