// Batch, layer, group and instance normalisation.
#include <algorithm>
#include <cmath>

#include "kernels/channels.h"
#include "ops/ir/shape/layout.h"
#include "ops/norm/vectors.h"

namespace updraft {
namespace {

using ir::Dims;

int64_t channels_of(const Op& op, const TensorView& x) {
  op.require(x.rank >= 2, "x is {}, want a batch and channels", describe(x));
  return x.dims[1];
}
/// Elements behind a channel's statistics.
int64_t samples_of(const TensorView& x) { return x.dims[1] ? x.numel() / x.dims[1] : 0; }

/// The output as the rule wants it. MindSpore describes some by other dimensions with as many elements: [8] where the
/// rule is [2, 4, 1, 1], a matrix where it calls the input images of one pixel.
TensorView result_of_size(Op& op, const char* name, const Out& out, const Dims& dims, DType type) {
  if (!op.inferring() && out->is_contiguous() && out->numel() == ir::count_of(dims))
    return ir::reshaped(op, *out, dims);
  ir::result(op, name, *out, dims, type);
  return *out;
}

/// 1 / sqrt(variance + epsilon)
TensorView reciprocal_deviation(Op& op, const TensorView& variance, float epsilon) {
  Temp more, r;
  call(op, "aclnnAdds", variance, epsilon, 1, more);
  call(op, "aclnnRsqrt", *more, r);
  return *r;
}

/// Normalises by the given statistics.
void by_statistics(Op& op, const StepArgument& x, const StepArgument& scale, const StepArgument& offset,
                   const TensorView& mean, const TensorView& variance, float epsilon, const StepArgument& y) {
  const StepArgument arguments[] = {x, scale, offset, mean, variance, false, 0.0, epsilon, y, nullptr, nullptr};
  call_step(op, "aclnnBatchNorm", arguments);
}

void require_channels_first(const Op& op, const char* format) {
  const std::string_view word = format;
  op.require(word == "NCHW" || word == "NCDHW", "attribute data_format is \"{}\", want NCHW or NCDHW", word);
}

// --- statistics of a batch in pieces ------------------------------------------------------------------------------
void reduce(Op& op, const In& x, const Out& sum, const Out& square_sum) {
  const Dims channels = {channels_of(op, *x)};
  ir::result(op, "sum", *sum, channels, DType::Float);
  ir::result(op, "square_sum", *square_sum, channels, DType::Float);
  call(op, "aclnnBatchNormReduce", x, sum, square_sum);
}

/// Mean and biased variance from sums.
void statistics(Op& op, const In& x, const In& sum, const In& square_sum, const Out& mean, const Out& variance) {
  const double n = static_cast<double>(std::max<int64_t>(1, samples_of(*x)));
  op.result_like("batch_mean", *mean, *sum, sum->dtype);
  op.result_like("batch_variance", *variance, *sum, sum->dtype);
  Temp squares, square;
  call(op, "aclnnDivs", sum, n, mean);
  call(op, "aclnnDivs", square_sum, n, squares);
  call(op, "aclnnMul", mean, mean, square);
  call(op, "aclnnSub", *squares, *square, 1, variance);
}

void update(Op& op, const In& x, const In& sum, const In& square_sum, const In& scale, const In& offset,
            const InOut& mean, const InOut& variance, const Out& y, const Out& batch_mean, const Out& batch_variance,
            float factor, float epsilon) {
  channels_of(op, *x);
  const TensorView to = result_of_size(op, "y", y, ir::dims_of(*x), x->dtype);
  statistics(op, x, sum, square_sum, batch_mean, batch_variance);
  by_statistics(op, x, scale, offset, *batch_mean, *batch_variance, epsilon, to);
  // The running variance is the unbiased one.
  const auto n = static_cast<double>(samples_of(*x));
  Temp unbiased;
  call(op, "aclnnMuls", batch_variance, n > 1 ? n / (n - 1) : 1.0, unbiased);
  call(op, "aclnnInplaceLerps", mean, batch_mean, factor);
  call(op, "aclnnInplaceLerps", variance, *unbiased, factor);
}

void update_grad(Op& op, const In& grads, const In& x, const In& mean, const In& variance, const Out& scale,
                 const Out& offset, float epsilon) {
  op.result_like("diff_scale", *scale, *mean, mean->dtype);
  op.result_like("diff_offset", *offset, *mean, mean->dtype);
  call(op, "aclnnBatchNormBackward", grads, x, nullptr, mean, variance, nullptr, nullptr, false, epsilon,
       std::vector<bool>{false, true, true}, nullptr, scale, offset);
}

void reduce_grad(Op& op, const In& grads, const In& x, const In& diff_scale, const In& diff_offset, const In& scale,
                 const In& mean, const In& variance, const Out& y, float epsilon) {
  const TensorView to = result_of_size(op, "y", y, ir::dims_of(*x), x->dtype);
  const TensorView r = reciprocal_deviation(op, *variance, epsilon);
  Temp weighted;  // diff_scale is the sum of dy (x - mean) r
  call(op, "aclnnDiv", diff_scale, r, weighted);
  const TensorView count = ir::temporary(op, DType::Int32, {1});
  call(op, "aclnnInplaceFillScalar", count, samples_of(*x));
  call(op, "aclnnBatchNormElemtBackward", grads, x, mean, r, scale, diff_offset, *weighted, count, to);
}

}  // namespace

#define BATCH_PIECES(PREFIX)                                                                                         \
  IR_OP(PREFIX##TrainingReduce, aclnnBatchNormReduce, (In, x), (Out, sum), (Out, square_sum)) {                      \
    reduce(op, x, sum, square_sum);                                                                                  \
  }                                                                                                                  \
  IR_OP(PREFIX##TrainingUpdate, BNTrainingUpdate, (In, x), (In, sum), (In, square_sum), (In, scale), (In, offset),   \
        (InOut, mean), (InOut, variance), (Out, y), (Ref, ir_mean), (Ref, ir_variance), (Out, batch_mean),           \
        (Out, batch_variance), (Float, factor), (Float, epsilon)) {                                                  \
    (void)ir_mean, (void)ir_variance;                                                                                \
    update(op, x, sum, square_sum, scale, offset, mean, variance, y, batch_mean, batch_variance, factor, epsilon);   \
  }                                                                                                                  \
  IR_OP(PREFIX##TrainingUpdateGrad, BNTrainingUpdateGrad, (In, grads), (In, x), (In, batch_mean),                    \
        (In, batch_variance), (Out, diff_scale), (Out, diff_offset), (Float, epsilon, 0.0001f)) {                    \
    update_grad(op, grads, x, batch_mean, batch_variance, diff_scale, diff_offset, epsilon);                         \
  }                                                                                                                  \
  IR_OP(PREFIX##TrainingReduceGrad, BNTrainingReduceGrad, (In, grads), (In, x), (In, diff_scale), (In, diff_offset), \
        (In, scale), (In, batch_mean), (In, batch_variance), (Out, y), (Float, epsilon, 0.0001f)) {                  \
    reduce_grad(op, grads, x, diff_scale, diff_offset, scale, batch_mean, batch_variance, y, epsilon);               \
  }
BATCH_PIECES(BN)
BATCH_PIECES(BN3D)
#undef BATCH_PIECES
ABOUT(BNTrainingUpdate, Vector, "Normalises each channel by the sums of BNTrainingReduce and updates statistics",
      "用 BNTrainingReduce 的和对各通道归一化并更新统计量")
ABOUT(BNTrainingUpdateGrad, Vector, "Gradients of scale and offset of batch normalisation",
      "批归一化对 scale 与 offset 的反向梯度")
ABOUT(BNTrainingReduceGrad, Vector, "Gradient of batch normalisation for its input", "批归一化对输入的反向梯度")

IR_OP(BNTrainingUpdateV2, BNTrainingUpdate, (In, x), (In, sum), (In, square_sum), (In, scale), (In, offset), (Out, y),
      (Out, batch_mean), (Out, batch_variance), (Float, epsilon)) {
  op.result_like("y", *y, *x, x->dtype);
  statistics(op, x, sum, square_sum, batch_mean, batch_variance);
  by_statistics(op, x, scale, offset, *batch_mean, *batch_variance, epsilon, y);
}
IR_OP(BNTrainingUpdateV3, BNTrainingUpdate, (In, x), (In, sum), (In, square_sum), (In, scale), (In, offset), (Out, y),
      (Out, batch_mean), (Out, batch_variance), (Out, reserve_1), (Out, reserve_2), (Float, epsilon)) {
  op.result_like("y", *y, *x, x->dtype);
  statistics(op, x, sum, square_sum, batch_mean, batch_variance);
  by_statistics(op, x, scale, offset, *batch_mean, *batch_variance, epsilon, y);
  ir::copy(op, "reserve_1", *batch_mean, reserve_1, batch_mean->dtype);
  ir::copy(op, "reserve_2", *batch_variance, reserve_2, batch_variance->dtype);
}
IR_OP(BNInfer, aclnnBatchNorm, (In, x), (In, scale), (In, offset), (In, mean), (In, variance), (Out, y),
      (Float, epsilon)) {
  // MindSpore gives x of [N, C] two more dimensions, and y none.
  if (!op.inferring() && y->rank == 2 && x->rank == 4 && x->dims[2] == 1 && x->dims[3] == 1) {
    TensorView flat = *x;
    flat.rank = 2;
    op.require_same_shape("y", *y, "x", flat);
    return by_statistics(op, flat, scale, offset, *mean, *variance, epsilon, *y);
  }
  op.result_like("y", *y, *x, x->dtype);
  by_statistics(op, x, scale, offset, *mean, *variance, epsilon, y);
}
ABOUT(BNInferGrad, Vector, "x_backprop = grads * scale / sqrt(batch_variance + epsilon)",
      "x_backprop = grads * scale / sqrt(batch_variance + epsilon)")
IR_OP(BNInferGrad, BNInferGrad, (In, grads), (In, scale), (In, batch_variance), (Out, x_backprop),
      (Float, epsilon, 0.0001f)) {
  op.require(scale->numel() == channels_of(op, *grads), "scale is {}, want the channels of {}", describe(*scale),
             describe(*grads));
  op.result_like("x_backprop", *x_backprop, *grads, grads->dtype);
  Temp factor;
  call(op, "aclnnMul", scale, reciprocal_deviation(op, *batch_variance, epsilon), factor);
  call(op, "aclnnMul", grads, ir::by_channel(*factor, grads->rank), x_backprop);
}

IR_OP(BatchNormV3, aclnnBatchNorm, (In, x), (In, weight), (In, bias), (InOut, running_mean), (InOut, running_var),
      (Out, y), (Ref, ir_running_mean), (Ref, ir_running_var), (Out, save_mean), (Out, save_rstd),
      (Float, epsilon, 1e-5f), (Float, momentum, 0.1f), (Bool, is_training, true)) {
  (void)ir_running_mean, (void)ir_running_var;
  const Dims channels = {channels_of(op, *x)};
  op.result_like("y", *y, *x, x->dtype);
  ir::result(op, "save_mean", *save_mean, channels, DType::Float);
  ir::result(op, "save_rstd", *save_rstd, channels, DType::Float);
  call(op, "aclnnBatchNorm", x, weight, bias, running_mean, running_var, is_training, momentum, epsilon, y, save_mean,
       save_rstd);
}
IR_OP(BatchNormGradV3, aclnnBatchNormBackward, (In, dy), (In, x), (In, weight), (In, running_mean), (In, running_var),
      (In, save_mean), (In, save_rstd), (Out, dx), (Out, dweight), (Out, dbias), (Bool, is_training, true),
      (Float, epsilon, 1e-5f)) {
  op.result_like("dx", *dx, *x, x->dtype);
  op.result_like("dweight", *dweight, *weight, weight->dtype);
  op.result_like("dbias", *dbias, *weight, weight->dtype);
  call(op, "aclnnBatchNormBackward", dy, x, weight, running_mean, running_var, save_mean, save_rstd, is_training,
       epsilon, std::vector<bool>{true, true, true}, dx, dweight, dbias);
}
namespace {
/// Of the forms of TensorFlow only the one that normalises by given statistics.
void inference(Op& op, const In& x, const In& scale, const In& offset, const OptIn& mean, const OptIn& variance,
               const Out& y, std::initializer_list<std::pair<const char*, OptOut>> means,
               std::initializer_list<std::pair<const char*, OptOut>> variances, float epsilon, const char* format,
               bool training) {
  ir::want(op, "is_training", training, false);
  const ir::Layout layout = ir::layout_of(op, x->rank == 5 ? 3 : 2, format);
  op.require(mean && variance, "mean or variance is absent: both are wanted when not training");
  op.result_like("y", *y, *x, x->dtype);
  by_statistics(op, layout.first(*x), scale, offset, *mean, *variance, epsilon, layout.first(*y));
  for (const auto& [name, to] : means)
    if (to) ir::copy(op, name, *mean, Out{to.handle}, mean->dtype);
  for (const auto& [name, to] : variances)
    if (to) ir::copy(op, name, *variance, Out{to.handle}, variance->dtype);
}
}  // namespace
IR_OP(BatchNorm, aclnnBatchNorm, (In, x), (In, scale), (In, offset), (OptIn, mean), (OptIn, variance), (Out, y),
      (OptOut, batch_mean), (OptOut, batch_variance), (OptOut, reserve_space_1), (OptOut, reserve_space_2),
      (OptOut, reserve_space_3), (Float, epsilon, 0.0001f), (Text, data_format, "NHWC"), (Bool, is_training, true)) {
  if (reserve_space_3) ir::result(op, "reserve_space_3", *reserve_space_3, {0}, DType::Float);  // nothing to keep
  inference(op, x, scale, offset, mean, variance, y, {{"batch_mean", batch_mean}, {"reserve_space_1", reserve_space_1}},
            {{"batch_variance", batch_variance}, {"reserve_space_2", reserve_space_2}}, epsilon, data_format,
            is_training);
}
IR_OP(FusedBatchNormV2, aclnnBatchNorm, (In, x), (In, scale), (In, offset), (OptIn, mean), (OptIn, variance), (Out, y),
      (OptOut, batch_mean), (OptOut, batch_variance), (OptOut, reserve_space_1), (OptOut, reserve_space_2),
      (Float, epsilon, 0.0001f), (Text, data_format, "NHWC"), (Bool, is_training, true)) {
  inference(op, x, scale, offset, mean, variance, y, {{"batch_mean", batch_mean}, {"reserve_space_1", reserve_space_1}},
            {{"batch_variance", batch_variance}, {"reserve_space_2", reserve_space_2}}, epsilon, data_format,
            is_training);
}

// Types of our own: training in TensorFlow's form, with the channels where they are. passes/training_norm.cpp gives
// `add` and `relu`.
ABOUT(FusedBatchNormTraining, Vector,
      "y = relu(x normalised by the batch's statistics + add); updates the running ones",
      "y = relu(按当前批次统计量归一化的 x + add)，并更新滑动统计量")
IR_OP(FusedBatchNormTraining, FusedBatchNormTraining, (In, x), (In, scale), (In, offset), (In, mean), (In, variance),
      (OptIn, add), (Out, y), (Out, running_mean), (Out, running_variance), (Out, saved_mean), (Out, saved_variance),
      (Float, epsilon, 0.0001f), (Float, exponential_avg_factor, 1), (Text, data_format, "NHWC"), (Bool, relu, false)) {
  const ir::Layout layout = ir::layout_of(op, x->rank == 5 ? 3 : 2, data_format);
  const TensorView first = layout.first(*x);
  const int64_t C = channels_of(op, first);
  op.require(samples_of(first) > 1, "x is {}: one value for each channel has no variance", describe(*x));
  op.result_like("y", *y, *x, x->dtype);
  if (add) op.require_same_shape("what is added", *add, "x", *x);
  op.require(!add || add->dtype == x->dtype, "what is added is {}, want the type of x, {}", describe(*add),
             describe(*x));
  for (const auto& [name, out] :
       {std::pair("running_mean", &running_mean), std::pair("running_variance", &running_variance),
        std::pair("saved_mean", &saved_mean), std::pair("saved_variance", &saved_variance)})
    ir::result(op, name, **out, {C}, DType::Float);
  for (const auto& [name, in] : {std::pair("scale", &scale), std::pair("offset", &offset)})
    op.require((*in)->numel() == C, "{} is {}, want one value for each of {} channels", name, describe(**in), C);
  const bool keeps = exponential_avg_factor != 1;  // else TensorFlow gives no running statistics
  for (const auto& [name, in] : {std::pair("mean", &mean), std::pair("variance", &variance)})
    op.require(!keeps || (*in)->numel() == C, "{} is {}, want one value for each of {} channels", name, describe(**in),
               C);
  op.work(x->numel() * 6);
  op.launch([=, factor = static_cast<double>(exponential_avg_factor), eps = static_cast<double>(epsilon),
             to = layout.first(*y), added = add ? layout.first(*add) : TensorView(), scale = *scale, offset = *offset,
             mean = keeps ? *mean : TensorView(), variance = keeps ? *variance : TensorView(),
             running_mean = *running_mean, running_variance = *running_variance, saved_mean = *saved_mean,
             saved_variance = *saved_variance] {
    const std::vector<double> scales = read_vector(scale, C, 1), offsets = read_vector(offset, C, 0);
    std::vector<double> means = read_vector(mean, C, 0), variances = read_vector(variance, C, 0);
    std::vector<double> batch_means(means.size()), batch_variances(means.size());
    const auto finish = [&](int64_t channel, const double* state, double& a, double& b) {
      const auto i = static_cast<size_t>(channel);
      batch_means[i] = state[1];
      batch_variances[i] = state[2] / state[0];
      means[i] = (1 - factor) * means[i] + factor * state[1];
      variances[i] = (1 - factor) * variances[i] + factor * state[2] / (state[0] - 1);
      a = scales[i] / std::sqrt(batch_variances[i] + eps);
      b = offsets[i] - state[1] * a;
    };
    channel_forward(first, &to, true, finish, {added.data ? &added : nullptr, relu});
    write_vector(running_mean, means);
    write_vector(running_variance, variances);
    write_vector(saved_mean, batch_means);
    write_vector(saved_variance, batch_variances);
  });
}
ABOUT(FusedBatchNormTrainingGrad, Vector, "Gradients of FusedBatchNormTraining for x, scale and offset",
      "FusedBatchNormTraining 对 x、scale 与 offset 的反向梯度")
IR_OP(FusedBatchNormTrainingGrad, FusedBatchNormTrainingGrad, (In, y_backprop), (In, x), (In, scale), (In, saved_mean),
      (In, saved_variance), (Out, x_backprop), (Out, scale_backprop), (Out, offset_backprop), (Float, epsilon, 0.0001f),
      (Text, data_format, "NHWC")) {
  const ir::Layout layout = ir::layout_of(op, x->rank == 5 ? 3 : 2, data_format);
  op.require_same_shape("y_backprop", *y_backprop, "x", *x);
  op.result_like("x_backprop", *x_backprop, *x, x->dtype);
  op.result_like("scale_backprop", *scale_backprop, *scale, scale->dtype);
  op.result_like("offset_backprop", *offset_backprop, *scale, scale->dtype);
  call(op, "aclnnBatchNormBackward", layout.first(*y_backprop), layout.first(*x), scale, nullptr, nullptr, saved_mean,
       reciprocal_deviation(op, *saved_variance, epsilon), true, epsilon, std::vector<bool>{true, true, true},
       layout.first(*x_backprop), scale_backprop, offset_backprop);
}

ABOUT(BatchNormGrad, Vector, "Gradients of BatchNorm for x, scale and offset",
      "BatchNorm 对 x、scale 与 offset 的反向梯度")
IR_OP(BatchNormGrad, BatchNormGrad, (In, y_backprop), (In, x), (In, scale), (In, reserve_space_1),
      (In, reserve_space_2), (OptIn, reserve_space_3), (Out, x_backprop), (Out, scale_backprop), (Out, offset_backprop),
      (OptOut, reserve_space_4), (OptOut, reserve_space_5), (Float, epsilon, 0.0001f), (Text, data_format, "NHWC"),
      (Bool, is_training, true)) {
  (void)reserve_space_3;  // BatchNorm keeps nothing there
  const ir::Layout layout = ir::layout_of(op, x->rank == 5 ? 3 : 2, data_format);
  op.require_same_shape("y_backprop", *y_backprop, "x", *x);
  op.result_like("x_backprop", *x_backprop, *x, x->dtype);
  op.result_like("scale_backprop", *scale_backprop, *scale, scale->dtype);
  op.result_like("offset_backprop", *offset_backprop, *scale, scale->dtype);
  if (reserve_space_4) ir::result(op, "reserve_space_4", *reserve_space_4, {0}, DType::Float);
  if (reserve_space_5) ir::result(op, "reserve_space_5", *reserve_space_5, {0}, DType::Float);
  const std::vector<bool> all{true, true, true};
  if (is_training) {
    call(op, "aclnnBatchNormBackward", layout.first(*y_backprop), layout.first(*x), scale, nullptr, nullptr,
         reserve_space_1, reciprocal_deviation(op, *reserve_space_2, epsilon), true, epsilon, all,
         layout.first(*x_backprop), scale_backprop, offset_backprop);
  } else {
    call(op, "aclnnBatchNormBackward", layout.first(*y_backprop), layout.first(*x), scale, reserve_space_1,
         reserve_space_2, nullptr, nullptr, false, epsilon, all, layout.first(*x_backprop), scale_backprop,
         offset_backprop);
  }
}
ABOUT(Centralization, Vector, "x without its mean over axes", "x 减去沿 axes 的均值")
IR_OP(Centralization, Centralization, (In, x), (Out, y), (Ints, axes, -1)) {
  op.result_like("y", *y, *x, x->dtype);
  Temp mean;
  call(op, "aclnnMean", x, ir::axes_of(op, "axes", *axes, x->rank), true, x->dtype, mean);
  call(op, "aclnnSub", x, *mean, 1, y);
}

// --- synchronised between processes -------------------------------------------------------------------------------
IR_OP(SyncBatchNormGatherStats, aclnnSyncBatchNormGatherStats, (In, total_sum), (In, total_square_sum),
      (In, sample_count), (InOut, mean), (InOut, variance), (Out, batch_mean), (Out, batch_invstd), (Ref, ir_mean),
      (Ref, ir_variance), (Float, momentum, 0.1f), (Float, eps, 0.00001f)) {
  (void)ir_mean, (void)ir_variance;
  op.result_like("batch_mean", *batch_mean, *mean, mean->dtype);
  op.result_like("batch_invstd", *batch_invstd, *mean, mean->dtype);
  call(op, "aclnnSyncBatchNormGatherStats", total_sum, total_square_sum, sample_count, mean, variance, momentum, eps,
       batch_mean, batch_invstd);
}
ABOUT(SyncBatchNormBackwardReduce, Vector, "Sums for the gradient of synchronised batch normalisation",
      "同步批归一化反向所需的和")
IR_OP(SyncBatchNormBackwardReduce, SyncBatchNormBackwardReduce, (In, sum_dy), (In, sum_dy_dx_pad), (In, mean),
      (In, invert_std), (Out, sum_dy_xmu), (Out, y)) {
  op.result_like("sum_dy_xmu", *sum_dy_xmu, *sum_dy, sum_dy->dtype);
  Temp centre;
  call(op, "aclnnMul", sum_dy, mean, centre);
  call(op, "aclnnSub", sum_dy_dx_pad, *centre, 1, sum_dy_xmu);
  call(op, "aclnnMul", sum_dy_xmu, invert_std, y);
}
IR_OP(SyncBatchNormBackwardElemt, aclnnBatchNormElemtBackward, (In, grad_output), (In, save_input), (In, mean),
      (In, invstd), (In, weight), (In, mean_dy), (In, mean_dy_xmu), (Out, grad_input)) {
  op.result_like("grad_input", *grad_input, *save_input, save_input->dtype);
  // They are means already: of one sample.
  const TensorView one = ir::temporary(op, DType::Int32, {1});
  call(op, "aclnnInplaceOne", one);
  const Dims channels = {channels_of(op, *save_input)};
  auto flat = [&](const In& v) { return ir::reshaped(op, *v, channels); };
  call(op, "aclnnBatchNormElemtBackward", grad_output, save_input, flat(mean), flat(invstd), flat(weight),
       flat(mean_dy), flat(mean_dy_xmu), one, grad_input);
}

// --- layers -------------------------------------------------------------------------------------------------------
namespace {

/// x's dimensions with 1 from `axis` on.
Dims row_statistics(const TensorView& x, int64_t axis) {
  Dims dims = ir::dims_of(x);
  std::fill(dims.begin() + axis, dims.end(), 1);
  return dims;
}

/// Normalises from `axis` on; gamma and beta belong to the dimensions from `params` on. `rstd` is the third output.
void layer_norm(Op& op, const In& x, const In& gamma, const In& beta, int64_t begin_norm, int64_t begin_params,
                float epsilon, const Out& y, const Out& mean, const TensorView& rstd) {
  const int64_t axis = ir::axis_of(op, "begin_norm_axis", begin_norm, x->rank),
                params = ir::axis_of(op, "begin_params_axis", begin_params, x->rank);
  const Dims rows(x->dims + axis, x->dims + x->rank);
  op.require_shape("gamma", *gamma, x->dims + params, x->rank - static_cast<int>(params));
  op.require_same_shape("beta", *beta, "gamma", *gamma);
  op.result_like("y", *y, *x, x->dtype);
  ir::result(op, "mean", *mean, row_statistics(*x, axis), x->dtype);
  if (params == axis) return call(op, "aclnnLayerNorm", x, rows, gamma, beta, epsilon, y, mean, rstd);
  const TensorView plain = ir::temporary(op, x->dtype, ir::dims_of(*x));
  call(op, "aclnnLayerNorm", x, rows, nullptr, nullptr, epsilon, plain, mean, rstd);
  Temp scaled;
  call(op, "aclnnMul", plain, gamma, scaled);
  call(op, "aclnnAdd", *scaled, beta, 1, y);
}

/// gamma is what the normalised dimensions are.
void layer_norm_grad(Op& op, const In& dy, const In& x, const TensorView& rstd, const In& mean, const In& gamma,
                     const Out& pd_x, const Out& pd_gamma, const Out& pd_beta) {
  op.require(gamma->rank <= x->rank && mean->numel() * gamma->numel() == x->numel(),
             "x is {}, mean is {} and gamma is {}: want a mean for each row of gamma's shape", describe(*x),
             describe(*mean), describe(*gamma));
  op.result_like("pd_x", *pd_x, *x, x->dtype);
  op.result_like("pd_gamma", *pd_gamma, *gamma, gamma->dtype);
  op.result_like("pd_beta", *pd_beta, *gamma, gamma->dtype);
  call(op, "aclnnLayerNormBackward", dy, x, ir::dims_of(*gamma), mean, rstd, gamma, nullptr,
       std::vector<bool>{true, true, true}, pd_x, pd_gamma, pd_beta);
}

}  // namespace
ABOUT(LayerNorm, Vector, "Layer normalisation, with mean and variance", "层归一化，附带均值与方差")
IR_OP(LayerNorm, LayerNorm, (In, x), (In, gamma), (In, beta), (Out, y), (Out, mean), (Out, variance),
      (Int, begin_norm_axis, 0), (Int, begin_params_axis, 0), (Float, epsilon, 0.0000001f)) {
  const int64_t axis = ir::axis_of(op, "begin_norm_axis", begin_norm_axis, x->rank);
  const Dims rows = row_statistics(*x, axis);
  const TensorView rstd = ir::temporary(op, DType::Float, rows);
  layer_norm(op, x, gamma, beta, begin_norm_axis, begin_params_axis, epsilon, y, mean, rstd);
  ir::result(op, "variance", *variance, rows, x->dtype);
  Dims over = ir::all_axes(x->rank);
  over.erase(over.begin(), over.begin() + axis);
  call(op, "aclnnVarMean", x, over, 0, true, variance, mean);
}
IR_OP(LayerNormV3, aclnnLayerNorm, (In, x), (In, gamma), (In, beta), (Out, y), (Out, mean), (Out, rstd),
      (Int, begin_norm_axis, 0), (Int, begin_params_axis, 0), (Float, epsilon, 0.00001f)) {
  const int64_t axis = ir::axis_of(op, "begin_norm_axis", begin_norm_axis, x->rank);
  ir::result(op, "rstd", *rstd, row_statistics(*x, axis), x->dtype);
  layer_norm(op, x, gamma, beta, begin_norm_axis, begin_params_axis, epsilon, y, mean, *rstd);
}
IR_OP(LayerNormV4, aclnnLayerNorm, (In, x), (In, normalized_shape), (OptIn, gamma), (OptIn, beta), (Out, y),
      (Out, mean), (Out, rstd), (Float, epsilon, 0.00001f)) {
  // gamma says it too, and is there at once.
  const Dims rows = gamma ? ir::dims_of(*gamma) : op.integers("normalized_shape", normalized_shape.handle);
  op.require(
      rows.size() <= static_cast<size_t>(x->rank) && normalized_shape->numel() == static_cast<int64_t>(rows.size()),
      "normalized_shape is {}, gamma has {} dimensions", describe(*normalized_shape), rows.size());
  const Dims statistics = row_statistics(*x, x->rank - static_cast<int64_t>(rows.size()));
  op.result_like("y", *y, *x, x->dtype);
  ir::result(op, "mean", *mean, statistics, DType::Float);
  ir::result(op, "rstd", *rstd, statistics, DType::Float);
  call(op, "aclnnLayerNorm", x, rows, gamma, beta, epsilon, y, mean, rstd);
}
ABOUT(LayerNormGrad, Vector, "Gradients of LayerNorm", "LayerNorm 的反向梯度")
IR_OP(LayerNormGrad, LayerNormGrad, (In, dy), (In, x), (In, variance), (In, mean), (In, gamma), (Out, pd_x),
      (Out, pd_gamma), (Out, pd_beta)) {
  constexpr float kEpsilon = 1e-12f;  // the operator has no attribute for it
  layer_norm_grad(op, dy, x, reciprocal_deviation(op, *variance, kEpsilon), mean, gamma, pd_x, pd_gamma, pd_beta);
}
ABOUT(LNDropoutGrad, Vector, "Gradient of LayerNorm, and of the dropout before it",
      "LayerNorm 的反向梯度及其前 dropout 的反向梯度")
IR_OP(LNDropoutGrad, LNDropoutGrad, (In, dy), (In, x), (In, variance), (In, mean), (In, gamma), (In, mask), (Out, pd_x),
      (Out, pd_x_dropout), (Out, pd_gamma), (Out, pd_beta), (Float, keep_prob)) {
  call(op, "LayerNormGrad", dy, x, variance, mean, gamma, pd_x, pd_gamma, pd_beta);
  call(op, "DropOutDoMaskV3D", pd_x, mask, pd_x_dropout, keep_prob);
}
IR_OP(LayerNormGradV3, aclnnLayerNormBackward, (In, dy), (In, x), (In, rstd), (In, mean), (In, gamma), (Out, pd_x),
      (Out, pd_gamma), (Out, pd_beta)) {
  layer_norm_grad(op, dy, x, *rstd, mean, gamma, pd_x, pd_gamma, pd_beta);
}

// The same in two steps: for x, and for gamma and beta by what the first one leaves.
ABOUT(LayerNormXBackpropV2, Vector, "Gradient of LayerNorm for x, and the normalised x",
      "LayerNorm 对 x 的反向梯度与归一化后的 x")
IR_OP(LayerNormXBackpropV2, LayerNormXBackpropV2, (In, dy), (In, x), (In, variance), (In, mean), (In, gamma),
      (Out, pd_x), (Out, res_for_gamma)) {
  const TensorView rstd = reciprocal_deviation(op, *variance, 1e-12f);
  op.result_like("pd_x", *pd_x, *x, x->dtype);
  op.result_like("res_for_gamma", *res_for_gamma, *x, DType::Float);
  op.require(gamma->rank <= x->rank, "gamma is {}, x is {}", describe(*gamma), describe(*x));
  call(op, "aclnnLayerNormBackward", dy, x, ir::dims_of(*gamma), mean, rstd, gamma, nullptr,
       std::vector<bool>{true, false, false}, pd_x, nullptr, nullptr);
  Temp centred;
  call(op, "aclnnSub", x, mean, 1, centred);
  call(op, "aclnnMul", *centred, rstd, res_for_gamma);
}
ABOUT(LayerNormBetaGammaBackpropV2, Vector, "Gradients of LayerNorm for gamma and beta",
      "LayerNorm 对 gamma 与 beta 的反向梯度")
IR_OP(LayerNormBetaGammaBackpropV2, LayerNormBetaGammaBackpropV2, (In, dy), (In, res_for_gamma), (Out, pd_gamma),
      (Out, pd_beta), (Ints, shape_gamma)) {
  op.require_same_shape("res_for_gamma", *res_for_gamma, "dy", *dy);
  const auto own = static_cast<int>(shape_gamma.size());
  op.require(own <= dy->rank, "attribute shape_gamma has {} values, dy is {}", own, describe(*dy));
  const Dims over = ir::all_axes(dy->rank - own);
  ir::result(op, "pd_gamma", *pd_gamma, *shape_gamma, DType::Float);
  ir::result(op, "pd_beta", *pd_beta, *shape_gamma, DType::Float);
  Temp both(DType::Float);
  call(op, "aclnnMul", dy, res_for_gamma, both);
  call(op, "aclnnReduceSum", *both, over, false, DType::Float, pd_gamma);
  call(op, "aclnnReduceSum", dy, over, false, DType::Float, pd_beta);
}

// --- groups and instances -----------------------------------------------------------------------------------------
namespace {

struct Groups {
  int64_t n, c, size, groups;
};
Groups groups_of(const Op& op, const TensorView& x, int64_t groups) {
  const int64_t c = channels_of(op, x);
  op.require(groups > 0 && c % groups == 0, "{} groups do not divide the {} channels of x", groups, c);
  return {x.dims[0], c, x.dims[0] * c > 0 ? x.numel() / (x.dims[0] * c) : 0, groups};
}

/// The mean and the variance of each group.
void group_statistics(Op& op, const In& x, const Groups& g, const TensorView& variance, const TensorView& mean) {
  const TensorView rows = ir::reshaped(op, *x, {g.n * g.groups, g.c / g.groups * g.size});
  const Dims flat = {g.n * g.groups};
  call(op, "aclnnVarMean", rows, Dims{1}, 0, false, ir::reshaped(op, variance, flat), ir::reshaped(op, mean, flat));
}

/// The layout is that of x: channels come second. `format` tells of the layout of another description of x.
void group_norm(Op& op, const In& x, const StepArgument& gamma, const StepArgument& beta, const Groups& g, float eps,
                const Out& y, const StepArgument& mean, const StepArgument& rstd) {
  op.result_like("y", *y, *x, x->dtype);
  const StepArgument arguments[] = {x, gamma, beta, g.n, g.c, g.size, g.groups, eps, y, mean, rstd};
  call_step(op, "aclnnGroupNorm", arguments);
}

/// Clients pass the default NHWC with channels second, too; gamma tells.
void require_channels(const Op& op, const TensorView& x, const TensorView& gamma) {
  op.require(gamma.numel() == x.dims[1], "gamma is {} and x is {}: want channels in the second dimension",
             describe(gamma), describe(x));
}

}  // namespace
ABOUT(GroupNorm, Vector, "Group normalisation, with mean and variance", "组归一化，附带均值与方差")
IR_OP(GroupNorm, GroupNorm, (In, x), (In, gamma), (In, beta), (Out, y), (Out, mean), (Out, variance), (Int, num_groups),
      (Text, data_format, "NHWC"), (Float, eps, 0.0001f), (Bool, is_training, true)) {
  (void)data_format;  // require_channels()
  ir::want(op, "is_training", is_training, true);
  const Groups g = groups_of(op, *x, num_groups);
  require_channels(op, *x, *gamma);
  for (const auto& [name, out] : {std::pair{"mean", &mean}, {"variance", &variance}}) {
    ir::suggest(op, **out, {g.n, g.groups}, x->dtype);  // clients of the aclop give one dimension
    op.require((*out)->numel() == g.n * g.groups, "{} is {}, want {} elements", name, describe(**out), g.n * g.groups);
  }
  group_norm(op, x, gamma, beta, g, eps, y, nullptr, nullptr);
  group_statistics(op, x, g, *variance, *mean);
}
IR_OP(GroupNormV2, aclnnGroupNorm, (In, x), (In, gamma), (In, beta), (Out, y), (Out, mean), (Out, rstd),
      (Int, num_groups), (Text, data_format, "NHWC"), (Float, eps, 0.00001f), (Bool, is_training, true)) {
  (void)data_format;
  ir::want(op, "is_training", is_training, true);
  const Groups g = groups_of(op, *x, num_groups);
  require_channels(op, *x, *gamma);
  ir::result(op, "mean", *mean, {g.n, g.groups}, x->dtype);
  ir::result(op, "rstd", *rstd, {g.n, g.groups}, x->dtype);
  group_norm(op, x, gamma, beta, g, eps, y, mean, rstd);
}
IR_OP(GroupNormSwish, aclnnGroupNormSwish, (In, x), (In, gamma), (In, beta), (Out, y), (Out, mean), (Out, rstd),
      (Int, num_groups), (Text, data_format, "NCHW"), (Float, eps, 0.00001f), (Bool, activate_swish, true),
      (Float, swish_scale, 1)) {
  const Groups g = groups_of(op, *x, num_groups);
  op.result_like("y", *y, *x, x->dtype);
  ir::result(op, "mean", *mean, {g.n, g.groups}, x->dtype);
  ir::result(op, "rstd", *rstd, {g.n, g.groups}, x->dtype);
  call(op, "aclnnGroupNormSwish", x, gamma, beta, num_groups, data_format, eps, activate_swish, swish_scale, y, mean,
       rstd);
}
IR_OP(GroupNormSilu, aclnnGroupNormSilu, (In, x), (OptIn, gamma), (OptIn, beta), (Out, y), (Out, mean), (Out, variance),
      (Int, num_groups), (Float, eps, 0.0001f)) {
  const Groups g = groups_of(op, *x, num_groups);
  op.result_like("y", *y, *x, x->dtype);
  ir::result(op, "mean", *mean, {g.n, g.groups}, x->dtype);
  ir::result(op, "variance", *variance, {g.n, g.groups}, x->dtype);  // what it holds is 1 / deviation, as in aclnn
  call(op, "aclnnGroupNormSilu", x, gamma, beta, num_groups, eps, y, mean, variance);
}
IR_OP(GroupNormGrad, aclnnGroupNormBackward, (In, dy), (In, mean), (In, rstd), (In, x), (In, gamma), (OptOut, dx),
      (OptOut, dgamma), (OptOut, dbeta), (Int, num_groups), (Text, data_format, "NCHW"), (Bool, dx_is_require, true),
      (Bool, dgamma_is_require, true), (Bool, dbeta_is_require, true)) {
  require_channels_first(op, data_format);
  const Groups g = groups_of(op, *x, num_groups);
  if (dx) op.result_like("dx", *dx, *x, x->dtype);
  if (dgamma) op.result_like("dgamma", *dgamma, *gamma, gamma->dtype);
  if (dbeta) op.result_like("dbeta", *dbeta, *gamma, gamma->dtype);
  call(op, "aclnnGroupNormBackward", dy, x, mean, rstd, gamma, g.n, g.c, g.size, g.groups,
       std::vector<bool>{dx_is_require, dgamma_is_require, dbeta_is_require}, dx, dgamma, dbeta);
}
ABOUT(InstanceNorm, Vector, "Normalises each channel of each sample", "逐样本逐通道归一化")
IR_OP(InstanceNorm, InstanceNorm, (In, x), (In, gamma), (In, beta), (Out, y), (Out, mean), (Out, variance),
      (Text, data_format, "NDHWC"), (Float, epsilon, 1e-6f)) {
  const std::string_view word = data_format;
  // the default says nothing of images of two dimensions
  op.require(word == "NCHW" || word == "NCDHW" || word == "ND" || (word == "NDHWC" && x->rank < 5),
             "attribute data_format is \"{}\", want NCHW, NCDHW or ND", word);
  const Groups g = groups_of(op, *x, channels_of(op, *x));
  require_channels(op, *x, *gamma);
  Dims over = ir::all_axes(x->rank);
  over.erase(over.begin(), over.begin() + 2);
  const Dims dims = ir::reduced(*x, over, true);
  const TensorView means = result_of_size(op, "mean", mean, dims, x->dtype);
  const TensorView variances = result_of_size(op, "variance", variance, dims, x->dtype);
  group_norm(op, x, gamma, beta, g, epsilon, y, nullptr, nullptr);
  group_statistics(op, x, g, variances, means);
}

// --- by the root of the mean square -------------------------------------------------------------------------------
namespace {
/// x's dimensions with 1 for those of gamma.
Dims root_dims(const Op& op, const TensorView& x, const TensorView& gamma) {
  op.require(gamma.rank <= x.rank, "gamma is {} and x is {}: want gamma in the shape of x's last dimensions",
             describe(gamma), describe(x));
  return row_statistics(x, x.rank - gamma.rank);
}
}  // namespace
IR_OP(RmsNorm, aclnnRmsNorm, (In, x), (In, gamma), (Out, y), (Out, rstd), (Float, epsilon, 1e-6f)) {
  op.result_like("y", *y, *x, x->dtype);
  ir::result(op, "rstd", *rstd, root_dims(op, *x, *gamma), DType::Float);
  call(op, "aclnnRmsNorm", x, gamma, epsilon, y, rstd);
}
IR_OP(RmsNormGrad, aclnnRmsNormGrad, (In, dy), (In, x), (In, rstd), (In, gamma), (Out, dx), (Out, dgamma)) {
  op.result_like("dx", *dx, *x, x->dtype);
  op.result_like("dgamma", *dgamma, *gamma, DType::Float);
  call(op, "aclnnRmsNormGrad", dy, x, rstd, gamma, dx, dgamma);
}
IR_OP(AddRmsNorm, aclnnAddRmsNorm, (In, x1), (In, x2), (In, gamma), (Out, y), (Out, rstd), (Out, x),
      (Float, epsilon, 1e-6f)) {
  op.result_like("y", *y, *x1, x1->dtype);
  op.result_like("x", *x, *x1, x1->dtype);
  ir::result(op, "rstd", *rstd, root_dims(op, *x1, *gamma), DType::Float);
  call(op, "aclnnAddRmsNorm", x1, x2, gamma, epsilon, y, rstd, x);
}
IR_OP(AddRmsNormCast, aclnnAddRmsNormCast, (In, x1), (In, x2), (In, gamma), (Out, y1), (Out, y2), (Out, rstd), (Out, x),
      (Float, epsilon, 1e-6f)) {
  op.result_like("y1", *y1, *x1, DType::Float);
  op.result_like("y2", *y2, *x1, x1->dtype);
  op.result_like("x", *x, *x1, x1->dtype);
  ir::result(op, "rstd", *rstd, root_dims(op, *x1, *gamma), DType::Float);
  call(op, "aclnnAddRmsNormCast", x1, x2, gamma, epsilon, y1, y2, rstd, x);
}
IR_OP(AddLayerNorm, aclnnAddLayerNorm, (In, x1), (In, x2), (In, gamma), (In, beta), (OptIn, bias), (Out, y),
      (Out, mean), (Out, rstd), (Out, x), (Float, epsilon, 1e-5f), (Bool, additional_output, false)) {
  op.result_like("y", *y, *x1, x1->dtype);
  op.result_like("x", *x, *x1, x1->dtype);
  ir::result(op, "mean", *mean, root_dims(op, *x1, *gamma), DType::Float);
  ir::result(op, "rstd", *rstd, root_dims(op, *x1, *gamma), DType::Float);
  call(op, "aclnnAddLayerNorm", x1, x2, gamma, beta, bias, epsilon, additional_output, y, mean, rstd, x);
}

// dx and dx2 are one: both are added.
IR_OP(AddLayerNormGrad, aclnnAddLayerNormGrad, (In, dy), (In, x1), (In, x2), (In, rstd), (In, mean), (In, gamma),
      (OptIn, dsum), (Out, dx), (Out, dgamma), (Out, dbeta)) {
  op.result_like("dx", *dx, *x1, x1->dtype);
  op.result_like("dgamma", *dgamma, *gamma, DType::Float);
  op.result_like("dbeta", *dbeta, *gamma, DType::Float);
  call(op, "aclnnAddLayerNormGrad", dy, x1, x2, rstd, mean, gamma, dsum, dx, dgamma, dbeta);
}
IR_OP(DeepNorm, aclnnDeepNorm, (In, x), (In, gx), (In, beta), (In, gamma), (Out, mean), (Out, rstd), (Out, y),
      (Float, alpha, 0.3f), (Float, epsilon, 1e-6f)) {
  op.result_like("y", *y, *x, x->dtype);
  ir::result(op, "mean", *mean, root_dims(op, *x, *gamma), DType::Float);
  ir::result(op, "rstd", *rstd, root_dims(op, *x, *gamma), DType::Float);
  call(op, "aclnnDeepNorm", x, gx, beta, gamma, alpha, epsilon, mean, rstd, y);
}
IR_OP(DeepNormGrad, aclnnDeepNormGrad, (In, dy), (In, x), (In, gx), (In, gamma), (In, mean), (In, rstd), (Out, dx),
      (Out, dgx), (Out, dbeta), (Out, dgamma), (Float, alpha, 0.3f)) {
  op.result_like("dx", *dx, *x, x->dtype);
  op.result_like("dgx", *dgx, *x, x->dtype);
  op.result_like("dbeta", *dbeta, *gamma, DType::Float);
  op.result_like("dgamma", *dgamma, *gamma, DType::Float);
  call(op, "aclnnDeepNormGrad", dy, x, gx, gamma, mean, rstd, alpha, dx, dgx, dbeta, dgamma);
}

// --- of several ranks: statistics are rows of [ranks, channels] ----------------------------------------------------
ABOUT(ReduceMeanWithCount, Vector, "The mean of x over axes, in which each element counts count / count_sum",
      "x 沿 axes 的加权平均，权重为 count / count_sum")
IR_OP(ReduceMeanWithCount, ReduceMeanWithCount, (In, x), (In, count), (In, count_sum), (Out, y), (Ints, axes),
      (Bool, keep_dims, false)) {
  const ir::Dims over = ir::axes_of(op, "axes", *axes, x->rank);
  ir::result(op, "y", *y, ir::reduced(*x, over, keep_dims), x->dtype);
  Temp share, weighted;
  call(op, "aclnnDiv", count, count_sum, share);
  call(op, "aclnnMul", x, *share, weighted);
  call(op, "aclnnReduceSum", *weighted, over, keep_dims, x->dtype, y);
}
ABOUT(SyncBatchNormGatherStatsWithCounts, Vector,
      "The reciprocal deviation of all ranks together, and the running variance moved towards theirs",
      "各 rank 合并后的标准差倒数，并更新滑动方差")
IR_OP(SyncBatchNormGatherStatsWithCounts, SyncBatchNormGatherStatsWithCounts, (In, mean_all), (In, invert_std_all),
      (In, count_all), (In, mean_broadcast), (In, count_sum), (In, running_var), (Out, invert_std),
      (Out, running_var_update), (Float, momentum, 0.1f), (Float, epsilon, 0.001f)) {
  op.require(mean_all->rank == 2, "mean_all is {}, want [ranks, channels]", describe(*mean_all));
  const ir::Dims row = {1, mean_all->dims[1]}, all = ir::dims_of(*mean_all);
  ir::result(op, "invert_std", *invert_std, row, DType::Float);
  op.result_like("running_var_update", *running_var_update, *running_var, running_var->dtype);
  // The sum of squares about the common mean: each rank's own, and what its mean is away from it.
  Temp deviation, square, centred, away, each, weighted, variance, more, unbiased, fewer;
  const TensorView least = ir::temporary(op, DType::Float, all), sum = ir::temporary(op, DType::Float, row);
  call(op, "aclnnReciprocal", invert_std_all, deviation);
  call(op, "aclnnMul", *deviation, *deviation, square);
  call(op, "aclnnAdds", *square, -epsilon, 1, least);
  call(op, "aclnnSub", mean_all, mean_broadcast, 1, centred);
  call(op, "aclnnMul", *centred, *centred, away);
  call(op, "aclnnAdd", least, *away, 1, each);
  call(op, "aclnnMul", *each, count_all, weighted);
  call(op, "aclnnReduceSum", *weighted, ir::Dims{0}, true, DType::Float, sum);
  call(op, "aclnnDiv", sum, count_sum, variance);
  call(op, "aclnnAdds", *variance, epsilon, 1, more);
  call(op, "aclnnRsqrt", *more, invert_std);
  call(op, "aclnnAdds", count_sum, -1.0, 1, fewer);
  call(op, "aclnnDiv", sum, *fewer, unbiased);
  call(op, "aclnnLerps", running_var, *unbiased, momentum, running_var_update);
}
ABOUT(SyncBNTrainingUpdate, Vector, "running_mean * (1 - momentum) + mean * momentum",
      "running_mean * (1 - momentum) + mean * momentum")
IR_OP(SyncBNTrainingUpdate, SyncBNTrainingUpdate, (In, mean), (In, running_mean), (Out, running_mean_update),
      (Float, momentum, 0.1f)) {
  op.result_like("running_mean_update", *running_mean_update, *running_mean, running_mean->dtype);
  call(op, "aclnnLerps", running_mean, mean, momentum, running_mean_update);
}

// --- by neighbouring channels, and by mean and deviation alone ------------------------------------------------------
namespace {
/// The sum of v [N, C, …] over the channels at most `radius` away.
TensorView over_neighbours(Op& op, const TensorView& v, int64_t radius) {
  int64_t behind = 1;
  for (int d = 2; d < v.rank; ++d) behind *= v.dims[d];
  const TensorView plane = ir::reshaped(op, v, {v.dims[0], 1, v.dims[1], behind}),
                   sum = ir::temporary(op, v.dtype, ir::dims_of(plane));
  constexpr int64_t kSum = 1;  // the divisor
  call(op, "aclnnAvgPool2d", plane, Dims{2 * radius + 1, 1}, Dims{1, 1}, Dims{radius, 0}, false, true, kSum, 0, sum);
  return ir::reshaped(op, sum, ir::dims_of(v));
}
/// bias + alpha * the sum of squares, in FLOAT.
TensorView local_response(Op& op, const TensorView& x, int64_t radius, float bias, float alpha) {
  op.require(x.rank >= 3, "x is {}, want [N, C, …]", describe(x));
  op.require(radius >= 0, "attribute depth_radius is {}, want 0 or more", radius);
  const TensorView square = ir::temporary(op, DType::Float, ir::dims_of(x)),
                   scaled = ir::temporary(op, DType::Float, ir::dims_of(x)),
                   response = ir::temporary(op, DType::Float, ir::dims_of(x));
  Temp wide(DType::Float);
  call(op, "aclnnCast", x, DType::Float, wide);
  call(op, "aclnnMul", *wide, *wide, square);
  call(op, "aclnnMuls", over_neighbours(op, square, radius), alpha, scaled);
  call(op, "aclnnAdds", scaled, bias, 1, response);
  return response;
}
}  // namespace
ABOUT(LRN, Vector, "x / (bias + alpha * the sum of squares of the channels at most depth_radius away)^beta",
      "x / (bias + alpha * 距离不超过 depth_radius 的通道平方和)^beta")
IR_OP(LRN, LRN, (In, x), (Out, y), (Int, depth_radius, 5), (Float, bias, 1), (Float, alpha, 1), (Float, beta, 0.5f),
      (Text, norm_region, "ACROSS_CHANNELS")) {
  ir::want(op, "norm_region", norm_region, "ACROSS_CHANNELS");
  op.result_like("y", *y, *x, x->dtype);
  const TensorView response = local_response(op, *x, depth_radius, bias, alpha);
  Temp factor;
  call(op, "aclnnPowTensorScalar", response, -beta, factor);
  call(op, "aclnnMul", x, *factor, y);
}
ABOUT(LRNGrad, Vector, "Gradient of LRN", "LRN 的反向梯度")
IR_OP(LRNGrad, LRNGrad, (In, grads), (In, x), (In, y), (Out, z), (Int, depth_radius, 5), (Float, bias, 1),
      (Float, alpha, 1), (Float, beta, 0.5f)) {
  op.result_like("z", *z, *x, x->dtype);
  op.require_same_shape("grads", *grads, "x", *x);
  op.require_same_shape("y", *y, "x", *x);
  const TensorView response = local_response(op, *x, depth_radius, bias, alpha);
  const TensorView part = ir::temporary(op, DType::Float, ir::dims_of(*x));
  Temp factor, own, weighted, others;
  call(op, "aclnnPowTensorScalar", response, -beta, factor);
  call(op, "aclnnMul", grads, *factor, own);
  call(op, "aclnnMul", grads, y, weighted);
  call(op, "aclnnDiv", *weighted, response, part);
  call(op, "aclnnMul", over_neighbours(op, part, depth_radius), x, others);
  call(op, "aclnnSub", *own, *others, 2 * alpha * beta, z);
}
ABOUT(MVNV2, Vector, "(x - mean) / (deviation + eps) over axes", "沿 axes 计算 (x - 均值) / (标准差 + eps)")
IR_OP(MVNV2, MVNV2, (In, x), (Out, y), (Float, eps, 1e-9f), (Ints, axes, 0, 2, 3)) {
  const ir::Dims over = ir::axes_of(op, "axes", *axes, x->rank), dims = ir::reduced(*x, over, true);
  op.result_like("y", *y, *x, x->dtype);
  const TensorView deviation = ir::temporary(op, x->dtype, dims), mean = ir::temporary(op, x->dtype, dims);
  constexpr int64_t kPopulation = 0;  // the variance is divided by the number of elements
  call(op, "aclnnStdMeanCorrection", x, over, kPopulation, true, deviation, mean);
  Temp centred, divisor;
  call(op, "aclnnSub", x, mean, 1, centred);
  call(op, "aclnnAdds", deviation, eps, 1, divisor);
  call(op, "aclnnDiv", *centred, *divisor, y);
}

ABOUT(Renorm, Vector, "The factor of each slice along dim that brings its norm of order p to maxnorm at most",
      "沿 dim 的各切片使其 p 阶范数不超过 maxnorm 的缩放系数")
IR_OP(Renorm, Renorm, (In, x), (Out, y), (Float, p), (Int, dim), (Float, maxnorm)) {
  const int64_t at = ir::axis_of(op, "dim", dim, x->rank);
  ir::Dims others, dims(static_cast<size_t>(x->rank), 1);
  for (int64_t d = 0; d < x->rank; ++d)
    if (d != at) others.push_back(d);
  dims[static_cast<size_t>(at)] = x->dims[at];
  ir::result(op, "y", *y, dims, x->dtype);
  const TensorView size = ir::temporary(op, DType::Float, dims);
  if (others.empty()) call(op, "aclnnAbs", x, size);
  else call(op, "aclnnLinalgVectorNorm", x, static_cast<double>(p), others, true, size.dtype, size);
  Temp more, inverse, factor;
  call(op, "aclnnAdds", size, 1e-7, 1, more);
  call(op, "aclnnReciprocal", *more, inverse);
  call(op, "aclnnMuls", *inverse, maxnorm, factor);
  call(op, "aclnnClampMax", *factor, 1, y);
}

}  // namespace updraft
