// The rows of every family of converters, and what several of them share.
#pragma once
#include "frontends/caffe/conversion.h"

namespace updraft::caffe {

std::span<const Row> activation_rows();
std::span<const Row> convolution_rows();
std::span<const Row> detection_rows();
std::span<const Row> elementwise_rows();
std::span<const Row> image_rows();
std::span<const Row> matmul_rows();
std::span<const Row> normalisation_rows();
std::span<const Row> pool_rows();
std::span<const Row> reduction_rows();
std::span<const Row> shape_rows();

/// The graph operator that the row names, with the same inputs.
void same(Conversion& c);
/// A tensor without an operator.
void pass(Conversion& c);

/// A size for each of `n` spatial dimensions: the repeated field `name`, or of images the two fields with _h and _w.
/// `other` where nobody says it.
Dims spatial(Conversion& c, const std::string& all, const std::string& name, size_t n, int64_t other);
/// Values of spatial dimensions with those of batches and channels, which are 1.
Dims with_channels(const Dims& values);

/// Dimensions of 1 behind `e`, so that its own ones stand at `axis` and behind of `rank` dimensions.
Endpoint aligned(Conversion& c, Endpoint e, int64_t axis, int64_t rank);

}  // namespace updraft::caffe
