// Sums and products of blobs, with other blobs or with weights.
#include <algorithm>

#include "frontends/caffe/convert/families.h"

namespace updraft::caffe {

Endpoint aligned(Conversion& c, Endpoint e, int64_t axis, int64_t rank) {
  const int64_t own = c.rank(e);
  c.require(axis + own <= rank, "{} at axis {} has more dimensions than the bottom, which has {}", describe(c.desc(e)),
            axis, rank);
  Dims behind;
  for (int64_t d = own; d < rank - axis; ++d) behind.push_back(d);
  return behind.empty() ? e : c.unsqueeze(e, behind);
}

namespace {

void require_one_shape(Conversion& c) {
  const Dims& first = c.dims(c.in(0));
  for (const Endpoint e : c.all()) {
    const Dims& own = c.dims(e);
    bool fits = own.size() == first.size();
    for (size_t d = 0; fits && d < own.size(); ++d) fits = own[d] < 0 || first[d] < 0 || own[d] == first[d];
    c.require(fits, "bottoms are {} and {}, want one shape", describe(first), describe(own));
  }
}

void eltwise(Conversion& c) {
  static constexpr std::string_view kOperations[] = {"PROD", "SUM", "MAX"};
  static constexpr std::string_view kTypes[] = {"Mul", "Add", "Maximum"};
  constexpr size_t kSum = 1;
  const size_t operation = c.param.choice("operation", kOperations, kSum);
  const std::vector<double> factors = c.param.reals("coeff");
  c.param.ignore("stable_prod_grad");
  c.require(c.inputs() >= 2, "there are {} bottoms, want two or more", c.inputs());
  c.require(factors.empty() || (operation == kSum && factors.size() == c.inputs()),
            "eltwise_param.coeff has {} values for {} bottoms, want one for each, with SUM alone", factors.size(),
            c.inputs());
  require_one_shape(c);
  std::vector<Endpoint> parts = c.all();
  for (size_t i = 0; i < factors.size(); ++i)
    if (factors[i] != 1) parts[i] = c.mul(parts[i], factors[i]);
  Endpoint all = parts[0];
  for (size_t i = 1; i + 1 < parts.size(); ++i) all = c.emit(kTypes[operation], {all, parts[i]});
  c.result(kTypes[operation], {all, parts.back()});
}

/// The shape of weights that stand at `axis` of the bottom.
Dims covered(Conversion& c, Endpoint x, int64_t axis) {
  const int64_t rank = c.rank(x), axes = c.param.integer("num_axes", 1), end = axes == -1 ? rank : axis + axes;
  c.require(axes >= -1 && end <= rank, "{}.num_axes is {} from axis {}, the bottom is {}", c.row.param, axes, axis,
            describe(c.desc(x)));
  Dims dims;
  for (int64_t d = axis; d < end; ++d) dims.push_back(c.size(x, d, "the bottom"));
  return dims;
}

bool is_all(const Tensor* t, float value) {
  return t && t->dtype == DType::Float &&
         std::all_of(t->as<float>(), t->as<float>() + t->count(), [&](float v) { return v == value; });
}

/// The batch normalisation that gave the tensor, where it has no scale and no offset yet, else null.
const graph::Node* bare_norm(Endpoint x) {
  const graph::Node& node = *x.node;
  const bool bare = node.type() == "BNInfer" && is_all(graph::constant_at(node.input(1).from), 1) &&
                    is_all(graph::constant_at(node.input(2).from), 0);
  return bare ? &node : nullptr;
}

/// y = x * scale + bias. Behind a layer BatchNorm both become one operator.
void scale(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t axis = c.axis_of(x, "axis", 1), rank = c.rank(x);
  const bool bias = c.param.flag("bias_term", false), learned = c.inputs() == 1;
  for (const char* how : {"filler", "bias_filler"}) c.param.ignore(how);
  c.require(c.inputs() <= 2, "there are {} bottoms, want one or two", c.inputs());
  if (!learned) c.param.ignore("num_axes");
  const Dims dims = learned ? covered(c, x, axis) : c.dims(c.in(1));
  const Endpoint factor = learned ? c.blob(0, dims, "scale") : c.in(1);
  Endpoint add;
  if (bias) add = c.blob(learned ? 1 : 0, dims, "bias");
  const graph::Node* norm = learned && axis == 1 && dims.size() == 1 ? bare_norm(x) : nullptr;
  if (norm) {
    auto from = [&](int i) { return norm->input(i).from; };
    c.result("BNInfer", {from(0), factor, add ? add : from(2), from(3), from(4)},
             {{"epsilon", norm->attributes.at("epsilon")}});
    return;
  }
  const Endpoint across = aligned(c, factor, axis, rank);
  if (!add) c.result("Mul", {x, across});
  else c.result("Add", {c.mul(x, across), aligned(c, add, axis, rank)});
}

void bias(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t axis = c.axis_of(x, "axis", 1);
  const bool learned = c.inputs() == 1;
  c.param.ignore("filler");
  c.require(c.inputs() <= 2, "there are {} bottoms, want one or two", c.inputs());
  if (!learned) c.param.ignore("num_axes");
  c.result("Add", {x, aligned(c, learned ? c.blob(0, covered(c, x, axis), "bias") : c.in(1), axis, c.rank(x))});
}

/// A factor for each channel of each image, times x, plus y.
void axpy(Conversion& c) { c.result("Add", {c.mul(c.in(1), aligned(c, c.in(0), 0, c.rank(c.in(1)))), c.in(2)}); }

constexpr Row kRows[] = {
    {"Axpy", axpy, "", "Mul, Add"},
    {"Bias", bias, "bias_param", "Add"},
    {"Eltwise", eltwise, "eltwise_param", "Mul, Add, Maximum"},
    {"Scale", scale, "scale_param", "Mul, Add, BNInfer"},
};

}  // namespace

std::span<const Row> elementwise_rows() { return kRows; }

}  // namespace updraft::caffe
