// Gelu, then whole numbers; what it computes is in ops/ir/quantize.
#include "ops/ir_op.h"

namespace updraft {

SAMPLE(aclnnGeluQuant,
       "self=f32[3,M] inputScaleOptional=f32[M] inputOffsetOptional=null approximate=none quantMode=dynamic "
       "roundMode=rint "
       "dstType=i8 y=i8[3,M] outScaleOptional=f32[3]")
ABOUT(aclnnGeluQuant, Vector, "y = gelu(self) in INT8, by a scale given or one for each row",
      "y = gelu(self) 量化为 INT8，按给定 scale 或逐行动态 scale")
ACLNN(aclnnGeluQuant, (In, self), (OptIn, inputScaleOptional), (OptIn, inputOffsetOptional), (Text, approximate),
      (Text, quantMode), (Text, roundMode), (Type, dstType), (Out, y), (OptOut, outScaleOptional)) {
  call(op, "GeluQuant", self, inputScaleOptional, inputOffsetOptional, y, outScaleOptional, approximate, quantMode,
       int64_t{dstType.value}, roundMode);
}

}  // namespace updraft
