// The parameters of an operator as data, and the values that a call gives them. One ACLNN(...) (ops/op.h) makes the
// table of an operator; everything that calls, checks, records or describes operators reads it.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "tensor/direction.h"

struct aclTensor;
struct aclTensorList;
struct aclScalar;
struct aclScalarList;
struct aclIntArray;
struct aclFloatArray;
struct aclBoolArray;

namespace updraft {

/// What a parameter holds.
enum class Kind : uint8_t {
  Tensor,    ///< const aclTensor*
  Tensors,   ///< const aclTensorList*
  Scalar,    ///< const aclScalar*
  Scalars,   ///< const aclScalarList*
  Ints,      ///< const aclIntArray*
  Floats,    ///< const aclFloatArray*
  Bools,     ///< const aclBoolArray*
  Text,      ///< const char*, ends with a zero byte
  Bool,      ///< bool
  Int,       ///< int64_t
  UInt,      ///< uint64_t
  Int32,     ///< int32_t
  Int8,      ///< int8_t
  Double,    ///< double
  Float,     ///< float
  Type,      ///< aclDataType
  Texts,     ///< const std::vector<std::string>*, of graph operators only
  IntLists,  ///< const std::vector<std::vector<int64_t>>*, of graph operators only
};

constexpr bool is_tensor(Kind kind) { return kind == Kind::Tensor || kind == Kind::Tensors; }
/// True for what the C interface passes as a pointer to an object of its own.
constexpr bool is_handle(Kind kind) { return kind <= Kind::Bools; }
constexpr bool is_real(Kind kind) { return kind == Kind::Double || kind == Kind::Float; }

struct Parameter {
  const char* name;
  const char* type;  ///< as ACLNN has it: "OptIn"
  Kind kind;
  Direction direction;
  bool optional;  ///< may be null

  constexpr bool read() const { return is_read(direction); }
  constexpr bool written() const { return is_written(direction); }
};

/// What an attribute of a graph operator (ops/ir_op.h) is when nobody gives it.
struct Default {
  enum class Is : uint8_t { Required, Number, Text, Numbers };
  Is is = Is::Required;
  uint8_t count = 0;           ///< of numbers
  const char* text = nullptr;  ///< of a text
  double numbers[8] = {};      ///< numbers[0]: an integer, bool, real or data type
};

/// The value of a parameter. It owns nothing: what it points to belongs to who makes the call.
class Value {
 public:
  constexpr Value() : pointer_(nullptr) {}
  constexpr Value(const void* pointer) : pointer_(pointer) {}
  constexpr Value(bool value) : integer_(value) {}
  constexpr Value(int64_t value) : integer_(value) {}
  constexpr Value(uint64_t value) : integer_(static_cast<int64_t>(value)) {}
  constexpr Value(int32_t value) : integer_(value) {}
  constexpr Value(int8_t value) : integer_(value) {}
  constexpr Value(double value) : real_(value) {}
  constexpr Value(float value) : real_(static_cast<double>(value)) {}

  const void* pointer() const { return pointer_; }
  const aclTensor* tensor() const { return static_cast<const aclTensor*>(pointer_); }
  const aclTensorList* tensors() const { return static_cast<const aclTensorList*>(pointer_); }
  const aclScalar* scalar() const { return static_cast<const aclScalar*>(pointer_); }
  const aclScalarList* scalars() const { return static_cast<const aclScalarList*>(pointer_); }
  const aclIntArray* ints() const { return static_cast<const aclIntArray*>(pointer_); }
  const aclFloatArray* floats() const { return static_cast<const aclFloatArray*>(pointer_); }
  const aclBoolArray* bools() const { return static_cast<const aclBoolArray*>(pointer_); }
  const char* text() const { return static_cast<const char*>(pointer_); }
  const std::vector<std::string>& texts() const { return *static_cast<const std::vector<std::string>*>(pointer_); }
  const std::vector<std::vector<int64_t>>& int_lists() const {
    return *static_cast<const std::vector<std::vector<int64_t>>*>(pointer_);
  }
  int64_t integer() const { return integer_; }
  double real() const { return real_; }

 private:
  union {
    const void* pointer_;
    int64_t integer_;
    double real_;
  };
};

}  // namespace updraft
