// An argument of an operator or a task as observers see it: a value of its own, whatever interface it came by.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensor/direction.h"
#include "tensor/view.h"

namespace updraft {

struct TensorArgument {
  TensorView view;          ///< its data is where this process may read it, during the callbacks of the task
  int32_t format = 2;       ///< aclFormat; 2 is ND
  void* storage = nullptr;  ///< the base as the client has it, null where only the view is known
  int64_t offset = 0;       ///< elements from the storage's base to the view's first
  bool on_host = false;     ///< a constant that the client keeps on the host
};

/// A scalar in the type that the client gave it.
struct ScalarArgument {
  DType dtype = DType::Undefined;
  alignas(16) unsigned char bytes[16] = {};
};

/// What has no value: an optional argument that is absent, a null element of a list, an empty list.
struct AbsentArgument {};

struct Argument {
  using Value = std::variant<AbsentArgument, TensorArgument, ScalarArgument, bool, int64_t, double, DType, std::string,
                             std::vector<bool>, std::vector<int64_t>, std::vector<double>, std::vector<DType>,
                             std::vector<std::string>, std::vector<std::vector<int64_t>>>;

  const char* name = "";  ///< of the parameter or attribute; "" where the interface has none. Never null
  Direction direction = Direction::In;
  int32_t item = -1;  ///< lists come as an argument for each element: its place in the list; -1: no element of a list
  Value value;

  bool absent() const { return std::holds_alternative<AbsentArgument>(value); }
  /// Null when it is no tensor.
  const TensorArgument* tensor() const { return std::get_if<TensorArgument>(&value); }
};

/// "self=FLOAT[2,3]", "->out=FLOAT[2,3]", "<->selfRef=…", "alpha=0.5", "dims=[0,1]", "mask=none", "tensors[2]=…".
std::string describe(const Argument& argument);

/// The arguments of a task while observers look at them: the task's own, or made for them.
class ArgumentList {
 public:
  /// The task keeps them.
  void refer_to(std::span<const Argument> kept) {
    kept_ = kept;
    known_ = true;
  }
  /// Makes one. `name` must live as long as the task.
  void add(const char* name, Direction direction, Argument::Value value, int32_t item = -1) {
    made_.push_back({name, direction, item, std::move(value)});
    known_ = true;
  }
  /// Bytes at an address, as a tensor of uint8.
  void add_bytes(const char* name, Direction direction, const void* data, size_t bytes);

  /// False when the task does not know them: it was planned while nobody observed arguments.
  bool known() const { return known_; }
  std::span<const Argument> all() const { return made_.empty() ? kept_ : std::span<const Argument>(made_); }

 private:
  std::span<const Argument> kept_;
  std::vector<Argument> made_;
  bool known_ = false;
};

}  // namespace updraft
