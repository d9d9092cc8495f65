#include "graph/ir/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace updraft::graph {
namespace {

struct NamedFormat {
  Format format;
  const char* name;
};
constexpr NamedFormat kFormats[] = {{Format::Undefined, "RESERVED"},
                                    {Format::NCHW, "NCHW"},
                                    {Format::NHWC, "NHWC"},
                                    {Format::ND, "ND"},
                                    {Format::NC1HWC0, "NC1HWC0"},
                                    {Format::FRACTAL_Z, "FRACTAL_Z"},
                                    {Format::NC1HWC0_C04, "NC1HWC0_C04"},
                                    {Format::HWCN, "HWCN"},
                                    {Format::NDHWC, "NDHWC"},
                                    {Format::FRACTAL_NZ, "FRACTAL_NZ"},
                                    {Format::NCDHW, "NCDHW"},
                                    {Format::NDC1HWC0, "NDC1HWC0"},
                                    {Format::FRACTAL_Z_3D, "FRACTAL_Z_3D"},
                                    {Format::NC, "NC"},
                                    {Format::NCL, "NCL"}};

template <class T>
Tensor vector_of(DType dtype, Dims dims, const std::vector<T>& values) {
  return {dtype, std::move(dims), Bytes::copy_of(values.data(), values.size() * sizeof(T))};
}

/// A real number as R, which may be an integer: NaN is 0 then, and what is too large the end of R.
template <class R>
R number(double value) {
  if constexpr (std::is_integral_v<R>) {
    if (std::isnan(value)) return 0;
    if (value >= static_cast<double>(std::numeric_limits<R>::max())) return std::numeric_limits<R>::max();
    if (value <= static_cast<double>(std::numeric_limits<R>::min())) return std::numeric_limits<R>::min();
  }
  return static_cast<R>(value);
}

template <class R>
std::vector<R> numbers(const Tensor& t) {
  std::vector<R> result;
  const auto n = static_cast<size_t>(t.count());
  if (t.data.size() < n * size_of(t.dtype))
    throw Error(code::kAclnnParamInvalid, "a constant {}{} has {} bytes, want {}", updraft::name_of(t.dtype),
                describe(t.dims), t.data.size(), n * size_of(t.dtype));
  result.reserve(n);
  auto read = [&]<class T>() {
    for (size_t i = 0; i < n; ++i) {
      T value;
      std::memcpy(&value, t.data.data() + i * sizeof(T), sizeof(T));
      if constexpr (std::is_integral_v<T>) result.push_back(static_cast<R>(value));
      else if constexpr (std::is_floating_point_v<T>) result.push_back(number<R>(value));
      else result.push_back(number<R>(static_cast<float>(value)));
    }
  };
  switch (t.dtype) {
    case DType::Float: read.template operator()<float>(); break;
    case DType::Double: read.template operator()<double>(); break;
    case DType::Float16: read.template operator()<Half>(); break;
    case DType::BFloat16: read.template operator()<BFloat16>(); break;
    case DType::Int8: read.template operator()<int8_t>(); break;
    case DType::Int16: read.template operator()<int16_t>(); break;
    case DType::Int32: read.template operator()<int32_t>(); break;
    case DType::Int64: read.template operator()<int64_t>(); break;
    case DType::UInt8:
    case DType::Bool: read.template operator()<uint8_t>(); break;
    case DType::UInt16: read.template operator()<uint16_t>(); break;
    case DType::UInt32: read.template operator()<uint32_t>(); break;
    case DType::UInt64: read.template operator()<uint64_t>(); break;
    default: throw Error(code::kAclnnParamInvalid, "a constant of type {} has no numbers", updraft::name_of(t.dtype));
  }
  return result;
}

}  // namespace

std::string name_of(Format format) {
  for (const NamedFormat& f : kFormats)
    if (f.format == format) return f.name;
  return std::to_string(static_cast<int32_t>(format));
}

Format format_named(std::string_view name) {
  for (const NamedFormat& f : kFormats)
    if (name == f.name) return f.format;
  return Format::Undefined;
}

int64_t count_of(const Dims& dims) {
  int64_t n = 1;
  bool unknown = false, empty = false;
  for (int64_t d : dims) {
    if (d < 0) unknown = true;
    else if (d == 0) empty = true;
    else if (__builtin_mul_overflow(n, d, &n))
      throw Error(code::kAclnnParamInvalid, "shape {} has more elements than 63 bits count", describe(dims));
  }
  return unknown ? -1 : empty ? 0 : n;
}

bool TensorDesc::known() const {
  return std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d >= 0; });
}
int64_t TensorDesc::count() const { return count_of(dims); }
int64_t Tensor::count() const { return count_of(dims); }

Tensor Tensor::of(int64_t value) { return {DType::Int64, {}, Bytes::copy_of(&value, sizeof value)}; }
Tensor Tensor::of(float value) { return {DType::Float, {}, Bytes::copy_of(&value, sizeof value)}; }
Tensor Tensor::of(const std::vector<int64_t>& values) {
  return vector_of(DType::Int64, {static_cast<int64_t>(values.size())}, values);
}
Tensor Tensor::of_int32(const std::vector<int32_t>& values) {
  return vector_of(DType::Int32, {static_cast<int64_t>(values.size())}, values);
}
Tensor Tensor::of(const std::vector<float>& values) {
  return vector_of(DType::Float, {static_cast<int64_t>(values.size())}, values);
}

std::vector<int64_t> Tensor::integers() const { return numbers<int64_t>(*this); }
std::vector<double> Tensor::reals() const { return numbers<double>(*this); }

std::string describe(const Dims& dims) { return fmt::format("[{}]", fmt::join(dims, ", ")); }
std::string describe(const TensorDesc& desc) { return updraft::name_of(desc.dtype) + describe(desc.dims); }

}  // namespace updraft::graph
