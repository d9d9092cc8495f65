// Rectangles that are turned by an angle in degrees, counterclockwise: rows of centre or corners, and the angle.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>

#include "ops/index/indices.h"
#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

struct Point {
  double x, y;
};
double cross(Point a, Point b, Point c) { return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x); }

struct Rectangle {
  double x, y, wide, high, angle;
  double area() const { return wide * high; }
  /// Counterclockwise.
  std::array<Point, 4> corners() const {
    const double c = std::cos(angle * kDegree) / 2, s = std::sin(angle * kDegree) / 2;
    const Point u{wide * c, wide * s}, v{-high * s, high * c};
    return {Point{x - u.x - v.x, y - u.y - v.y}, Point{x + u.x - v.x, y + u.y - v.y},
            Point{x + u.x + v.x, y + u.y + v.y}, Point{x - u.x + v.x, y - u.y + v.y}};
  }
};
/// From centre, width, height and angle, or (corners) two opposite corners and the angle clockwise.
Rectangle rectangle(const double* v, int64_t stride, bool corners) {
  const double a = v[0], b = v[stride], c = v[2 * stride], d = v[3 * stride], angle = v[4 * stride];
  if (corners) return {(a + c) / 2, (b + d) / 2, c - a, d - b, -angle};
  return {a, b, c, d, angle};
}

/// Area of what two rectangles have in common: one is cut by each side of the other.
double common_area(const Rectangle& a, const Rectangle& b) {
  if (!(a.area() > 0) || !(b.area() > 0)) return 0;
  const auto first = a.corners(), by = b.corners();
  std::vector<Point> shape(first.begin(), first.end()), cut;
  for (size_t side = 0; side < 4 && !shape.empty(); ++side) {
    const Point p = by[side], q = by[(side + 1) % 4];
    cut.clear();
    for (size_t i = 0; i < shape.size(); ++i) {
      const Point from = shape[i], to = shape[(i + 1) % shape.size()];
      const double at_from = cross(p, q, from), at_to = cross(p, q, to);
      if (at_from >= 0) cut.push_back(from);
      if ((at_from > 0 && at_to < 0) || (at_from < 0 && at_to > 0)) {
        const double part = at_from / (at_from - at_to);
        cut.push_back({from.x + (to.x - from.x) * part, from.y + (to.y - from.y) * part});
      }
    }
    shape.swap(cut);
  }
  double twice = 0;
  for (size_t i = 1; i + 1 < shape.size(); ++i) twice += cross(shape[0], shape[i], shape[i + 1]);
  return std::abs(twice) / 2;
}

enum class Measure : uint8_t { Area, Union, Foreground };
double measured(Measure measure, const Rectangle& a, const Rectangle& b) {
  const double common = common_area(a, b);
  if (measure == Measure::Area) return common;
  const double whole = measure == Measure::Union ? a.area() + b.area() - common : a.area();
  return whole > 0 ? common / whole : 0;
}

/// The rectangles whose overlap with each better one that is kept, of their label, is at most `limit`: the best first.
std::vector<int64_t> best_of(const std::vector<double>& boxes, const std::vector<double>& scores,
                             const std::vector<double>& labels, bool corners, double limit, double least,
                             int64_t most) {
  std::vector<int64_t> order(scores.size()), found;
  std::iota(order.begin(), order.end(), 0);
  auto score = [&](int64_t i) { return scores[static_cast<size_t>(i)]; };
  auto label = [&](int64_t i) { return labels[labels.size() == 1 ? 0 : static_cast<size_t>(i)]; };
  std::erase_if(order, [&](int64_t i) { return !(score(i) >= least); });
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score(a) > score(b); });
  for (int64_t i : order) {
    if (static_cast<int64_t>(found.size()) >= most) break;
    const Rectangle box = rectangle(boxes.data() + i * 5, 1, corners);
    if (std::ranges::none_of(found, [&](int64_t k) {
          return label(k) == label(i) &&
                 measured(Measure::Union, box, rectangle(boxes.data() + k * 5, 1, corners)) > limit;
        }))
      found.push_back(i);
  }
  return found;
}

