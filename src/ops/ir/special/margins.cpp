// Losses by margins with their gradients, and distances: MindSpore's own types.
#include <cmath>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

enum class Reduction : uint8_t { None, Mean, Sum };
Reduction reduction_of(const Op& op, std::string_view word) {
  op.require(word == "none" || word == "mean" || word == "sum", "attribute reduction is \"{}\", want none, mean or sum",
             word);
  return word == "none" ? Reduction::None : word == "mean" ? Reduction::Mean : Reduction::Sum;
}

/// Rows of numbers with a class for each.
struct Rows {
  int64_t count = 1, classes = 0;
  explicit Rows(const TensorView& x) : count(x.rank == 2 ? x.dims[0] : 1), classes(x.dims[x.rank - 1]) {}
};
Rows rows_of_classes(const Op& op, const In& x) {
  op.require((x->rank == 1 || x->rank == 2) && is_floating(x->dtype), "x is {}, want rows of numbers with a fraction",
             describe(*x));
  return Rows(*x);
}
/// What the loss of a row weighs in the gradient.
double share_of(const std::vector<double>& grad, size_t row, int64_t rows, Reduction how) {
  const double g = grad[how == Reduction::None ? row : 0];
  return how == Reduction::Mean ? g / static_cast<double>(rows) : g;
}
void require_gradient(const Op& op, const In& y_grad, const Rows& r, Reduction how) {
  const int64_t wanted = how == Reduction::None ? r.count : 1;
  op.require(y_grad->numel() == wanted, "y_grad is {}, want {} values", describe(*y_grad), wanted);
}

struct Margin {
  int64_t power;
  double width;
  std::vector<double> x, weights;
  std::vector<int64_t> target;
  Rows rows;

  Margin(int64_t p, double margin, const TensorView& of, const TensorView& classes, const TensorView& weight)
      : power(p), width(margin), x(gathered<double>(of)), target(integers_of(classes)), rows(of) {
    if (given(weight)) weights = gathered<double>(weight);
    for (int64_t t : target)
      if (t < 0 || t >= rows.classes)
        fail_kernel(fmt::format("multi_margin_loss: target has {}, want 0 to {}", t, rows.classes - 1));
  }
  /// f(class, excess, weight) for all classes of a row but its own that are within the margin.
  template <class F>
  void each(size_t row, F&& f) const {
    const double* v = x.data() + row * static_cast<size_t>(rows.classes);
    const auto own = static_cast<size_t>(target[row]);
    for (size_t k = 0; k < static_cast<size_t>(rows.classes); ++k) {
      const double excess = width - v[own] + v[k];
      if (k != own && excess > 0)
        f(k, excess, (weights.empty() ? 1 : weights[own]) / static_cast<double>(rows.classes));
    }
  }
};
void require_margin(const Op& op, const In& target, const OptIn& weight, int64_t p, const Rows& r) {
  op.require(p == 1 || p == 2, "attribute p is {}, want 1 or 2", p);
  op.require(target->numel() == r.count && is_integral(target->dtype), "target is {}, want a class for each of {} rows",
             describe(*target), r.count);
  op.require(!weight || weight->numel() == r.classes, "weight is not of {} classes", r.classes);
}

}  // namespace

ABOUT(CustMultiMarginLoss, AICPU, "Loss of the classes that come within margin of the target", "多分类间隔损失")
IR_OP(CustMultiMarginLoss, CustMultiMarginLoss, (In, x), (In, target), (OptIn, weight), (Out, y), (Int, p, 1),
      (Float, margin, 1), (Text, reduction, "mean")) {
  const Reduction how = reduction_of(op, reduction);
  const Rows r = rows_of_classes(op, x);
  require_margin(op, target, weight, p, r);
  ir::result(op, "y", *y, how == Reduction::None && x->rank == 2 ? Dims{r.count} : Dims{}, x->dtype);
  if (op.inferring()) return;
  op.work(x->numel() * 8);
  op.launch([=, from = *x, classes = *target, w = weight ? *weight : TensorView(), to = *y,
             width = static_cast<double>(margin)] {
    const Margin m(p, width, from, classes, w);
    std::vector<double> losses(static_cast<size_t>(m.rows.count), 0.0);
    double sum = 0;
    for (size_t i = 0; i < losses.size(); ++i) {
      m.each(i,
             [&](size_t, double excess, double weight) { losses[i] += weight * (p == 1 ? excess : excess * excess); });
      sum += losses[i];
    }
    if (how == Reduction::None) return write_all(to, losses);
    write_all(to, std::vector<double>{how == Reduction::Mean ? sum / static_cast<double>(losses.size()) : sum});
  });
}
ABOUT(CustMultiMarginLossGrad, AICPU, "Gradient of CustMultiMarginLoss", "CustMultiMarginLoss 的反向梯度")
IR_OP(CustMultiMarginLossGrad, CustMultiMarginLossGrad, (In, y_grad), (In, x), (In, target), (OptIn, weight),
      (Out, x_grad), (Int, p, 1), (Float, margin, 1), (Text, reduction, "mean")) {
  const Reduction how = reduction_of(op, reduction);
  const Rows r = rows_of_classes(op, x);
  require_margin(op, target, weight, p, r);
  require_gradient(op, y_grad, r, how);
  op.result_like("x_grad", *x_grad, *x, x->dtype);
  if (op.inferring()) return;
  op.work(x->numel() * 8);
  op.launch([=, g = *y_grad, from = *x, classes = *target, w = weight ? *weight : TensorView(), to = *x_grad,
             width = static_cast<double>(margin)] {
    const Margin m(p, width, from, classes, w);
    const std::vector<double> grad = gathered<double>(g);
    std::vector<double> made(m.x.size(), 0.0);
    for (size_t i = 0; i < static_cast<size_t>(m.rows.count); ++i) {
      double* row = made.data() + i * static_cast<size_t>(m.rows.classes);
      m.each(i, [&](size_t k, double excess, double weight) {
        const double slope = weight * (p == 1 ? 1 : 2 * excess) * share_of(grad, i, m.rows.count, how);
        row[k] += slope;
        row[m.target[i]] -= slope;
      });
    }
    write_all(to, made);
  });
}

