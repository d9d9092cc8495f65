// Operators by their Ascend IR types ("Add", "MatMulV2"): those of graphs and of the aclop interface. They are
// operators like those of ACLNN, without C functions; beside tensors they have attributes, whose defaults stand in the
// list:
//
//   IR_OP(ReduceSum, aclnnReduceSum, (In, x), (In, axes), (Out, y), (Bool, keep_dims, false)) {
//     call(op, "aclnnReduceSum", x, op.integers("axes", axes.handle), keep_dims, x->dtype, y);
//   }
//
// Names of tensors and attributes are those of the IR, in its order: inputs, outputs, attributes. A list is a dynamic
// input, ir_ before a name is no part of it (for names that C++ has taken); InOut is an input that is updated in place
// and an output, too. The second argument is the operator whose ABOUT tells unit and summary (its own type where
// an ABOUT stands beside it). The plan is made of steps, calls of other operators, and of launch() as anywhere. An
// attribute that is not honoured is refused, by its name.
#pragma once
#include <string_view>

#include "ops/op.h"

namespace updraft {

/// All graph operators, for tables and tests.
const OpInfo* first_ir_op();
/// The graph operator of that type, else null.
const OpInfo* find_ir_op(std::string_view type);
/// The operator of that name, of graphs or not, else null.
const OpInfo* find_any_op(std::string_view name);
OpInfo* register_ir_op(OpInfo* info);

/// Where an input that is updated stands among the outputs, when that is not in the order of the inputs:
/// (InOut, mean), …, (Out, y), (Ref, ir_mean). It never has a value.
struct Ref {
  static constexpr Kind kKind = Kind::Tensor;
  static constexpr Direction kDirection = Direction::Out;
  static constexpr bool kOptional = true;
  aclTensor* handle;
};
/// Inputs and outputs of a graph operator in the order in which clients give them.
std::vector<const Parameter*> ir_inputs(const OpInfo& info);
std::vector<const Parameter*> ir_outputs(const OpInfo& info);

/// The numbers that a tensor holds, as Op::integers() gives integers.
std::vector<double> numbers_of(const Op& op, const char* name, const aclTensor* tensor);
/// The same of tensors of one element.
double number_of(const Op& op, const char* name, const aclTensor* tensor);
int64_t integer_of(const Op& op, const char* name, const aclTensor* tensor);

/// Memory between two steps. The step that writes it finds its shape, and its type unless that is asked for.
struct Temp {
  TensorView view;
  Temp() = default;
  explicit Temp(DType type) { view.dtype = type; }
  const TensorView& operator*() const { return view; }
  const TensorView* operator->() const { return &view; }
};

/// A view of a tensor whose values may stay as they are from run to run (aclTensor::constant): what is prepared for a
/// step then stays, too.
struct ViewOf {
  TensorView view;
  ConstantOperand* constant;
  ViewOf(const TensorView& v, const aclTensor& of) : view(v), constant(of.constant) {}
};

/// Arguments of a step: tensors and views, numbers, texts, vectors for arrays, nullptr for what is absent, a Temp for
/// what a later step reads. A pointer to a view is an output in another order of dimensions than the operator's own:
/// while inferring the step gives it its shape. What a parameter wants decides how a number is passed.
class StepArgument {
 public:
  // Those that are no handle are defined elsewhere: operators would have their code for each call.
  StepArgument(std::nullptr_t) : StepArgument(Pointer{nullptr}) {}
  StepArgument(In v) : StepArgument(Pointer{v.handle}) {}
  StepArgument(OptIn v) : StepArgument(Pointer{v.handle}) {}
  StepArgument(Out v) : StepArgument(Pointer{v.handle}) {}
  StepArgument(OptOut v) : StepArgument(Pointer{v.handle}) {}
  StepArgument(InOut v) : StepArgument(Pointer{v.handle}) {}
  StepArgument(OptInOut v) : StepArgument(Pointer{v.handle}) {}
  StepArgument(Tensors v) : StepArgument(Pointer{v.handle}) {}
  StepArgument(OptTensors v) : StepArgument(Pointer{v.handle}) {}
  StepArgument(Ints v) : StepArgument(Pointer{v.handle}) {}
  StepArgument(Bools v) : StepArgument(Pointer{v.handle}) {}
  StepArgument(Floats v) : StepArgument(Pointer{v.handle}) {}
  StepArgument(const char* text) : StepArgument(Pointer{text}) {}
  StepArgument(const TensorView& v);
  StepArgument(const ViewOf& v);
  StepArgument(TensorView* v);
  StepArgument(Temp& t);
  StepArgument(bool v);
  StepArgument(int v);
  StepArgument(int64_t v);
  StepArgument(DType v);
  StepArgument(Type v);
  StepArgument(double v);
  StepArgument(float v);
  StepArgument(std::vector<int64_t> v);
  StepArgument(std::initializer_list<int64_t> v);
  StepArgument(std::vector<bool> v);
  StepArgument(std::vector<double> v);
  /// A list of views; null elements are absent.
  StepArgument(std::vector<const TensorView*> v);
  ~StepArgument();

