// How an operator is written. One ACLNN(...) gives both C functions of an aclnn operator:
//
//   ABOUT(aclnnNeg, Vector, "out = -self", "out = -self")
//   ACLNN(aclnnNeg, (In, self), (Out, out)) {
//     op.require_same_shape("self", *self, "out", *out);
//     op.launch([self = *self, out = *out] { ... kernels on views ... });
//   }
//
// ABOUT names the unit of the product that runs it (Cube, Vector, MixCube, AICPU) and says in one line what it does.
// CARD (ops/card.h) says which data types the products take, SAMPLE how a call looks, where the class of the operator
// does not say it. Tests, the benchmark and the tables follow from them.
// The parameters stand as the C ABI has them (ops/arguments.h); from the list follow the operator's table of parameters
// (ops/parameter.h) and both C functions. The body is the first phase: it checks and plans, never touches device data,
// and leaves its work to launch(), which the stream runs. Views are copied: handles are gone when the work runs.
#pragma once
#include <fmt/format.h>

#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/boundary.h"
#include "base/error.h"
#include "base/parallel.h"
#include "ops/about.h"
#include "ops/arguments.h"
#include "ops/card.h"

namespace updraft {

class Op;
class Stream;

// --- the operator in its first phase --------------------------------------------------------------------------
struct OpInfo {
  const char* name;  ///< aclnnAdd
  std::span<const Parameter> parameters;
  /// The first phase: a value for each parameter, in order. Throws Error.
  void (*plan)(Op&, const Value*);
  const char* file;
  const OpAbout* about;    ///< null where ABOUT is missing
  const OpCard* card;      ///< null: what its class says
  const OpSample* sample;  ///< null: what its class says
  OpInfo* next;
  const Default* defaults = nullptr;  ///< of a graph operator (ops/ir_op.h), for each parameter
};
/// All operators, for tables and tests.
const OpInfo* first_op();
/// The operator of that name ("aclnnAdd"), else null.
const OpInfo* find_op(std::string_view name);

/// Throws 161001 that names the argument when it is null.
inline void require_pointer(const void* p, const char* name) {
  if (!p) throw Error(code::kAclnnNullptr, "{} is null", name);
}

/// A dimension of an inferred output that is as long as its size says, or shorter: the values decide.
struct OpenDim {
  const TensorView* view;
  int dim;
};

/// Thrown by a plan that needs the values of a tensor which are not there yet.
struct ValuesNeeded {
  const char* parameter;
};
/// Plans and runs at once, in the thread that executes a task: values of tensors are there.
void run_deferred(const OpInfo& info, const Value* values);

class Op {
 public:
  /// Plans for `executor`.
  Op(const OpInfo& info, aclOpExecutor* executor, const Value* values)
      : info_(info), executor_(executor), values_(values) {}
  /// Only infers (ops/infer.h): outputs that ask for it get shapes, and `open` names their dimensions that values
  /// decide.
  Op(const OpInfo& info, const Value* values, std::vector<OpenDim>* open)
      : info_(info), executor_(nullptr), values_(values), open_(open) {}
  const char* name() const { return info_.name; }

  /// Leaves the work for the stream. At most once; none at all is fine when there is nothing to do.
  template <class F>
  void launch(F&& f) {
    if (!executor_) return;
    executor_->body.emplace(std::forward<F>(f));
    executor_->work = work_;
    executor_->cost = {flops_ < 0 ? work_ : flops_, bytes_, info_.about ? info_.about->unit : Unit::Other};
  }
  /// The same of work that is a FlatWork and is called without arguments.
  template <class F>
  void launch_flat(F&& f) {
    if (!executor_) return;
    launch(std::forward<F>(f));
    executor_->flat_work = executor_->body.template target<std::decay_t<F>>();
  }
  /// Rough number of element operations (default: elements of the largest argument). Only small work may run in the
  /// submitting thread: operators that cost more than a few operations an element say so before launch().
  void work(int64_t n) { work_ = n; }
  /// Operations for observers, before launch() (default: work). Products say 2 m n k; work is what they cost in time.
  void flops(int64_t n) { flops_ = n; }

