// Quantised rows written into a cache.
#include "ops/ir_op.h"

namespace updraft {

SAMPLE(aclnnInplaceQuantScatter,
       "selfRef=i8[2,3,N,M] indices=i32[2]:0..1 updates=f32[2,3,1,M] quantScales=f32[M] quantZeroPoints=null axis=-2 "
       "quantAxis=-1 reduction=1")
ABOUT(aclnnInplaceQuantScatter, Vector, "aclnnInplaceScatterUpdate of updates / quantScales + quantZeroPoints, rounded",
      "先量化 updates（除以 quantScales 再加 quantZeroPoints），再写入 selfRef")
ACLNN(aclnnInplaceQuantScatter, (InOut, selfRef), (In, indices), (In, updates), (In, quantScales),
      (OptIn, quantZeroPoints), (Int, axis), (Int, quantAxis), (Int, reduction)) {
  op.require(reduction == 1, "reduction is {}, want 1 (update)", reduction);
  op.require(selfRef->dtype == DType::Int8, "selfRef is {}, want INT8", describe(*selfRef));
  Temp numbers;
  call(op, "aclnnQuantize", updates, quantScales, quantZeroPoints, static_cast<int64_t>(DType::Int8), quantAxis,
       numbers);
  call(op, "aclnnInplaceScatterUpdate", selfRef, indices, *numbers, axis);
}

}  // namespace updraft
