// Reductions, and where the largest elements are.
#include "frontends/caffe/convert/families.h"
#include "graph/compile/aipp.h"

namespace updraft::caffe {
namespace {

using Size = Conversion::Size;

void softmax(Conversion& c) {
  c.param.ignore("engine");
  c.result("SoftmaxV2", {c.in(0)}, {{"axes", Dims{c.axis_of(c.in(0), "axis", 1)}}});
}

/// Over all dimensions from `axis` on.
void reduction(Conversion& c) {
  static constexpr std::string_view kOperations[] = {"SUM", "ASUM", "SUMSQ", "MEAN"};
  Endpoint x = c.in(0);
  const size_t operation = c.param.choice("operation", kOperations, 0);
  const double factor = c.param.real("coeff", 1);
  Dims axes;
  for (int64_t d = c.axis_of(x, "axis", 0); d < c.rank(x); ++d) axes.push_back(d);
  if (operation == 1) x = c.emit("Abs", {x});
  if (operation == 2) x = c.emit("Square", {x});
  Attributes attributes = {{"keep_dims", false}};
  if (operation == 3) attributes["noop_with_empty_axes"] = false;
  const char* type = operation == 3 ? "ReduceMean" : "ReduceSum";
  if (factor == 1) c.result(type, {x, c.ints(axes)}, attributes);
  else c.result("Mul", {c.emit(type, {x, c.ints(axes)}, attributes), c.scalar_like(factor, x)});
}

/// The largest elements along an axis, or of each image, and where they are; of equal ones the last comes first, so
/// they are looked for from behind.
void arg_max(Conversion& c) {
  const Endpoint x = c.in(0);
  const bool values = c.param.flag("out_max_val", false), along = c.param.has("axis");
  const int64_t most = c.param.integer("top_k", 1), rank = c.rank(x), axis = along ? c.axis_of(x, "axis", 0) : 1;
  c.require(rank >= 1 && most >= 1, "argmax_param.top_k is {}, the bottom {}", most, describe(c.desc(x)));
  const Endpoint flat = along ? x : c.reshape(x, Dims{0, -1});
  const Endpoint behind = c.emit("ReverseV2D", {flat}, {{"axis", Dims{axis}}});
  graph::Node& top =
      c.node("TopKV2", {behind, c.integer_scalar(most)}, {{"dim", axis}, {"sorted", true}, {"largest", true}});
  if (along && values) return c.give(top.out(0));
  const Endpoint last = c.add(c.gather(c.shape(flat), c.integer_scalar(axis), 0), -1);
  const Endpoint at = c.sub(c.cast(last, DType::Int32), top.out(1));
  const int64_t to_float = static_cast<int64_t>(DType::Float);
  if (along) {
    c.result("Cast", {at}, {{"dst_type", to_float}});
    return;
  }
  // [images, 1 or 2, top_k], and dimensions of 1 for those that a larger bottom has behind.
  std::vector<Size> sizes = {Size::same(0), Size::of(most)};
  for (int64_t d = 3; d < rank; ++d) sizes.push_back(Size::of(1));
  if (values) {
    auto shaped = [&](Endpoint e) { return rank > 3 ? c.reshape(e, c.shape_by(e, sizes)) : e; };
    // Places may be larger than the whole numbers that FP16 has.
    c.result("Pack", {std::vector<Endpoint>{c.cast(shaped(at), DType::Float), shaped(top.out(0))}},
             {{"axis", int64_t{1}}, {"N", int64_t{2}}, {graph::kKeepsType, true}});
    return;
  }
  sizes.insert(sizes.begin() + 1, Size::of(1));
  c.result("Cast", {c.reshape(at, c.shape_by(at, sizes))}, {{"dst_type", to_float}});
}

constexpr Row kRows[] = {
    {"ArgMax", arg_max, "argmax_param", "ReverseV2D, TopKV2, Cast"},
    {"Reduction", reduction, "reduction_param", "ReduceSum, ReduceMean"},
    {"Softmax", softmax, "softmax_param", "SoftmaxV2"},
};

}  // namespace

std::span<const Row> reduction_rows() { return kRows; }

}  // namespace updraft::caffe
