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
// The parameters stand as the C ABI has them: the argument types below are a single pointer each, which the ABI
// passes like the pointer itself. The body is the first phase: it checks and plans, never touches device data, and
// leaves its work to launch(), which the stream runs. Views are copied: handles are gone when the work runs.
#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

#include "base/api_call.h"
#include "base/boundary.h"
#include "base/error.h"
#include "ops/about.h"
#include "ops/card.h"
#include "ops/handles.h"
#include "ops/observed_arguments.h"

namespace updraft {

// --- argument types -------------------------------------------------------------------------------------------
/// A tensor that is read; never null.
struct In {
  const aclTensor* handle;
  const TensorView& operator*() const { return handle->view; }
  const TensorView* operator->() const { return &handle->view; }
};
/// A tensor that may be absent (null handle).
struct OptIn {
  const aclTensor* handle;
  explicit operator bool() const { return handle != nullptr; }
  const TensorView& operator*() const { return handle->view; }
  const TensorView* operator->() const { return &handle->view; }
};
/// A tensor that is written (or read and written); never null.
struct Out {
  aclTensor* handle;
  const TensorView& operator*() const { return handle->view; }
  const TensorView* operator->() const { return &handle->view; }
};
struct OptOut {
  aclTensor* handle;
  explicit operator bool() const { return handle != nullptr; }
  const TensorView& operator*() const { return handle->view; }
  const TensorView* operator->() const { return &handle->view; }
};
struct Scalar {
  const aclScalar* handle;
  const aclScalar& operator*() const { return *handle; }
  const aclScalar* operator->() const { return handle; }
};
struct OptScalar {
  const aclScalar* handle;
  explicit operator bool() const { return handle != nullptr; }
  const aclScalar& operator*() const { return *handle; }
  const aclScalar* operator->() const { return handle; }
};
/// An element of an array of the client; throws 161002 when the array is too short.
[[noreturn]] void too_short(size_t size, size_t i);
template <class T>
T element(const std::vector<T>& values, size_t i) {
  if (i >= values.size()) too_short(values.size(), i);
  return values[i];
}
struct Ints {
  const aclIntArray* handle;
  const std::vector<int64_t>& operator*() const { return handle->values; }
  const std::vector<int64_t>* operator->() const { return &handle->values; }
  int64_t operator[](size_t i) const { return element(handle->values, i); }
  size_t size() const { return handle->values.size(); }
};
struct OptInts {
  const aclIntArray* handle;
  explicit operator bool() const { return handle != nullptr; }
  const std::vector<int64_t>& operator*() const { return handle->values; }
  const std::vector<int64_t>* operator->() const { return &handle->values; }
};
struct Bools {
  const aclBoolArray* handle;
  bool operator[](size_t i) const { return element(handle->values, i) != 0; }
  size_t size() const { return handle->values.size(); }
};
struct OptBools {
  const aclBoolArray* handle;
  explicit operator bool() const { return handle != nullptr; }
};
/// An element of a list; throws 161001 when it is null, 161002 when the list is too short.
const TensorView& view_of(const aclTensorList& list, size_t i);

struct Tensors {
  const aclTensorList* handle;
  size_t size() const { return handle->items.size(); }
  /// Elements may be null (indexing passes absent indices so).
  const aclTensor* item(size_t i) const { return handle->items[i]; }
  const TensorView& operator[](size_t i) const { return view_of(*handle, i); }
};
struct OptTensors {
  const aclTensorList* handle;
  explicit operator bool() const { return handle != nullptr; }
  size_t size() const { return handle ? handle->items.size() : 0; }
  const aclTensor* item(size_t i) const { return handle->items[i]; }
  const TensorView& operator[](size_t i) const { return view_of(*handle, i); }
};
struct Scalars {
  const aclScalarList* handle;
  size_t size() const { return handle->items.size(); }
  const aclScalar& operator[](size_t i) const { return *handle->items[i]; }
};
/// The same types under names that tell readers of the headers who writes (a name that ends in Ref is InOut by itself).
using InOut = Out;
using OptInOut = OptOut;
using OutTensors = Tensors;
using OptOutTensors = OptTensors;
using InOutTensors = Tensors;
using OptInOutTensors = OptTensors;
using Text = const char*;
using Bool = bool;
using Int = int64_t;
using UInt = uint64_t;
using Int32 = int32_t;
using Int8 = int8_t;
using Double = double;
using Float = float;
/// aclDataType as an int of the ABI.
struct Type {
  int32_t value;
  operator DType() const { return static_cast<DType>(value); }
};

// --- the operator in its first phase --------------------------------------------------------------------------
struct OpInfo {
  const char* name;       ///< aclnnAdd
  const char* signature;  ///< "(In, self), (In, other), …"
  const char* file;
  const OpAbout* about;    ///< null where ABOUT is missing
  const OpCard* card;      ///< null: what its class says
  const OpSample* sample;  ///< null: what its class says
  OpInfo* next;
};
/// All operators, for tables and tests.
const OpInfo* first_op();

class Op {
 public:
  Op(const OpInfo& info, aclOpExecutor& executor) : info_(info), executor_(executor) {}
  const char* name() const { return info_.name; }

