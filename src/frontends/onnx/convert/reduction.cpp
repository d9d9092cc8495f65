// Reductions over axes, and where the extremes are.
#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {
namespace {

/// The axes as a tensor. They are an attribute before version 13 (ReduceSum) or 18 (the others); none means all, or
/// nothing with noop_with_empty_axes.
struct Axes {
  Endpoint tensor;
  bool nothing = false;  ///< x stays as it is
  bool keep = true;
};
Axes axes_of(Conversion& c, int as_input_since) {
  Axes a;
  a.keep = c.flag("keepdims", true);
  const bool noop = c.flag("noop_with_empty_axes");
  Dims list;
  if (c.opset < as_input_since) {
    list = c.integers("axes");
  } else if (const Endpoint given = c.maybe(1)) {
    const Tensor* value = c.value(given);
    const bool empty = c.desc(given).count() == 0;
    if (!value && !empty) {
      a.tensor = given;
      return a;
    }
    if (value) list = value->integers();
  }
  if (list.empty() && noop) {
    a.nothing = true;
    return a;
  }
  if (list.empty())
    for (int64_t d = 0; d < c.rank(c.in(0)); ++d) list.push_back(d);
  a.tensor = c.ints(list);
  return a;
}
int input_since(const Conversion& c) { return std::string_view(c.row.type) == "ReduceSum" ? 13 : 18; }

void finish(Conversion& c, std::string_view type, Endpoint x, const Axes& a) {
  if (a.nothing) c.result("Identity", {x});
  else c.result(type, {x, a.tensor}, {{"keep_dims", a.keep}});
}
Endpoint part(Conversion& c, std::string_view type, Endpoint x, const Axes& a) {
  return a.nothing ? x : c.emit(type, {x, a.tensor}, {{"keep_dims", a.keep}});
}

void plain(Conversion& c) { finish(c, c.row.ascend, c.in(0), axes_of(c, input_since(c))); }

void mean(Conversion& c) {
  const Axes a = axes_of(c, 18);
  if (a.nothing) c.result("Identity", {c.in(0)});
  else c.result("ReduceMean", {c.in(0), a.tensor}, {{"keep_dims", a.keep}, {"noop_with_empty_axes", false}});
}

void absolute_sum(Conversion& c) { finish(c, "ReduceSum", c.emit("Abs", {c.in(0)}), axes_of(c, 18)); }
void square_sum(Conversion& c) { finish(c, "ReduceSum", c.emit("Square", {c.in(0)}), axes_of(c, 18)); }
void length(Conversion& c) {
  const Endpoint x = c.in(0);
  const DType type = c.type(x);
  const Endpoint wide = is_floating(type) ? x : c.cast(x, DType::Double);
  const Endpoint sum = part(c, "ReduceSum", c.emit("Square", {wide}), axes_of(c, 18));
  if (is_floating(type)) c.result("Sqrt", {sum});
  else c.result("Cast", {c.emit("Sqrt", {sum})}, {{"dst_type", static_cast<int64_t>(type)}});
}
void log_sum(Conversion& c) { c.result("Log", {part(c, "ReduceSum", c.in(0), axes_of(c, 18))}); }
void log_sum_exp(Conversion& c) {
  const Axes a = axes_of(c, 18);
  if (a.nothing) c.result("Identity", {c.in(0)});
  else c.result("ReduceLogSumExp", {c.in(0), a.tensor}, {{"keep_dims", a.keep}});
}
/// Of bools it is all or any.
void extreme(Conversion& c) {
  const bool most = std::string_view(c.row.type) == "ReduceMax";
  const bool truth = c.type(c.in(0)) == DType::Bool;
  finish(c, truth ? (most ? "ReduceAny" : "ReduceAll") : c.row.ascend, c.in(0), axes_of(c, 18));
}

void argument(Conversion& c) {
  Endpoint x = c.in(0);
  const int64_t axis = c.axis(c.integer("axis", 0), c.rank(x));
  const bool keep = c.flag("keepdims", true), last = c.flag("select_last_index");
  if (last) x = c.emit("ReverseV2D", {x}, {{"axis", Dims{axis}}});
  const Attributes attributes = {{"dimension", axis}, {"dtype", DType::Int64}};
  if (!last && !keep) {
    c.result(c.row.ascend, {x}, attributes);
    return;
  }
  Endpoint at = c.emit(c.row.ascend, {x}, attributes);
  if (last) {
    const Endpoint size = c.gather(c.shape(x), c.integer_scalar(axis), 0);
    at = c.sub(c.add(size, -1), at);
  }
  if (keep) c.result("Unsqueeze", {at}, {{"axes", Dims{axis}}});
  else c.result("Identity", {at});
}

void top_k(Conversion& c) {
  const Endpoint x = c.in(0);
  Endpoint k;
  if (c.opset < 10) k = c.integer_scalar(c.integer("k"));
  else k = c.in(1);
  if (c.type(k) != DType::Int64) k = c.cast(k, DType::Int64);
  graph::Node& n = c.node(
      "TopKV2", {x, k},
      {{"sorted", c.flag("sorted", true)}, {"dim", c.integer("axis", -1)}, {"largest", c.flag("largest", true)}});
  c.give(0, n.out(0));
  c.give(1, c.cast(n.out(1), DType::Int64));
}

void cumulative_sum(Conversion& c) {
  c.result("Cumsum", {c.in(0), c.in(1)}, {{"exclusive", c.flag("exclusive")}, {"reverse", c.flag("reverse")}});
}

constexpr Row kRows[] = {
    {"ArgMax", 1, argument, "ArgMaxD"},
    {"ArgMin", 1, argument, "ArgMinD"},
    {"CumSum", 11, cumulative_sum, "Cumsum"},
    {"ReduceL1", 1, absolute_sum, "Abs, ReduceSum"},
    {"ReduceL2", 1, length, "Square, ReduceSum, Sqrt"},
    {"ReduceLogSum", 1, log_sum, "ReduceSum, Log"},
    {"ReduceLogSumExp", 1, log_sum_exp, "ReduceLogSumExp"},
    {"ReduceMax", 1, extreme, "ReduceMax"},
    {"ReduceMean", 1, mean, "ReduceMean"},
    {"ReduceMin", 1, extreme, "ReduceMin"},
    {"ReduceProd", 1, plain, "ReduceProd"},
    {"ReduceSum", 1, plain, "ReduceSum"},
    {"ReduceSumSquare", 1, square_sum, "Square, ReduceSum"},
    {"TopK", 1, top_k, "TopKV2"},
};

}  // namespace

std::span<const Row> reduction_rows() { return kRows; }

}  // namespace updraft::onnx
