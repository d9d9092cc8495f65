// The rows of every family of converters, and what several of them share.
#pragma once
#include "frontends/tensorflow/conversion.h"

namespace updraft::tensorflow {

std::span<const Row> activation_rows();
std::span<const Row> constant_rows();
std::span<const Row> control_rows();
std::span<const Row> convolution_rows();
std::span<const Row> elementwise_rows();
std::span<const Row> image_rows();
std::span<const Row> index_rows();
std::span<const Row> matmul_rows();
std::span<const Row> normalisation_rows();
std::span<const Row> pool_rows();
std::span<const Row> reduction_rows();
std::span<const Row> shape_rows();

/// The graph operator that the row names, with the same inputs.
void same(Conversion& c);
/// A tensor without an operator.
void pass(Conversion& c);

/// "SAME", "VALID" or "EXPLICIT" as sizes: in front and behind in turns. Of x with those windows; `x` is where its
/// spatial dimensions begin.
Dims pads_of(Conversion& c, Endpoint x, size_t first, const Dims& kernel, const Dims& strides, const Dims& dilations);
/// The spatial values of an attribute with a value for each dimension.
Dims spatial(Conversion& c, const char* name, const Dims& values, bool last);

}  // namespace updraft::tensorflow
