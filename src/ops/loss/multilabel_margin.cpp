// Multi-label margin loss: each row's target lists classes up to the first -1.
#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "ops/loss/loss.h"

namespace updraft {

SAMPLE(aclnnMultilabelMarginLoss, "target=i64[N,M] isTarget=f32[N,M] out=f32[N]")
ABOUT(aclnnMultilabelMarginLoss, Vector,
      "Mean over classes of max(0, 1 - (x[target] - x[other])); targets end at the first -1",
      "多标签间隔损失：max(0, 1 - (x[目标类] - x[其他类])) 之和除以类别数，目标以首个 -1 结束")
ACLNN(aclnnMultilabelMarginLoss, (In, self), (In, target), (Int, reduction), (Out, out), (Out, isTarget)) {
  const Reduction kind = reduction_of(op, reduction);
  op.require(self->rank <= 2 && is_floating(self->dtype), "self is {}, want floating-point values [N,C] or [C]",
             describe(*self));
  op.require_same_shape("self", *self, "target", *target);
  op.require(is_integral(target->dtype), "target is {}, want an integer type", describe(*target));
  const int64_t classes = self->size(self->rank - 1 < 0 ? 0 : self->rank - 1),
                rows = self->rank == 2 ? self->dims[0] : 1;
  op.suggest(*out, &rows, self->rank == 2 && kind == Reduction::kNone ? 1 : 0, self->dtype);
  op.suggest_like(*isTarget, *self, self->dtype);
  if (kind == Reduction::kNone) {
    op.require(out->numel() == rows, "out is {}, want {} elements", describe(*out), rows);
  } else {
    require_single(op, "out", *out);
  }
  op.work(self->numel() * 16);
  op.launch([=, x = *self, t = *target, loss = *out, mark = *isTarget] {
    const auto n = static_cast<size_t>(rows * classes);
    std::vector<double> values(n), sums(static_cast<size_t>(rows));
    std::vector<int64_t> targets(n), marks(n);
    gather_to(values.data(), DType::Double, x);
    gather_to(targets.data(), DType::Int64, t);
    parallel_for(rows, 16, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const double* row = values.data() + r * classes;
        const int64_t* wanted = targets.data() + r * classes;
        int64_t* marked = marks.data() + r * classes;
        int64_t count = 0;
        for (; count < classes && wanted[count] != -1; ++count) {
          if (wanted[count] < 0 || wanted[count] >= classes)
            fail_kernel(fmt::format("multilabel_margin_loss: target {} is out of range, want -1 to {}", wanted[count],
                                    classes - 1));
          marked[wanted[count]] = 1;
        }
        double sum = 0;
        for (int64_t k = 0; k < count; ++k) {
          const double margin = 1 - row[wanted[k]];
          for (int64_t c = 0; c < classes; ++c) {
            const double z = margin + row[c];
            if (!marked[c] && z > 0) sum += z;
          }
        }
        sums[static_cast<size_t>(r)] = sum / static_cast<double>(classes);
      }
    });
    if (mark.numel() == x.numel())
      copy_elements(mark, TensorView::contiguous(marks.data(), DType::Int64, mark.dims, mark.rank));
    if (kind == Reduction::kNone) {
      copy_elements(loss, TensorView::contiguous(sums.data(), DType::Double, loss.dims, loss.rank));
      return;
    }
    double total = 0;
    for (double s : sums) total += s;
    store_one(loss, kind == Reduction::kMean ? total / static_cast<double>(rows) : total);
  });
}

}  // namespace updraft
