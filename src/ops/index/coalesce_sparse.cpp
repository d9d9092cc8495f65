// Sparse tensors in coordinate form: equal coordinates made one.
#include "kernels/pipeline.h"
#include "ops/index/rows.h"
#include "ops/op.h"

namespace updraft {

SAMPLE(aclnnCoalesceSparse,
       "uniqueLen=i32[5] uniqueIndices=i32[N] indices=i32[N,2] values=f32[N,M] newIndices=i32[5,2] newValues=f32[5,M]")
ABOUT(aclnnCoalesceSparse, Vector, "newValues[k] = sum of values where uniqueIndices is k; newIndices are theirs",
      "newValues[k] 为 uniqueIndices 等于 k 的各 values 之和，newIndices 为其坐标")
ACLNN(aclnnCoalesceSparse, (In, uniqueLen), (In, uniqueIndices), (In, indices), (In, values), (Out, newIndices),
      (Out, newValues)) {
  require_index(op, "uniqueIndices", *uniqueIndices);
  const int64_t n = uniqueIndices->numel(), found = uniqueLen->numel();
  op.require(uniqueIndices->rank == 1, "uniqueIndices is {}, want a vector", describe(*uniqueIndices));
  op.require(indices->rank == 2 && indices->dims[0] == n, "indices is {}, want [{}, dimensions]", describe(*indices),
             n);
  op.require(values->rank >= 1 && values->dims[0] == n, "values is {}, want {} rows", describe(*values), n);
  const int64_t dims[] = {found, indices->dims[1]};
  op.result("newIndices", *newIndices, dims, 2, indices->dtype);
  int64_t rows[kMaxDims] = {found};
  std::copy_n(values->dims + 1, values->rank - 1, rows + 1);
  op.result("newValues", *newValues, rows, values->rank, values->dtype);
  op.require(newValues->dtype == values->dtype && newIndices->dtype == indices->dtype,
             "newIndices is {} and newValues {}, want the types of indices, {}, and values, {}", describe(*newIndices),
             describe(*newValues), describe(*indices), describe(*values));
  if (n == 0) return;
  op.work(4 * values->numel() + newValues->numel());
  op.kernel_scratch(2 * rows_bytes(*uniqueIndices));
  op.launch([at = *uniqueIndices, from = *indices, add = *values, to = *newIndices, sum = *newValues] {
    ScratchScope scratch;
    if (!to.empty()) {
      fill_elements(to, Params{});  // rows that nothing names
      put_rows(rows_of(to, 0, at, from, false, scratch));
    }
    if (sum.empty()) return;
    fill_elements(sum, Params{});
    add_rows(rows_of(sum, 0, at, add, false, scratch), nullptr);
  });
}

}  // namespace updraft
