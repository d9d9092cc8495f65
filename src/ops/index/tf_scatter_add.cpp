// The sum into parts of a tensor that TensorFlow and MindSpore mean by TensorScatterAdd.
#include "ops/index/rows.h"
#include "ops/ir_op.h"

namespace updraft {

SAMPLE(aclnnTfScatterAdd, "varRef=f32[4,M] indices=i64[2,1]:2..3 updates=f32[2,M]")
ABOUT(aclnnTfScatterAdd, Vector, "varRef[indices[..., 0], indices[..., 1], ...] += updates[...], in place",
      "原地执行 varRef[indices[..., 0], indices[..., 1], ...] += updates[...]")
ACLNN(aclnnTfScatterAdd, (InOut, varRef), (In, indices), (In, updates)) {
  require_index(op, "indices", *indices);
  op.require(varRef->dtype == updates->dtype, "updates is {}, want the type of varRef, {}", describe(*updates),
             describe(*varRef));
  call(op, "ScatterNdAdd", varRef, indices, updates, false);
}

}  // namespace updraft
