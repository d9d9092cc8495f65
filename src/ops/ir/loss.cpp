// Softmax, losses and their gradients.
#include <algorithm>
#include <cmath>

#include "ops/gathered.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

int64_t one_axis(const Op& op, const char* name, const Ints& axes) {
  op.require(axes.size() == 1, "attribute {} has {} values, want one axis", name, axes.size());
  return axes[0];
}

constexpr int kNone = 0, kMean = 1, kSum = 2;
int reduction_of(const Op& op, std::string_view word) {
  op.require(word == "none" || word == "mean" || word == "sum", "attribute reduction is \"{}\", want none, mean or sum",
             word);
  return word == "none" ? kNone : word == "mean" ? kMean : kSum;
}
/// The shape of a loss: that of its elements, or a number.
void loss_result(const Op& op, const char* name, const Out& y, const TensorView& x, int reduction) {
  if (reduction == kNone) op.result_like(name, *y, x, x.dtype);
  else ir::suggest(op, *y, {}, x.dtype);
}
/// A loss as the number that aclnn writes: clients of this interface may call it [1].
TensorView number(const Out& y, int reduction) {
  if (reduction != kNone && y->numel() == 1) return TensorView::contiguous(y->data, y->dtype, nullptr, 0);
  return *y;
}

}  // namespace

IR_OP(SoftmaxV2, aclnnSoftmax, (In, x), (Out, y), (Ints, axes, -1), (Bool, half_to_float, false)) {
  op.result_like("y", *y, *x, half_to_float ? DType::Float : x->dtype);
  call(op, "aclnnSoftmax", x, one_axis(op, "axes", axes), y);
}
IR_OP(SoftmaxGrad, aclnnSoftmaxBackward, (In, softmax), (In, grad_softmax), (Out, grad_x), (Ints, axes, -1)) {
  op.result_like("grad_x", *grad_x, *softmax, softmax->dtype);
  call(op, "aclnnSoftmaxBackward", grad_softmax, softmax, one_axis(op, "axes", axes), grad_x);
}
ABOUT(ConfusionSoftmaxGrad, Vector, "y = grad - sum(grad * x) along the last dimension",
      "y = grad - sum(grad * x)，沿末维求和")
IR_OP(ConfusionSoftmaxGrad, ConfusionSoftmaxGrad, (In, grad), (In, x), (Out, y)) {
  op.require(grad->rank > 0, "grad is {}, want one dimension or more", describe(*grad));
  op.result_like("y", *y, *grad, grad->dtype);
  Temp both, total;
  call(op, "aclnnMul", grad, x, both);
  call(op, "aclnnReduceSum", *both, std::vector<int64_t>{grad->rank - 1}, true, grad->dtype, total);
  call(op, "aclnnSub", grad, *total, 1, y);
}
ABOUT(SoftmaxGradExt, Vector, "y = (grad - sum(grad * x1)) * x1 * x2 along an axis",
      "y = (grad - sum(grad * x1)) * x1 * x2，沿轴求和")
