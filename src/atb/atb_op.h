// How an operation of libatb.so is written: the plan of an operator (ops/ir_op.h) with the operation's tensors and
// attributes as parameters,
//
//   ATB_OP(Rope, aclnnRotaryPositionEmbedding, (In, query), …, (Out, queryOut), …, (Int, rotaryCoeff)) { call(op, …); }
//
// and below it how clients make it: CreateOperation() for a struct of parameters (operation()), or a pair of C
// functions (ATB_FUNCTIONS). The second name is the operator whose ABOUT tells unit and summary.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "atb/interface.h"
#include "ops/call.h"
#include "ops/ir_op.h"

namespace updraft::atb_ops {

/// An operation over an operator of ours.
struct Recipe {
  const char* name;  ///< as clients name it in messages ("RopeOperation")
  const OpInfo* info;
  /// The parameters that the tensors of a pack are given to, in the pack's order.
  std::vector<const char*> inputs, outputs;
  std::function<void(OpCall&)> set;  ///< gives the call its attributes
};
/// For CreateOperation(). Never throws.
atb::Status make(Recipe recipe, atb::Operation** operation) noexcept;

/// The first of a pair of C functions: plans, and keeps the plan in *operation, which is made where it is null.
int plan(const char* name, const OpInfo& info, const Value* values, uint64_t* workspace,
         atb::Operation** operation) noexcept;
/// The second: runs the plan on the context's stream.
int run(const char* name, const OpInfo& info, atb::Operation* operation, atb::Context* context) noexcept;

}  // namespace updraft::atb_ops

/// What both forms have: the parameters and the operator.
#define ATB_PARTS(TYPE, TWIN, ...)                                                                               \
  static void TYPE##_plan(::updraft::Op& op UPDRAFT_EACH(UPDRAFT_IR_DECLARE_AFTER, __VA_ARGS__));                \
  extern const ::updraft::OpAbout TWIN##_about UPDRAFT_DESCRIBED;                                                \
  static constexpr ::updraft::Parameter TYPE##_parameters[] = {UPDRAFT_EACH(UPDRAFT_IR_PARAMETER, __VA_ARGS__)}; \
  static constexpr ::updraft::Default TYPE##_defaults[] = {UPDRAFT_EACH(UPDRAFT_IR_DEFAULT, __VA_ARGS__)};       \
  static const ::updraft::OpInfo TYPE##_info{#TYPE,    TYPE##_parameters, &::updraft::plan_values<&TYPE##_plan>, \
                                             __FILE__, &TWIN##_about,     nullptr,                               \
                                             nullptr,  nullptr,           TYPE##_defaults};
#define ATB_PLAN(TYPE, ...) \
  static void TYPE##_plan([[maybe_unused]] ::updraft::Op& op UPDRAFT_EACH(UPDRAFT_IR_DECLARE_AFTER, __VA_ARGS__))

#define ATB_OP(TYPE, TWIN, ...)      \
  ATB_PARTS(TYPE, TWIN, __VA_ARGS__) \
  ATB_PLAN(TYPE, __VA_ARGS__)

/// The same as a pair of C functions NAME##GetWorkspaceSize and NAME, whose parameters are the list's, in its order.
#define ATB_FUNCTIONS(NAME, TYPE, TWIN, ...)                                                                        \
  ATB_PARTS(TYPE, TWIN, __VA_ARGS__)                                                                                \
  extern "C" UPDRAFT_API int NAME##GetWorkspaceSize(UPDRAFT_EACH(UPDRAFT_DECLARE, __VA_ARGS__) uint64_t* workspace, \
                                                    ::atb::Operation** operation, ::atb::Context*) {                \
    const ::updraft::Value updraft_values[] = {UPDRAFT_EACH(UPDRAFT_VALUE, __VA_ARGS__)};                           \
    return ::updraft::atb_ops::plan(#NAME, TYPE##_info, updraft_values, workspace, operation);                      \
  }                                                                                                                 \
  extern "C" UPDRAFT_API int NAME(void*, uint64_t, ::atb::Operation* operation, ::atb::Context* context) {          \
    return ::updraft::atb_ops::run(#NAME, TYPE##_info, operation, context);                                         \
  }                                                                                                                 \
  ATB_PLAN(TYPE, __VA_ARGS__)
