// Normalisation.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

/// An output of no elements, for what only cuDNN keeps.
void give_nothing(Conversion& c, const char* what) {
  c.give(c.constant(Tensor{DType::Float, {0}, graph::Bytes::make(0, [](std::byte*) {})}, what));
}

void batch_norm(Conversion& c) {
  const std::string format = c.text("data_format", "NHWC");
  if (c.flag("is_training", true)) {
    c.result("FusedBatchNormTraining", {c.in(0), c.in(1), c.in(2), c.in(3), c.in(4)},
             {{"epsilon", c.real("epsilon", 1e-4F)},
              {"exponential_avg_factor", c.real("exponential_avg_factor", 1.0F)},
              {"data_format", format}});
    // The sixth output is cuDNN's: there is nothing to keep.
    if (c.row.type == std::string_view("FusedBatchNormV3")) give_nothing(c, "reserve");
    return;
  }
  c.ignore("exponential_avg_factor");
  c.result("BatchNorm", {c.in(0), c.in(1), c.in(2), c.in(3), c.in(4)},
           {{"epsilon", c.real("epsilon", 1e-4F)}, {"data_format", format}, {"is_training", false}});
}

/// The statistics are what the forward pass kept of the batch, or those of the layer.
void batch_norm_gradient(Conversion& c) {
  const std::string format = c.text("data_format", "NHWC");
  const float epsilon = c.real("epsilon", 1e-4F);
  const std::vector<Operand> operands = {c.in(0), c.in(1), c.in(2), c.in(3), c.in(4)};
  if (c.flag("is_training", true)) {
    c.result("FusedBatchNormTrainingGrad", operands, {{"epsilon", epsilon}, {"data_format", format}});
  } else {
    graph::Node& made = c.build.node("BatchNormGrad", c.name, operands,
                                     {{"epsilon", epsilon}, {"data_format", format}, {"is_training", false}});
    for (int i = 0; i < 3; ++i) c.give(made.out(i));
  }
  for (int reserve = 0; reserve < 2; ++reserve) c.give(c.scalar(0, DType::Float));
}

/// By the squares of the channels around: sums of windows, as average pooling over channels would make them.
void local_response(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t radius = c.integer("depth_radius", 5);
  const double bias = c.real("bias", 1.0F), alpha = c.real("alpha", 1.0F), beta = c.real("beta", 0.5F);
  c.require(c.rank(x) == 4, "the input is {}, want 4 dimensions", describe(c.desc(x)));
  const int64_t channels = c.size(x, 3, "the input");
  const Endpoint squares = c.emit("Square", {x});
  const Endpoint padded = c.emit(
      "PadV2",
      {squares, c.constant(Tensor{DType::Int64, {4, 2}, Tensor::of(Dims{0, 0, 0, 0, 0, 0, radius, radius}).data}),
       c.scalar_like(0, x)});
  Endpoint sum;
  for (int64_t d = 0; d <= 2 * radius; ++d) {
    const Endpoint part = c.slice(padded, {d}, {d + channels}, {3});
    sum = d == 0 ? part : c.add(sum, part);
  }
  const Endpoint scale = c.emit("Pow", {c.add(c.mul(sum, alpha), bias), c.scalar_like(-beta, x)});
  c.result("Mul", {x, scale});
}

constexpr Row kRows[] = {
    {"FusedBatchNorm", batch_norm, "BatchNorm, FusedBatchNormTraining"},
    {"FusedBatchNormV2", batch_norm, "BatchNorm, FusedBatchNormTraining"},
    {"FusedBatchNormV3", batch_norm, "BatchNorm, FusedBatchNormTraining"},
    {"FusedBatchNormGrad", batch_norm_gradient, "FusedBatchNormTrainingGrad, BatchNormGrad"},
    {"FusedBatchNormGradV2", batch_norm_gradient, "FusedBatchNormTrainingGrad, BatchNormGrad"},
    {"FusedBatchNormGradV3", batch_norm_gradient, "FusedBatchNormTrainingGrad, BatchNormGrad"},
    {"L2Loss", same, "L2Loss"},
    {"LRN", local_response, "Square, PadV2, Pow, Mul"},
};

}  // namespace

std::span<const Row> normalisation_rows() { return kRows; }

}  // namespace updraft::tensorflow
