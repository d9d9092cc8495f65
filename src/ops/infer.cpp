#include "ops/infer.h"

#include <algorithm>
#include <optional>

#include "ops/kept_arguments.h"

namespace updraft {

bool Shape::known() const {
  return std::all_of(dims.begin(), dims.end(), [](const Dim& d) { return d.known(); });
}

namespace {

/// Calls f(parameter, tensor) for every tensor of a call, lists one after the other; the tensor may be null.
template <class F>
void each_tensor(const OpInfo& info, const Value* values, F&& f) {
  for (size_t i = 0; i < info.parameters.size(); ++i) {
    const Parameter& p = info.parameters[i];
    if (p.kind == Kind::Tensor) {
      f(p, const_cast<aclTensor*>(values[i].tensor()));
    } else if (p.kind == Kind::Tensors) {
      if (const aclTensorList* list = values[i].tensors())
        for (aclTensor* t : list->items) f(p, t);
    }
  }
}

}  // namespace

void infer(const OpInfo& info, const Value* values, std::vector<OpenDim>* open) {
  Op op(info, values, open);
  op.check_arguments(false);
  const char* needed = nullptr;  // values that the work wants may come after the shapes are known
  try {
    info.plan(op, values);
  } catch (const ValuesNeeded& values_needed) { needed = values_needed.parameter; }
  each_tensor(info, values, [&](const Parameter& p, const aclTensor* t) {
    if (!t || !p.written() || t->view.dtype != DType::Undefined) return;
    if (needed)
      throw Error(code::kAclnnNoKernel, "the shape of {}'s outputs depends on the values of {}, which are not known",
                  info.name, needed);
    throw Error(code::kAclnnNoKernel, "{} has no rule for the shape of {}: give the output's shape", info.name, p.name);
  });
}

void require_given(const Op& op, const char* name, const TensorView& out) {
  if (op.inferring() && out.dtype == DType::Undefined)
    throw Error(code::kAclnnNoKernel, "{} has no rule for the shape of {}: give the output's shape", op.name(), name);
}

namespace {

/// An unknown size: which dimension of which tensor, and what it may be.
struct Unknown {
  size_t tensor;
  int dim, rank;
  Dim bounds;
};

/// One evaluation of the rule.
class Evaluation {
 public:
  Evaluation(const OpInfo& info, const Value* values, std::span<const Shape> inputs)
      : info_(info), kept_(info, values), inputs_(inputs) {}

  /// Shapes of all tensors when the unknown sizes are these; empty when the operator refuses them.
  std::optional<std::vector<Shape>> at(const std::vector<Unknown>& unknown, const std::vector<int64_t>& sizes) {
    size_t index = 0;
    each_tensor(info_, kept_.values(), [&](const Parameter& p, aclTensor* t) {
      const size_t i = index++;
      if (!t) return;
      if (p.direction == Direction::Out) {
        t->view = TensorView{};
        t->view.dtype = DType::Undefined;
        return;
      }
      std::vector<int64_t> dims;
      for (const Dim& d : inputs_[i].dims) dims.push_back(d.low);
      for (size_t u = 0; u < unknown.size(); ++u)
        if (unknown[u].tensor == i) dims[static_cast<size_t>(unknown[u].dim)] = sizes[u];
      t->view = TensorView::contiguous(nullptr, inputs_[i].dtype, dims.data(), static_cast<int>(dims.size()));
    });
    std::vector<OpenDim> open;
    try {
      infer(info_, kept_.values(), &open);
    } catch (const Error& e) {
      if (e.code() == code::kAclnnNoKernel) throw;
      refusal_ = e;
      return {};
    }
    std::vector<Shape> shapes;
    each_tensor(info_, kept_.values(), [&](const Parameter& p, const aclTensor* t) {
      Shape& shape = shapes.emplace_back();
      if (!t || !p.written()) return;
      shape.dtype = t->view.dtype;
      for (int d = 0; d < t->view.rank; ++d) shape.dims.emplace_back(t->view.dims[d]);
      for (const OpenDim& o : open)
        if (o.view == &t->view) shape.dims[static_cast<size_t>(o.dim)].low = 0;
    });
    return shapes;
  }
  const std::optional<Error>& refusal() const { return refusal_; }

