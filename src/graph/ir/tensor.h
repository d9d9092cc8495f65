// A tensor of a graph: what is known of it before anything runs, and constants.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/bytes.h"
#include "tensor/dtype.h"

namespace updraft::graph {

class Attribute;
using Attributes = std::map<std::string, Attribute, std::less<>>;
using Dims = std::vector<int64_t>;

/// Memory formats by their numbers in the Ascend IR (aclFormat).
enum class Format : int32_t {
  Undefined = -1,
  NCHW = 0,
  NHWC = 1,
  ND = 2,
  NC1HWC0 = 3,
  FRACTAL_Z = 4,
  NC1HWC0_C04 = 12,
  HWCN = 16,
  NDHWC = 27,
  FRACTAL_NZ = 29,
  NCDHW = 30,
  NDC1HWC0 = 32,
  FRACTAL_Z_3D = 33,
  NC = 35,
  NCL = 47,
};
/// "NCHW"; numbers without a name are written as such.
std::string name_of(Format format);
/// The format of that name; Undefined where there is none.
Format format_named(std::string_view name);

inline constexpr int64_t kUnknownDim = -1;
/// The only dimension of a shape whose rank is unknown.
inline constexpr int64_t kUnknownRank = -2;

struct TensorDesc {
  std::string name;
  DType dtype = DType::Undefined;
  Dims dims;  ///< kUnknownDim where a size is unknown, {kUnknownRank} where the rank is
  Format format = Format::ND;
  Format origin_format = Format::ND;
  Dims origin_dims;
  /// Smallest and largest size of each dimension (-1: no upper bound); empty where nobody said.
  std::vector<std::pair<int64_t, int64_t>> ranges;
  bool on_host = false;  ///< the values lie on the host (device_type "CPU")

  TensorDesc() = default;
  TensorDesc(DType type, Dims d, Format f = Format::ND)
      : dtype(type), dims(std::move(d)), format(f), origin_format(f), origin_dims(dims) {}

  bool rank_known() const { return dims.size() != 1 || dims[0] != kUnknownRank; }
  /// All sizes are known.
  bool known() const;
  /// Elements; -1 where a size is unknown.
  int64_t count() const;
};

/// A constant.
struct Tensor {
  DType dtype = DType::Undefined;
  Dims dims;
  Bytes data;  ///< row-major, little-endian; empty where the constant lies in a file of its own
  Format format = Format::ND;

  int64_t count() const;
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data.data());
  }
  /// A scalar, or a vector, of whole numbers.
  static Tensor of(int64_t value);
  static Tensor of(const std::vector<int64_t>& values);
  static Tensor of_int32(const std::vector<int32_t>& values);
  static Tensor of(float value);
  static Tensor of(const std::vector<float>& values);
  /// Its values as integers; of floating types truncated. Throws 161002 for types without numbers.
  std::vector<int64_t> integers() const;
  std::vector<double> reals() const;
};

/// The product of sizes; -1 where one is unknown. Throws 161002 when it does not fit in 63 bits.
int64_t count_of(const Dims& dims);
/// "[2, 3, -1]".
std::string describe(const Dims& dims);
/// "FLOAT[2, 3]".
std::string describe(const TensorDesc& desc);

}  // namespace updraft::graph
