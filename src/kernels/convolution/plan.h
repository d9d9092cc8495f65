// Convolutions as oneDNN's primitives, made once for each problem: what convolution.cpp is made of.
#pragma once
#include <memory>
#include <optional>

#include "base/scratch.h"
#include "kernels/convolution/convolution.h"
#include "kernels/onednn.h"

namespace updraft::convolution_plan {

using dnnl::memory;
enum class Kind { Forward, BackwardData, BackwardWeight };

// The convolution that is not transposed: a transposed one swaps its input and output.
struct Problem {
  ConvolutionShape shape;
  memory::data_type type;
  memory::dims src, weight, dst;  // weight with the group dimension when groups > 1
  memory::dims strides, dilates, left, right;
  bool has_bias = false;
  /// What follows the sums of a forward one, in this order: the factors and terms of the channels, another tensor. The
  /// bias is one of the terms where there are factors.
  bool scales = false, shifts = false, adds = false, relu = false, hard_swish = false;
  bool valid = true;  // false: padding that oneDNN does not take
};
Problem problem_of(const ConvolutionShape& s, const TensorView& src, const TensorView& weight, const TensorView& dst,
                   memory::data_type type);

/// Channels innermost, dense.
bool channels_last(const TensorView& v);
/// Dense, plain or with the channels innermost.
memory::desc desc_of(const memory::dims& dims, memory::data_type type, bool last);
/// Filters [O, C, ...] that lie as [..., C, O], dense: as TensorFlow has them.
bool taps_outermost(const TensorView& v);
/// A number for each channel of the result.
memory::desc by_channel(const Problem& p);

// One operand of a primitive: as it lies in memory, as the primitive wants it, and the way between.
struct Operand {
  memory::desc outer, inner;
  std::optional<onednn::Reorder> reorder;
  void set(const memory::desc& out, const memory::desc& in, bool result) {
    outer = out;
    inner = in;
    if (outer == inner) return;
    if (result) reorder.emplace(inner, outer);
    else reorder.emplace(outer, inner);
  }
  /// Where the primitive finds or leaves it.
  void* at_inner(void* data, ScratchScope& scratch) const { return reorder ? scratch.take(inner.get_size()) : data; }
  size_t scratch_bytes() const { return reorder ? scratch_size(inner.get_size()) : 0; }
  /// The operand as the primitive wants it.
  const void* take(const void* data, ScratchScope& scratch) const {
    void* to = at_inner(const_cast<void*>(data), scratch);
    if (reorder) reorder->run(data, to);
    return to;
  }
  void give(const void* from, void* data) const {
    if (reorder) reorder->run(from, data);
  }
};

/// The primitive takes its two inputs, then the result, and a forward one what follows that: bias, factors, terms and
/// the other tensor, those that the problem has.
struct Plan {
  onednn::Primitive primitive;
  Operand src, weight, dst;
};

/// The primitive of a problem, for images that lie with their channels innermost or not; `apart`: the filters lie as
/// taps_outermost() says, else plain.
std::shared_ptr<const Plan> plan_of(const Problem& p, Kind kind, bool src_last, bool dst_last, bool apart = false);
}  // namespace updraft::convolution_plan