  /// Memory that the kernels of the work take from scopes (base/scratch.h) in the thread that runs it, at most about
  /// `bytes`: the client's workspace is lent to them. Not counted where it is less than kLeastWorkspace: to ask a
  /// client for so little costs more than it is worth. Before launch().
  void kernel_scratch(size_t bytes);
  static constexpr size_t kLeastWorkspace = 64 << 10;
  /// The same, of work on so many elements. `bytes()` is asked only where a copy in float reaches kLeastWorkspace: it
  /// costs half a microsecond. Never before shapes are known.
  template <class F>
    requires std::is_invocable_r_v<size_t, F>
  void kernel_scratch(int64_t elements, F&& bytes) {
    if (inferring() || elements < static_cast<int64_t>(kLeastWorkspace / sizeof(float))) return;
    const EngineSplit split;
    kernel_scratch(bytes());
  }

  /// What prepares the constant operands of the work (kernels/constant_operand.h), where there are any: run by
  /// prepare_constants(). The work itself prepares what is not prepared yet.
  template <class F>
  void prepare(F&& f) {
    if (executor_) executor_->prepare = std::forward<F>(f);
  }

  /// 161002 with the operator's name in front.
  template <class... A>
  [[noreturn]] void refuse(fmt::format_string<A...> f, A&&... args) const {
    throw_error(code::kAclnnParamInvalid, f, fmt::make_format_args(args...));
  }
  template <class... A>
  void require(bool condition, fmt::format_string<A...> f, A&&... args) const {
    if (!condition) refuse(f, std::forward<A>(args)...);
  }
  /// Checks of inputs. For outputs there is result().
  void require_shape(const char* name, const TensorView& v, const int64_t* dims, int rank) const;
  void require_same_shape(const char* a_name, const TensorView& a, const char* b_name, const TensorView& b) const;

  /// The rule of an output: a call is refused when `out` has another shape; inference gives `out` this shape and
  /// `type`, the type that the result has when nobody asks for another. `out` is the parameter's own view, no copy.
  void result(const char* name, const TensorView& out, const int64_t* dims, int rank, DType type) const;
  void result(const char* name, const TensorView& out, std::initializer_list<int64_t> dims, DType type) const {
    result(name, out, dims.begin(), static_cast<int>(dims.size()), type);
  }
  void result_like(const char* name, const TensorView& out, const TensorView& like, DType type) const {
    result(name, out, like.dims, like.rank, type);
  }
  /// The broadcast shape of a and b.
  void result_broadcast(const char* name, const TensorView& out, const TensorView& a, const TensorView& b,
                        DType type) const;
  /// What inference gives `out` where calls may have other shapes too ([1] for []), or where the checks that follow say
  /// more. It does nothing in a call. Before the plan reads `out`.
  void suggest(const TensorView& out, const int64_t* dims, int rank, DType type) const {
    if (inferring()) assign(out, dims, rank, type, -1);
  }
  void suggest(const TensorView& out, std::initializer_list<int64_t> dims, DType type) const {
    suggest(out, dims.begin(), static_cast<int>(dims.size()), type);
  }
  void suggest_like(const TensorView& out, const TensorView& like, DType type) const {
    suggest(out, like.dims, like.rank, type);
  }
  /// The same where the values decide how long dimension `open` is: `dims` are the largest sizes, for which a call has
  /// room. Inference says that the dimension is between 0 and that (ops/infer.h).
  void suggest_up_to(const TensorView& out, const int64_t* dims, int rank, DType type, int open) const {
    if (inferring()) assign(out, dims, rank, type, open);
  }
  /// Plans another operator as a step of this one: it runs before the work of launch(), steps in their order. While
  /// inferring it gives its outputs their shapes.
  void step(const OpInfo& info, const Value* values);
  /// Memory of a tensor between steps; it lives as long as the plan.
  TensorView temporary(DType type, const int64_t* dims, int rank);
  /// The integers that a tensor holds, for operators whose plan depends on them (a shape, dimensions). Throws
  /// ValuesNeeded when they are on the device and the plan is made before its stream comes to it.
  std::vector<int64_t> integers(const char* name, const aclTensor* tensor) const;

