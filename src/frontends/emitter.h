// What converters of all formats make of one node of a model: nodes of the graph, named after it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "graph/builder.h"

namespace updraft::frontends {

using graph::Attributes;
using graph::Builder;
using graph::describe;
using graph::Dims;
using graph::Endpoint;
using graph::Operand;
using graph::Tensor;
using graph::TensorDesc;

class Emitter {
 public:
  /// `type`: what the model calls the operator.
  Emitter(Builder& builder, std::string own, std::string_view type)
      : build(builder), name(std::move(own)), model_type(type) {}

  Builder& build;
  const std::string name;  ///< that no message and no node of the graph goes without
  const std::string_view model_type;

  template <class... A>
  [[noreturn]] void refuse(fmt::format_string<A...> format, A&&... a) const {
    throw Error(code::kAclnnParamInvalid, "{} ({}): {}", name, model_type, fmt::format(format, std::forward<A>(a)...));
  }
  template <class... A>
  void require(bool holds, fmt::format_string<A...> format, A&&... a) const {
    if (!holds) refuse(format, std::forward<A>(a)...);
  }

  // --- tensors ------------------------------------------------------------------------------------------------------
  const TensorDesc& desc(Endpoint e) const { return build.desc(e); }
  DType type(Endpoint e) const { return desc(e).dtype; }
  int64_t rank(Endpoint e) const { return build.rank(e); }
  /// The dimensions, unknown ones -1. Refuses unknown ranks.
  const Dims& dims(Endpoint e) const;
  /// A dimension that must be known; `what` says of what it is.
  int64_t size(Endpoint e, int64_t d, const char* what) const;
  /// A number of things that are written out one by one: refuses those that no model has.
  int64_t few(int64_t n, const char* what) const {
    require(n >= 0 && n <= 1 << 22, "{} are {}, too many to write out", what, n);
    return n;
  }
  /// The value where it is known, else null.
  const Tensor* value(Endpoint e) const { return build.value(e); }
  /// Values that must be known here.
  std::vector<int64_t> integers_of(Endpoint e, const char* what) const;
  std::vector<double> reals_of(Endpoint e, const char* what) const;
  /// An axis of `rank` dimensions, counted from 0.
  int64_t axis(int64_t axis, int64_t rank) const;

  /// What is known of a tensor that is one or the other; `what` it is.
  TensorDesc either(const TensorDesc& a, const TensorDesc& b, std::string_view what) const;

  // --- nodes --------------------------------------------------------------------------------------------------------
  /// A node that helps: it has the node's name with the type behind it.
  Endpoint emit(std::string_view type, const std::vector<Operand>& operands, Attributes attributes = {});
  graph::Node& node(std::string_view type, const std::vector<Operand>& operands, Attributes attributes = {},
                    size_t outputs = 1);

  Endpoint constant(Tensor value, std::string_view what = "const");
  Endpoint ints(const std::vector<int64_t>& values) { return constant(Tensor::of(values)); }
  Endpoint integer_scalar(int64_t value) { return constant(Tensor::of(value)); }
  /// One number of that type, without dimensions.
  Endpoint scalar(double value, DType type);
  Endpoint scalar_like(double value, Endpoint other) { return scalar(value, type(other)); }

  // --- what many converters need ------------------------------------------------------------------------------------
  Endpoint cast(Endpoint e, DType type);
  /// The shape of a tensor as INT64.
  Endpoint shape(Endpoint e);
  Endpoint reshape(Endpoint e, Endpoint shape);
  Endpoint reshape(Endpoint e, const Dims& shape) { return reshape(e, ints(shape)); }
  /// Dimensions of 1 put in or left out; constants are not copied.
  Endpoint unsqueeze(Endpoint e, const Dims& axes);
  Endpoint squeeze(Endpoint e, const Dims& axes);
  Endpoint transpose(Endpoint e, const Dims& order);
  Endpoint slice(Endpoint e, const Dims& begin, const Dims& end, const Dims& axes, const Dims& steps = {});
  Endpoint concat(const std::vector<Endpoint>& parts, int64_t axis);
  Endpoint gather(Endpoint e, Endpoint indices, int64_t axis);
  Endpoint add(Endpoint a, Endpoint b) { return emit("Add", {a, b}); }
  Endpoint sub(Endpoint a, Endpoint b) { return emit("Sub", {a, b}); }
  Endpoint mul(Endpoint a, Endpoint b) { return emit("Mul", {a, b}); }
  Endpoint div(Endpoint a, Endpoint b) { return emit("Div", {a, b}); }
  Endpoint add(Endpoint a, double b) { return add(a, scalar_like(b, a)); }
  Endpoint mul(Endpoint a, double b) { return mul(a, scalar_like(b, a)); }
};

/// In a handler: throws what was caught again, as a sentence about the model's node. Nodes that a converter made have
/// types of their own, which are named behind the model's.
[[noreturn]] void throw_of_node(const std::string& name, std::string_view type, const Error& caught);

/// One number of that type.
Tensor scalar_tensor(double value, DType type);
/// Numbers of that type.
Tensor numbers_tensor(const std::vector<double>& values, Dims dims, DType type);

/// bias + alpha / size * the sum of the squares of `size` channels around each: what divides in LRN.
Endpoint local_response_base(Emitter& c, Endpoint x, int64_t size, double alpha, double bias);

/// Sums of products by Einstein's notation ("bij,bjk->bik", "...i,i", "ii").
Endpoint einsum(Emitter& c, std::string equation, const std::vector<Endpoint>& inputs);

}  // namespace updraft::frontends
