// Optimizer steps in one pass over memory.
#pragma once
#include <array>

#include "ops/foreach/list.h"

namespace updraft {

struct AdamStep {
  TensorView var, mean, square, grad;
  TensorView largest;  ///< AMSGrad's maximum of square; no data without it
  bool nesterov = false;
};
using AdamNumbers = std::array<double, kAdamNumbers>;

/// One tensor's step; `numbers` as kernels/foreach.h orders them.
void run_adam(const AdamStep& step, const AdamNumbers& numbers);

/// Number 0 of a tensor of one element, as double.
double number_at(const TensorView& v);

/// AdamW (decoupled decay).
AdamNumbers adamw_numbers(double lr, double beta1, double beta2, double beta1_power, double beta2_power, double decay,
                          double epsilon, bool maximize);
/// The form with one corrected rate, epsilon beside the uncorrected root: ApplyAdam of TensorFlow.
AdamNumbers adam_numbers(double lr, double beta1, double beta2, double beta1_power, double beta2_power, double epsilon);

}  // namespace updraft
