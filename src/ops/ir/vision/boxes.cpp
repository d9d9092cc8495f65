// Overlaps of boxes with their gradients, and boxes as offsets from others. Coordinates lie in rows: [4, N].
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

/// A number with its derivatives by the eight coordinates of a pair of boxes.
struct Dual {
  double value = 0;
  std::array<double, 8> slope{};
  Dual() = default;
  Dual(double v) : value(v) {}
  Dual(double v, size_t variable) : value(v) { slope[variable] = 1; }
};
Dual combine(double value, const Dual& a, double by_a, const Dual& b, double by_b) {
  Dual r(value);
  for (size_t i = 0; i < 8; ++i) r.slope[i] = by_a * a.slope[i] + by_b * b.slope[i];
  return r;
}
Dual operator+(const Dual& a, const Dual& b) { return combine(a.value + b.value, a, 1, b, 1); }
Dual operator-(const Dual& a, const Dual& b) { return combine(a.value - b.value, a, 1, b, -1); }
Dual operator*(const Dual& a, const Dual& b) { return combine(a.value * b.value, a, b.value, b, a.value); }
Dual operator/(const Dual& a, const Dual& b) {
  return combine(a.value / b.value, a, 1 / b.value, b, -a.value / (b.value * b.value));
}
Dual least(const Dual& a, const Dual& b) { return a.value <= b.value ? a : b; }
Dual most(const Dual& a, const Dual& b) { return a.value >= b.value ? a : b; }
Dual arctangent(const Dual& a) { return combine(std::atan(a.value), a, 1 / (1 + a.value * a.value), a, 0); }
double fixed(const Dual& a) { return a.value; }

double least(double a, double b) { return std::min(a, b); }
double most(double a, double b) { return std::max(a, b); }
double arctangent(double a) { return std::atan(a); }
double fixed(double a) { return a; }

template <class T>
struct Box {
  T left, top, right, bottom;
};

enum class Kind_ : uint8_t { Generalized, Distance, Complete };

/// `angle`: the difference of the arctangents of the sides' ratios, of complete overlaps.
template <class T>
T overlap(Kind_ kind, const Box<T>& a, const Box<T>& b, bool foreground, double* angle) {
  const double eps = kind == Kind_::Generalized ? 0 : 1e-9;
  const T none(0.0), small(eps);
  const T across = most(least(a.right, b.right) - most(a.left, b.left), none);
  const T down = most(least(a.bottom, b.bottom) - most(a.top, b.top), none);
  const T wide_a = a.right - a.left, high_a = a.bottom - a.top + small;
  const T wide_b = b.right - b.left, high_b = b.bottom - b.top + small;
  const T common = across * down;
  const T all = wide_a * high_a + wide_b * high_b - common + small;
  const T ratio = foreground ? common / (wide_b * high_b + small) : common / all;
  const T hull_wide = most(a.right, b.right) - least(a.left, b.left);
  const T hull_high = most(a.bottom, b.bottom) - least(a.top, b.top);
  if (kind == Kind_::Generalized) {
    const T hull = hull_wide * hull_high;
    return ratio - (hull - all) / hull;
  }
  const T dx = b.left + b.right - a.left - a.right, dy = b.top + b.bottom - a.top - a.bottom;
  const T distance = (dx * dx + dy * dy) / T(4.0) / (hull_wide * hull_wide + hull_high * hull_high + small);
  if (kind == Kind_::Distance) return ratio - distance;
  const T turn = arctangent(wide_b / high_b) - arctangent(wide_a / high_a);
  if (angle) *angle = fixed(turn);
  const T v = T(4 / (std::numbers::pi * std::numbers::pi)) * turn * turn;
  const double weight = fixed(v) / (1 + eps - fixed(ratio) + fixed(v));  // a constant for the gradient
  return ratio - distance - v * T(weight);
}

template <class T>
Box<T> box_of(const T* x, bool centred) {
  if (!centred) return {x[0], x[1], x[2], x[3]};
  const T half(0.5);
  return {x[0] - x[2] * half, x[1] - x[3] * half, x[0] + x[2] * half, x[1] + x[3] * half};
}

