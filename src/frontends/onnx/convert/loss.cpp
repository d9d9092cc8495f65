// Losses.
#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {
namespace {

/// The negative logarithms of what the targets had, from [N, C, …].
void likelihood(Conversion& c, Endpoint log, Endpoint target, Endpoint weight) {
  const std::string reduction = c.text("reduction", "mean");
  c.require(reduction == "none" || reduction == "sum" || reduction == "mean",
            "attribute reduction is \"{}\", want none, sum or mean", reduction);
  const bool ignores = c.has("ignore_index");
  const int64_t ignored = c.integer("ignore_index", -1);
  const DType type = c.type(log);
  target = c.cast(target, DType::Int64);
  Endpoint skip;
  if (ignores) {
    skip = c.emit("Equal", {target, c.integer_scalar(ignored)});
    target = c.emit("SelectV2", {skip, c.integer_scalar(0), target});
  }
  const Endpoint picked =
      c.squeeze(c.emit("GatherElements", {log, c.unsqueeze(target, {1})}, {{"dim", int64_t{1}}}), {1});
  Endpoint loss = c.emit("Neg", {picked}), by;
  if (weight) by = c.gather(weight, target, 0);
  if (ignores) {
    const Endpoint one = by ? by : c.emit("OnesLike", {loss});
    by = c.emit("SelectV2", {skip, c.scalar(0, type), one});
  }
  if (by) loss = c.mul(loss, by);
  if (reduction == "none") {
    c.result("Identity", {loss});
    return;
  }
  Dims axes;
  for (int64_t d = 0; d < c.rank(loss); ++d) axes.push_back(d);
  const Endpoint over = c.ints(axes);
  if (reduction == "sum") c.result("ReduceSum", {loss, over});
  else if (by) c.result("RealDiv", {c.emit("ReduceSum", {loss, over}), c.emit("ReduceSum", {by, over})});
  else c.result("ReduceMean", {loss, over}, {{"noop_with_empty_axes", false}});
}

void negative_likelihood(Conversion& c) { likelihood(c, c.in(0), c.in(1), c.maybe(2)); }
void cross_entropy(Conversion& c) {
  const Endpoint log = c.emit("LogSoftmaxV2", {c.in(0)}, {{"axes", Dims{1}}});
  likelihood(c, log, c.in(1), c.maybe(2));
  c.give(1, log);
}

constexpr Row kRows[] = {
    {"NegativeLogLikelihoodLoss", 12, negative_likelihood, "GatherElements, ReduceSum"},
    {"SoftmaxCrossEntropyLoss", 12, cross_entropy, "LogSoftmaxV2, GatherElements, ReduceSum"},
};

}  // namespace

std::span<const Row> loss_rows() { return kRows; }

}  // namespace updraft::onnx
