// Recurrent networks.
#include <algorithm>

#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {
namespace {

/// Steps that are written out one by one, where no operator has the whole layer.
constexpr int64_t kMostSteps = 1024;

struct Layer {
  Endpoint x;  ///< [steps, batch, input]
  int64_t hidden = 0, directions = 1;
  bool first_reversed = false, batch_first = false;
  Endpoint w, r, b;  ///< [directions, …]
  Endpoint h, c;     ///< first states [directions, batch, hidden], or nothing
};

Layer layer_of(Conversion& c, int64_t gates, std::vector<std::string> wanted) {
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
  if (c.has(4)) {
    const Tensor* lengths = c.value(c.in(4));
    const int64_t steps = c.dims(l.x)[0];
    c.require(lengths && steps >= 0 && std::ranges::all_of(lengths->integers(), [&](int64_t n) { return n == steps; }),
              "sequence_lens is given, want none or the number of steps for all");
  }
  c.require(!c.has("clip"), "attribute clip is given, want none");
  c.require(c.reals("activation_alpha").empty() && c.reals("activation_beta").empty(),
            "attributes activation_alpha or activation_beta are given, want none");
  const std::vector<std::string> activations = c.texts("activations");
  for (size_t i = 0; i < activations.size() && !wanted.empty(); ++i)
    c.require(activations[i] == wanted[i % wanted.size()], "activation {} is {}, want {}", i, activations[i],
              wanted[i % wanted.size()]);
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

void lstm(Conversion& c) {
  const Layer l = layer_of(c, 4, {"Sigmoid", "Tanh", "Tanh"});
  c.require(!c.has(7), "P is given, want no peepholes");
  c.only("input_forget", c.integer("input_forget", 0), 0);
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

/// A layer written out: step(x W, h) gives the next h.
template <class Step>
void written_out(Conversion& c, const Layer& l, Step&& make_step) {
  const int64_t steps = c.size(l.x, 0, "X");
  c.require(steps > 0 && steps <= kMostSteps, "{} steps, want 1 to {}", steps, kMostSteps);
  Results r;
  for (int64_t d = 0; d < l.directions; ++d) {
    auto step = make_step(d);
    Endpoint h;
    if (l.h) h = of_direction(c, l.h, d);
    else {
      const Endpoint batch = c.slice(c.shape(l.x), {1}, {2}, {0});
      h = c.emit("Fill", {c.concat({batch, c.ints({l.hidden})}, 0), c.scalar_like(0, l.x)});
    }
    std::vector<Endpoint> all(static_cast<size_t>(steps));
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t t = reversed(l, d) ? steps - 1 - i : i;
      h = step(c.squeeze(c.slice(l.x, {t}, {t + 1}, {0}), {0}), h);
      all[static_cast<size_t>(t)] = c.unsqueeze(h, {0});
    }
    r.y.push_back(all.size() == 1 ? all[0] : c.concat(all, 0));
    r.h.push_back(h);
  }
  give(c, l, r);
}

Endpoint product(Conversion& c, Endpoint x, Endpoint w) { return c.emit("MatMulV2", {x, w}, {{"transpose_x2", true}}); }

void gru(Conversion& c) {
  const Layer l = layer_of(c, 3, {"Sigmoid", "Tanh"});
  const int64_t n = l.hidden;
  if (c.flag("linear_before_reset")) {
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
  written_out(c, l, [&](int64_t d) {
    const Endpoint w = of_direction(c, l.w, d), u = of_direction(c, l.r, d);
    const Endpoint gates = rows(c, u, 0, 2 * n), last = rows(c, u, 2 * n, n);
    Endpoint b;
    if (l.b) {
      const Endpoint both = of_direction(c, l.b, d);
      b = c.add(rows(c, both, 0, 3 * n), rows(c, both, 3 * n, 3 * n));
    }
    return [=, &c](Endpoint x, Endpoint h) {
      Endpoint in = product(c, x, w);
      if (b) in = c.add(in, b);
      const Endpoint zr = c.emit("Sigmoid", {c.add(c.slice(in, {0}, {2 * n}, {1}), product(c, h, gates))});
      const Endpoint z = c.slice(zr, {0}, {n}, {1}), reset = c.slice(zr, {n}, {2 * n}, {1});
      const Endpoint fresh =
          c.emit("Tanh", {c.add(c.slice(in, {2 * n}, {3 * n}, {1}), product(c, c.mul(reset, h), last))});
      return c.add(fresh, c.mul(z, c.sub(h, fresh)));
    };
  });
}

void plain(Conversion& c) {
  const Layer l = layer_of(c, 1, {});
  const std::vector<std::string> activations = c.texts("activations");
  const int64_t n = l.hidden;
  written_out(c, l, [&](int64_t d) {
    const std::string type = static_cast<size_t>(d) < activations.size() ? activations[static_cast<size_t>(d)] : "Tanh";
    c.require(type == "Tanh" || type == "Relu" || type == "Sigmoid", "activation {} is {}, want Tanh, Relu or Sigmoid",
              d, type);
    const Endpoint w = of_direction(c, l.w, d), u = of_direction(c, l.r, d);
    Endpoint b;
    if (l.b) {
      const Endpoint both = of_direction(c, l.b, d);
      b = c.add(rows(c, both, 0, n), rows(c, both, n, n));
    }
    return [=, &c](Endpoint x, Endpoint h) {
      const Endpoint sum = c.add(product(c, x, w), product(c, h, u));
      return c.emit(type, {b ? c.add(sum, b) : sum});
    };
  });
}

constexpr Row kRows[] = {
    {"GRU", 7, gru, "DynamicGRUV2", "the usual activations, no sequence_lens, no clip",
     "仅默认激活函数，不支持 sequence_lens 与 clip"},
    {"LSTM", 7, lstm, "DynamicRNNV2", "the usual activations, no sequence_lens, no peepholes, no clip",
     "仅默认激活函数，不支持 sequence_lens、peephole 与 clip"},
    {"RNN", 7, plain, "MatMulV2, Tanh", "no sequence_lens, no clip; the number of steps is known",
     "不支持 sequence_lens 与 clip，步数须已知"},
};

}  // namespace

std::span<const Row> rnn_rows() { return kRows; }

}  // namespace updraft::onnx
