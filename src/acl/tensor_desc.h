// What the aclop-era handles hold.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "tensor/dtype.h"

struct aclTensorDesc {
  updraft::DType dtype;
  std::vector<int64_t> dims;
  int32_t format = 2;
  int32_t storage_format = -1;
  std::vector<int64_t> storage_dims;
  std::string name;
  int32_t placement = 0;  ///< aclMemType: 1 and 2 mean that the data is on the host
  std::string constant;   ///< aclSetTensorConst
  std::vector<std::pair<int64_t, int64_t>> range;
};

struct aclDataBuffer {
  void* data;
  size_t size;
};

struct aclopAttr {
  using Value = std::variant<bool, int64_t, float, std::string, int32_t /* data type */, std::vector<uint8_t>,
                             std::vector<int64_t>, std::vector<float>, std::vector<std::string>,
                             std::vector<std::vector<int64_t>>>;
  std::map<std::string, Value> values;
};

namespace updraft {
/// The object behind a handle; throws 100000 when it is null or not a live one.
aclTensorDesc& live(const aclTensorDesc* handle);
const aclDataBuffer& live(const aclDataBuffer* handle);
const aclopAttr& live(const aclopAttr* handle);
}  // namespace updraft