IR_OP(SoftmaxGradExt, SoftmaxGradExt, (In, grad), (In, x1), (In, x2), (Out, y), (Int, axes, 1),
      (Bool, keep_dims, false)) {
  (void)keep_dims;  // the sum is spread over its axis again
  op.result_like("y", *y, *grad, grad->dtype);
  Temp both, total, rest, scaled;
  call(op, "aclnnMul", grad, x1, both);
  call(op, "aclnnReduceSum", *both, std::vector<int64_t>{ir::axis_of(op, "axes", axes, grad->rank)}, true, grad->dtype,
       total);
  call(op, "aclnnSub", grad, *total, 1, rest);
  call(op, "aclnnMul", *rest, x1, scaled);
  call(op, "aclnnMul", *scaled, x2, y);
}
IR_OP(LogSoftmaxV2, aclnnLogSoftmax, (In, logits), (Out, logsoftmax), (Ints, axes, -1)) {
  op.result_like("logsoftmax", *logsoftmax, *logits, logits->dtype);
  call(op, "aclnnLogSoftmax", logits, one_axis(op, "axes", axes), logsoftmax);
}
IR_OP(LogSoftmaxGrad, aclnnLogSoftmaxBackward, (In, grad), (In, x), (Out, y), (Ints, axis, -1)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnLogSoftmaxBackward", grad, x, one_axis(op, "axis", axis), y);
}
namespace {
/// loss = -sum(labels log softmax), backprop = softmax - labels, rows are the last dimension.
void softmax_cross_entropy(Op& op, const In& features, const TensorView& labels, const Out& loss, const Out& backprop) {
  const Dims dims = ir::dims_of(*features), last = {features->rank - 1};
  ir::result(op, "loss", *loss, ir::reduced(*features, last, false), features->dtype);
  op.result_like("backprop", *backprop, *features, features->dtype);
  const TensorView logs = ir::temporary(op, features->dtype, dims), soft = ir::temporary(op, features->dtype, dims);
  call(op, "aclnnLogSoftmax", features, -1, logs);
  call(op, "aclnnSoftmax", features, -1, soft);
  Temp weighted;
  call(op, "aclnnMul", labels, logs, weighted);
  const TensorView total = ir::temporary(op, loss->dtype, ir::dims_of(*loss));
  call(op, "aclnnReduceSum", *weighted, last, false, total.dtype, total);
  call(op, "aclnnNeg", total, loss);
  call(op, "aclnnSub", soft, labels, 1, backprop);
}
}  // namespace
ABOUT(SoftmaxCrossEntropyWithLogits, Vector, "Cross entropy of softmax(features) and labels, with its gradient",
      "softmax 交叉熵损失及其梯度")
IR_OP(SoftmaxCrossEntropyWithLogits, SoftmaxCrossEntropyWithLogits, (In, features), (In, labels), (Out, loss),
      (Out, backprop)) {
  op.require(features->rank >= 1, "features is {}, want rows", describe(*features));
  op.require_same_shape("labels", *labels, "features", *features);
  softmax_cross_entropy(op, features, *labels, loss, backprop);
}
ABOUT(SparseSoftmaxCrossEntropyWithLogits, Vector, "Cross entropy of softmax(features) and classes, with its gradient",
      "softmax 与类别标签的交叉熵损失及其梯度")
IR_OP(SparseSoftmaxCrossEntropyWithLogits, SparseSoftmaxCrossEntropyWithLogits, (In, features), (In, labels),
      (Out, loss), (Out, backprop)) {
  op.require(
      features->rank == labels->rank + 1 && std::equal(labels->dims, labels->dims + labels->rank, features->dims),
      "features is {} and labels is {}: want a class for each row", describe(*features), describe(*labels));
  const TensorView one = ir::temporary(op, features->dtype, {1}), none = ir::temporary(op, features->dtype, {1}),
                   hot = ir::temporary(op, features->dtype, ir::dims_of(*features));
  call(op, "aclnnInplaceOne", one);
  call(op, "aclnnInplaceZero", none);
  call(op, "aclnnOneHot", labels, features->dims[features->rank - 1], one, none, -1, hot);
  softmax_cross_entropy(op, features, hot, loss, backprop);
}

