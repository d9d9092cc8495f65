// Elementwise operators over the rows of kernels/rows.
#pragma once
#include "kernels/pipeline.h"
#include "ops/op.h"

namespace updraft {

/// Scalar i of `params`, from an aclScalar.
void set_param(Params& params, int i, const aclScalar& value);
/// Params from scalars or numbers, in order.
template <class... V>
Params params_of(const V&... values) {
  Params p;
  int i = 0;
  (
      [&] {
        if constexpr (std::is_same_v<V, aclScalar>) set_param(p, i++, values);
        else if constexpr (std::is_same_v<V, Scalar>) set_param(p, i++, *values);
        else if constexpr (std::is_integral_v<V>) p.set(i++, static_cast<int64_t>(values));
        else p.set(i++, static_cast<double>(values));
      }(),
      ...);
  return p;
}

/// A 0-d view of a scalar; the closure that captures it holds the value.
struct ScalarValue {
  DType dtype;
  alignas(16) unsigned char bytes[16];
  explicit ScalarValue(const aclScalar& s);
  TensorView view() const { return TensorView::contiguous(const_cast<unsigned char*>(bytes), dtype, nullptr, 0); }
};

/// An input of an elementwise operator: a tensor, or a scalar that travels with the closure.
class Source {
 public:
  Source(const TensorView& v) : view_(v) {}
  Source(In v) : view_(*v) {}
  Source(Out v) : view_(*v) {}
  Source(InOut v) : view_(*v) {}
  Source(const aclScalar& s);
  Source(Scalar s) : Source(*s) {}
  bool scalar() const { return scalar_; }
  DType dtype() const { return view_.dtype; }
  /// Type and shape; no data where this is a scalar.
  const TensorView& shape() const { return view_; }
  /// Valid as long as this Source stays where it is.
  TensorView view() const {
    if (!scalar_) return view_;
    return TensorView::contiguous(const_cast<unsigned char*>(bytes_), view_.dtype, nullptr, 0);
  }
  /// A scalar rounded to a floating type (comparisons see both sides in the common type).
  void round_to(DType t);
  /// Makes an integer scalar one of type t where it fits; false when this is neither that nor of type t already.
  bool narrow_to(DType t);

 private:
  TensorView view_;
  alignas(16) unsigned char bytes_[16] = {};
  bool scalar_ = false;
};

/// PyTorch's result_type: tensors with dimensions decide within a category, 0-d tensors and then scalars give way.
DType result_type(std::initializer_list<Source> in);
/// The type of a row's result for operands of a common type: bool, float for integers where the row has none, the
/// parts' type for absolute values and angles.
DType natural_type(Ew row, DType common);
/// PyTorch's promotion of a tensor with a scalar: the scalar's type counts only in a higher category.
DType promote_with_scalar(DType tensor, const aclScalar& scalar);

/// The compute type of a common type whose result is stored as `out`: a wider out decides (integers that give
/// floats), unless the row yields bool.
Compute compute_for(Ew row, DType common, DType out);

/// Plans out = row(in...), computed in `compute`, inputs broadcast to out.
void plan_elementwise(Op& op, Ew row, Compute compute, std::initializer_list<Source> in, const TensorView& out,
                      const Params& params = {});
/// The same with the type that inference gives out, where it is not the row's for these inputs.
void plan_elementwise(Op& op, Ew row, Compute compute, DType type, std::initializer_list<Source> in,
                      const TensorView& out, const Params& params = {});
/// The same in the type that result_type and out give.
void plan_elementwise(Op& op, Ew row, std::initializer_list<Source> in, const TensorView& out,
                      const Params& params = {});

/// One input; integers are computed in the type of out where that is floating (exp of integers).
void plan_unary(Op& op, Ew row, const TensorView& self, const TensorView& out, const Params& params = {});
/// Two inputs, computed in their promoted type (or out's, when that is wider: division of integers).
/// Halves round to their common type before they are stored in a wider out.
void plan_binary(Op& op, Ew row, const Source& self, const Source& other, const TensorView& out,
                 const Params& params = {});

}  // namespace updraft