  /// Leaves the work for the stream. At most once; none at all is fine when there is nothing to do.
  template <class F>
  void launch(F&& f) {
    executor_.body.emplace(std::forward<F>(f));
    executor_.work = work_;
    executor_.cost = {flops_ < 0 ? work_ : flops_, bytes_, info_.about ? info_.about->unit : Unit::Other};
  }
  /// Rough number of element operations (default: elements of the largest argument). Only small work may run in the
  /// submitting thread: operators that cost more than a few operations an element say so before launch().
  void work(int64_t n) { work_ = n; }
  /// Operations for observers, before launch() (default: work). Products say 2 m n k; work is what they cost in time.
  void flops(int64_t n) { flops_ = n; }

  /// 161002 with the operator's name in front.
  template <class... A>
  [[noreturn]] void refuse(fmt::format_string<A...> f, A&&... args) const {
    throw Error(code::kAclnnParamInvalid, fmt::format(f, std::forward<A>(args)...));
  }
  template <class... A>
  void require(bool condition, fmt::format_string<A...> f, A&&... args) const {
    if (!condition) refuse(f, std::forward<A>(args)...);
  }
  void require_shape(const char* name, const TensorView& v, const int64_t* dims, int rank) const;
  void require_same_shape(const char* a_name, const TensorView& a, const char* b_name, const TensorView& b) const;
  /// out must have the broadcast shape of a and b.
  void require_broadcast(const TensorView& a, const TensorView& b, const TensorView& out) const;

  // Called by ACLNN for each argument.
  void argument(const char* name, In v) { tensor(name, v.handle, false); }
  void argument(const char* name, OptIn v) { tensor(name, v.handle, true); }
  void argument(const char* name, Out v) { tensor(name, v.handle, false); }
  void argument(const char* name, OptOut v) { tensor(name, v.handle, true); }
  void argument(const char* name, Scalar v);
  void argument(const char* name, OptScalar v) {
    if (v.handle) argument(name, Scalar{v.handle});
    else if (observing_arguments()) observe_argument(executor_.observed, name, v.handle);
  }
  void argument(const char* name, Ints v);
  void argument(const char* name, OptInts v) {
    if (v.handle) argument(name, Ints{v.handle});
    else if (observing_arguments()) observe_argument(executor_.observed, name, v.handle);
  }
  void argument(const char* name, Bools v);
  void argument(const char* name, OptBools v) {
    if (v.handle) argument(name, Bools{v.handle});
    else if (observing_arguments()) observe_argument(executor_.observed, name, v.handle);
  }
  void argument(const char* name, Tensors v);
  void argument(const char* name, OptTensors v) {
    if (v.handle) argument(name, Tensors{v.handle});
    else if (observing_arguments()) observe_argument(executor_.observed, name, direction_of(name), v.handle);
  }
  void argument(const char* name, Scalars v);
  template <class T>
    requires std::is_arithmetic_v<T> || std::is_same_v<T, Text> || std::is_same_v<T, Type>
  void argument(const char* name, T v) {
    if (!observing_arguments()) [[likely]]
      return;
    Observed& to = executor_.observed;
    if constexpr (std::is_floating_point_v<T>) observe_argument(to, name, static_cast<double>(v));
    else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      observe_argument(to, name, static_cast<int64_t>(v));
    else if constexpr (std::is_same_v<T, Type>) observe_argument(to, name, static_cast<DType>(v));
    else observe_argument(to, name, v);
  }

 private:
  void tensor(const char* name, const aclTensor* handle, bool optional);
  void check_tensor(const char* name, const aclTensor* handle);
  /// As the signature has it; a name that ends in Ref is read and written.
  Direction direction_of(const char* name) const;

