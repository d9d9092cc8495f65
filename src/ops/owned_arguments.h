// Objects behind the values of a call that the library makes itself. They stay where they are while others are added.
#pragma once
#include <cstring>
#include <deque>

#include "ops/handles.h"

namespace updraft {

struct OwnedArguments {
  std::deque<aclTensor> tensors;
  std::deque<aclTensorList> lists;
  std::deque<aclScalar> scalars;
  std::deque<aclScalarList> scalar_lists;
  std::deque<aclIntArray> ints;
  std::deque<aclFloatArray> floats;
  std::deque<aclBoolArray> bools;

  /// An INT64 scalar, or a BOOL one.
  aclScalar& scalar(int64_t value, bool boolean) {
    aclScalar& s = scalars.emplace_back();
    s.dtype = boolean ? DType::Bool : DType::Int64;
    std::memcpy(s.bytes, &value, sizeof value);
    return s;
  }
  /// A DOUBLE scalar.
  aclScalar& scalar(double value) {
    aclScalar& s = scalars.emplace_back();
    s.dtype = DType::Double;
    std::memcpy(s.bytes, &value, sizeof value);
    return s;
  }
};

}  // namespace updraft