  /// True when only shapes and types are asked for: outputs have neither until result() gave them.
  bool inferring() const { return executor_ == nullptr; }

  /// Checks what every operator checks of its arguments: presence, types, memory; `handles`: that they are live ones,
  /// too. Called once, before the plan.
  void check_arguments(bool handles);

 private:
  void check_tensor(const Parameter& parameter, const aclTensor& tensor);
  TensorView* inferred(const TensorView& out) const;
  void assign(const TensorView& out, const int64_t* dims, int rank, DType type, int open) const;

  const OpInfo& info_;
  aclOpExecutor* executor_;
  const Value* values_;
  std::vector<OpenDim>* open_ = nullptr;
  int64_t work_ = 0, flops_ = -1, bytes_ = 0;
  bool running_ = false;

  friend void run_deferred(const OpInfo& info, const Value* values);
};

/// The first phase of the C interface: checks every handle, then plans. `values` are as many as the parameters.
int plan_op(const OpInfo& info, const Value* values, uint64_t* workspace, aclOpExecutor** executor) noexcept;
int launch_op(const OpInfo& info, void* workspace, uint64_t bytes, aclOpExecutor* executor, void* stream) noexcept;
/// Throws 161001 when a handle is null that must not be, 161002 when it is no live one of its kind.
void check_handles(const OpInfo& info, const Value* values);
/// Plans; `handles`: the values are the client's, whose handles are looked up. Throws Error; recycle_executor() takes
/// the plan back.
aclOpExecutor* make_plan(const OpInfo& info, const Value* values, bool handles = false);
/// Puts a plan on the stream, with memory of its own for what it needs beside its arguments. Takes it over; throws
/// Error.
void launch_plan(aclOpExecutor& plan, Stream& stream);
/// Prepares the constant operands of a plan before its first run, in the calling thread; may be called at any time, and
/// again. The tensors' values must be there. Throws Error.
void prepare_constants(const aclOpExecutor& plan);
OpInfo* register_op(OpInfo* info);

/// A plan as a function of values.
template <class... A>
void apply_plan(void (*plan)(Op&, A...), Op& op, const Value* values) {
  [&]<size_t... I>(std::index_sequence<I...>) {
    plan(op, argument_of<A>(values[I])...);
  }(std::index_sequence_for<A...>{});
}
template <auto Plan>
void plan_values(Op& op, const Value* values) {
  apply_plan(Plan, op, values);
}

/// Fails the stream from a kernel: an index out of range and the like (code 507015 as the card reports it).
[[noreturn]] void fail_kernel(const std::string& text);

}  // namespace updraft

// --- ACLNN ----------------------------------------------------------------------------------------------------
#define UPDRAFT_PARENS ()
#define UPDRAFT_EXPAND(...) UPDRAFT_EXPAND3(UPDRAFT_EXPAND3(UPDRAFT_EXPAND3(UPDRAFT_EXPAND3(__VA_ARGS__))))
#define UPDRAFT_EXPAND3(...) UPDRAFT_EXPAND2(UPDRAFT_EXPAND2(UPDRAFT_EXPAND2(__VA_ARGS__)))
#define UPDRAFT_EXPAND2(...) UPDRAFT_EXPAND1(UPDRAFT_EXPAND1(UPDRAFT_EXPAND1(__VA_ARGS__)))
#define UPDRAFT_EXPAND1(...) __VA_ARGS__
#define UPDRAFT_EACH(macro, ...) __VA_OPT__(UPDRAFT_EXPAND(UPDRAFT_EACH_STEP(macro, __VA_ARGS__)))
#define UPDRAFT_EACH_STEP(macro, first, ...) \
  macro first __VA_OPT__(UPDRAFT_EACH_AGAIN UPDRAFT_PARENS(macro, __VA_ARGS__))