struct Pairs {
  int64_t boxes, truths;
  bool cross;
  int64_t rows() const { return cross ? truths : 1; }
};
Pairs pairs_of(const Op& op, const In& bboxes, const In& gtboxes, bool cross) {
  op.require(bboxes->rank == 2 && bboxes->dims[0] == 4 && gtboxes->rank == 2 && gtboxes->dims[0] == 4,
             "bboxes is {} and gtboxes is {}, want [4, N] and [4, M]", describe(*bboxes), describe(*gtboxes));
  const Pairs p{bboxes->dims[1], gtboxes->dims[1], cross};
  op.require(cross || p.boxes == p.truths, "bboxes is {} and gtboxes is {}: without is_cross they are as many",
             describe(*bboxes), describe(*gtboxes));
  return p;
}
bool foreground_of(const Op& op, const char* mode) {
  op.require(!std::strcmp(mode, "iou") || !std::strcmp(mode, "iof"),
             "attribute mode is \"{}\", want \"iou\" or \"iof\"", mode);
  return !std::strcmp(mode, "iof");
}

void plan_overlap(Op& op, Kind_ kind, const In& bboxes, const In& gtboxes, bool trans, bool cross, const char* mode,
                  const Out& out, const TensorView* angles) {
  const Pairs p = pairs_of(op, bboxes, gtboxes, cross);
  const bool foreground = foreground_of(op, mode);
  op.result("overlap", *out, {p.rows(), p.boxes}, bboxes->dtype);
  if (angles) op.result("atan_sub", *angles, {p.rows(), p.boxes}, bboxes->dtype);
  if (out->empty()) return;
  op.work(out->numel() * 32);
  op.launch([=, a = *bboxes, b = *gtboxes, to = *out, turns = angles ? *angles : TensorView()] {
    const std::vector<double> x = linalg::gather(a.transpose(0, 1)), y = linalg::gather(b.transpose(0, 1));
    std::vector<double> result(static_cast<size_t>(to.numel())), angle(result.size());
    parallel_for(p.rows(), 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j < p.boxes; ++j) {
          const auto at = static_cast<size_t>(i * p.boxes + j);
          result[at] = overlap(kind, box_of(x.data() + 4 * j, trans), box_of(y.data() + 4 * (cross ? i : j), trans),
                               foreground, &angle[at]);
        }
    });
    linalg::scatter(to, result);
    if (turns.data) linalg::scatter(turns, angle);
  });
}

void plan_gradient(Op& op, Kind_ kind, const In& dy, const In& bboxes, const In& gtboxes, bool trans, bool cross,
                   const char* mode, const Out& dbboxes, const Out& dgtboxes) {
  const Pairs p = pairs_of(op, bboxes, gtboxes, cross);
  const bool foreground = foreground_of(op, mode);
  op.result_like("dbboxes", *dbboxes, *bboxes, bboxes->dtype);
  op.result_like("dgtboxes", *dgtboxes, *gtboxes, gtboxes->dtype);
  op.require(dy->numel() == p.rows() * p.boxes, "dy is {}, want {} elements", describe(*dy), p.rows() * p.boxes);
  op.work((dy->numel() + 1) * 256);
  op.launch([=, g = *dy, a = *bboxes, b = *gtboxes, to = *dbboxes, other = *dgtboxes] {
    const std::vector<double> x = linalg::gather(a.transpose(0, 1)), y = linalg::gather(b.transpose(0, 1)),
                              weight = linalg::gather(g);
    std::vector<double> dx(x.size()), dt(y.size());
    for (int64_t i = 0; i < p.rows(); ++i)
      for (int64_t j = 0; j < p.boxes; ++j) {
        const int64_t k = cross ? i : j;
        std::array<Dual, 8> v;
        for (size_t c = 0; c < 4; ++c) {
          v[c] = Dual(x[static_cast<size_t>(4 * j) + c], c);
          v[4 + c] = Dual(y[static_cast<size_t>(4 * k) + c], 4 + c);
        }
        const Dual r = overlap(kind, box_of(v.data(), trans), box_of(v.data() + 4, trans), foreground, nullptr);
        const double w = weight[static_cast<size_t>(i * p.boxes + j)];
        for (size_t c = 0; c < 4; ++c) {
          dx[static_cast<size_t>(4 * j) + c] += w * r.slope[c];
          dt[static_cast<size_t>(4 * k) + c] += w * r.slope[4 + c];
        }
      }
    linalg::scatter(to.transpose(0, 1), dx);
    linalg::scatter(other.transpose(0, 1), dt);
  });
}

}  // namespace

