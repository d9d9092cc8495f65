// Reductions, running sums, places of extremes.
#include <cmath>

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

/// The largest or smallest value; of no values it is the one that is not larger (or smaller) than any.
void extreme(Conversion& c) {
  const Endpoint x = c.in(0);
  const Tensor* axes = c.value(c.in(1));
  const graph::TensorDesc& desc = c.desc(x);
  bool none = false;
  Dims left;
  if (axes && axes->count() > 0 && desc.known()) {
    std::set<int64_t> reduced;
    for (int64_t a : axes->integers()) reduced.insert(c.axis(a, c.rank(x)));
    for (int64_t d = 0; d < c.rank(x); ++d) {
      const int64_t size = desc.dims[static_cast<size_t>(d)];
      none = none || (size == 0 && reduced.contains(d));
      if (!reduced.contains(d)) left.push_back(size);
      else if (c.flag("keep_dims")) left.push_back(1);
    }
  }
  if (!none) return reduce(c);
  c.require(is_floating(c.type(x)), "the input is {}, and no values have no largest or smallest one", describe(desc));
  const double none_of = std::string_view(c.row.type) == "Max" ? -HUGE_VAL : HUGE_VAL;
  c.result("Fill", {c.ints(left), c.scalar_like(none_of, x)});
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

constexpr Row kRows[] = {
    {"All", reduce, "ReduceAll"},
    {"Any", reduce, "ReduceAny"},
    {"ArgMax", place, "ArgMaxV2"},
    {"ArgMin", place, "ArgMin"},
    {"Cumprod", running, "Cumprod"},
    {"Cumsum", running, "Cumsum"},
    {"EuclideanNorm", reduce, "EuclideanNorm"},
    {"Max", extreme, "ReduceMax"},
    {"Mean", reduce, "ReduceMean"},
    {"Min", extreme, "ReduceMin"},
    {"Prod", reduce, "ReduceProd"},
    {"Sum", reduce, "ReduceSum"},
    {"TopK", top, "TopKV2"},
    {"TopKV2", top, "TopKV2"},
};

}  // namespace

std::span<const Row> reduction_rows() { return kRows; }

}  // namespace updraft::tensorflow
