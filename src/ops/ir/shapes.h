// Shapes and views in plans of graph operators.
#pragma once
#include <string>
#include <vector>

#include "ops/ir_op.h"
#include "tensor/view_algebra.h"

namespace updraft::ir {

using Dims = std::vector<int64_t>;

inline Dims dims_of(const TensorView& v) { return {v.dims, v.dims + v.rank}; }
int64_t count_of(const Dims& dims);

/// Op::result() of a shape in a vector.
void result(const Op& op, const char* name, const TensorView& out, const Dims& dims, DType type);
/// Op::suggest() of a shape in a vector.
void suggest(const Op& op, const TensorView& out, const Dims& dims, DType type);
/// The type of an output: what its client gave it, or `type` while inferring.
inline DType type_of(const TensorView& out, DType type) { return out.dtype == DType::Undefined ? type : out.dtype; }

/// Axes from 0 on and in order, each once; -1 is the last of `rank`. Refuses others by `name`.
Dims axes_of(const Op& op, const char* name, const Dims& axes, int rank);
int64_t axis_of(const Op& op, const char* name, int64_t axis, int rank);
/// All of them.
Dims all_axes(int rank);
/// The shape after a reduction over `axes` (as axes_of() gives them).
Dims reduced(const TensorView& x, const Dims& axes, bool keep);

/// Every `step`th of the elements [begin, …] of dimension d, `count` of them.
TensorView part_of(const TensorView& v, int d, int64_t begin, int64_t count, int64_t step = 1);
/// The same elements in row-major order with another shape; a step copies them where they do not lie so.
TensorView reshaped(Op& op, const TensorView& v, const Dims& dims);
/// [n] as [1, n, 1, …] with `rank` dimensions: what belongs to the channels of [N, C, …].
TensorView by_channel(const TensorView& v, int rank);

/// The output y has the shape of `from` and its elements, in `type` unless the client gave y another type.
void copy(Op& op, const char* name, const TensorView& from, const Out& y, DType type);
void copy(Op& op, const TensorView& from, const Out& y);

/// Memory between steps, of that shape.
TensorView temporary(Op& op, DType type, const Dims& dims);
/// A tensor of one element with that value, made by a step.
TensorView constant(Op& op, DType type, double value);

/// What is not larger (or smaller) than any value of the type, of integers or bool. By its bits: int64's largest is
/// no double.
int64_t integer_end(DType type, bool smallest);

/// A matrix, or matrices, with the last two dimensions exchanged where asked for.
TensorView turned(const Op& op, const char* name, const TensorView& v, bool turn);

/// The shape that a tensor names, where the output does not say it already.
Dims shape_from(const Op& op, const char* name, const In& shape, const TensorView& y);

/// The values of an input that may be absent, as the array of an aclnn operator that may be, too.
StepArgument integers_of(const Op& op, const char* name, const OptIn& tensor);

/// Refuses an attribute that is not `want`.
void want(const Op& op, const char* name, const char* value, const char* want);
void want(const Op& op, const char* name, int64_t value, int64_t want);
void want(const Op& op, const char* name, bool value, bool want);
void want(const Op& op, const char* name, float value, float want);

}  // namespace updraft::ir