// The two whose operands are the boxes alone, each with its gradient.
#define OVERLAP(name, kind)                                                                                    \
  IR_OP(name, name, (In, bboxes), (In, gtboxes), (Out, overlap), (Bool, trans, false), (Bool, is_cross, true), \
        (Text, mode, "iou")) {                                                                                 \
    plan_overlap(op, kind, bboxes, gtboxes, trans, is_cross, mode, overlap, nullptr);                          \
  }                                                                                                            \
  IR_OP(name##Grad, name##Grad, (In, dy), (In, bboxes), (In, gtboxes), (Out, dbboxes), (Out, dgtboxes),        \
        (Bool, trans, false), (Bool, is_cross, true), (Text, mode, "iou")) {                                   \
    plan_gradient(op, kind, dy, bboxes, gtboxes, trans, is_cross, mode, dbboxes, dgtboxes);                    \
  }
OVERLAP(GIoU, Kind_::Generalized)
OVERLAP(DIoU, Kind_::Distance)
#undef OVERLAP
ABOUT(GIoU, Vector, "Generalised overlap of boxes with their ground truth: iou less the hull's rest",
      "检测框与真值框的广义交并比 GIoU")
ABOUT(GIoUGrad, Vector, "Gradients of GIoU for both boxes", "GIoU 对两组框的梯度")
ABOUT(DIoU, Vector, "Overlap of boxes with their ground truth less the distance of their centres",
      "检测框与真值框的距离交并比 DIoU")
ABOUT(DIoUGrad, Vector, "Gradients of DIoU for both boxes", "DIoU 对两组框的梯度")
ABOUT(CIoU, Vector, "DIoU less a term for unlike ratios of the sides", "带宽高比项的完整交并比 CIoU")
IR_OP(CIoU, CIoU, (In, bboxes), (In, gtboxes), (Out, overlap), (Out, atan_sub), (Bool, trans, false),
      (Bool, is_cross, true), (Text, mode, "iou"), (Bool, atan_sub_flag, false)) {
  (void)atan_sub_flag;  // it is written in any case
  plan_overlap(op, Kind_::Complete, bboxes, gtboxes, trans, is_cross, mode, overlap, &*atan_sub);
}
ABOUT(CIoUGrad, Vector, "Gradients of CIoU for both boxes", "CIoU 对两组框的梯度")
IR_OP(CIoUGrad, CIoUGrad, (In, dy), (In, bboxes), (In, gtboxes), (In, atan_sub), (Out, dbboxes), (Out, dgtboxes),
      (Bool, trans, false), (Bool, is_cross, true), (Text, mode, "iou")) {
  (void)atan_sub;  // made again from the boxes
  plan_gradient(op, Kind_::Complete, dy, bboxes, gtboxes, trans, is_cross, mode, dbboxes, dgtboxes);
}

ABOUT(Iou, Vector, "Overlap of each of gtboxes [M, 4] with each of bboxes [N, 4]",
      "gtboxes [M, 4] 与 bboxes [N, 4] 两两的交并比")
IR_OP(Iou, Iou, (In, bboxes), (In, gtboxes), (Out, overlap), (Text, mode, "iou"), (Float, eps, 1),
      (Bool, aligned, false)) {
  ir::want(op, "aligned", aligned, false);
  op.require(bboxes->rank == 2 && bboxes->dims[1] == 4 && gtboxes->rank == 2 && gtboxes->dims[1] == 4,
             "bboxes is {} and gtboxes is {}, want [N, 4] and [M, 4]", describe(*bboxes), describe(*gtboxes));
  const bool foreground = foreground_of(op, mode);
  const int64_t n = bboxes->dims[0], m = gtboxes->dims[0];
  op.result("overlap", *overlap, {m, n}, bboxes->dtype);
  if (overlap->empty()) return;
  op.work(overlap->numel() * 16);
  op.launch([=, a = *bboxes, b = *gtboxes, to = *overlap, more = static_cast<double>(eps)] {
    const std::vector<double> x = linalg::gather(a), y = linalg::gather(b);
    std::vector<double> result(static_cast<size_t>(m * n));
    const auto area = [&](const Box<double>& v) { return (v.right - v.left + more) * (v.bottom - v.top + more); };
    parallel_for(m, 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const Box<double> p = box_of(x.data() + 4 * j, false), q = box_of(y.data() + 4 * i, false);
          const double across = std::max(std::min(p.right, q.right) - std::max(p.left, q.left), 0.0);
          const double down = std::max(std::min(p.bottom, q.bottom) - std::max(p.top, q.top), 0.0);
          const double common = across * down, whole = foreground ? area(q) : area(p) + area(q) - common;
          result[static_cast<size_t>(i * n + j)] = whole == 0 ? 0 : common / whole;
        }
    });
    linalg::scatter(to, result);
  });
}

