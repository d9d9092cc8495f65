// The rows of every family of converters, and what several of them share.
#pragma once
#include "base/parallel.h"
#include "frontends/tensorflow/conversion.h"

namespace updraft::tensorflow {

std::span<const Row> activation_rows();
std::span<const Row> collective_rows();
std::span<const Row> constant_rows();
std::span<const Row> control_rows();
std::span<const Row> convolution_rows();
std::span<const Row> diagonal_rows();
std::span<const Row> elementwise_rows();
std::span<const Row> image_rows();
std::span<const Row> index_rows();
std::span<const Row> loss_rows();
std::span<const Row> matmul_rows();
std::span<const Row> normalisation_rows();
std::span<const Row> pool_rows();
std::span<const Row> recurrent_rows();
std::span<const Row> reduction_rows();
std::span<const Row> segment_rows();
std::span<const Row> shape_rows();

/// The graph operator that the row names, with the same inputs.
void same(Conversion& c);
/// The same with attributes.
void same_inputs(Conversion& c, Attributes attributes);
/// A tensor without an operator.
void pass(Conversion& c);

/// "SAME", "VALID" or "EXPLICIT" as sizes: in front and behind in turns. `first` is where spatial dimensions begin;
/// SAME with steps asks for the size of dimension `first + d` of the images.
Dims pads_of(Conversion& c, size_t first, const Dims& kernel, const Dims& strides, const Dims& dilations,
             FunctionRef<int64_t(size_t)> size);
/// The size of a dimension of x, for pads_of().
inline auto size_in(Conversion& c, Endpoint x) {
  return [&c, x](size_t d) { return c.size(x, static_cast<int64_t>(d), "the input, with padding SAME,"); };
}
/// "NHWC" and its kin as the graph's operators are told it.
std::string format_of(size_t spatial, bool last);
/// The spatial values of an attribute with a value for each dimension, which are positive.
Dims spatial(Conversion& c, const char* name, const Dims& values, bool last);

}  // namespace updraft::tensorflow
