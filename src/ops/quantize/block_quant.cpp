// Whole numbers with a scale for each block; what it computes is in ops/ir/quantize.
#include "ops/ir_op.h"

namespace updraft {

SAMPLE(aclnnDynamicBlockQuant,
       "x=f32[3,M] minScale=0 roundMode=rint dstType=i8 rowBlockSize=1 colBlockSize=128 y=i8[3,M] scale=f32[3,1]")
ABOUT(aclnnDynamicBlockQuant, Vector, "Each block divided by its largest magnitude / 127 and rounded to INT8",
      "每个块除以其最大绝对值 / 127 后取整为 INT8")
ACLNN(aclnnDynamicBlockQuant, (In, x), (Double, minScale), (Text, roundMode), (Type, dstType), (Int, rowBlockSize),
      (Int, colBlockSize), (Out, y), (Out, scale)) {
  call(op, "DynamicBlockQuant", x, y, scale, static_cast<float>(minScale), roundMode, int64_t{dstType.value},
       rowBlockSize, colBlockSize, 0.0F);
}

}  // namespace updraft