IR_OP(SigmoidCrossEntropyWithLogits, aclnnBinaryCrossEntropyWithLogits, (In, predict), (In, target), (Out, loss)) {
  op.result_like("loss", *loss, *predict, predict->dtype);
  call(op, "aclnnBinaryCrossEntropyWithLogits", predict, target, nullptr, nullptr, kNone, loss);
}
IR_OP(SigmoidCrossEntropyWithLogitsGrad, aclnnBinaryCrossEntropyWithLogitsBackward, (In, predict), (In, target),
      (In, dout), (Out, gradient)) {
  op.result_like("gradient", *gradient, *predict, predict->dtype);
  call(op, "aclnnBinaryCrossEntropyWithLogitsBackward", dout, predict, target, nullptr, nullptr, kNone, gradient);
}
IR_OP(SigmoidCrossEntropyWithLogitsV2, aclnnBinaryCrossEntropyWithLogits, (In, predict), (In, target), (OptIn, weight),
      (OptIn, pos_weight), (Out, loss), (Text, reduction, "mean")) {
  const int how = reduction_of(op, reduction);
  loss_result(op, "loss", loss, *predict, how);
  call(op, "aclnnBinaryCrossEntropyWithLogits", predict, target, weight, pos_weight, how, number(loss, how));
}
IR_OP(SigmoidCrossEntropyWithLogitsGradV2, aclnnBinaryCrossEntropyWithLogitsBackward, (In, predict), (In, target),
      (In, dout), (OptIn, weight), (OptIn, pos_weight), (Out, gradient), (Text, reduction, "mean")) {
  op.result_like("gradient", *gradient, *predict, predict->dtype);
  call(op, "aclnnBinaryCrossEntropyWithLogitsBackward", dout, predict, target, weight, pos_weight,
       reduction_of(op, reduction), gradient);
}
IR_OP(BinaryCrossEntropy, aclnnBinaryCrossEntropy, (In, x), (In, y), (OptIn, weight), (Out, output),
      (Text, reduction, "mean")) {
  const int how = reduction_of(op, reduction);
  loss_result(op, "output", output, *x, how);
  call(op, "aclnnBinaryCrossEntropy", x, y, weight, how, number(output, how));
}
IR_OP(BinaryCrossEntropyGrad, aclnnBinaryCrossEntropyBackward, (In, x), (In, y), (In, grad_output), (OptIn, weight),
      (Out, output), (Text, reduction, "mean")) {
  op.result_like("output", *output, *x, x->dtype);
  call(op, "aclnnBinaryCrossEntropyBackward", grad_output, x, y, weight, reduction_of(op, reduction), output);
}
IR_OP(MseLoss, aclnnMseLoss, (In, predict), (In, label), (Out, y), (Text, reduction, "mean")) {
  const int how = reduction_of(op, reduction);
  loss_result(op, "y", y, *predict, how);
  call(op, "aclnnMseLoss", predict, label, how, number(y, how));
}
IR_OP(MseLossGrad, aclnnMseLossBackward, (In, predict), (In, label), (In, dout), (Out, y), (Text, reduction, "mean")) {
  op.result_like("y", *y, *predict, predict->dtype);
  call(op, "aclnnMseLossBackward", dout, predict, label, reduction_of(op, reduction), y);
}
IR_OP(LpLoss, aclnnL1Loss, (In, predict), (In, label), (Out, y), (Int, p), (Text, reduction, "mean")) {
  ir::want(op, "p", p, int64_t{1});
  const int how = reduction_of(op, reduction);
  loss_result(op, "y", y, *predict, how);
  call(op, "aclnnL1Loss", predict, label, how, number(y, how));
}
IR_OP(L1LossGrad, aclnnL1LossBackward, (In, grads), (In, predict), (In, label), (Out, y), (Text, reduction, "mean")) {
  op.result_like("y", *y, *predict, predict->dtype);
  call(op, "aclnnL1LossBackward", grads, predict, label, reduction_of(op, reduction), y);
}
IR_OP(SmoothL1Loss, aclnnSmoothL1Loss, (In, predict), (In, label), (Out, loss), (Float, sigma, 1)) {
  op.result_like("loss", *loss, *predict, predict->dtype);
  call(op, "aclnnSmoothL1Loss", predict, label, kNone, sigma, loss);
}
IR_OP(SmoothL1LossGrad, aclnnSmoothL1LossBackward, (In, predict), (In, label), (In, dout), (Out, gradient),
      (Float, sigma, 1)) {
  op.result_like("gradient", *gradient, *predict, predict->dtype);
  call(op, "aclnnSmoothL1LossBackward", dout, predict, label, kNone, sigma, gradient);
}
IR_OP(SmoothL1LossV2, aclnnSmoothL1Loss, (In, predict), (In, label), (Out, loss), (Float, sigma, 1),
      (Text, reduction, "mean")) {
  const int how = reduction_of(op, reduction);
  loss_result(op, "loss", loss, *predict, how);
  call(op, "aclnnSmoothL1Loss", predict, label, how, sigma, number(loss, how));
}
IR_OP(SmoothL1LossGradV2, aclnnSmoothL1LossBackward, (In, predict), (In, label), (In, dout), (Out, gradient),
      (Float, sigma, 1), (Text, reduction, "mean")) {
  op.result_like("gradient", *gradient, *predict, predict->dtype);
  call(op, "aclnnSmoothL1LossBackward", dout, predict, label, reduction_of(op, reduction), sigma, gradient);
}
namespace {
/// True for batchmean, which is the sum divided by the size of the batch.
bool is_batch_mean(std::string_view word) { return word == "batchmean"; }
}  // namespace
namespace {
void divergence(Op& op, const In& x, const StepArgument& target, const char* reduction, bool log_target, const Out& y) {
  const bool batch = is_batch_mean(reduction);
  op.require(!batch || x->rank > 0, "x is {}, want a batch", describe(*x));
  const int how = batch ? kSum : reduction_of(op, reduction);
  loss_result(op, "y", y, *x, how);
  if (!batch) return call(op, "aclnnKlDiv", x, target, how, log_target, number(y, how));
  const TensorView total = ir::temporary(op, y->dtype, {});
  call(op, "aclnnKlDiv", x, target, how, log_target, total);
  call(op, "aclnnDivs", total, static_cast<double>(x->dims[0]), number(y, how));
}
}  // namespace
// As the card has it, a target below 0, which is no probability, adds nothing.
IR_OP(KLDiv, aclnnKlDiv, (In, x), (In, target), (Out, y), (Text, reduction)) {
  Temp probability;
  call(op, "aclnnRelu", target, probability);
  divergence(op, x, StepArgument(*probability), reduction, false, y);
}
IR_OP(KLDivV2, aclnnKlDiv, (In, x), (In, target), (Out, y), (Text, reduction, "mean"), (Bool, log_target, false)) {
  divergence(op, x, StepArgument(target), reduction, log_target, y);
}
IR_OP(KlDivLossGrad, aclnnKlDivBackward, (In, grad), (In, input), (In, target), (Out, y), (Text, reduction, "mean"),
      (Bool, log_target, false)) {
  const bool batch = is_batch_mean(reduction);
  op.require(!batch || input->rank > 0, "input is {}, want a batch", describe(*input));
  op.result_like("y", *y, *input, input->dtype);
  if (!batch) return call(op, "aclnnKlDivBackward", grad, input, target, reduction_of(op, reduction), log_target, y);
  Temp part;
  call(op, "aclnnDivs", grad, static_cast<double>(input->dims[0]), part);
  call(op, "aclnnKlDivBackward", *part, input, target, kSum, log_target, y);
}
IR_OP(NLLLoss, aclnnNLLLoss, (In, x), (In, target), (OptIn, weight), (Out, y), (Out, total_weight),
      (Text, reduction, "mean"), (Int, ignore_index, -100)) {
  const int how = reduction_of(op, reduction);
  if (how == kNone) op.result_like("y", *y, *target, x->dtype);
  else ir::suggest(op, *y, {}, x->dtype);
  ir::suggest(op, *total_weight, {}, x->dtype);
  call(op, "aclnnNLLLoss", x, target, weight, how, ignore_index, number(y, how), number(total_weight, kSum));
}
IR_OP(NLLLossGrad, aclnnNLLLossBackward, (In, x), (In, y_grad), (In, target), (In, weight), (In, total_weight),
      (Out, x_grad), (Text, reduction, "mean"), (Int, ignore_index, -100)) {
  op.result_like("x_grad", *x_grad, *x, x->dtype);
  call(op, "aclnnNLLLossBackward", y_grad, x, target, weight, reduction_of(op, reduction), ignore_index, total_weight,
       x_grad);
}
IR_OP(MultilabelMarginLoss, aclnnMultilabelMarginLoss, (In, x), (In, target), (Out, y), (Out, is_target),
      (Text, reduction, "mean")) {
  const int how = reduction_of(op, reduction);
  op.result_like("is_target", *is_target, *x, target->dtype);
  if (how != kNone) ir::suggest(op, *y, {}, x->dtype);
  else ir::suggest(op, *y, x->rank == 2 ? Dims{x->dims[0]} : Dims(), x->dtype);
  call(op, "aclnnMultilabelMarginLoss", x, target, how, number(y, how), is_target);
}
IR_OP(SoftMarginLoss, aclnnSoftMarginLoss, (In, input_x), (In, input_y), (Out, output_z), (Text, reduction, "mean")) {
  const int how = reduction_of(op, reduction);
  loss_result(op, "output_z", output_z, *input_x, how);
  call(op, "aclnnSoftMarginLoss", input_x, input_y, how, number(output_z, how));
}
IR_OP(SoftMarginLossGrad, aclnnSoftMarginLossBackward, (In, predict), (In, label), (In, dout), (Out, gradient),
      (Text, reduction, "mean")) {
  op.result_like("gradient", *gradient, *predict, predict->dtype);
  call(op, "aclnnSoftMarginLossBackward", dout, predict, label, reduction_of(op, reduction), gradient);
}

