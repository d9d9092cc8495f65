// Nodes that have graphs. Where conditions and counts are known while importing, the graphs are put in the place of the
// node as often as they run; else they become graphs of the model that If and While run.
#include <algorithm>
#include <functional>

#include "frontends/onnx/convert/families.h"
#include "frontends/onnx/scope.h"

namespace updraft::onnx {
namespace {

/// Times that a body is written out.
constexpr int64_t kMostTurns = 1024;
/// Nodes that a loop is written out as.
constexpr int64_t kMostWritten = 4096;

Value tensor(Endpoint e) {
  Value v;
  v.tensor = e;
  return v;
}

/// Types that keep the shape, cost little and refuse no value: where a branch has only such nodes, both may run.
bool is_light(const NodeProto& node) {
  static constexpr std::string_view kTypes[] = {"Abs", "Add", "Cast", "Constant", "Identity", "Max",  "Min",
                                                "Mul", "Neg", "Not",  "Relu",     "Sub",      "Where"};
  return node.domain.empty() && std::ranges::find(kTypes, node.type) != std::end(kTypes);
}
bool is_light(const GraphProto& graph) {
  return graph.nodes.size() <= 4 && std::ranges::all_of(graph.nodes, [](const NodeProto& n) { return is_light(n); });
}

/// Both branches run and one result is taken; false where their results are not of one known shape.
bool choose(Conversion& c, Endpoint condition, const std::vector<Value>& yes, const std::vector<Value>& no) {
  for (size_t i = 0; i < c.outputs(); ++i) {
    if (i >= yes.size() || i >= no.size() || !yes[i].tensor || !no[i].tensor) return false;
    const TensorDesc &first = c.desc(yes[i].tensor), &second = c.desc(no[i].tensor);
    if (first.dtype != second.dtype || first.dims != second.dims || !first.known()) return false;
  }
  for (size_t i = 0; i < c.outputs(); ++i) c.give(i, c.emit("SelectV2", {condition, yes[i].tensor, no[i].tensor}));
  return true;
}

std::vector<Endpoint> tensors_of(const Conversion& c, const std::vector<Value>& values, size_t count) {
  c.require(values.size() >= count, "its graph has {} outputs, want {}", values.size(), count);
  std::vector<Endpoint> tensors;
  for (size_t i = 0; i < values.size(); ++i) {
    c.require(static_cast<bool>(values[i].tensor),
              "output {} of its graph is a sequence or an optional: the condition or the number of turns must be known "
              "before the graph runs",
              i);
    tensors.push_back(values[i].tensor);
  }
  return tensors;
}

/// The branch that the condition takes runs.
void branch_while_running(Conversion& c, Endpoint condition, const GraphProto& yes, const GraphProto& no) {
  auto filled_by = [&](const GraphProto& graph, const char* name) {
    return [&c, &graph, name](Conversion& inside, const std::vector<Endpoint>&) -> Graphs::Given {
      std::vector<Endpoint> all = tensors_of(c, c.graphs.inlined(graph, {}, inside.scope, c.name + name), c.outputs());
      all.resize(c.outputs());
      return {std::move(all), {}};
    };
  };
  const Graphs::Body first = c.graphs.body(c, {c.name + "/then", {}}, filled_by(yes, "/then/"));
  const Graphs::Body second = c.graphs.body(c, {c.name + "/else", {}, first.captured}, filled_by(no, "/else/"));
  c.graphs.add_inputs(
      first, {second.captured.begin() + static_cast<std::ptrdiff_t>(first.captured.size()), second.captured.end()});
  std::vector<Endpoint> inputs = {condition};
  inputs.insert(inputs.end(), second.captured.begin(), second.captured.end());
  std::vector<TensorDesc> outputs;
  for (size_t i = 0; i < c.outputs(); ++i)
    outputs.push_back(c.either(first.outputs[i], second.outputs[i], fmt::format("output {}", i)));
  graph::Node& node = c.build.control("If", c.name, inputs, outputs, {first.name, second.name});
  for (size_t i = 0; i < c.outputs(); ++i) c.give(i, node.out(static_cast<int>(i)));
}

void branch(Conversion& c) {
  const Endpoint condition = c.in(0);
  const GraphProto &yes = c.graph("then_branch"), &no = c.graph("else_branch");
  const Tensor* value = c.value(condition);
  if (!value) {
    if (is_light(yes) && is_light(no)) {
      const std::vector<Value> a = c.graphs.inlined(yes, {}, c.scope, c.name + "/then/");
      if (choose(c, c.reshape(condition, Dims{}), a, c.graphs.inlined(no, {}, c.scope, c.name + "/else/"))) return;
    }
    return branch_while_running(c, condition, yes, no);
  }
  c.require(value->count() == 1, "the condition has {} elements, want 1", value->count());
  const bool truth = value->integers()[0] != 0;
  const std::vector<Value> results =
      c.graphs.inlined(truth ? yes : no, {}, c.scope, c.name + (truth ? "/then/" : "/else/"));
  c.require(results.size() >= c.outputs(), "the branch has {} outputs, the node {}", results.size(), c.outputs());
  for (size_t i = 0; i < c.outputs(); ++i) c.give(i, results[i]);
}

// --- loops that run while the graph does ----------------------------------------------------------------------------

/// Tensors that go from turn to turn, and what a turn makes of them.
struct Turns {
  Endpoint most;       ///< INT64; nothing: no limit
  Endpoint condition;  ///< BOOL of the first turn; nothing: there is none
  std::vector<Endpoint> carried;
  size_t collected = 0;
  /// From the number of the turn and what is carried: the condition (or nothing), what is carried on, what is
  /// collected.
  struct Results {
    Endpoint condition;
    std::vector<Endpoint> carried, collected;
  };
  std::function<Results(Conversion&, Endpoint turn, const std::vector<Endpoint>& carried)> body;
};

/// State of the While node: the turn, the limit, the condition, what is carried; behind it what the body captures.
/// Gives what is carried at last and what is collected.
std::vector<Endpoint> run_turns(Conversion& c, const Turns& turns) {
  std::vector<Endpoint> state = {c.integer_scalar(0),
                                 turns.most ? c.reshape(turns.most, Dims{}) : c.integer_scalar(INT64_MAX),
                                 turns.condition ? c.reshape(turns.condition, Dims{}) : c.scalar(1, DType::Bool)};
  state.insert(state.end(), turns.carried.begin(), turns.carried.end());
  std::vector<TensorDesc> descs;
  for (const Endpoint e : state) descs.push_back(c.desc(e));

  const size_t before = c.graphs.made();
  auto fill = [&](Conversion& inside, const std::vector<Endpoint>& in) -> Graphs::Given {
    Turns::Results r = turns.body(inside, in[0], {in.begin() + 3, in.end()});
    const Endpoint next = inside.add(in[0], inside.integer_scalar(1));
    Graphs::Given given{{next, in[1], r.condition ? inside.reshape(r.condition, Dims{}) : in[2]},
                        std::move(r.collected)};
    given.state.insert(given.state.end(), r.carried.begin(), r.carried.end());
    return given;
  };
  Graphs::Body body;
  // What a turn changes of the shapes is unknown in the next one: again, until nothing is learnt.
  for (int round = 0;; ++round) {
    body = c.graphs.body(c, {c.name + "/body", descs, {}, true}, fill);
    bool settled = true;
    for (size_t i = 3; i < descs.size(); ++i) {
      const TensorDesc wider = c.either(descs[i], body.outputs[i], fmt::format("what turns carry, {},", i - 3));
      settled = settled && wider.dims == descs[i].dims;
      descs[i] = wider;
    }
    if (settled) break;
    c.require(round < 16, "the shapes that turns carry do not settle");
    c.graphs.drop_since(before);
  }
  state.insert(state.end(), body.captured.begin(), body.captured.end());
  std::vector<TensorDesc> all;
  for (const Endpoint e : body.captured) all.push_back(c.desc(e));
  all.insert(all.begin(), descs.begin(), descs.end());
  const Graphs::Body test = c.graphs.body(c, {c.name + "/condition", all}, [](Conversion& inside, const auto& in) {
    return Graphs::Given{{inside.emit("LogicalAnd", {in[2], inside.emit("Less", {in[0], in[1]})})}, {}};
  });
  c.require(test.captured.empty(), "its condition reads what is not carried");
  std::vector<TensorDesc> outputs = all;
  for (size_t i = 0; i < turns.collected; ++i) {
    TensorDesc one = body.outputs.at(all.size() + i);
    if (one.rank_known()) one.dims.insert(one.dims.begin(), graph::kUnknownDim);
    one.origin_dims = one.dims;
    outputs.push_back(one);
  }
  graph::Node& node = c.build.control("While", c.name, state, outputs, {test.name, body.name});
  std::vector<Endpoint> results;
  for (size_t i = 0; i < turns.carried.size(); ++i) results.push_back(node.out(static_cast<int>(3 + i)));
  for (size_t i = 0; i < turns.collected; ++i) results.push_back(node.out(static_cast<int>(all.size() + i)));
  return results;
}

// --- Loop -----------------------------------------------------------------------------------------------------------

/// True when the value is one that is known; `truth` is what it says.
bool is_known(Conversion& c, const Value& v, bool& truth) {
  const Tensor* value = v.tensor ? c.value(v.tensor) : nullptr;
  if (!value) return false;
  c.require(value->count() == 1, "the condition has {} elements, want 1", value->count());
  truth = value->integers()[0] != 0;
  return true;
}

struct LoopNode {
  const GraphProto& body;
  size_t carried, collected;
};

void loop_while_running(Conversion& c, const LoopNode& loop) {
  Turns turns;
  if (c.has(0)) turns.most = c.cast(c.in(0), DType::Int64);
  if (c.has(1)) turns.condition = c.in(1);
  for (size_t i = 0; i < loop.carried; ++i) {
    const Value& v = c.value_in(i + 2);
    c.require(static_cast<bool>(v.tensor),
              "input {} is a sequence or an optional: the number of turns and the conditions must be known before the "
              "graph runs",
              i + 2);
    turns.carried.push_back(v.tensor);
  }
  turns.collected = loop.collected;
  turns.body = [&](Conversion& inside, Endpoint turn, const std::vector<Endpoint>& carried) -> Turns::Results {
    std::vector<Value> inputs = {tensor(turn), tensor(inside.scalar(1, DType::Bool))};
    for (const Endpoint e : carried) inputs.push_back(tensor(e));
    const std::vector<Endpoint> all = tensors_of(
        c, c.graphs.inlined(loop.body, std::move(inputs), inside.scope, c.name + "/"), loop.body.outputs.size());
    const auto split = all.begin() + 1 + static_cast<std::ptrdiff_t>(loop.carried);
    return {all[0], {all.begin() + 1, split}, {split, all.end()}};
  };
  const std::vector<Endpoint> results = run_turns(c, turns);
  for (size_t i = 0; i < results.size(); ++i) c.give(i, results[i]);
}

/// False when a turn computes whether there is another one.
bool write_out(Conversion& c, const LoopNode& loop, int64_t most, bool go) {
  std::vector<Value> values;
  for (size_t i = 0; i < loop.carried; ++i) values.push_back(c.value_in(i + 2));
  std::vector<std::vector<Endpoint>> collected(loop.collected);
  for (int64_t turn = 0; go && turn < most; ++turn) {
    c.require(turn < kMostTurns, "more than {} turns", kMostTurns);
    std::vector<Value> inputs = {tensor(c.integer_scalar(turn)), tensor(c.constant(scalar_tensor(1, DType::Bool)))};
    inputs.insert(inputs.end(), values.begin(), values.end());
    const std::vector<Value> results =
        c.graphs.inlined(loop.body, inputs, c.scope, fmt::format("{}/{}/", c.name, turn));
    if (!is_known(c, results[0], go)) return false;
    values.assign(results.begin() + 1, results.begin() + 1 + static_cast<std::ptrdiff_t>(loop.carried));
    for (size_t i = 0; i < loop.collected; ++i) {
      const Endpoint e = results[1 + loop.carried + i].tensor;
      c.require(e.node != nullptr, "the body gives a sequence to be collected, want tensors");
      collected[i].push_back(c.unsqueeze(e, {0}));
    }
  }
  for (size_t i = 0; i < loop.collected; ++i)
    if (collected[i].empty() && c.wants(loop.carried + i)) return false;  // its shape is what the body says
  for (size_t i = 0; i < loop.carried; ++i) c.give(i, values[i]);
  for (size_t i = 0; i < loop.collected; ++i)
    if (!collected[i].empty()) c.give(loop.carried + i, c.concat(collected[i], 0));
  return true;
}

void loop(Conversion& c) {
  const GraphProto& body = c.graph("body");
  const size_t carried = c.inputs() > 2 ? c.inputs() - 2 : 0;
  c.require(body.inputs.size() == carried + 2 && body.outputs.size() > carried,
            "the body has {} inputs and {} outputs for {} values", body.inputs.size(), body.outputs.size(), carried);
  const LoopNode node{body, carried, body.outputs.size() - 1 - carried};
  int64_t most = INT64_MAX;
  bool go = true, known = true;
  if (c.has(0)) {
    const Tensor* value = c.value(c.in(0));
    known = value != nullptr;
    if (known) {
      c.require(value->count() == 1, "the number of turns has {} elements, want 1", value->count());
      most = value->integers()[0];
    }
  }
  if (c.has(1)) known = is_known(c, c.value_in(1), go) && known;
  // Sequences are not in the graph: what carries one has to be written out.
  bool sequences = false;
  for (size_t i = 0; i < carried; ++i) sequences = sequences || !c.value_in(i + 2).tensor;
  const int64_t turns = go ? std::max<int64_t>(most, 0) : 0;
  const bool few = turns <= kMostTurns && turns * static_cast<int64_t>(body.nodes.size()) <= kMostWritten;
  const bool open = most == INT64_MAX;  // the condition alone ends it
  if (known && (few || open || sequences) && write_out(c, node, most, go)) return;
  loop_while_running(c, node);
}

// --- Scan -----------------------------------------------------------------------------------------------------------

struct ScanNode {
  const GraphProto& body;
  size_t states, collected;
  std::vector<Endpoint> inputs;  ///< that are scanned
  Dims in_axes, in_turns, out_axes, out_turns;
};

Endpoint length_of(Conversion& c, Endpoint e, int64_t axis) { return c.gather(c.shape(e), c.integer_scalar(axis), 0); }

void scan_while_running(Conversion& c, const ScanNode& scan) {
  Turns turns;
  turns.most = length_of(c, scan.inputs[0], scan.in_axes[0]);
  for (size_t i = 0; i < scan.states; ++i) turns.carried.push_back(c.in(i));
  // They are carried although no turn changes them.
  turns.carried.insert(turns.carried.end(), scan.inputs.begin(), scan.inputs.end());
  turns.collected = scan.collected;
  turns.body = [&](Conversion& inside, Endpoint turn, const std::vector<Endpoint>& carried) -> Turns::Results {
    std::vector<Value> inputs;
    for (size_t i = 0; i < scan.states; ++i) inputs.push_back(tensor(carried[i]));
    for (size_t i = 0; i < scan.inputs.size(); ++i) {
      const Endpoint all = carried[scan.states + i];
      Endpoint at = turn;
      if (scan.in_turns[i])
        at = inside.sub(inside.sub(length_of(inside, all, scan.in_axes[i]), inside.integer_scalar(1)), turn);
      inputs.push_back(tensor(inside.gather(all, at, scan.in_axes[i])));
    }
    const std::vector<Endpoint> all = tensors_of(
        c, c.graphs.inlined(scan.body, std::move(inputs), inside.scope, c.name + "/"), scan.body.outputs.size());
    const auto split = all.begin() + static_cast<std::ptrdiff_t>(scan.states);
    Turns::Results r{{}, {all.begin(), split}, {split, all.end()}};
    r.carried.insert(r.carried.end(), carried.begin() + static_cast<std::ptrdiff_t>(scan.states), carried.end());
    return r;
  };
  const std::vector<Endpoint> results = run_turns(c, turns);
  for (size_t i = 0; i < scan.states; ++i) c.give(i, results[i]);
  for (size_t i = 0; i < scan.collected; ++i) {
    if (!c.wants(scan.states + i)) continue;
    Endpoint e = results[turns.carried.size() + i];
    if (scan.out_turns[i]) {
      const Endpoint last = c.sub(turns.most, c.integer_scalar(1));
      e = c.gather(e, c.emit("Range", {last, c.integer_scalar(-1), c.integer_scalar(-1)}), 0);
    }
    const int64_t rank = c.rank(e), axis = c.axis(scan.out_axes[i], rank);
    Dims order;
    for (int64_t d = 1; d < rank; ++d) order.push_back(d);
    order.insert(order.begin() + axis, 0);
    c.give(scan.states + i, axis == 0 ? e : c.transpose(e, order));
  }
}

void write_out(Conversion& c, const ScanNode& scan, int64_t length) {
  std::vector<Value> values;
  for (size_t i = 0; i < scan.states; ++i) values.push_back(tensor(c.in(i)));
  std::vector<std::vector<Endpoint>> collected(scan.collected);
  for (int64_t turn = 0; turn < length; ++turn) {
    std::vector<Value> inputs = values;
    for (size_t i = 0; i < scan.inputs.size(); ++i) {
      const int64_t at = scan.in_turns[i] ? length - 1 - turn : turn;
      inputs.push_back(tensor(c.gather(scan.inputs[i], c.integer_scalar(at), scan.in_axes[i])));
    }
    const std::vector<Endpoint> results =
        tensors_of(c, c.graphs.inlined(scan.body, inputs, c.scope, fmt::format("{}/{}/", c.name, turn)), scan.states);
    for (size_t i = 0; i < scan.states; ++i) values[i] = tensor(results[i]);
    for (size_t i = 0; i < scan.collected; ++i) {
      const Endpoint e = results[scan.states + i];
      const Endpoint part = c.unsqueeze(e, {c.axis(scan.out_axes[i], c.rank(e) + 1)});
      collected[i].insert(scan.out_turns[i] ? collected[i].begin() : collected[i].end(), part);
    }
  }
  for (size_t i = 0; i < scan.states; ++i) c.give(i, values[i]);
  for (size_t i = 0; i < scan.collected; ++i) {
    if (!c.wants(scan.states + i)) continue;
    c.give(scan.states + i, c.concat(collected[i], c.axis(scan.out_axes[i], c.rank(collected[i][0]))));
  }
}

void scan(Conversion& c) {
  const GraphProto& body = c.graph("body");
  const auto n = static_cast<size_t>(std::max<int64_t>(0, c.integer("num_scan_inputs")));
  c.require(n >= 1 && n <= c.inputs() && body.inputs.size() == c.inputs() && body.outputs.size() >= c.inputs() - n,
            "attribute num_scan_inputs is {} for {} inputs", n, c.inputs());
  const size_t states = c.inputs() - n, scans = body.outputs.size() - states;
  ScanNode node{body,
                states,
                scans,
                {},
                c.integers("scan_input_axes", Dims(n, 0)),
                c.integers("scan_input_directions", Dims(n, 0)),
                c.integers("scan_output_axes", Dims(scans, 0)),
                c.integers("scan_output_directions", Dims(scans, 0))};
  c.require(node.in_axes.size() == n && node.in_turns.size() == n && node.out_axes.size() == scans &&
                node.out_turns.size() == scans,
            "the axes or directions are not as many as the inputs or outputs");
  for (size_t i = 0; i < n; ++i) {
    node.inputs.push_back(c.in(states + i));
    node.in_axes[i] = c.axis(node.in_axes[i], c.rank(node.inputs[i]));
  }
  const int64_t length = c.dims(node.inputs[0])[static_cast<size_t>(node.in_axes[0])];
  if (length >= 1 && length <= kMostTurns && length * static_cast<int64_t>(body.nodes.size()) <= kMostWritten)
    return write_out(c, node, length);
  scan_while_running(c, node);
}

constexpr Row kRows[] = {
    {"If", 1, branch, "If, SelectV2"},
    {"Loop", 1, loop, "While"},
    {"Scan", 9, scan, "While, GatherV2, ConcatV2"},
};

}  // namespace

std::span<const Row> control_rows() { return kRows; }

}  // namespace updraft::onnx