ABOUT(CustMultilabelMarginLossGrad, AICPU, "Gradient of MultilabelMarginLoss", "MultilabelMarginLoss 的反向梯度")
IR_OP(CustMultilabelMarginLossGrad, CustMultilabelMarginLossGrad, (In, y_grad), (In, x), (In, target), (In, is_target),
      (Out, x_grad), (Text, reduction, "mean")) {
  const Reduction how = reduction_of(op, reduction);
  const Rows r = rows_of_classes(op, x);
  op.require_same_shape("target", *target, "x", *x);
  op.require_same_shape("is_target", *is_target, "x", *x);
  require_gradient(op, y_grad, r, how);
  op.result_like("x_grad", *x_grad, *x, x->dtype);
  if (op.inferring()) return;
  op.work(x->numel() * 16);
  op.launch([=, g = *y_grad, from = *x, labels = *target, marks = *is_target, to = *x_grad] {
    const std::vector<double> v = gathered<double>(from), grad = gathered<double>(g);
    const std::vector<int64_t> at = integers_of(labels), marked = integers_of(marks);
    std::vector<double> made(v.size(), 0.0);
    const auto classes = static_cast<size_t>(r.classes);
    for (size_t i = 0; i < static_cast<size_t>(r.count); ++i) {
      const double share = share_of(grad, i, r.count, how) / static_cast<double>(r.classes);
      const size_t row = i * classes;
      for (size_t k = 0; k < classes && at[row + k] >= 0; ++k) {  // -1 ends the targets
        const auto own = static_cast<size_t>(at[row + k]);
        if (own >= classes)
          fail_kernel(fmt::format("multilabel_margin_loss: target has {}, want up to {}", own, classes - 1));
        for (size_t j = 0; j < classes; ++j)
          if (!marked[row + j] && 1 - v[row + own] + v[row + j] > 0) {
            made[row + own] -= share;
            made[row + j] += share;
          }
      }
    }
    write_all(to, made);
  });
}

ABOUT(CustPdistGrad, AICPU, "Gradient of Pdist, of the distances of all pairs of rows", "Pdist 的反向梯度")
IR_OP(CustPdistGrad, CustPdistGrad, (In, y_grad), (In, x), (In, pdist), (Out, x_grad), (Float, p, 2)) {
  op.require(x->rank == 2 && is_floating(x->dtype), "x is {}, want points [N, M]", describe(*x));
  const int64_t n = x->dims[0], pairs = n * (n - 1) / 2;
  op.require(y_grad->numel() == pairs && pdist->numel() == pairs, "y_grad is {} and pdist {}, want {} values",
             describe(*y_grad), describe(*pdist), pairs);
  op.require(p >= 0, "attribute p is {}, want 0 or more", p);
  op.result_like("x_grad", *x_grad, *x, x->dtype);
  if (op.inferring()) return;
  op.work(n * x->numel() * (p == 1 || p == 2 ? 4 : 40));
  op.launch([=, g = *y_grad, from = *x, by = *pdist, to = *x_grad, power = static_cast<double>(p)] {
    const std::vector<double> v = gathered<double>(from), grad = gathered<double>(g), apart = gathered<double>(by);
    std::vector<double> made(v.size(), 0.0);
    const int64_t size = from.dims[1];
    const auto slope = [&](double difference, double distance) -> double {
      if (distance == 0 || power == 0) return 0;
      const double sign = difference > 0 ? 1 : difference < 0 ? -1 : 0, most = std::abs(difference);
      if (power == 1) return sign;
      if (power == 2) return difference / distance;
      if (std::isinf(power)) return most == distance ? sign : 0;
      return sign * std::pow(most / distance, power - 1);
    };
    parallel_for(n, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j < n; ++j) {
          if (i == j) continue;
          const int64_t low = std::min(i, j), high = std::max(i, j);
          const auto pair = static_cast<size_t>(low * n - low * (low + 1) / 2 + high - low - 1);
          for (int64_t c = 0; c < size; ++c)
            made[static_cast<size_t>(i * size + c)] +=
                grad[pair] *
                slope(v[static_cast<size_t>(i * size + c)] - v[static_cast<size_t>(j * size + c)], apart[pair]);
        }
    });
    write_all(to, made);
  });
}

}  // namespace updraft
