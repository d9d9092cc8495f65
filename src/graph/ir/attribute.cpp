#include "graph/ir/attribute.h"

#include "graph/ir/graph.h"

namespace updraft::graph {

Attribute::Attribute() = default;
Attribute::Attribute(const Attribute&) = default;
Attribute::Attribute(Attribute&&) noexcept = default;
Attribute& Attribute::operator=(const Attribute&) = default;
Attribute& Attribute::operator=(Attribute&&) noexcept = default;
Attribute::~Attribute() = default;
Attribute::Attribute(Value value) : value_(std::move(value)) {}
Attribute::Attribute(int64_t value) : value_(value) {}
Attribute::Attribute(int value) : value_(static_cast<int64_t>(value)) {}
Attribute::Attribute(float value) : value_(value) {}
Attribute::Attribute(bool value) : value_(value) {}
Attribute::Attribute(const char* value) : value_(std::string(value)) {}
Attribute::Attribute(std::string value) : value_(std::move(value)) {}
Attribute::Attribute(DType value) : value_(value) {}
Attribute::Attribute(Tensor value) : value_(std::move(value)) {}
Attribute::Attribute(Integers value) : value_(std::move(value)) {}
Attribute::Attribute(Texts value) : value_(std::move(value)) {}
Attribute::Attribute(std::vector<float> value) : value_(std::move(value)) {}
Attribute::Attribute(IntegerLists value) : value_(std::move(value)) {}

const char* Attribute::kind() const {
  static constexpr const char* kNames[] = {"an empty list",
                                           "an integer",
                                           "a float",
                                           "a bool",
                                           "a text",
                                           "bytes",
                                           "a data type",
                                           "a tensor's description",
                                           "a tensor",
                                           "a graph",
                                           "a function",
                                           "a list of integers",
                                           "a list of floats",
                                           "a list of bools",
                                           "a list of texts",
                                           "a list of bytes",
                                           "a list of data types",
                                           "a list of tensors' descriptions",
                                           "a list of tensors",
                                           "a list of graphs",
                                           "a list of functions",
                                           "lists of integers",
                                           "lists of floats"};
  static_assert(std::size(kNames) == std::variant_size_v<Value>);
  return kNames[value_.index()];
}

}  // namespace updraft::graph