void plan_pairs(Op& op, const In& boxes, const In& query, bool corners, Measure measure, const char* name,
                const Out& out) {
  op.require(boxes->rank == 3 && boxes->dims[1] == 5 && query->rank == 3 && query->dims[1] == 5 &&
                 boxes->dims[0] == query->dims[0],
             "boxes is {} and query_boxes is {}, want [B, 5, N] and [B, 5, K]", describe(*boxes), describe(*query));
  const int64_t batches = boxes->dims[0], n = boxes->dims[2], k = query->dims[2];
  op.result(name, *out, {batches, n, k}, boxes->dtype);
  if (out->empty()) return;
  op.work(out->numel() * 128);
  op.launch([=, a = *boxes, b = *query, to = *out] {
    const std::vector<double> x = linalg::gather(a), y = linalg::gather(b);
    std::vector<double> result(static_cast<size_t>(to.numel()));
    parallel_for(batches * n, 8, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Rectangle r = rectangle(x.data() + i / n * 5 * n + i % n, n, corners);
        for (int64_t j = 0; j < k; ++j)
          result[static_cast<size_t>(i * k + j)] =
              measured(measure, r, rectangle(y.data() + i / n * 5 * k + j, k, corners));
      }
    });
    linalg::scatter(to, result);
  });
}

}  // namespace

ABOUT(RotatedOverlaps, Vector, "Areas that pairs of turned rectangles have in common", "旋转框两两的相交面积")
IR_OP(RotatedOverlaps, RotatedOverlaps, (In, boxes), (In, query_boxes), (Out, overlaps), (Bool, trans, false)) {
  plan_pairs(op, boxes, query_boxes, trans, Measure::Area, "overlaps", overlaps);
}
ABOUT(RotatedIou, Vector, "Overlaps of pairs of turned rectangles", "旋转框两两的交并比")
IR_OP(RotatedIou, RotatedIou, (In, boxes), (In, query_boxes), (Out, iou), (Bool, trans, false), (Text, mode, "iou"),
      (Bool, is_cross, true), (Float, v_threshold, 0), (Float, e_threshold, 0)) {
  ir::want(op, "is_cross", is_cross, true);
  (void)v_threshold;  // how near corners and sides count as touching, on the card: here they are exact
  (void)e_threshold;
  const bool foreground = !std::strcmp(mode, "iof");
  op.require(foreground || !std::strcmp(mode, "iou"), "attribute mode is \"{}\", want \"iou\" or \"iof\"", mode);
  plan_pairs(op, boxes, query_boxes, trans, foreground ? Measure::Foreground : Measure::Union, "iou", iou);
}

namespace {
std::array<double, 5> weights_of(const Op& op, const Floats& weight) {
  op.require(weight.size() == 5, "attribute weight has {} values, want 5", weight.size());
  std::array<double, 5> w{};
  std::ranges::copy(*weight, w.begin());
  return w;
}
/// Centre, sides and tangent of the angle.
std::array<double, 5> shape_of(const double* v, int64_t n) {
  return {(v[0] + v[2 * n]) / 2, (v[n] + v[3 * n]) / 2, v[2 * n] - v[0], v[3 * n] - v[n], std::tan(v[4 * n] * kDegree)};
}
void plan_boxes(Op& op, const In& anchors, const char* name, const In& others, const Floats& weight, bool encode,
                const Out& y) {
  op.require(anchors->rank == 3 && anchors->dims[1] == 5, "anchor_box is {}, want [B, 5, N]", describe(*anchors));
  op.require_same_shape(name, *others, "anchor_box", *anchors);
  const std::array<double, 5> w = weights_of(op, weight);
  op.result_like("y", *y, *anchors, anchors->dtype);
  op.launch([=, a = *anchors, b = *others, to = *y] {
    const std::vector<double> x = linalg::gather(a), other = linalg::gather(b);
    std::vector<double> result(x.size());
    const int64_t n = a.dims[2];
    for (int64_t i = 0; i < a.dims[0] * n; ++i) {
      const auto at = static_cast<size_t>(i / n * 5 * n + i % n), step = static_cast<size_t>(n);
      const std::array<double, 5> from = shape_of(x.data() + at, n);
      double* r = result.data() + at;
      if (encode) {
        const std::array<double, 5> box = shape_of(other.data() + at, n);
        r[0] = (box[0] - from[0]) / from[2] * w[0];
        r[step] = (box[1] - from[1]) / from[3] * w[1];
        r[2 * step] = std::log(box[2] / from[2]) * w[2];
        r[3 * step] = std::log(box[3] / from[3]) * w[3];
        r[4 * step] = (box[4] - from[4]) * w[4];
      } else {
        const double* d = other.data() + at;
        const double x0 = from[0] + d[0] / w[0] * from[2], y0 = from[1] + d[step] / w[1] * from[3];
        const double wide = from[2] * std::exp(d[2 * step] / w[2]), high = from[3] * std::exp(d[3 * step] / w[3]);
        r[0] = x0 - wide / 2;
        r[step] = y0 - high / 2;
        r[2 * step] = x0 + wide / 2;
        r[3 * step] = y0 + high / 2;
        r[4 * step] = std::atan(from[4] + d[4 * step] / w[4]) / kDegree;
      }
    }
    linalg::scatter(to, result);
  });
}
}  // namespace
ABOUT(RotatedBoxEncode, Vector, "Offsets of turned rectangles from anchors", "旋转框相对锚框的编码偏移")
IR_OP(RotatedBoxEncode, RotatedBoxEncode, (In, anchor_box), (In, gt_box), (Out, y), (Floats, weight, 1, 1, 1, 1, 1)) {
  plan_boxes(op, anchor_box, "gt_box", gt_box, weight, true, y);
}
ABOUT(RotatedBoxDecode, Vector, "Turned rectangles from anchors and offsets", "由锚框与偏移还原旋转框")
IR_OP(RotatedBoxDecode, RotatedBoxDecode, (In, anchor_box), (In, deltas), (Out, y), (Floats, weight, 1, 1, 1, 1, 1)) {
  plan_boxes(op, anchor_box, "deltas", deltas, weight, false, y);
}

