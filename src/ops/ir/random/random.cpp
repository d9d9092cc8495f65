// Random numbers and dropout. Stateless operators draw the same numbers for the same seed; the others draw new ones for
// each call where both seeds are 0.
#include <atomic>
#include <random>

#include "ops/ir/random/seeds.h"
#include "ops/ir/shapes.h"
#include "tensor/real_types.h"

namespace updraft {

int64_t ir::fresh_seed() {
  static std::atomic<int64_t> next{static_cast<int64_t>(std::random_device()()) << 20};
  return ++next;
}

namespace {

using ir::Dims;
using ir::fresh_seed;

struct Seeds {
  int64_t seed, offset;
};
Seeds seeds_of(int64_t seed, int64_t seed2) {
  if (seed == 0 && seed2 == 0) return {fresh_seed(), 0};
  return {seed, seed2};
}

/// A mask of one bit an element, in groups of 128.
Dims mask_dims(const Dims& shape) { return {(ir::count_of(shape) + 127) / 128 * 16}; }

double drop_of(const Op& op, const char* name, const In& keep) {
  const double p = number_of(op, name, keep.handle);
  op.require(p >= 0 && p <= 1, "{} is {}, want 0 to 1", name, p);
  return 1 - p;
}

}  // namespace

IR_OP(DropOutGenMask, aclnnDropoutGenMask, (In, shape), (In, prob), (Out, y), (Int, seed, 0), (Int, seed2, 0)) {
  const Dims dims = op.integers("shape", shape.handle);
  ir::result(op, "y", *y, mask_dims(dims), DType::UInt8);
  const Seeds s = seeds_of(seed, seed2);
  call(op, "aclnnDropoutGenMask", dims, drop_of(op, "prob", prob), s.seed, s.offset, y);
}
IR_OP(StatelessDropOutGenMask, aclnnDropoutGenMask, (In, shape), (In, prob), (In, seed), (In, seed1), (OptIn, offset),
      (Out, y)) {
  const Dims dims = op.integers("shape", shape.handle);
  ir::result(op, "y", *y, mask_dims(dims), DType::UInt8);
  op.require(integer_of(op, "seed1", seed1.handle) == 0, "seed1 is not 0: seeds have 64 bits here");
  int64_t at = 0;  // two halves of 128 bits: the low one is the last
  if (offset) {
    const Dims halves = op.integers("offset", offset.handle);
    op.require(!halves.empty() && halves.size() <= 2 && (halves.size() == 1 || halves[0] == 0),
               "offset is {}, want one or two numbers of which the first is 0", describe(*offset));
    at = halves.back();
  }
  call(op, "aclnnDropoutGenMask", dims, drop_of(op, "prob", prob), integer_of(op, "seed", seed.handle), at, y);
}
IR_OP(DropOutDoMask, aclnnDropoutDoMask, (In, x), (In, mask), (In, keep_prob), (Out, y)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnDropoutDoMask", x, mask, drop_of(op, "keep_prob", keep_prob), y);
}

// The third form has a byte an element. Its mask ends at a whole number of 128 bytes, or with the elements.
namespace {
TensorView byte_mask(Op& op, const In& mask, const TensorView& x) {
  const int64_t n = x.numel();
  op.require(mask->dtype == DType::UInt8 && mask->is_contiguous() && mask->numel() >= n,
             "mask is {}, want contiguous UINT8, a byte for each of {} elements", describe(*mask), n);
  return ir::reshaped(op, ir::part_of(ir::reshaped(op, *mask, {mask->numel()}), 0, 0, n), ir::dims_of(x));
}
/// y = x * mask / keep
void drop_bytes(Op& op, const TensorView& x, const In& mask, double keep, const TensorView& y) {
  Temp kept(x.dtype);
  call(op, "aclnnMul", x, byte_mask(op, mask, x), kept);
  TensorView to = y;
  call(op, "aclnnMuls", *kept, keep > 0 ? 1 / keep : 0.0, &to);
}
}  // namespace
ABOUT(DropOutGenMaskV3, Vector, "A mask of dropout with a byte an element, 1 with probability prob",
      "按保留概率 prob 生成每元素一字节的 dropout 掩码")
IR_OP(DropOutGenMaskV3, DropOutGenMaskV3, (In, shape), (In, prob), (Out, y), (Int, seed, 0), (Int, seed2, 0)) {
  const int64_t n = ir::count_of(op.integers("shape", shape.handle));
  ir::suggest(op, *y, {(n + 127) / 128 * 128}, DType::UInt8);
  op.require(y->dtype == DType::UInt8 && y->numel() >= n, "y is {}, want UINT8 with room for {} elements", describe(*y),
             n);
  const Seeds s = seeds_of(seed, seed2);
  call(op, "aclnnInplaceBernoulli", y, 1 - drop_of(op, "prob", prob), s.seed, s.offset);
}
ABOUT(DropOutGenMaskV4, Vector, "A mask of dropout as truth values: true with probability prob",
      "布尔值的 dropout 掩码，以概率 prob 为真")
IR_OP(DropOutGenMaskV4, DropOutGenMaskV4, (In, shape), (In, prob), (Out, y), (Int, seed, 0), (Int, seed2, 0),
      (Type, dtype, DType::Bool)) {
  op.require(dtype == DType::Bool, "attribute dtype is {}, want BOOL", name_of(dtype));
  ir::result(op, "y", *y, ir::shape_from(op, "shape", shape, *y), DType::Bool);
  const Seeds s = seeds_of(seed, seed2);
  call(op, "aclnnInplaceBernoulli", y, 1 - drop_of(op, "prob", prob), s.seed, s.offset);
}
// logits are logarithms that nobody has normalised.
IR_OP(Multinomial, aclnnMultinomial, (In, logits), (In, num_samples), (Out, y), (Type, dtype, DType::Int64),
      (Int, seed, 0), (Int, seed2, 0)) {
  op.require(logits->rank == 2, "logits is {}, want rows of them", describe(*logits));
  const int64_t count = integer_of(op, "num_samples", num_samples.handle);
  ir::result(op, "y", *y, {logits->dims[0], count}, dtype);
  op.require(y->dtype == DType::Int64 || y->dtype == DType::Int32, "y is {}, want INT32 or INT64", describe(*y));
  const TensorView probabilities = ir::temporary(op, DType::Float, ir::dims_of(*logits)),
                   drawn = ir::temporary(op, DType::Int64, {logits->dims[0], count});
  Temp wide(DType::Float);
  call(op, "aclnnCast", logits, DType::Float, wide);
  call(op, "aclnnSoftmax", *wide, -1, probabilities);
  const Seeds s = seeds_of(seed, seed2);
  call(op, "aclnnMultinomial", probabilities, count, true, s.seed, s.offset, drawn);
  ir::copy(op, "y", drawn, y, dtype);
}
ABOUT(DropOutDoMaskV3, Vector, "y = x / keep_prob where the byte of mask is 1, else 0",
      "mask 字节为 1 处取 x / keep_prob，其余为 0")
IR_OP(DropOutDoMaskV3, DropOutDoMaskV3, (In, x), (In, mask), (In, keep_prob), (Out, y)) {
  op.result_like("y", *y, *x, x->dtype);
  drop_bytes(op, *x, mask, 1 - drop_of(op, "keep_prob", keep_prob), *y);
}
IR_OP(DropOutDoMaskV3D, DropOutDoMaskV3, (In, x), (In, mask), (Out, y), (Float, keep_prob)) {
  op.require(keep_prob >= 0 && keep_prob <= 1, "attribute keep_prob is {}, want 0 to 1", keep_prob);
  op.result_like("y", *y, *x, x->dtype);
  drop_bytes(op, *x, mask, keep_prob, *y);
}
ABOUT(AxpyWithSoftmaxAndDropOutDoMask, Vector, "y1 = softmax(x1 + alpha * x2), y2 = y1 with dropout by mask",
      "y1 = softmax(x1 + alpha * x2)，y2 为 y1 按 mask 做 dropout")
IR_OP(AxpyWithSoftmaxAndDropOutDoMask, AxpyWithSoftmaxAndDropOutDoMask, (In, x1), (In, x2), (In, mask), (Out, y1),
      (Out, y2), (Float, alpha), (Float, input_keep_prob), (Ints, axis, -1)) {
  op.require(axis.size() == 1, "attribute axis has {} values, want one", axis.size());
  op.require_same_shape("x2", *x2, "x1", *x1);
  op.result_like("y1", *y1, *x1, x1->dtype);
  op.result_like("y2", *y2, *x1, x1->dtype);
  Temp sum(x1->dtype);
  call(op, "aclnnAdd", x1, x2, alpha, sum);
  call(op, "aclnnSoftmax", *sum, axis[0], y1);
  drop_bytes(op, *y1, mask, input_keep_prob, *y2);
}
ABOUT(DropoutWithMulsAndSoftmaxGrad, Vector, "Gradient of dropout of a softmax, times alpha",
      "softmax 后接 dropout 的梯度，再乘以 alpha")
IR_OP(DropoutWithMulsAndSoftmaxGrad, DropoutWithMulsAndSoftmaxGrad, (In, y_grad), (In, mask), (In, softmax_output),
      (Out, x_grad), (Float, input_keep_prob), (Float, alpha), (Ints, axes, -1)) {
  op.require(axes.size() == 1, "attribute axes has {} values, want one", axes.size());
  op.require_same_shape("y_grad", *y_grad, "softmax_output", *softmax_output);
  op.result_like("x_grad", *x_grad, *softmax_output, softmax_output->dtype);
  const TensorView grad = ir::temporary(op, y_grad->dtype, ir::dims_of(*y_grad));
  drop_bytes(op, *y_grad, mask, input_keep_prob, grad);
  Temp inner(softmax_output->dtype);
  call(op, "aclnnSoftmaxBackward", grad, softmax_output, axes[0], inner);
  call(op, "aclnnMuls", *inner, alpha, x_grad);
}

IR_OP(RandomUniform, aclnnInplaceUniform, (In, shape), (Out, y), (Type, dtype), (Int, seed, 0), (Int, seed2, 0)) {
  ir::result(op, "y", *y, ir::shape_from(op, "shape", shape, *y), dtype);
  const Seeds s = seeds_of(seed, seed2);
  call(op, "aclnnInplaceUniform", y, 0.0, 1.0, s.seed, s.offset);
}
IR_OP(RandomStandardNormal, aclnnInplaceNormal, (In, shape), (Out, y), (Type, dtype), (Int, seed, 0), (Int, seed2, 0)) {
  ir::result(op, "y", *y, ir::shape_from(op, "shape", shape, *y), dtype);
  const Seeds s = seeds_of(seed, seed2);
  call(op, "aclnnInplaceNormal", y, 0.0, 1.0, s.seed, s.offset);
}
ABOUT(CustLogNormalReverse, AICPU,
      "Numbers whose logarithms are drawn from a normal distribution, in the shape of input",
      "对数服从正态分布的随机数，形状同 input")
IR_OP(CustLogNormalReverse, CustLogNormalReverse, (In, input), (Out, output), (Float, mean), (Float, std)) {
  op.result_like("output", *output, *input, input->dtype);
  const Seeds s = seeds_of(0, 0);
  call(op, "aclnnInplaceNormal", output, mean, std, s.seed, s.offset);
  call(op, "aclnnInplaceExp", output);
}
// By the inverse of the normal distribution: what lies beyond two deviations is never drawn.
ABOUT(TruncatedNormal, Vector, "Normal numbers, none of them further than two deviations from 0",
      "截断正态分布随机数，绝对值不超过两倍标准差")
IR_OP(TruncatedNormal, TruncatedNormal, (In, shape), (Out, y), (Int, seed, 0), (Int, seed2, 0),
      (Type, dtype, DType::Float)) {
  constexpr double kWithin = 0.9544997, kRoot = 1.4142135623730951;
  const Dims dims = ir::shape_from(op, "shape", shape, *y);
  ir::result(op, "y", *y, dims, dtype);
  op.require(is_floating(y->dtype), "y is {}, want numbers with a fraction", describe(*y));
  if (op.inferring()) return;
  const Seeds s = seeds_of(seed, seed2);
  const TensorView wide = ir::temporary(op, wide_type(y->dtype), dims);
  call(op, "aclnnInplaceUniform", wide, -kWithin, kWithin, s.seed, s.offset);
  Temp turned(wide.dtype);
  call(op, "aclnnErfinv", wide, turned);
  call(op, "aclnnMuls", *turned, kRoot, y);
}
IR_OP(RandomUniformInt, aclnnInplaceRandom, (In, shape), (In, min), (In, max), (Out, y), (Int, seed, 0),
      (Int, seed2, 0)) {
  ir::result(op, "y", *y, ir::shape_from(op, "shape", shape, *y), min->dtype);
  const Seeds s = seeds_of(seed, seed2);
  call(op, "aclnnInplaceRandom", y, integer_of(op, "min", min.handle), integer_of(op, "max", max.handle), s.seed,
       s.offset);
}
namespace {
/// The key and the last number of the counter, which are read while it runs.
struct Stateless {
  TensorView key, offset;
};
Stateless stateless_of(const Op& op, const In& key, const In& counter, const In& alg) {
  op.require(key->numel() == 1 && counter->rank == 1 && counter->dims[0] >= 1, "key is {} and counter is {}",
             describe(*key), describe(*counter));
  op.require(alg->numel() == 1, "alg is {}, want one number", describe(*alg));  // all give random numbers
  return {*key, ir::part_of(*counter, 0, counter->dims[0] - 1, 1)};
}
}  // namespace
IR_OP(StatelessRandomUniformV2, aclnnInplaceUniformTensor, (In, shape), (In, key), (In, counter), (In, alg), (Out, y),
      (Type, dtype, DType::Float)) {
  ir::result(op, "y", *y, ir::shape_from(op, "shape", shape, *y), dtype);
  const Stateless s = stateless_of(op, key, counter, alg);
  call(op, "aclnnInplaceUniformTensor", y, 0.0, 1.0, s.key, s.offset, 0);
}
IR_OP(StatelessRandomNormalV2, aclnnInplaceNormalTensor, (In, shape), (In, key), (In, counter), (In, alg), (Out, y),
      (Type, dtype, DType::Float)) {
  ir::result(op, "y", *y, ir::shape_from(op, "shape", shape, *y), dtype);
  const Stateless s = stateless_of(op, key, counter, alg);
  call(op, "aclnnInplaceNormalTensor", y, 0.0, 1.0, s.key, s.offset, 0);
}
IR_OP(StatelessBernoulli, aclnnInplaceBernoulliTensor, (In, shape), (In, prob), (In, seed), (In, offset), (Out, y),
      (Type, dtype, DType::Float)) {
  ir::result(op, "y", *y, ir::shape_from(op, "shape", shape, *y), dtype);
  if (prob->numel() == 1 && prob.handle->on_host)  // what an eager call with a number draws
    return call(op, "aclnnInplaceBernoulli", y, number_of(op, "prob", prob.handle), integer_of(op, "seed", seed.handle),
                op.integers("offset", offset.handle).back());
  TensorView p = *prob;
  if (p.numel() == 1) p.rank = 0;
  call(op, "aclnnInplaceBernoulliTensor", y, p.expand_as(*y), integer_of(op, "seed", seed.handle),
       op.integers("offset", offset.handle).back());
}
IR_OP(StatelessRandperm, aclnnRandperm, (In, n), (In, seed), (In, offset), (Out, y), (Int, layout, 0),
      (Type, dtype, DType::Int64)) {
  ir::want(op, "layout", layout, int64_t{0});
  const int64_t size = integer_of(op, "n", n.handle);
  ir::result(op, "y", *y, {size}, dtype);
  call(op, "aclnnRandperm", size, integer_of(op, "seed", seed.handle), integer_of(op, "offset", offset.handle), y);
}
IR_OP(MultinomialWithReplacement, aclnnMultinomial, (In, x), (In, seed), (In, offset), (Out, y), (Int, numsamples),
      (Bool, replacement, false)) {
  op.require(x->rank == 1 || x->rank == 2, "x is {}, want one or two dimensions", describe(*x));
  Dims dims = ir::dims_of(*x);
  dims.back() = numsamples;
  ir::result(op, "y", *y, dims, DType::Int64);
  call(op, "aclnnMultinomial", x, numsamples, replacement, integer_of(op, "seed", seed.handle),
       integer_of(op, "offset", offset.handle), y);
}

}  // namespace updraft
