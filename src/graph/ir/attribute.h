// Attributes of nodes, graphs and models, of all kinds that the Ascend IR has.
#pragma once
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "graph/ir/tensor.h"

namespace updraft::graph {

class Graph;

/// A function with its attributes.
struct NamedAttributes {
  std::string name;
  Attributes values;
};

class Attribute {
 public:
  using Texts = std::vector<std::string>;
  using Integers = std::vector<int64_t>;
  using IntegerLists = std::vector<std::vector<int64_t>>;
  using RealLists = std::vector<std::vector<float>>;
  /// monostate: a list without elements, whose kind nobody knows.
  using Value =
      std::variant<std::monostate, int64_t, float, bool, std::string, Bytes, DType, TensorDesc, Tensor,
                   std::shared_ptr<const Graph>, NamedAttributes, Integers, std::vector<float>, std::vector<bool>,
                   Texts, std::vector<Bytes>, std::vector<DType>, std::vector<TensorDesc>, std::vector<Tensor>,
                   std::vector<std::shared_ptr<const Graph>>, std::vector<NamedAttributes>, IntegerLists, RealLists>;

  // Not here: each source that copies one would have the code for all kinds.
  Attribute();
  Attribute(const Attribute&);
  Attribute(Attribute&&) noexcept;
  Attribute& operator=(const Attribute&);
  Attribute& operator=(Attribute&&) noexcept;
  ~Attribute();
  Attribute(Value value);
  Attribute(int64_t value);
  Attribute(int value);
  Attribute(float value);
  Attribute(bool value);
  Attribute(const char* value);
  Attribute(std::string value);
  Attribute(DType value);
  Attribute(Tensor value);
  Attribute(Integers value);
  Attribute(Texts value);
  Attribute(std::vector<float> value);
  Attribute(IntegerLists value);

  const Value& value() const { return value_; }
  template <class T>
  const T* get() const {
    return std::get_if<T>(&value_);
  }
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(value_);
  }
  /// "an integer", "a list of texts": for messages.
  const char* kind() const;

 private:
  Value value_;
};

/// The attribute of that name when it has the kind T, else null.
template <class T>
const T* find(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : found->second.get<T>();
}
/// The same, or `other` where there is none.
template <class T>
T find_or(const Attributes& attributes, std::string_view name, T other) {
  const T* found = find<T>(attributes, name);
  return found ? *found : other;
}

}  // namespace updraft::graph