 private:
  const OpInfo& info_;
  KeptArguments kept_;
  std::span<const Shape> inputs_;
  std::optional<Error> refusal_;
};

int64_t within(const Dim& bounds, int64_t size) {
  size = std::max(size, bounds.low);
  return bounds.high < 0 ? size : std::min(size, bounds.high);
}

using Point = std::vector<int64_t>;

/// Sizes that unknown ones often have to match: those of known dimensions, and whole numbers among the attributes,
/// their sums (parts of a dimension) and products (dimensions as one).
std::vector<int64_t> given_sizes(const OpInfo& info, const Value* values, std::span<const Shape> inputs) {
  std::vector<int64_t> sizes;
  auto add = [&](int64_t size) {
    if (size > 0 && size < 1 << 20 && sizes.size() < 16 && std::find(sizes.begin(), sizes.end(), size) == sizes.end())
      sizes.push_back(size);
  };
  for (const Shape& shape : inputs)
    for (const Dim& d : shape.dims)
      if (d.known()) add(d.low);
  for (size_t i = 0; i < info.parameters.size(); ++i) {
    switch (info.parameters[i].kind) {
      case Kind::Ints:
        if (const aclIntArray* array = values[i].ints()) {
          int64_t sum = 0, product = 1;
          for (int64_t v : array->values) {
            add(v);
            if (v < 0 || __builtin_add_overflow(sum, v, &sum) || __builtin_mul_overflow(product, v, &product))
              sum = product = 0;
          }
          add(sum);
          add(product);
        }
        break;
      case Kind::Int:
      case Kind::UInt: add(values[i].integer()); break;
      default: break;
    }
  }
  return sizes;
}

/// The sizes at which the rule is evaluated first: all apart, all alike, and those that are given.
std::vector<Point> points_for(const std::vector<Unknown>& unknown, std::span<const Shape> inputs,
                              const std::vector<int64_t>& given) {
  std::vector<Point> points;
  auto add = [&](auto&& size) {
    Point& point = points.emplace_back();
    for (size_t u = 0; u < unknown.size(); ++u) point.push_back(within(unknown[u].bounds, size(u)));
  };
  for (const int64_t first : {97, 1031, 4099})
    add([&](size_t u) { return first + 12 * static_cast<int64_t>(u * (u + 3)); });
  for (const int64_t all : {64, 960, 1}) add([&](size_t) { return all; });
  // The known size at the same place, counted from the end (broadcasting) and from the front (batches, channels).
  for (const bool from_end : {true, false})
    add([&](size_t u) {
      const Unknown& at = unknown[u];
      for (size_t i = 0; i < inputs.size(); ++i) {
        const int rank = static_cast<int>(inputs[i].dims.size()), d = from_end ? rank - (at.rank - at.dim) : at.dim;
        if (i != at.tensor && d >= 0 && d < rank && inputs[i].dims[static_cast<size_t>(d)].known())
          return inputs[i].dims[static_cast<size_t>(d)].low;
      }
      return int64_t{64};
    });
  for (const int64_t all : given) add([&](size_t) { return all; });
  return points;
}

/// Where no point of those is accepted: one size differs from the others by a factor (two halves, four gates), or all
/// are given and one is another given one.
std::vector<Point> uneven_points(const std::vector<Unknown>& unknown, const std::vector<int64_t>& given) {
  std::vector<Point> points;
  for (size_t u = 0; u < unknown.size(); ++u) {
    std::vector<int64_t> sizes{128, 32, 256, 16, 192};
    sizes.insert(sizes.end(), given.begin(), given.end());
    for (const int64_t size : sizes) {
      Point& point = points.emplace_back();
      for (size_t k = 0; k < unknown.size(); ++k) point.push_back(within(unknown[k].bounds, k == u ? size : 64));
    }
    for (const int64_t others : given)
      for (const int64_t size : given) {
        if (size == others) continue;
        Point& point = points.emplace_back();
        for (size_t k = 0; k < unknown.size(); ++k) point.push_back(within(unknown[k].bounds, k == u ? size : others));
      }
  }
  return points;
}

/// Points beside one that is accepted: each size becomes three times as large, alone and with those that may have to
/// follow it (at the same place from the end, from the front, or of the same size).
std::vector<Point> points_beside(const Point& point, const std::vector<Unknown>& unknown) {
  std::vector<Point> points;
  for (size_t u = 0; u < unknown.size(); ++u)
    for (int follows = 0; follows < 4; ++follows) {
      Point beside = point;
      for (size_t k = 0; k < unknown.size(); ++k) {
        const bool same_end = unknown[k].rank - unknown[k].dim == unknown[u].rank - unknown[u].dim;
        const bool with = follows == 1   ? same_end
                          : follows == 2 ? unknown[k].dim == unknown[u].dim
                                         : follows == 3 && point[k] == point[u];
        if (k == u || with) beside[k] = within(unknown[k].bounds, 3 * point[k]);
      }
      if (std::find(points.begin(), points.end(), beside) == points.end()) points.push_back(std::move(beside));
    }
  return points;
}

/// What outputs have in common at two points. `grows`: for each dimension of all outputs, one after the other, whether
/// its largest size was not always the same.
void merge(std::vector<Shape>& all, const std::vector<Shape>& more, std::vector<bool>& grows) {
  size_t at = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].dims.size() != more[i].dims.size())
      throw Error(code::kAclnnParamInvalid, "the number of dimensions of output {} depends on sizes that are unknown",
                  i);
    for (size_t d = 0; d < all[i].dims.size(); ++d) {
      Dim& dim = all[i].dims[d];
      if (at == grows.size()) grows.push_back(false);
      grows[at] = grows[at] || dim.high != more[i].dims[d].high;
      ++at;
      dim.low = std::min(dim.low, more[i].dims[d].low);
      dim.high = std::max(dim.high, more[i].dims[d].high);
    }
  }
}

}  // namespace

