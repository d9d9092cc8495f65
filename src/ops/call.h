// A call of an operator by its name, with arguments by the names of its parameters: for tools, tests and graphs. It
// owns copies of everything but the tensors' memory.
//
//   OpCall call("aclnnAdd");
//   call.add_tensor("self", {DType::Float, {2, 3}, {}, self});
//   call.add_tensor("other", {DType::Float, {3}, {}, other});
//   call.set("alpha", int64_t{1});
//   call.ask("out");                                     // infer() gives its shape and type
#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ops/infer.h"
#include "ops/op.h"

namespace updraft {

class Stream;

/// The operator of that name ("aclnnAdd"), or the graph operator of that type ("Add"). Throws 161002 when there is
/// none, with the names that look like it.
const OpInfo& operator_named(std::string_view name);
/// The parameter of that name, else null.
const Parameter* find_parameter(const OpInfo& info, std::string_view name);

/// True for operators that wait for other ranks (ops/exchange.h): OpCall::run() is the one way to run them.
bool waits_for_ranks(const OpInfo& info);

/// A tensor of a call.
struct CallTensor {
  DType dtype = DType::Undefined;
  std::vector<int64_t> dims = {};       ///< -1: unknown (infer() only); of results the largest, where there is one
  std::vector<int64_t> strides = {};    ///< in elements; empty: contiguous
  void* data = nullptr;                 ///< as clients see it; null while only shapes are asked for
  bool on_host = false;                 ///< `data` is memory of the host, whose values a plan may read
  ConstantOperand* constant = nullptr;  ///< as aclTensor::constant
  bool absent = false;                  ///< a place of a list without a tensor
  std::vector<Dim> bounds = {};  ///< what infer() found, where sizes are unknown or values decide them; else empty
};

class OpCall {
 public:
  /// operator_named(); attributes of graph operators have their defaults.
  explicit OpCall(std::string_view name);
  explicit OpCall(const OpInfo& info);
  OpCall(const OpCall&) = delete;

  const OpInfo& info() const { return info_; }

  /// These throw 161002 when there is no such parameter or when it is of another kind.
  /// A tensor, or the next one of a list.
  void add_tensor(std::string_view parameter, CallTensor tensor);
  /// A place of a list without a tensor; a list without tensors.
  void add_absent(std::string_view parameter);
  void set_empty(std::string_view parameter);
  /// An output, or the next one of a list, whose shape and type infer() is to find.
  void ask(std::string_view parameter);
  /// A number, a bool, a type or a scalar. Whole numbers make INT64 scalars, others DOUBLE ones.
  void set(std::string_view parameter, int64_t value);
  void set(std::string_view parameter, double value);
  void set(std::string_view parameter, bool value);
  void set(std::string_view parameter, std::string text);
  /// Arrays of integers, bools or floats, and lists of scalars.
  void set(std::string_view parameter, std::vector<int64_t> values);
  void set(std::string_view parameter, std::vector<double> values);
  /// Texts and lists of integers, of graph operators.
  void set(std::string_view parameter, std::vector<std::string> values);
  void set(std::string_view parameter, std::vector<std::vector<int64_t>> values);

  /// Shapes and types of what was asked for; with unknown sizes see ops/infer.h. Throws what infer() throws.
  void infer();
  /// Tensors of a parameter, after infer() with what it found.
  const std::vector<CallTensor>& tensors(std::string_view parameter) const;
  /// Type and sizes of tensor `i` of a parameter. Where values decide a size, run() and the stream make it known.
  Shape shape(std::string_view parameter, size_t i) const;
  /// Gives tensor `i` of a parameter its memory.
  void place(std::string_view parameter, size_t i, void* data);
  /// Throws what run() would refuse of the arguments; they need no memory, and nothing runs.
  void plan() const;
  /// Puts the call on the stream. Throws the operator's refusal.
  void run(Stream& stream);
  /// The same, and waits: then shape() knows the sizes that values decide.
  void run_and_wait(Stream& stream);
  /// The plan, for who runs it more than once: it works on the memory that the tensors have now. To be given back by
  /// recycle_executor().
  aclOpExecutor* make() const;
  /// Runs it at once, in the calling thread, on memory of the library: the values of all inputs are there.
  void run_here();

 private:
  struct Argument {
    bool given = false;
    std::vector<CallTensor> tensors;
    std::vector<int64_t> integers;
    std::vector<double> reals;
    std::string text;
    std::vector<std::string> texts;
    std::vector<std::vector<int64_t>> int_lists;
    bool real = false;     ///< the number or the numbers are in `reals`
    bool boolean = false;  ///< the integer is a bool
  };
  /// Handles made of the arguments for one use.
  struct Handles;
  class WaitedTask;

  size_t position(std::string_view parameter) const;
  Argument& argument(std::string_view parameter, const char* what, std::initializer_list<Kind> kinds);
  void fill(Handles& handles) const;

  const CallTensor& tensor(std::string_view parameter, size_t i) const;

  /// The handle of a result whose size the values decide: the work writes the size into it.
  class Result;

  const OpInfo& info_;
  std::vector<Argument> arguments_;  ///< in the order of the parameters
  std::map<const CallTensor*, std::shared_ptr<Result>> results_;
};

}  // namespace updraft