 private:
  friend class StepValues;
  struct Pointer {
    const void* value;
  };
  explicit StepArgument(Pointer p);
  enum class Is : uint8_t { Pointer, Bool, Integer, Real, Integers, Reals, Views };
  Is is_ = Is::Pointer;
  const void* pointer_ = nullptr;
  const TensorView* view_ = nullptr;
  TensorView* output_ = nullptr;
  ConstantOperand* constant_ = nullptr;
  bool temporary_ = false;
  int64_t integer_ = 0;
  double real_ = 0;
  std::vector<int64_t> integers_;
  std::vector<double> reals_;
  std::vector<const TensorView*> views_;
};

void call_step(Op& op, const char* name, std::span<const StepArgument> arguments);

/// Another operator as a step of `op`, by its name ("aclnnAdd") and with a value for each of its parameters. Its
/// refusals name it.
template <class... A>
void call(Op& op, const char* name, A&&... arguments) {
  const StepArgument all[] = {StepArgument(std::forward<A>(arguments))...};
  call_step(op, name, all);
}

template <class T>
constexpr Parameter ir_parameter_of(const char* name, const char* type) {
  if (std::string_view(name).starts_with("ir_")) name += 3;
  return parameter_of<T>(name, type);
}

template <class T>
constexpr Default default_of() {
  return {};
}
template <class T, class First, class... More>
constexpr Default default_of(First first, More... more) {
  Default d;
  if constexpr (std::is_same_v<T, Text>) {
    d.is = Default::Is::Text;
    d.text = first;
  } else {
    d.is = HandleArgument<T> || std::is_same_v<T, Texts> || std::is_same_v<T, IntLists> ? Default::Is::Numbers
                                                                                        : Default::Is::Number;
    if constexpr (!std::is_same_v<First, std::nullptr_t>) {  // nullptr: an empty list
      const double numbers[] = {static_cast<double>(first), static_cast<double>(more)...};
      static_assert(sizeof numbers <= sizeof d.numbers);
      for (double n : numbers) d.numbers[d.count++] = n;
    }
  }
  return d;
}

}  // namespace updraft

#define UPDRAFT_IR_DECLARE_AFTER(type, name, ...) , type name
#define UPDRAFT_IR_PARAMETER(type, name, ...) ::updraft::ir_parameter_of<::updraft::type>(#name, #type),
#define UPDRAFT_IR_DEFAULT(type, name, ...) ::updraft::default_of<::updraft::type>(__VA_ARGS__),

/// Defines the plan of graph operator TYPE, with `op` (updraft::Op&); ABOUT is TWIN's. Inside namespace updraft.
#define IR_OP(TYPE, TWIN, ...)                                                                                        \
  static void TYPE##_ir_plan(::updraft::Op& op UPDRAFT_EACH(UPDRAFT_IR_DECLARE_AFTER, __VA_ARGS__));                  \
  extern const ::updraft::OpAbout TWIN##_about UPDRAFT_DESCRIBED;                                                     \
  static constexpr ::updraft::Parameter TYPE##_ir_parameters[] = {UPDRAFT_EACH(UPDRAFT_IR_PARAMETER, __VA_ARGS__)};   \
  static constexpr ::updraft::Default TYPE##_ir_defaults[] = {UPDRAFT_EACH(UPDRAFT_IR_DEFAULT, __VA_ARGS__)};         \
  static ::updraft::OpInfo TYPE##_ir_info{#TYPE,                                                                      \
                                          TYPE##_ir_parameters,                                                       \
                                          &::updraft::plan_values<&TYPE##_ir_plan>,                                   \
                                          __FILE__,                                                                   \
                                          &TWIN##_about,                                                              \
                                          nullptr,                                                                    \
                                          nullptr,                                                                    \
                                          nullptr,                                                                    \
                                          TYPE##_ir_defaults};                                                        \
  [[maybe_unused]] static ::updraft::OpInfo* const TYPE##_ir_registered = ::updraft::register_ir_op(&TYPE##_ir_info); \
  static void TYPE##_ir_plan([[maybe_unused]] ::updraft::Op& op UPDRAFT_EACH(UPDRAFT_IR_DECLARE_AFTER, __VA_ARGS__))
