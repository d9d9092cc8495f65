// Operators and runs that tests of the C++ interface share.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "ge/ge_api.h"

namespace ge {

inline std::string last_error() { return GEGetErrorMsg(); }

inline TensorDesc described_as(const std::vector<int64_t>& dims, DataType type = DT_FLOAT) {
  return TensorDesc(Shape(dims), FORMAT_ND, type);
}

inline Operator data(const char* name, const std::vector<int64_t>& dims, DataType type = DT_FLOAT) {
  Operator made(name, "Data");
  made.UpdateOutputDesc("y", described_as(dims, type));
  return made;
}

template <class T>
Tensor host_tensor(const std::vector<int64_t>& dims, const std::vector<T>& values, DataType type = DT_FLOAT) {
  return {described_as(dims, type), reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)};
}

template <class T = float>
Operator constant(const char* name, const std::vector<int64_t>& dims, const std::vector<T>& values,
                  DataType type = DT_FLOAT) {
  return Operator(name, "Const").SetAttr("value", host_tensor(dims, values, type));
}

/// An operator of one or two inputs.
inline Operator node(const char* name, const char* type, const char* input, const Operator& x,
                     const char* second = nullptr, const Operator& other = Operator()) {
  Operator made(name, type);
  made.SetInput(input, x);
  if (second) made.SetInput(second, other);
  return made;
}

inline std::vector<float> floats(const Tensor& tensor) {
  std::vector<float> values(tensor.GetSize() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), tensor.GetData(), tensor.GetSize());
  return values;
}

/// The first output of graph `id`; empty where the run fails.
inline std::vector<float> run(Session& session, uint32_t id, const std::vector<Tensor>& inputs = {}) {
  std::vector<Tensor> outputs;
  if (session.RunGraph(id, inputs, outputs) != SUCCESS || outputs.empty()) return {};
  return floats(outputs[0]);
}

}  // namespace ge
