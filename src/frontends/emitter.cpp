#include "frontends/emitter.h"

#include <algorithm>
#include <cstring>

namespace updraft::frontends {

const Dims& Emitter::dims(Endpoint e) const {
  rank(e);
  return desc(e).dims;
}

int64_t Emitter::size(Endpoint e, int64_t d, const char* what) const {
  const Dims& all = dims(e);
  require(d < static_cast<int64_t>(all.size()), "{} is {}, want {} dimensions or more", what, describe(all), d + 1);
  const int64_t n = all[static_cast<size_t>(d)];
  require(n >= 0, "{} is {}: dimension {} must be known here (give the input's shape)", what, describe(all), d);
  return n;
}

std::vector<int64_t> Emitter::integers_of(Endpoint e, const char* what) const {
  const Tensor* t = value(e);
  require(t, "{} is computed while the graph runs, want a value that is known before", what);
  return t->integers();
}
std::vector<double> Emitter::reals_of(Endpoint e, const char* what) const {
  const Tensor* t = value(e);
  require(t, "{} is computed while the graph runs, want a value that is known before", what);
  return t->reals();
}

int64_t Emitter::axis(int64_t at, int64_t of) const {
  require(at >= -of && at < of, "axis {} of {} dimensions", at, of);
  return at < 0 ? at + of : at;
}

graph::Node& Emitter::node(std::string_view type, const std::vector<Operand>& operands, Attributes attributes,
                           size_t outputs) {
  return build.node(type, name + "/" + std::string(type), operands, std::move(attributes), outputs);
}
Endpoint Emitter::emit(std::string_view type, const std::vector<Operand>& operands, Attributes attributes) {
  return node(type, operands, std::move(attributes)).out();
}
Endpoint Emitter::constant(Tensor value, std::string_view what) {
  return build.constant(name + "/" + std::string(what), std::move(value));
}

namespace {

template <class T>
Tensor numbers_as(const std::vector<double>& values, Dims dims, DType type) {
  return {type, std::move(dims), graph::Bytes::make(values.size() * sizeof(T), [&](std::byte* to) {
            for (size_t i = 0; i < values.size(); ++i) {
              T v;
              if constexpr (std::is_arithmetic_v<T>) v = static_cast<T>(values[i]);
              else v = T(static_cast<float>(values[i]));
              std::memcpy(to + i * sizeof(T), &v, sizeof v);
            }
          })};
}

}  // namespace

Tensor numbers_tensor(const std::vector<double>& values, Dims dims, DType type) {
  switch (type) {
    case DType::Float: return numbers_as<float>(values, std::move(dims), type);
    case DType::Double: return numbers_as<double>(values, std::move(dims), type);
    case DType::Float16: return numbers_as<Half>(values, std::move(dims), type);
    case DType::BFloat16: return numbers_as<BFloat16>(values, std::move(dims), type);
    case DType::Int8: return numbers_as<int8_t>(values, std::move(dims), type);
    case DType::Int16: return numbers_as<int16_t>(values, std::move(dims), type);
    case DType::Int32: return numbers_as<int32_t>(values, std::move(dims), type);
    case DType::Int64: return numbers_as<int64_t>(values, std::move(dims), type);
    case DType::UInt8: return numbers_as<uint8_t>(values, std::move(dims), type);
    case DType::UInt16: return numbers_as<uint16_t>(values, std::move(dims), type);
    case DType::UInt32: return numbers_as<uint32_t>(values, std::move(dims), type);
    case DType::UInt64: return numbers_as<uint64_t>(values, std::move(dims), type);
    case DType::Bool: return numbers_as<bool>(values, std::move(dims), type);
    default: throw Error(code::kAclnnParamInvalid, "a constant of type {} has no numbers", updraft::name_of(type));
  }
}
Tensor scalar_tensor(double value, DType type) { return numbers_tensor({value}, {}, type); }

Endpoint Emitter::scalar(double value, DType type) { return constant(scalar_tensor(value, type)); }

// --- what many converters need --------------------------------------------------------------------------------------

Endpoint Emitter::cast(Endpoint e, DType to) {
  return type(e) == to ? e : emit("Cast", {e}, {{"dst_type", static_cast<int64_t>(to)}});
}
Endpoint Emitter::shape(Endpoint e) { return emit("Shape", {e}, {{"dtype", DType::Int64}}); }
Endpoint Emitter::reshape(Endpoint e, Endpoint to) { return emit("Reshape", {e, to}); }

Endpoint Emitter::unsqueeze(Endpoint e, const Dims& axes) {
  if (const Tensor* t = graph::constant_at(e)) {
    Tensor other = *t;
    Dims at = axes;
    const auto rank = static_cast<int64_t>(t->dims.size() + axes.size());
    for (int64_t& a : at) a = axis(a, rank);
    std::sort(at.begin(), at.end());
    for (int64_t a : at) other.dims.insert(other.dims.begin() + a, 1);
    return constant(std::move(other), "unsqueezed");
  }
  return emit("Unsqueeze", {e}, {{"axes", axes}});
}
Endpoint Emitter::squeeze(Endpoint e, const Dims& axes) { return emit("Squeeze", {e}, {{"axis", axes}}); }
Endpoint Emitter::transpose(Endpoint e, const Dims& order) { return emit("Transpose", {e, ints(order)}); }

Endpoint Emitter::slice(Endpoint e, const Dims& begin, const Dims& end, const Dims& axes, const Dims& steps) {
  return emit("StridedSliceV2",
              {e, ints(begin), ints(end), ints(axes), ints(steps.empty() ? Dims(begin.size(), 1) : steps)});
}
Endpoint Emitter::concat(const std::vector<Endpoint>& parts, int64_t along) {
  return emit("ConcatV2", {parts, integer_scalar(along)}, {{"N", static_cast<int64_t>(parts.size())}});
}
Endpoint Emitter::gather(Endpoint e, Endpoint indices, int64_t along) {
  return emit("GatherV2", {e, indices, integer_scalar(along)}, {{"negative_index_support", true}});
}

TensorDesc Emitter::either(const TensorDesc& a, const TensorDesc& b, std::string_view what) const {
  require(a.dtype == b.dtype, "{} is {} or {}, want one type", what, describe(a), describe(b));
  TensorDesc both = a;
  if (!a.rank_known() || !b.rank_known() || a.dims.size() != b.dims.size()) both.dims = {graph::kUnknownRank};
  else
    for (size_t d = 0; d < both.dims.size(); ++d)
      if (a.dims[d] != b.dims[d]) both.dims[d] = graph::kUnknownDim;
  both.origin_dims = both.dims;
  return both;
}

void throw_of_node(const std::string& name, std::string_view type, const Error& caught) {
  const std::string_view text = caught.text(), own = name;
  auto refuse = [&](const std::string& why) { throw Error(code::kAclnnParamInvalid, "{} ({}): {}", name, type, why); };
  if (text.starts_with(own) && text.substr(own.size()).starts_with(" (") &&
      !text.substr(own.size() + 2).starts_with(fmt::format("{})", type))) {
    const std::string_view rest = text.substr(own.size() + 2);
    const size_t end = rest.find("): ");
    if (end != std::string_view::npos) refuse(fmt::format("as {}: {}", rest.substr(0, end), rest.substr(end + 3)));
  }
  if (text.find(own) == std::string_view::npos) refuse(std::string(text));
  throw;
}

}  // namespace updraft::frontends