ABOUT(RotatedNMS, Vector, "The best turned rectangles that do not overlap another of their label",
      "保留各标签下互不重叠且得分最高的旋转框")
IR_OP(RotatedNMS, RotatedNMS, (In, boxes), (In, scores), (In, labels), (Out, selected_detections), (Out, keep_indices),
      (Float, iou_threshold), (Float, score_threshold, 0), (Int, max_output_size, -1), (Int, mode, 0)) {
  op.require(boxes->rank == 2 && boxes->dims[1] == 5, "boxes is {}, want [N, 5]", describe(*boxes));
  const int64_t n = boxes->dims[0], row[] = {n, 5};
  op.require(scores->numel() == n, "scores is {}, want {} values", describe(*scores), n);
  op.require(labels->numel() == n || labels->numel() == 1, "labels is {}, want 1 or {} values", describe(*labels), n);
  op.require(mode == 0 || mode == 1, "attribute mode is {}, want 0 (centre, width, height) or 1 (corners)", mode);
  op.suggest_up_to(*selected_detections, row, 2, boxes->dtype, 0);
  op.suggest_up_to(*keep_indices, row, 1, DType::Int32, 0);
  op.require_shape("selected_detections", *selected_detections, row, 2);
  op.require_shape("keep_indices", *keep_indices, row, 1);
  op.work(n * n * 128);
  op.launch([boxes = *boxes, scores = *scores, labels = *labels, limit = static_cast<double>(iou_threshold),
             least = static_cast<double>(score_threshold), corners = mode == 1,
             most = max_output_size < 0 ? n : std::min(n, max_output_size), to = *selected_detections,
             keep = *keep_indices, shape = ResultShape(selected_detections.handle),
             kept_shape = ResultShape(keep_indices.handle)] {
    const std::vector<double> all = linalg::gather(boxes), score = linalg::gather(scores),
                              label = linalg::gather(labels);
    const std::vector<int64_t> found = best_of(all, score, label, corners, limit, least, most);
    const auto count = static_cast<int64_t>(found.size());
    std::vector<double> rows(all.size(), 0.0), indices(score.size(), 0.0);
    for (size_t i = 0; i < found.size(); ++i) {
      std::copy_n(all.begin() + found[i] * 5, 5, rows.begin() + static_cast<int64_t>(i) * 5);
      indices[i] = static_cast<double>(found[i]);
    }
    linalg::scatter(to, rows);
    linalg::scatter(keep, indices);
    shape.set({count, 5});
    kept_shape.set({count});
  });
}

}  // namespace updraft
