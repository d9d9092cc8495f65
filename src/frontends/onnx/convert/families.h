// The rows of every family of converters.
#pragma once
#include "frontends/onnx/conversion.h"

namespace updraft::onnx {

std::span<const Row> activation_rows();
std::span<const Row> attention_rows();
std::span<const Row> constant_rows();
std::span<const Row> control_rows();
std::span<const Row> image_rows();
std::span<const Row> loss_rows();
std::span<const Row> microsoft_attention_rows();
std::span<const Row> microsoft_quantize_rows();
std::span<const Row> microsoft_rows();
std::span<const Row> ml_rows();
std::span<const Row> quantize_rows();
std::span<const Row> random_rows();
std::span<const Row> rnn_rows();
std::span<const Row> sequence_rows();
std::span<const Row> convolution_rows();
std::span<const Row> elementwise_rows();
std::span<const Row> index_rows();
std::span<const Row> matmul_rows();
std::span<const Row> normalisation_rows();
std::span<const Row> pool_rows();
std::span<const Row> reduction_rows();
std::span<const Row> shape_rows();

/// The graph operator that the row names, with the same inputs.
void same(Conversion& c);

}  // namespace updraft::onnx