  const OpInfo& info_;
  aclOpExecutor& executor_;
  int64_t work_ = 0, flops_ = -1, bytes_ = 0;
};

int plan_op(const OpInfo& info, uint64_t* workspace, aclOpExecutor** executor, FunctionRef<void(Op&)> plan) noexcept;
int launch_op(const OpInfo& info, void* workspace, uint64_t bytes, aclOpExecutor* executor, void* stream) noexcept;
OpInfo* register_op(OpInfo* info);

/// Fails the stream from a kernel: an index out of range and the like (code 507015 as the card reports it).
[[noreturn]] void fail_kernel(const std::string& text);

}  // namespace updraft

// --- ACLNN ----------------------------------------------------------------------------------------------------
#define UPDRAFT_PARENS ()
#define UPDRAFT_EXPAND(...) UPDRAFT_EXPAND3(UPDRAFT_EXPAND3(UPDRAFT_EXPAND3(__VA_ARGS__)))
#define UPDRAFT_EXPAND3(...) UPDRAFT_EXPAND2(UPDRAFT_EXPAND2(UPDRAFT_EXPAND2(__VA_ARGS__)))
#define UPDRAFT_EXPAND2(...) UPDRAFT_EXPAND1(UPDRAFT_EXPAND1(UPDRAFT_EXPAND1(__VA_ARGS__)))
#define UPDRAFT_EXPAND1(...) __VA_ARGS__
#define UPDRAFT_EACH(macro, ...) __VA_OPT__(UPDRAFT_EXPAND(UPDRAFT_EACH_STEP(macro, __VA_ARGS__)))
#define UPDRAFT_EACH_STEP(macro, first, ...) \
  macro first __VA_OPT__(UPDRAFT_EACH_AGAIN UPDRAFT_PARENS(macro, __VA_ARGS__))
#define UPDRAFT_EACH_AGAIN() UPDRAFT_EACH_STEP
#define UPDRAFT_DECLARE(type, name) type name,
#define UPDRAFT_DECLARE_AFTER(type, name) , type name
#define UPDRAFT_PASS_AFTER(type, name) , name
#define UPDRAFT_TEXT(...) UPDRAFT_TEXT_AS_IT_IS(__VA_ARGS__)  // lists of parameters may be macros: expanded first
#define UPDRAFT_TEXT_AS_IT_IS(...) #__VA_ARGS__
#define UPDRAFT_CHECK(type, name) op.argument(#name, name);

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
#define ACLNN(NAME, ...)                                                                                     \
  static void NAME##_plan(::updraft::Op& op UPDRAFT_EACH(UPDRAFT_DECLARE_AFTER, __VA_ARGS__));               \
  extern const ::updraft::OpAbout NAME##_about UPDRAFT_DESCRIBED;                                            \
  extern const ::updraft::OpCard NAME##_card UPDRAFT_DESCRIBED;                                              \
  extern const ::updraft::OpSample NAME##_sample UPDRAFT_DESCRIBED;                                          \
  static ::updraft::OpInfo NAME##_info{                                                                      \
      #NAME, UPDRAFT_TEXT(__VA_ARGS__), __FILE__, &NAME##_about, &NAME##_card, &NAME##_sample, nullptr};     \
  [[maybe_unused]] static ::updraft::OpInfo* const NAME##_registered = ::updraft::register_op(&NAME##_info); \
  extern "C" UPDRAFT_API int NAME##GetWorkspaceSize(                                                         \
      UPDRAFT_EACH(UPDRAFT_DECLARE, __VA_ARGS__) uint64_t* workspace_size, aclOpExecutor** executor) {       \
    return ::updraft::plan_op(NAME##_info, workspace_size, executor, [&](::updraft::Op& op) {                \
      UPDRAFT_EACH(UPDRAFT_CHECK, __VA_ARGS__)                                                               \
      NAME##_plan(op UPDRAFT_EACH(UPDRAFT_PASS_AFTER, __VA_ARGS__));                                         \
    });                                                                                                      \
  }                                                                                                          \
  extern "C" UPDRAFT_API int NAME(void* workspace, uint64_t bytes, aclOpExecutor* executor, void* stream) {  \
    return ::updraft::launch_op(NAME##_info, workspace, bytes, executor, stream);                            \
  }                                                                                                          \
  static void NAME##_plan([[maybe_unused]] ::updraft::Op& op UPDRAFT_EACH(UPDRAFT_DECLARE_AFTER, __VA_ARGS__))
