// Rows of foreach operators that kernels/rows does not have: the second operand is the scalar p[0].
#pragma once

namespace updraft {

enum class ForeachRow : int {
  add_p,  ///< x + p
  sub_p,  ///< x - p
  mul_p,  ///< x * p
  div_p,  ///< x / p
  pow_p,  ///< x ** p
  p_pow,  ///< p ** x
  maximum_p,
  minimum_p,
  lerp_p,          ///< x to y by the weight p
  cube,            ///< x ** 3
  inverse_square,  ///< x ** -2
  kCount
};

/// How foreach_norm_* sums a block.
enum class NormKind : int { count, sum, squares, largest };

/// Numbers of an Adam step, in this order, as adam_f32 and adam_f64 take them.
enum AdamNumber : int {
  kDecay,  ///< var is multiplied by this first: 1 - lr * weight_decay
  kSign,   ///< of the gradient: -1 maximizes
  kMean,   ///< 1 - beta1: how far m moves to the gradient
  kBeta2,
  kSquare,     ///< 1 - beta2
  kStep,       ///< lr / bias correction of m
  kRootScale,  ///< sqrt(v) is divided by this: the root of v's bias correction
  kEpsilon,
  kBeta1,  ///< for Nesterov's form only
  kAdamNumbers
};

/// Numbers of an SGD step, for sgd_f32 and sgd_f64.
enum SgdNumber : int { kGradScale, kWeightDecay, kMomentum, kDampening, kRate, kSgdNumbers };

}  // namespace updraft
