// Reductions, running sums, places of extremes.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

void reduce(Conversion& c) {
  Endpoint axes = c.in(1);
  if (c.rank(axes) == 0) axes = c.unsqueeze(axes, {0});
  Attributes attributes = {{"keep_dims", c.flag("keep_dims")}};
  // No axes is nothing to reduce, as in TensorFlow, and not all of them.
  if (const Tensor* t = c.value(axes); t && t->count() == 0) return pass(c);
  c.result(c.row.ascend, {c.in(0), axes}, attributes);
}

void place(Conversion& c) {
  const DType type = c.element_type("output_type", DType::Int64);
  const Endpoint axis = c.inputs() > 1 ? c.in(1) : c.integer_scalar(0);
  c.result(c.row.ascend, {c.in(0), axis}, {{"dtype", type}});
}

void running(Conversion& c) {
  c.result(c.row.ascend, {c.in(0), c.in(1)}, {{"exclusive", c.flag("exclusive")}, {"reverse", c.flag("reverse")}});
}

void top(Conversion& c) {
  const bool sorted = c.flag("sorted", true);
  const Endpoint k = c.inputs() > 1 ? c.in(1) : c.integer_scalar(c.integer("k"));
  const DType type = c.element_type("index_type", DType::Int32);
  graph::Node& made = c.build.node("TopKV2", c.name, {c.in(0), k}, {{"sorted", sorted}});
  c.give(made.out(0));
  c.give(c.cast(made.out(1), type));
}

/// How many numbers lie in each of ranges of the same width.
void histogram(Conversion& c) {
  same_inputs(c, {{"dtype", static_cast<int64_t>(c.element_type("dtype", DType::Int32))}});
}

void nth(Conversion& c) { same_inputs(c, {{"reverse", c.flag("reverse")}}); }

/// Whether the value at a target is among the k largest of its row.
void in_top(Conversion& c) {
  const int64_t k = c.inputs() > 2 ? c.integer_in(2, "k") : c.integer("k");
  c.result("InTopKD", {c.in(0), c.in(1)}, {{"k", k}});
}

/// How often each number occurs.
void count(Conversion& c) { same_inputs(c, {{"binary_output", c.flag("binary_output")}}); }

/// The same of numbers in any shape.
void count_all(Conversion& c) {
  const Endpoint weights = c.rank(c.in(2)) == 1 ? c.in(2) : c.reshape(c.in(2), Dims{-1});
  c.result("DenseBincount", {c.reshape(c.in(0), Dims{-1}), c.in(1), weights});
}

constexpr Row kRows[] = {
    {"All", reduce, "ReduceAll"},
    {"Any", reduce, "ReduceAny"},
    {"ArgMax", place, "ArgMaxV2"},
    {"ArgMin", place, "ArgMin"},
    {"Bincount", count_all, "DenseBincount"},
    {"Cumprod", running, "Cumprod"},
    {"Cumsum", running, "Cumsum"},
    {"CumulativeLogsumexp", running, "CumulativeLogsumexp"},
    {"DenseBincount", count, "DenseBincount"},
    {"EuclideanNorm", reduce, "EuclideanNorm"},
    {"HistogramFixedWidth", histogram, "HistogramFixedWidth"},
    {"InTopK", in_top, "InTopKD"},
    {"InTopKV2", in_top, "InTopKD"},
    {"Max", reduce, "ReduceMax"},
    {"Mean", reduce, "ReduceMean"},
    {"Min", reduce, "ReduceMin"},
    {"NthElement", nth, "NthElement"},
    {"Prod", reduce, "ReduceProd"},
    {"Sum", reduce, "ReduceSum"},
    {"TopK", top, "TopKV2"},
    {"TopKV2", top, "TopKV2"},
};

}  // namespace

std::span<const Row> reduction_rows() { return kRows; }

}  // namespace updraft::tensorflow
