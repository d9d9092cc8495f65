// Random numbers and dropout. Stateless operators draw the same numbers for the same seed; the others draw new ones for
// each call where both seeds are 0.
#include <atomic>
#include <random>

#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

int64_t fresh_seed() {
  static std::atomic<int64_t> next{static_cast<int64_t>(std::random_device()()) << 20};
  return ++next;
}
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
