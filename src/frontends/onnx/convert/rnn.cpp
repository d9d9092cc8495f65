// Recurrent networks.
#include <algorithm>
#include <optional>

#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {
namespace {

/// Steps that are written out one by one, where no operator has the whole layer.
constexpr int64_t kMostSteps = 1024;

/// An activation with the constants that some of them have.
struct Activation {
  std::string type;
  std::optional<float> alpha, beta;
};

struct Layer {
  Endpoint x;  ///< [steps, batch, input]
  int64_t hidden = 0, directions = 1;
  bool first_reversed = false, batch_first = false;
  Endpoint w, r, b;  ///< [directions, …]
  Endpoint h, c;     ///< first states [directions, batch, hidden], or nothing
  Endpoint lengths;  ///< [batch], where not all are as long as X
  Endpoint peepholes;
  float clip = 0;                       ///< 0: none
  std::vector<Activation> activations;  ///< of one direction after the other
  bool plain = true;                    ///< what the operators have
};

std::vector<Activation> activations_of(Conversion& c, const std::vector<std::string>& usual, int64_t directions) {
  std::vector<std::string> names = c.texts("activations");
  const std::vector<float> alphas = c.reals("activation_alpha"), betas = c.reals("activation_beta");
  const size_t count = usual.size() * static_cast<size_t>(directions);
  if (names.empty())
    for (size_t i = 0; i < count; ++i) names.push_back(usual[i % usual.size()]);
  c.require(names.size() >= count, "{} activations, want {}", names.size(), count);
  names.resize(count);  // onnxruntime names as many for one direction as for two
  std::vector<Activation> all;
  size_t alpha = 0, beta = 0;
  for (std::string& name : names) {
    Activation& a = all.emplace_back();
    const bool has_alpha = name == "Affine" || name == "LeakyRelu" || name == "ThresholdedRelu" ||
                           name == "ScaledTanh" || name == "HardSigmoid" || name == "Elu";
    const bool has_beta = name == "Affine" || name == "ScaledTanh" || name == "HardSigmoid";
    if (has_alpha && alpha < alphas.size()) a.alpha = alphas[alpha++];
    if (has_beta && beta < betas.size()) a.beta = betas[beta++];
    a.type = std::move(name);
  }
  return all;
}

Endpoint activated(Conversion& c, const Activation& a, Endpoint x) {
  const std::string& type = a.type;
  if (type == "Relu" || type == "Tanh" || type == "Sigmoid" || type == "Softsign" || type == "Softplus")
    return c.emit(type, {x});
  if (type == "LeakyRelu") return c.emit(type, {x}, {{"negative_slope", a.alpha.value_or(0.01f)}});
  if (type == "ThresholdedRelu" || type == "Elu") return c.emit(type, {x}, {{"alpha", a.alpha.value_or(1)}});
  if (type == "HardSigmoid")
    return c.emit(type, {x}, {{"alpha", a.alpha.value_or(0.2f)}, {"beta", a.beta.value_or(0.5f)}});
  if (type == "Affine") return c.add(c.mul(x, a.alpha.value_or(1)), a.beta.value_or(0));
  if (type == "ScaledTanh") return c.mul(c.emit("Tanh", {c.mul(x, a.beta.value_or(1))}), a.alpha.value_or(1));
  c.refuse("activation {} is not implemented", type);
}

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
  if (const Endpoint lengths = c.maybe(4)) {
    const Tensor* value = c.value(lengths);
    const int64_t steps = c.dims(l.x)[0];
    if (!value || steps < 0 || !std::ranges::all_of(value->integers(), [&](int64_t n) { return n == steps; }))
      l.lengths = lengths;
  }
  if (gates == 4) l.peepholes = c.maybe(7);
  l.clip = c.has("clip") ? c.real("clip", 0) : 0;
  l.activations = activations_of(c, wanted, l.directions);
  l.plain = !l.lengths && !l.peepholes && l.clip == 0;
  for (size_t i = 0; i < l.activations.size(); ++i)
    l.plain = l.plain && l.activations[i].type == wanted[i % wanted.size()];
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

/// The states of one step: h, and the cell of an LSTM.
using States = std::vector<Endpoint>;

/// A layer written out: make_step(direction) gives step(x of a step, states), which gives the next states.
template <class MakeStep>
void written_out(Conversion& c, const Layer& l, size_t states, MakeStep&& make_step) {
  const int64_t steps = c.size(l.x, 0, "X");
  c.require(steps > 0 && steps <= kMostSteps, "{} steps, want 1 to {}", steps, kMostSteps);
  Results r;
  for (int64_t d = 0; d < l.directions; ++d) {
    auto step = make_step(d);
    const Endpoint batch = c.slice(c.shape(l.x), {1}, {2}, {0});
    const Endpoint none = c.emit("Fill", {c.concat({batch, c.ints({l.hidden})}, 0), c.scalar_like(0, l.x)});
    States now = {l.h ? of_direction(c, l.h, d) : none};
    if (states == 2) now.push_back(l.c ? of_direction(c, l.c, d) : none);
    std::vector<Endpoint> all(static_cast<size_t>(steps));
    for (int64_t i = 0; i < steps; ++i) {
      const int64_t t = reversed(l, d) ? steps - 1 - i : i;
      States next = step(c.squeeze(c.slice(l.x, {t}, {t + 1}, {0}), {0}), now);
      Endpoint y = next[0];
      if (l.lengths) {  // behind the end of a sequence its states stay, and the output is 0
        const Endpoint inside =
            c.unsqueeze(c.emit("Greater", {l.lengths, c.scalar(static_cast<double>(t), c.type(l.lengths))}), {1});
        y = c.emit("SelectV2", {inside, y, none});
        for (size_t s = 0; s < states; ++s) next[s] = c.emit("SelectV2", {inside, next[s], now[s]});
      }
      now = std::move(next);
      all[static_cast<size_t>(t)] = c.unsqueeze(y, {0});
    }
    r.y.push_back(all.size() == 1 ? all[0] : c.concat(all, 0));
    r.h.push_back(now[0]);
    if (states == 2) r.cell.push_back(now[1]);
  }
  give(c, l, r);
}

Endpoint product(Conversion& c, Endpoint x, Endpoint w) { return c.emit("MatMulV2", {x, w}, {{"transpose_x2", true}}); }

/// An activation of direction d, of what lies within the clip.
Endpoint activated(Conversion& c, const Layer& l, int64_t d, size_t which, Endpoint x) {
  if (l.clip > 0)
    x = c.emit("ClipByValueV2", {x, c.scalar_like(-static_cast<double>(l.clip), x), c.scalar_like(l.clip, x)});
  const size_t each = l.activations.size() / static_cast<size_t>(l.directions);
  return activated(c, l.activations.at(static_cast<size_t>(d) * each + which), x);
}

/// Peepholes are of the input, output and forget gates; a coupled forget gate is what the input gate leaves.
void lstm_written_out(Conversion& c, const Layer& l, bool coupled) {
  const int64_t n = l.hidden;
  written_out(c, l, 2, [&](int64_t d) {
    const Endpoint w = of_direction(c, l.w, d), u = of_direction(c, l.r, d);
    Endpoint b, p;
    if (l.b) {
      const Endpoint both = of_direction(c, l.b, d);
      b = c.add(rows(c, both, 0, 4 * n), rows(c, both, 4 * n, 4 * n));
    }
    if (l.peepholes) p = of_direction(c, l.peepholes, d);
    return [=, &c, &l](Endpoint x, const States& now) -> States {
      Endpoint sum = c.add(product(c, x, w), product(c, now[0], u));
      if (b) sum = c.add(sum, b);
      auto gate = [&](int64_t i) { return c.slice(sum, {i * n}, {(i + 1) * n}, {1}); };
      auto peeped = [&](Endpoint e, int64_t i, Endpoint cell) {
        return p ? c.add(e, c.mul(rows(c, p, i * n, n), cell)) : e;
      };
      const Endpoint in = activated(c, l, d, 0, peeped(gate(0), 0, now[1]));
      const Endpoint forget =
          coupled ? c.sub(c.scalar_like(1, in), in) : activated(c, l, d, 0, peeped(gate(2), 2, now[1]));
      const Endpoint fresh = activated(c, l, d, 1, gate(3));
      const Endpoint cell = c.add(c.mul(forget, now[1]), c.mul(in, fresh));
      const Endpoint out = activated(c, l, d, 0, peeped(gate(1), 1, cell));
      return {c.mul(out, activated(c, l.activations.at(static_cast<size_t>(d) * 3 + 2), cell)), cell};
    };
  });
}

void lstm(Conversion& c) {
  const Layer l = layer_of(c, 4, {"Sigmoid", "Tanh", "Tanh"});
  const bool coupled = c.flag("input_forget");
  if (!l.plain || coupled) return lstm_written_out(c, l, coupled);
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
  const Layer l = layer_of(c, 3, {"Sigmoid", "Tanh"});
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
  written_out(c, l, 1, [&](int64_t d) {
    const Endpoint w = of_direction(c, l.w, d), u = of_direction(c, l.r, d);
    const Endpoint gates = rows(c, u, 0, 2 * n), last = rows(c, u, 2 * n, n);
    Endpoint b, last_b;  // where the reset gate is applied to the product, the bias of the product is in it
    if (l.b) {
      const Endpoint both = of_direction(c, l.b, d);
      if (before) {
        b = c.concat({c.add(rows(c, both, 0, 2 * n), rows(c, both, 3 * n, 2 * n)), rows(c, both, 2 * n, n)}, 0);
        last_b = rows(c, both, 5 * n, n);
      } else {
        b = c.add(rows(c, both, 0, 3 * n), rows(c, both, 3 * n, 3 * n));
      }
    }
    return [=, &c, &l](Endpoint x, const States& now) -> States {
      const Endpoint h = now[0];
      Endpoint in = product(c, x, w);
      if (b) in = c.add(in, b);
      const Endpoint zr = activated(c, l, d, 0, c.add(c.slice(in, {0}, {2 * n}, {1}), product(c, h, gates)));
      const Endpoint z = c.slice(zr, {0}, {n}, {1}), reset = c.slice(zr, {n}, {2 * n}, {1});
      Endpoint old;
      if (before) old = c.mul(reset, last_b ? c.add(product(c, h, last), last_b) : product(c, h, last));
      else old = product(c, c.mul(reset, h), last);
      const Endpoint fresh = activated(c, l, d, 1, c.add(c.slice(in, {2 * n}, {3 * n}, {1}), old));
      return {c.add(fresh, c.mul(z, c.sub(h, fresh)))};
    };
  });
}

void plain(Conversion& c) {
  const Layer l = layer_of(c, 1, {"Tanh"});
  const int64_t n = l.hidden;
  written_out(c, l, 1, [&](int64_t d) {
    const Endpoint w = of_direction(c, l.w, d), u = of_direction(c, l.r, d);
    Endpoint b;
    if (l.b) {
      const Endpoint both = of_direction(c, l.b, d);
      b = c.add(rows(c, both, 0, n), rows(c, both, n, n));
    }
    return [=, &c, &l](Endpoint x, const States& now) -> States {
      const Endpoint sum = c.add(product(c, x, w), product(c, now[0], u));
      return {activated(c, l, d, 0, b ? c.add(sum, b) : sum)};
    };
  });
}

constexpr Row kRows[] = {
    {"GRU", 7, gru, "DynamicGRUV2"},
    {"LSTM", 7, lstm, "DynamicRNNV2", "peepholes, lengths, clips and other activations: the number of steps is known",
     "带 peephole、sequence_lens、clip 或其他激活函数时步数须已知"},
    {"RNN", 7, plain, "MatMulV2, Tanh", "the number of steps is known", "步数须已知"},
};

}  // namespace

std::span<const Row> rnn_rows() { return kRows; }

}  // namespace updraft::onnx
