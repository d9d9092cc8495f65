// The tensors of a convolution as its ways want them.
#pragma once
#include "base/scratch.h"
#include "kernels/constant_operand.h"
#include "kernels/convolution/convolution.h"
#include "kernels/convolution/plan.h"
#include "kernels/convolution/winograd.h"
#include "kernels/matmul/packed.h"
#include "tensor/view.h"

namespace updraft::convolution_plan {

/// How a tensor will lie when the convolution takes it: channels-last, or plain, as it is or in a dense copy.
bool taken_last(const TensorView& v, DType type);
/// Filters that a primitive takes, or gives, as TensorFlow has them.
bool taken_apart(const ConvolutionShape& s, const TensorView& v, DType type);
/// What Dense and Result take for a tensor.
size_t dense_bytes(const TensorView& v, DType type, bool allow_last = true);
/// The view that a dense copy of a tensor has, without memory.
TensorView dense_view(const TensorView& v, DType type);

/// A tensor as oneDNN reads it: dense, plain or channels-last, in the type of the problem.
struct Dense {
  TensorView view;
  bool last = false;
  Dense(const TensorView& v, DType type, ScratchScope& scratch, bool allow_last = true);
};
/// A result: written in place where it is dense, else copied from a dense one.
struct Result {
  TensorView view, to;
  bool last = false;
  Result(const TensorView& v, DType type, ScratchScope& scratch, bool allow_last = true, bool as_it_lies = false);
  void finish() const;
};

/// A weight as a product of matrices takes it (dense, in its type) or as a primitive does: where it lies, in the scope,
/// or from the forms of a constant one.
class Weight {
 public:
  Weight(const ConvolutionShape& s, const TensorView& v, DType type, ConstantOperand* constant, ScratchScope& scratch)
      : view_(v), type_(type), constant_(constant), scratch_(scratch), apart_(taken_apart(s, v, type)) {}

  /// Whether the plan whose operand take() gets is one for such filters.
  bool is_apart() const { return apart_; }
  TensorView dense();
  const void* take(const Operand& operand);
  /// At the points of Winograd's algorithm; `last`: of the one for channels that are innermost.
  const float* points(const winograd::Shape& w, bool last = false);
  /// As the right side of a product of all places. Of a constant weight.
  const float* packed(const packed::Product& p);
  /// As a convolution of each channel by itself takes it.
  const float* taps();
  /// Whether points(…, true) are arranged for their product.
  bool arranges_points() const { return constant_ && winograd::arranges_points(); }

 private:
  bool is_dense() const { return view_.dtype == type_ && view_.is_contiguous(); }
  /// So many floats of a form of our own: kept with a constant weight, which `way` tells from other forms, else in the
  /// scope.
  const float* own_form(int way, int64_t count, FunctionRef<void(float* to)> make);

  const TensorView& view_;
  const DType type_;
  ConstantOperand* const constant_;
  ScratchScope& scratch_;
  const bool apart_;
  ConstantOperand::Form form_;  ///< held while the weight is used
};

}  // namespace updraft::convolution_plan
