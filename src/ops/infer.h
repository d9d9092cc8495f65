// Shapes and types of an operator's outputs from those of its inputs, without data: for graphs, and for clients that
// ask before they allocate. The rule is the operator's own plan (Op::result); nothing is launched.
#pragma once
#include <span>
#include <vector>

#include "ops/op.h"

namespace updraft {

/// A dimension of a tensor that is not there yet: its size, or the sizes that it may have.
struct Dim {
  int64_t low = 0, high = 0;  ///< high < 0: no upper bound
  constexpr Dim(int64_t size = 0) : low(size), high(size) {}
  constexpr Dim(int64_t smallest, int64_t largest) : low(smallest), high(largest) {}
  constexpr bool known() const { return low == high; }
  constexpr bool operator==(const Dim&) const = default;
  /// Any size: -1 of the clients.
  static constexpr Dim any() { return {0, -1}; }
};

/// A tensor of which the dimensions may be unknown.
struct Shape {
  DType dtype = DType::Undefined;
  std::vector<Dim> dims;
  bool known() const;
};

/// Assigns shape and type to the outputs in `values` whose view has the type Undefined; the others are checked as in a
/// call. Views need no data. Throws Error 161002 for what the operator refuses, 561003 when it has no rule for one of
/// the outputs that are there. Where values decide a size (aclnnNonzero), outputs get the largest one, so that there is
/// memory for each; `open` names these dimensions.
void infer(const OpInfo& info, const Value* values, std::vector<OpenDim>* open = nullptr);

/// For a plan whose output is neither the inputs' nor the attributes' to decide (as many as the largest value): throws
/// 561003 where inference asks for it.
void require_given(const Op& op, const char* name, const TensorView& out);

/// The same where dimensions of inputs are unknown. `inputs` and the result are in the order of the tensors among the
/// parameters, lists one after the other; outputs and absent tensors are left empty in `inputs`, inputs in the result.
/// An output's dimension is known when no unknown size and no value changes it; else its bounds are those that the
/// inputs' bounds give. The rule is evaluated at chosen sizes, so bounds hold where a dimension grows (or shrinks) with
/// each size, as all of them do.
std::vector<Shape> infer(const OpInfo& info, const Value* values, std::span<const Shape> inputs);

}  // namespace updraft