#define UPDRAFT_EACH_AGAIN() UPDRAFT_EACH_STEP
#define UPDRAFT_DECLARE(type, name) type name,
#define UPDRAFT_DECLARE_AFTER(type, name) , type name
#define UPDRAFT_PARAMETER(type, name) ::updraft::parameter_of<::updraft::type>(#name, #type),
#define UPDRAFT_VALUE(type, name) ::updraft::value_of(name),

#define UPDRAFT_DESCRIBED __attribute__((weak, visibility("hidden")))

/// What an operator is: ABOUT(aclnnNeg, Vector, "out = -self", "…in 中文…"), before or after its ACLNN.
#define ABOUT(NAME, UNIT, SUMMARY, SUMMARY_ZH)                    \
  extern const ::updraft::OpAbout NAME##_about UPDRAFT_DESCRIBED; \
  const ::updraft::OpAbout NAME##_about{::updraft::Unit::UNIT, SUMMARY, SUMMARY_ZH};

/// What the products take: CARD(aclnnGlu, kFloats | kF64).
#define CARD(NAME, ...)                                         \
  extern const ::updraft::OpCard NAME##_card UPDRAFT_DESCRIBED; \
  const ::updraft::OpCard NAME##_card = [] {                    \
    using namespace ::updraft::card;                            \
    return ::updraft::OpCard{{__VA_ARGS__}};                    \
  }();
/// How a call looks: SAMPLE(aclnnGlu, "dim=1 self=f32[N,2M]").
#define SAMPLE(NAME, TEXT)                                          \
  extern const ::updraft::OpSample NAME##_sample UPDRAFT_DESCRIBED; \
  const ::updraft::OpSample NAME##_sample{TEXT};

/// Defines NAME##GetWorkspaceSize and NAME; the braces that follow are the first phase, with `op` (updraft::Op&).
/// Use it inside namespace updraft.
#define ACLNN(NAME, ...)                                                                                      \
  static void NAME##_plan(::updraft::Op& op UPDRAFT_EACH(UPDRAFT_DECLARE_AFTER, __VA_ARGS__));                \
  extern const ::updraft::OpAbout NAME##_about UPDRAFT_DESCRIBED;                                             \
  extern const ::updraft::OpCard NAME##_card UPDRAFT_DESCRIBED;                                               \
  extern const ::updraft::OpSample NAME##_sample UPDRAFT_DESCRIBED;                                           \
  static constexpr ::updraft::Parameter NAME##_parameters[] = {UPDRAFT_EACH(UPDRAFT_PARAMETER, __VA_ARGS__)}; \
  static ::updraft::OpInfo NAME##_info{#NAME,                                                                 \
                                       NAME##_parameters,                                                     \
                                       &::updraft::plan_values<&NAME##_plan>,                                 \
                                       __FILE__,                                                              \
                                       &NAME##_about,                                                         \
                                       &NAME##_card,                                                          \
                                       &NAME##_sample,                                                        \
                                       nullptr};                                                              \
  [[maybe_unused]] static ::updraft::OpInfo* const NAME##_registered = ::updraft::register_op(&NAME##_info);  \
  extern "C" UPDRAFT_API int NAME##GetWorkspaceSize(                                                          \
      UPDRAFT_EACH(UPDRAFT_DECLARE, __VA_ARGS__) uint64_t* workspace_size, aclOpExecutor** executor) {        \
    const ::updraft::Value updraft_values[] = {UPDRAFT_EACH(UPDRAFT_VALUE, __VA_ARGS__)};                     \
    return ::updraft::plan_op(NAME##_info, updraft_values, workspace_size, executor);                         \
  }                                                                                                           \
  extern "C" UPDRAFT_API int NAME(void* workspace, uint64_t bytes, aclOpExecutor* executor, void* stream) {   \
    return ::updraft::launch_op(NAME##_info, workspace, bytes, executor, stream);                             \
  }                                                                                                           \
  static void NAME##_plan([[maybe_unused]] ::updraft::Op& op UPDRAFT_EACH(UPDRAFT_DECLARE_AFTER, __VA_ARGS__))