namespace {
std::array<double, 4> four(const Op& op, const char* name, const Floats& v) {
  op.require(v.size() == 4, "attribute {} has {} values, want 4", name, v.size());
  return {(*v)[0], (*v)[1], (*v)[2], (*v)[3]};
}
/// Centre and sides of a box whose last pixel belongs to it.
std::array<double, 4> centred(const double* x) {
  return {(x[0] + x[2]) / 2, (x[1] + x[3]) / 2, x[2] - x[0] + 1, x[3] - x[1] + 1};
}
}  // namespace
ABOUT(BoundingBoxDecode, Vector, "Boxes from regions and the offsets deltas, clipped to max_shape",
      "由候选框与偏移 deltas 还原检测框，并裁剪到 max_shape")
IR_OP(BoundingBoxDecode, BoundingBoxDecode, (In, rois), (In, deltas), (Out, bboxes), (Floats, means, 0, 0, 0, 0),
      (Floats, stds, 1, 1, 1, 1), (Ints, max_shape), (Float, wh_ratio_clip, 0.016f)) {
  op.require(rois->rank == 2 && rois->dims[1] == 4, "rois is {}, want [N, 4]", describe(*rois));
  op.require_same_shape("deltas", *deltas, "rois", *rois);
  op.require(max_shape.size() == 2, "attribute max_shape has {} values, want height and width", max_shape.size());
  op.require(wh_ratio_clip > 0, "attribute wh_ratio_clip is {}, want above 0", wh_ratio_clip);
  const std::array<double, 4> mean = four(op, "means", means), std = four(op, "stds", stds);
  op.result_like("bboxes", *bboxes, *rois, rois->dtype);
  const double bottom = static_cast<double>((*max_shape)[0]) - 1, right = static_cast<double>((*max_shape)[1]) - 1;
  const double limit = std::abs(std::log(static_cast<double>(wh_ratio_clip)));
  op.launch([=, a = *rois, d = *deltas, to = *bboxes] {
    const std::vector<double> x = linalg::gather(a), delta = linalg::gather(d);
    std::vector<double> result(x.size());
    for (size_t i = 0; i < x.size(); i += 4) {
      const std::array<double, 4> box = centred(x.data() + i);
      double v[4];
      for (size_t c = 0; c < 4; ++c) v[c] = delta[i + c] * std[c] + mean[c];
      for (size_t c = 0; c < 2; ++c) {
        const double side = box[2 + c] * std::exp(std::clamp(v[2 + c], -limit, limit)), at = box[c] + box[2 + c] * v[c];
        const double end = c ? bottom : right;
        result[i + c] = std::clamp(at - side / 2 + 0.5, 0.0, end);
        result[i + 2 + c] = std::clamp(at + side / 2 - 0.5, 0.0, end);
      }
    }
    linalg::scatter(to, result);
  });
}
ABOUT(BoundingBoxEncode, Vector, "Offsets of ground_truth_box from anchor_box, normalised",
      "ground_truth_box 相对 anchor_box 的归一化偏移")
IR_OP(BoundingBoxEncode, BoundingBoxEncode, (In, anchor_box), (In, ground_truth_box), (Out, delats),
      (Floats, means, 0, 0, 0, 0), (Floats, stds, 1, 1, 1, 1)) {
  op.require(anchor_box->rank == 2 && anchor_box->dims[1] == 4, "anchor_box is {}, want [N, 4]", describe(*anchor_box));
  op.require_same_shape("ground_truth_box", *ground_truth_box, "anchor_box", *anchor_box);
  const std::array<double, 4> mean = four(op, "means", means), std = four(op, "stds", stds);
  op.result_like("delats", *delats, *anchor_box, anchor_box->dtype);
  op.launch([=, a = *anchor_box, b = *ground_truth_box, to = *delats] {
    const std::vector<double> x = linalg::gather(a), y = linalg::gather(b);
    std::vector<double> result(x.size());
    for (size_t i = 0; i < x.size(); i += 4) {
      const std::array<double, 4> from = centred(x.data() + i), box = centred(y.data() + i);
      for (size_t c = 0; c < 2; ++c) {
        result[i + c] = ((box[c] - from[c]) / from[2 + c] - mean[c]) / std[c];
        result[i + 2 + c] = (std::log(box[2 + c] / from[2 + c]) - mean[2 + c]) / std[2 + c];
      }
    }
    linalg::scatter(to, result);
  });
}

}  // namespace updraft
