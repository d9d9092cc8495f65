// Gradients of the weights of groups, added where they are gathered: y[g] += (the rows of x of group g)^T @ (those of
// weight), in FLOAT.
#include "kernels/matmul/matmul.h"
#include "ops/gathered.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

void plan(Op& op, const In& x, const In& weight, const In& groups, const InOut& y, bool turn_x, bool turn_weight,
          int64_t group_type, int64_t list_type) {
  op.require(turn_x && !turn_weight, "transposeX is {} and transposeWeight {}, want true and false", turn_x,
             turn_weight);
  op.require(group_type == 2, "groupType is {}, want 2 (groups of rows that are summed over)", group_type);
  op.require(list_type == 0 || list_type == 1, "groupListType is {}, want 0 (ends) or 1 (counts)", list_type);
  op.require(x->rank == 2 && weight->rank == 2 && is_half(x->dtype) && weight->dtype == x->dtype &&
                 x->dims[0] == weight->dims[0],
             "x is {} and weight {}, want FLOAT16 or BFLOAT16 [rows, M] and [rows, N]", describe(*x),
             describe(*weight));
  op.require(groups->rank == 1 && groups->dtype == DType::Int64, "groupList is {}, want INT64 [groups]",
             describe(*groups));
  const int64_t count = groups->dims[0], m = x->dims[1], n = weight->dims[1];
  const bool apart = y->rank == 3;
  op.require(y->dtype == DType::Float &&
                 (apart ? y->dims[0] == count && y->dims[1] == m : y->rank == 2 && y->dims[0] == count * m) &&
                 y->dims[y->rank - 1] == n,
             "y is {}, want FLOAT [{}, {}, {}] or [{}, {}]", describe(*y), count, m, n, count * m, n);
  op.result_like("y", *y, *y, DType::Float);
  if (y->empty()) return;
  op.flops(2 * x->numel() * n);
  op.work(x->numel() * n);
  op.launch([=, a = *x, b = *weight, list = *groups, to = *y] {
    const std::vector<int64_t> sizes = integers_of(list);
    int64_t begin = 0;
    for (int64_t g = 0; g < count; ++g) {
      const int64_t value = sizes[static_cast<size_t>(g)], end = list_type ? begin + value : value;
      if (end < begin || end > a.dims[0])
        fail_kernel(fmt::format("groupList has {} at {}: groups end at {} after {} of {} rows", value, g, end, begin,
                                a.dims[0]));
      if (end > begin) {
        MatmulOptions add;
        add.beta = 1;
        matmul(turned(narrow(a, 0, begin, end - begin)), narrow(b, 0, begin, end - begin),
               apart ? select(to, 0, g) : narrow(to, 0, g * m, m), add);
      }
      begin = end;
    }
  });
}

}  // namespace

SAMPLE(aclnnGroupedMatmulAdd,
       "x=f16[4,M] weight=f16[4,5] groupList=i64[1]:4..5 yRef=f32[1,M,5] transposeX=true transposeWeight=false "
       "groupType=2")
ABOUT(aclnnGroupedMatmulAdd, MixCube, "y[g] += the products of the columns of x and weight over the rows of group g",
      "y[g] += 第 g 组行的 x^T @ weight（权重梯度累加）")
ACLNN(aclnnGroupedMatmulAdd, (In, x), (In, weight), (In, groupList), (InOut, yRef), (Bool, transposeX),
      (Bool, transposeWeight), (Int, groupType)) {
  plan(op, x, weight, groupList, yRef, transposeX, transposeWeight, groupType, 0);
}
SAMPLE(aclnnGroupedMatmulAddV2,
       "x=f16[4,M] weight=f16[4,5] groupList=i64[1]:4..5 yRef=f32[1,M,5] transposeX=true transposeWeight=false "
       "groupType=2 "
       "groupListType=1")
ABOUT(aclnnGroupedMatmulAddV2, MixCube, "As aclnnGroupedMatmulAdd; groupListType says whether ends or counts are given",
      "同 aclnnGroupedMatmulAdd，groupListType 指明分组为前缀和或数量")
ACLNN(aclnnGroupedMatmulAddV2, (In, x), (In, weight), (In, groupList), (InOut, yRef), (Bool, transposeX),
      (Bool, transposeWeight), (Int, groupType), (Int, groupListType)) {
  plan(op, x, weight, groupList, yRef, transposeX, transposeWeight, groupType, groupListType);
}

}  // namespace updraft