ABOUT(CosineEmbeddingLoss, AICPU, "1 - cosine of x1 and x2 where target is 1, its excess over margin where it is -1",
      "target 为 1 时取 1 - 余弦相似度，为 -1 时取超出 margin 的部分")
IR_OP(CosineEmbeddingLoss, CosineEmbeddingLoss, (In, x1), (In, x2), (In, target), (Out, y), (Float, margin, 0),
      (Text, reduction, "mean")) {
  const std::string_view how = reduction;
  op.require(how == "none" || how == "mean" || how == "sum", "attribute reduction is \"{}\", want none, mean or sum",
             reduction);
  op.require_same_shape("x2", *x2, "x1", *x1);
  op.require(x1->rank >= 2, "x1 is {}, want a batch of vectors", describe(*x1));
  Dims dims = ir::dims_of(*x1), order = ir::all_axes(x1->rank);
  dims.erase(dims.begin() + 1);
  op.require(ir::dims_of(*target) == dims, "target is {}, want the shape of x1 {} without dimension 1",
             describe(*target), describe(*x1));
  const DType type = is_floating(x1->dtype) ? x1->dtype : DType::Float;
  ir::result(op, "y", *y, how == "none" ? dims : Dims{}, type);
  if (op.inferring()) return;
  std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  op.work(x1->numel() * 4);
  op.launch([=, a = permute(*x1, order), b = permute(*x2, order), t = *target, to = *y,
             least = static_cast<double>(margin), none = how == "none", mean = how == "mean"] {
    constexpr double kSmall = 1e-12;
    const std::vector<double> v = gathered<double>(a), w = gathered<double>(b), sign = gathered<double>(t);
    std::vector<double> losses(sign.size());
    const auto size = static_cast<size_t>(a.dims[a.rank - 1]);
    for (size_t i = 0; i < losses.size(); ++i) {
      double both = 0, first = kSmall, second = kSmall;
      for (size_t k = i * size; k < (i + 1) * size; ++k)
        both += v[k] * w[k], first += v[k] * v[k], second += w[k] * w[k];
      const double cosine = both / std::sqrt(first * second);
      losses[i] = sign[i] == 1 ? 1 - cosine : sign[i] == -1 ? std::max(0.0, cosine - least) : 0;
    }
    if (none) return write_all(to, losses);
    double sum = 0;
    for (double l : losses) sum += l;
    write_all(to, std::vector<double>{mean ? sum / static_cast<double>(losses.size()) : sum});
  });
}

}  // namespace updraft
