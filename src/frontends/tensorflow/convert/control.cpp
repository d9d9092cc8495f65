// Functions, branches and loops; what is there for its order alone.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

void identities(Conversion& c) {
  for (const Endpoint e : c.all()) c.give(e);
}
void nothing(Conversion&) {}

void call(Conversion& c) {
  for (const char* how : {"config", "config_proto", "executor_type"}) c.ignore(how);
  for (const Endpoint e : c.functions.inlined(c, c.attribute("f", AttrValue::Kind::Function).text, c.all())) c.give(e);
}

std::vector<graph::TensorDesc> descs_of(Conversion& c, const std::vector<Endpoint>& tensors) {
  std::vector<graph::TensorDesc> descs;
  for (const Endpoint e : tensors) descs.push_back(c.desc(e));
  return descs;
}

/// One value: numbers are true unless they are 0.
Endpoint truth_of(Conversion& c, Endpoint e) {
  c.require(c.rank(e) == 0, "the condition is {}, want one value", describe(c.desc(e)));
  return c.type(e) == DType::Bool ? e : c.emit("NotEqual", {e, c.scalar_like(0, e)});
}

/// Descriptions that hold for both.
std::vector<graph::TensorDesc> common(Conversion& c, std::vector<graph::TensorDesc> a,
                                      const std::vector<graph::TensorDesc>& b) {
  c.require(a.size() == b.size(), "its branches have {} and {} outputs", a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = c.either(a[i], b[i], fmt::format("output {}", i));
    a[i].ranges.clear();
  }
  return a;
}

void branch(Conversion& c) {
  const std::vector<Endpoint> inputs = c.all(1);
  const std::string_view yes = c.attribute("then_branch", AttrValue::Kind::Function).text;
  const std::string_view no = c.attribute("else_branch", AttrValue::Kind::Function).text;
  const Endpoint condition = truth_of(c, c.in(0));
  if (const Tensor* known = c.value(condition)) {
    for (const Endpoint e : c.functions.inlined(c, known->integers().at(0) != 0 ? yes : no, inputs)) c.give(e);
    return;
  }
  const Functions::Body a = c.functions.body(c, yes, descs_of(c, inputs));
  const Functions::Body b = c.functions.body(c, no, descs_of(c, inputs));
  std::vector<Endpoint> operands = {condition};
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  const auto outputs = common(c, a.outputs, b.outputs);
  graph::Node& made = c.build.control("If", c.name, operands, outputs, {a.name, b.name});
  for (size_t i = 0; i < outputs.size(); ++i) c.give(made.out(static_cast<int>(i)));
}

/// One of several functions by a number; a number that is none means the last one.
void one_of(Conversion& c) {
  c.ignore("output_shapes");
  const std::vector<Endpoint> inputs = c.all(1);
  const std::vector<std::string_view>& branches = c.attribute("branches", AttrValue::Kind::List).functions;
  c.require(!branches.empty(), "attribute branches names no function");
  const auto last = static_cast<int64_t>(branches.size()) - 1;
  if (const Tensor* known = c.value(c.in(0))) {
    const int64_t i = known->integers().at(0);
    const auto taken = static_cast<size_t>(i < 0 || i > last ? last : i);
    for (const Endpoint e : c.functions.inlined(c, branches[taken], inputs)) c.give(e);
    return;
  }
  std::vector<graph::TensorDesc> outputs;
  std::vector<std::string> names;
  for (const auto& branch : branches) {
    const Functions::Body body = c.functions.body(c, branch, descs_of(c, inputs));
    outputs = names.empty() ? body.outputs : common(c, outputs, body.outputs);
    names.push_back(body.name);
  }
  std::vector<Endpoint> operands = {c.in(0)};
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  graph::Node& made = c.build.control("Case", c.name, operands, outputs, names);
  for (size_t i = 0; i < outputs.size(); ++i) c.give(made.out(static_cast<int>(i)));
}

/// What turns change of the state is not known: its description is widened until the body keeps it.
void loop(Conversion& c) {
  const std::string_view condition = c.attribute("cond", AttrValue::Kind::Function).text;
  const std::string_view body = c.attribute("body", AttrValue::Kind::Function).text;
  c.ignore("output_shapes");
  std::vector<graph::TensorDesc> state = descs_of(c, c.all());
  Functions::Body turn;
  for (int widened = 0;; ++widened) {
    c.require(widened < 8, "the shapes of its state do not settle");
    turn = c.functions.body(c, body, state);
    const auto wide = common(c, state, turn.outputs);
    bool kept = true;
    for (size_t i = 0; i < wide.size(); ++i) kept = kept && wide[i].dims == state[i].dims;
    if (kept) break;
    c.functions.drop(turn);
    state = wide;
  }
  const Functions::Body ask = c.functions.body(c, condition, state);
  c.require(ask.outputs.size() == 1 && ask.outputs[0].dtype == DType::Bool, "the condition gives no truth value");
  graph::Node& made = c.build.control("While", c.name, c.all(), state, {ask.name, turn.name});
  for (size_t i = 0; i < state.size(); ++i) c.give(made.out(static_cast<int>(i)));
}

constexpr Row kRows[] = {
    {"Case", one_of, "Case"},
    {"CheckNumerics",
     [](Conversion& c) {
       same_inputs(c, {{"message", c.text("message")}});
     },
     "CheckNumerics"},
    {"EnsureShape", pass, ""},
    {"Identity", pass, ""},
    {"IdentityN", identities, ""},
    {"If", branch, "If"},
    {"NoOp", nothing, ""},
    {"PartitionedCall", call, ""},
    {"PreventGradient", [](Conversion& c) { c.ignore("message"), pass(c); }, ""},
    {"Snapshot", pass, ""},
    {"StatefulPartitionedCall", call, ""},
    {"StatelessCase", one_of, "Case"},
    {"StatelessIf", branch, "If"},
    {"StatelessWhile", loop, "While"},
    {"StopGradient", pass, ""},
    {"_EagerConst", pass, ""},
    {"While", loop, "While"},
};

}  // namespace

std::span<const Row> control_rows() { return kRows; }

}  // namespace updraft::tensorflow
