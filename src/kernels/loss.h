// Pointwise losses and their gradients as block kernels: inputs in the order given, all broadcast to the result.
#pragma once
namespace updraft {

/// x input, t target, g incoming gradient, w weight, q weight of the positive class; p[0] scales gradients.
enum class Loss : int {
  kMse,                     ///< x, t
  kMseBackward,             ///< g, x, t
  kL1,                      ///< x, t
  kL1Backward,              ///< g, x, t
  kSmoothL1,                ///< x, t; p[1] beta
  kSmoothL1Backward,        ///< g, x, t; p[1] beta
  kBce,                     ///< x, t, w
  kBceBackward,             ///< g, x, t, w
  kBceLogits,               ///< x, t, w, q
  kBceLogitsBackward,       ///< g, x, t, w, q
  kKlDiv,                   ///< x, t
  kKlDivLog,                ///< x, log t
  kKlDivBackward,           ///< g, t
  kKlDivLogBackward,        ///< g, log t
  kKlDivTargetBackward,     ///< g, x, t
  kKlDivLogTargetBackward,  ///< g, x, log t
  kSoftMargin,              ///< x, t
  kSoftMarginBackward,      ///< g, x, t
  kCount
};

}  // namespace updraft
