// Products of batches whose operands and result have the batch in the middle; what it computes is in ops/ir/linalg.
#include "ops/ir_op.h"

namespace updraft {

SAMPLE(aclnnTransposeBatchMatMul,
       "x1=f32[4,3,M] x2=f32[3,M,5] bias=null scale=null permX1=1,0,2 permX2=0,1,2 permY=1,0,2 cubeMathType=0 "
       "batchSplitFactor=1 out=f32[4,3,5]")
ABOUT(aclnnTransposeBatchMatMul, Cube,
      "out = x1 @ x2 by batches, each with its dimensions in the order of a permutation",
      "按给定维度顺序的批量矩阵乘，out = x1 @ x2")
ACLNN(aclnnTransposeBatchMatMul, (In, x1), (In, x2), (OptIn, bias), (OptIn, scale), (OptInts, permX1),
      (OptInts, permX2), (OptInts, permY), (Int8, cubeMathType), (Int, batchSplitFactor), (Out, out)) {
  (void)cubeMathType;  // less exact products are allowed, none is wanted
  auto order = [](const OptInts& perm) { return perm ? *perm : std::vector<int64_t>(); };
  call(op, "TransposeBatchMatMul", x1, x2, bias, scale, out, order(permX1), order(permX2), order(permY), false,
       batchSplitFactor);
}

}  // namespace updraft