std::vector<Shape> infer(const OpInfo& info, const Value* values, std::span<const Shape> inputs) {
  std::vector<Unknown> unknown;
  for (size_t i = 0; i < inputs.size(); ++i)
    for (size_t d = 0; d < inputs[i].dims.size(); ++d)
      if (!inputs[i].dims[d].known())
        unknown.push_back({i, static_cast<int>(d), static_cast<int>(inputs[i].dims.size()), inputs[i].dims[d]});
  Evaluation rule(info, values, inputs);
  if (unknown.empty()) {
    auto shapes = rule.at(unknown, {});
    if (!shapes) throw Error(rule.refusal()->code(), rule.refusal()->text());
    return *std::move(shapes);
  }

  std::optional<std::vector<Shape>> all;
  std::vector<bool> grows;
  std::vector<Point> accepted;
  auto evaluate = [&](const std::vector<Point>& points) {
    for (const Point& point : points) {
      const auto shapes = rule.at(unknown, point);
      if (!shapes) continue;
      accepted.push_back(point);
      if (all) merge(*all, *shapes, grows);
      else all = shapes;
    }
  };
  const std::vector<int64_t> given = given_sizes(info, values, inputs);
  evaluate(points_for(unknown, inputs, given));
  if (!all) evaluate(uneven_points(unknown, given));
  if (!all)
    throw Error(rule.refusal()->code(), "no sizes of the unknown dimensions are accepted, the last ones tried: {}",
                rule.refusal()->text());
  // A size that no accepted point changed could pass for a known one.
  accepted.resize(std::min<size_t>(accepted.size(), 4));
  for (const Point& point : std::vector<Point>(accepted)) evaluate(points_beside(point, unknown));

  // The ends of the bounds.
  std::vector<int64_t> least, most;
  bool bounded = true;
  for (const Unknown& u : unknown) {
    least.push_back(u.bounds.low);
    most.push_back(u.bounds.high);
    bounded = bounded && u.bounds.high >= 0;
  }
  size_t at = 0;
  const auto smallest = rule.at(unknown, least), largest = bounded ? rule.at(unknown, most) : std::nullopt;
  for (size_t i = 0; i < all->size(); ++i)
    for (size_t d = 0; d < (*all)[i].dims.size(); ++d) {
      Dim& dim = (*all)[i].dims[d];
      const bool changes = at < grows.size() && grows[at];
      ++at;
      if (!changes) continue;  // known, or bounded by something known
      dim.low = smallest && (*smallest)[i].dims.size() > d ? std::min(dim.low, (*smallest)[i].dims[d].low) : 0;
      if (!bounded) dim.high = -1;
      else if (largest && (*largest)[i].dims.size() > d) dim.high = std::max(dim.high, (*largest)[i].dims[d].high);
    }
  return *std::move(all);
}

}  // namespace updraft
