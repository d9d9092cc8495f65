// Nodes that have graphs. What their conditions and counts say is known while importing, and their graphs are put in
// the place of the node as often as they run.
#include <algorithm>

#include "frontends/onnx/convert/families.h"
#include "frontends/onnx/scope.h"

namespace updraft::onnx {
namespace {

/// Times that a body is written out.
constexpr int64_t kMostTurns = 1024;

Value tensor(Endpoint e) {
  Value v;
  v.tensor = e;
  return v;
}

/// Both branches run and one is taken, where the condition is computed while the graph runs.
void choose(Conversion& c, Endpoint condition, const std::vector<Value>& yes, const std::vector<Value>& no) {
  c.require(yes.size() == no.size() && yes.size() >= c.outputs(), "the branches have {} and {} outputs, the node {}",
            yes.size(), no.size(), c.outputs());
  for (size_t i = 0; i < c.outputs(); ++i) {
    const Endpoint a = yes[i].tensor, b = no[i].tensor;
    c.require(a.node && b.node,
              "output {} is a sequence or an optional, and the condition is computed while the graph runs", i);
    const TensorDesc &first = c.desc(a), &second = c.desc(b);
    c.require(
        first.dtype == second.dtype && first.dims == second.dims && first.known(),
        "the branches give {} and {} for output {}, want the same where the condition is computed while the graph "
        "runs",
        describe(first), describe(second), i);
    c.give(i, c.emit("SelectV2", {condition, a, b}));
  }
}

void branch(Conversion& c) {
  const Endpoint condition = c.in(0);
  const GraphProto &yes = c.graph("then_branch"), &no = c.graph("else_branch");
  const Tensor* value = c.value(condition);
  if (!value) {
    const std::vector<Value> a = c.graphs.inlined(yes, {}, c.scope, c.name + "/then/");
    return choose(c, c.reshape(condition, Dims{}), a, c.graphs.inlined(no, {}, c.scope, c.name + "/else/"));
  }
  c.require(value->count() == 1, "the condition has {} elements, want 1", value->count());
  const bool truth = value->integers()[0] != 0;
  const std::vector<Value> results =
      c.graphs.inlined(truth ? yes : no, {}, c.scope, c.name + (truth ? "/then/" : "/else/"));
  c.require(results.size() >= c.outputs(), "the branch has {} outputs, the node {}", results.size(), c.outputs());
  for (size_t i = 0; i < c.outputs(); ++i) c.give(i, results[i]);
}

/// The value of something that a loop asks of each turn.
bool truth_of(Conversion& c, const Value& v) {
  const Tensor* value = v.tensor ? c.value(v.tensor) : nullptr;
  c.require(value && value->count() == 1,
            "the condition is computed while the graph runs, want one that is known before");
  return value->integers()[0] != 0;
}

void loop(Conversion& c) {
  const GraphProto& body = c.graph("body");
  const size_t carried = c.inputs() > 2 ? c.inputs() - 2 : 0;
  c.require(body.inputs.size() == carried + 2 && body.outputs.size() > carried,
            "the body has {} inputs and {} outputs for {} values", body.inputs.size(), body.outputs.size(), carried);
  const size_t scans = body.outputs.size() - 1 - carried;
  int64_t most = INT64_MAX;
  if (c.has(0)) most = c.integers_in(0, "the number of turns").at(0);
  bool go = !c.has(1) || truth_of(c, c.value_in(1));
  std::vector<Value> values;
  for (size_t i = 0; i < carried; ++i) values.push_back(c.value_in(i + 2));
  std::vector<std::vector<Endpoint>> collected(scans);
  for (int64_t turn = 0; go && turn < most; ++turn) {
    c.require(turn < kMostTurns, "more than {} turns", kMostTurns);
    std::vector<Value> inputs = {tensor(c.integer_scalar(turn)), tensor(c.constant(scalar_tensor(1, DType::Bool)))};
    inputs.insert(inputs.end(), values.begin(), values.end());
    const std::vector<Value> results = c.graphs.inlined(body, inputs, c.scope, fmt::format("{}/{}/", c.name, turn));
    go = truth_of(c, results[0]);
    values.assign(results.begin() + 1, results.begin() + 1 + static_cast<std::ptrdiff_t>(carried));
    for (size_t i = 0; i < scans; ++i) {
      const Endpoint e = results[1 + carried + i].tensor;
      c.require(e.node != nullptr, "the body gives a sequence to be collected, want tensors");
      collected[i].push_back(c.unsqueeze(e, {0}));
    }
  }
  for (size_t i = 0; i < carried; ++i) c.give(i, values[i]);
  for (size_t i = 0; i < scans; ++i) {
    c.require(!collected[i].empty() || !c.wants(carried + i), "no turn is run, and output {} has no shape",
              carried + i);
    if (!collected[i].empty()) c.give(carried + i, c.concat(collected[i], 0));
  }
}

void scan(Conversion& c) {
  const GraphProto& body = c.graph("body");
  const auto n = static_cast<size_t>(std::max<int64_t>(0, c.integer("num_scan_inputs")));
  const size_t first = c.opset < 9 ? 1 : 0;
  c.require(first == 0, "version 8 of the operator, want 9 or newer");
  c.require(n >= 1 && n <= c.inputs() && body.inputs.size() == c.inputs() && body.outputs.size() >= c.inputs() - n,
            "attribute num_scan_inputs is {} for {} inputs", n, c.inputs());
  const size_t states = c.inputs() - n, scans = body.outputs.size() - states;
  const Dims in_axes = c.integers("scan_input_axes", Dims(n, 0)),
             in_turns = c.integers("scan_input_directions", Dims(n, 0));
  const Dims out_axes = c.integers("scan_output_axes", Dims(scans, 0)),
             out_turns = c.integers("scan_output_directions", Dims(scans, 0));
  c.require(in_axes.size() == n && in_turns.size() == n && out_axes.size() == scans && out_turns.size() == scans,
            "the axes or directions are not as many as the inputs or outputs");
  std::vector<Value> values;
  for (size_t i = 0; i < states; ++i) values.push_back(tensor(c.in(i)));
  std::vector<int64_t> axes;
  for (size_t i = 0; i < n; ++i) axes.push_back(c.axis(in_axes[i], c.rank(c.in(states + i))));
  const int64_t length = c.size(c.in(states), axes[0], "what is scanned");
  c.require(length >= 1 && length <= kMostTurns, "{} turns, want 1 to {}", length, kMostTurns);
  std::vector<std::vector<Endpoint>> collected(scans);
  for (int64_t turn = 0; turn < length; ++turn) {
    std::vector<Value> inputs = values;
    for (size_t i = 0; i < n; ++i) {
      const int64_t at = in_turns[i] ? length - 1 - turn : turn;
      inputs.push_back(tensor(c.gather(c.in(states + i), c.integer_scalar(at), axes[i])));
    }
    const std::vector<Value> results = c.graphs.inlined(body, inputs, c.scope, fmt::format("{}/{}/", c.name, turn));
    values.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(states));
    for (size_t i = 0; i < scans; ++i) {
      const Endpoint e = results[states + i].tensor;
      const Endpoint part = c.unsqueeze(e, {c.axis(out_axes[i], c.rank(e) + 1)});
      collected[i].insert(out_turns[i] ? collected[i].begin() : collected[i].end(), part);
    }
  }
  for (size_t i = 0; i < states; ++i) c.give(i, values[i]);
  for (size_t i = 0; i < scans; ++i) {
    if (!c.wants(states + i)) continue;
    c.give(states + i, c.concat(collected[i], c.axis(out_axes[i], c.rank(collected[i][0]))));
  }
}

constexpr Row kRows[] = {
    {"If", 1, branch, "SelectV2",
     "a condition that is computed by the graph: branches with equal shapes, which both run",
     "条件在图运行时才得出的，两分支形状须相同且都会执行"},
    {"Loop", 1, loop, "", "the number of turns and the conditions are known before the run",
     "循环次数与条件须为已知值"},
    {"Scan", 9, scan, "GatherV2, ConcatV2", "the length is known before the run", "长度须为已知值"},
};

}  // namespace

std::span<const Row> control_rows() { return kRows; }

}  // namespace updraft::onnx
