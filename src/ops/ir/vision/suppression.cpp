// The best boxes of each class of each image that do not overlap, as ONNX defines them. How many there are is known
// when they are found.
#include <algorithm>
#include <numeric>

#include "ops/index/indices.h"
#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};
/// Two corners in any order, or a centre with width and height.
Box box_of(const double* v, bool centre) {
  if (centre) return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]), std::max(v[1], v[3])};
}
bool overlaps(const Box& a, const Box& b, double limit) {
  const double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  const double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0) return false;
  return height * width / (a.area() + b.area() - height * width) > limit;
}

struct Limits {
  int64_t most = 0;
  double overlap = 0, score = 0;
  bool scored = false;
};
/// Of `count` things those that are kept, the best first: together(a, b) says that a keeps b out.
template <class Together>
std::vector<int64_t> kept_of(size_t count, const double* scores, const Limits& l, Together&& together) {
  std::vector<int64_t> order(count), found;
  std::iota(order.begin(), order.end(), 0);
  if (l.scored) std::erase_if(order, [&](int64_t i) { return !(scores[i] > l.score); });
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  for (int64_t i : order) {
    if (static_cast<int64_t>(found.size()) >= l.most) break;
    if (std::ranges::none_of(found,
                             [&](int64_t k) { return together(static_cast<size_t>(k), static_cast<size_t>(i)); }))
      found.push_back(i);
  }
  return found;
}
/// The boxes that are kept of one class, the best first.
std::vector<int64_t> kept(const std::vector<Box>& boxes, const double* scores, const Limits& l) {
  return kept_of(boxes.size(), scores, l, [&](size_t a, size_t b) { return overlaps(boxes[a], boxes[b], l.overlap); });
}

}  // namespace

namespace {
/// Numbers of the best, the best first. make_kept(limits, scores) runs in the stream and gives those that are kept.
template <class F>
void plan_selection(Op& op, const In& scores, const In& most, const In& overlap, const In& least, const Out& selected,
                    int64_t work, F make_kept) {
  for (const In& one : {most, overlap, least})
    op.require(one->numel() == 1, "a limit is {}, want one number", describe(*one));
  op.suggest_up_to(*selected, scores->dims, 1, DType::Int32, 0);
  op.require(selected->dtype == DType::Int32 && selected->is_contiguous() && selected->numel() >= scores->numel(),
             "selected_indices is {}, want contiguous INT32 and room for {}", describe(*selected), scores->numel());
  op.work(work);
  op.launch([scores = *scores, most = *most, overlap = *overlap, least = *least, shape = ResultShape(selected.handle),
             to = selected->as<int32_t>(), make_kept = std::move(make_kept)] {
    Limits l;
    l.most = static_cast<int64_t>(linalg::gather(most)[0]);
    l.overlap = linalg::gather(overlap)[0];
    l.score = linalg::gather(least)[0], l.scored = true;
    int64_t n = 0;
    for (int64_t i : make_kept(l, linalg::gather(scores))) to[n++] = static_cast<int32_t>(i);
    shape.set({n});
  });
}
}  // namespace

ABOUT(NonMaxSuppressionV3, AICPU, "The best boxes that do not overlap, the best first",
      "互不重叠的最优框的序号，最优者在前")
IR_OP(NonMaxSuppressionV3, NonMaxSuppressionV3, (In, boxes), (In, scores), (In, max_output_size), (In, iou_threshold),
      (In, score_threshold), (Out, selected_indices), (Int, offset, 0)) {
  ir::want(op, "offset", offset, int64_t{0});
  op.require(boxes->rank == 2 && boxes->dims[1] == 4, "boxes is {}, want [boxes, 4]", describe(*boxes));
  op.require(scores->rank == 1 && scores->dims[0] == boxes->dims[0], "scores is {}, want {} values", describe(*scores),
             boxes->dims[0]);
  plan_selection(op, scores, max_output_size, iou_threshold, score_threshold, selected_indices, scores->numel() * 64,
                 [boxes = *boxes](const Limits& l, const std::vector<double>& all) {
                   const std::vector<double> corners = linalg::gather(boxes);
                   std::vector<Box> own;
                   for (size_t i = 0; i < all.size(); ++i) own.push_back(box_of(corners.data() + i * 4, false));
                   return kept(own, all.data(), l);
                 });
}
ABOUT(NonMaxSuppressionWithOverlaps, AICPU,
      "The best of things that do not overlap, of which overlaps tells, the best first",
      "按给定的重叠矩阵做非极大值抑制，最优者在前")
IR_OP(NonMaxSuppressionWithOverlaps, NonMaxSuppressionWithOverlaps, (In, overlaps), (In, scores), (In, max_output_size),
      (In, overlap_threshold), (In, score_threshold), (Out, selected_indices)) {
  op.require(scores->rank == 1, "scores is {}, want a vector", describe(*scores));
  const int64_t square[] = {scores->dims[0], scores->dims[0]};
  op.require_shape("overlaps", *overlaps, square, 2);
  plan_selection(op, scores, max_output_size, overlap_threshold, score_threshold, selected_indices,
                 overlaps->numel() * 2, [shared = *overlaps](const Limits& l, const std::vector<double>& all) {
                   const std::vector<double> by = linalg::gather(shared);
                   return kept_of(all.size(), all.data(), l,
                                  [&](size_t a, size_t b) { return by[b * all.size() + a] > l.overlap; });
                 });
}
ABOUT(CombinedNonMaxSuppression, AICPU,
      "The best boxes of all classes, of each image, that do not overlap in their class",
      "每幅图各类别非极大值抑制后合并的最优框")
IR_OP(CombinedNonMaxSuppression, CombinedNonMaxSuppression, (In, boxes), (In, scores), (In, max_output_size_per_class),
      (In, max_total_size), (In, iou_threshold), (In, score_threshold), (Out, nmsed_boxes), (Out, nmsed_scores),
      (Out, nmsed_classes), (Out, valid_detections), (Bool, pad_per_class, false), (Bool, clip_boxes, true)) {
  op.require(boxes->rank == 4 && boxes->dims[3] == 4 && scores->rank == 3 && scores->dims[0] == boxes->dims[0] &&
                 scores->dims[1] == boxes->dims[1] && (boxes->dims[2] == 1 || boxes->dims[2] == scores->dims[2]),
             "boxes is {} and scores {}, want [images, boxes, 1 or classes, 4] and [images, boxes, classes]",
             describe(*boxes), describe(*scores));
  for (const In& one : {iou_threshold, score_threshold})
    op.require(one->numel() == 1, "a limit is {}, want one number", describe(*one));
  const int64_t images = boxes->dims[0], n = boxes->dims[1], classes = scores->dims[2];
  const int64_t of_class = integer_of(op, "max_output_size_per_class", max_output_size_per_class.handle);
  int64_t total = integer_of(op, "max_total_size", max_total_size.handle);
  op.require(of_class > 0 && total > 0, "max_output_size_per_class is {} and max_total_size {}, want numbers above 0",
             of_class, total);
  if (pad_per_class) total = std::min(total, of_class * classes);
  op.result("nmsed_boxes", *nmsed_boxes, {images, total, 4}, boxes->dtype);
  op.result("nmsed_scores", *nmsed_scores, {images, total}, scores->dtype);
  op.result("nmsed_classes", *nmsed_classes, {images, total}, boxes->dtype);
  op.result("valid_detections", *valid_detections, {images}, DType::Int32);
  op.work(scores->numel() * 64);
  op.launch([=, from = *boxes, scored = scores->transpose(1, 2), limit = *iou_threshold, least = *score_threshold,
             to_boxes = *nmsed_boxes, to_scores = *nmsed_scores, to_classes = *nmsed_classes,
             to_count = *valid_detections] {
    Limits l;
    l.most = of_class;
    l.overlap = linalg::gather(limit)[0];
    l.score = linalg::gather(least)[0], l.scored = true;
    const std::vector<double> corners = linalg::gather(from), all = linalg::gather(scored);
    const int64_t kinds = from.dims[2];
    struct Found {
      double score;
      int64_t kind;
      const double* box;
    };
    const auto rows = static_cast<size_t>(images * total);
    std::vector<double> best_boxes(rows * 4, 0.0), best_scores(rows, 0.0), best_classes(rows, 0.0), counts;
    for (int64_t image = 0; image < images; ++image) {
      std::vector<Found> found;
      for (int64_t k = 0; k < classes; ++k) {
        const auto box = [&](int64_t i) {
          return corners.data() + ((image * n + i) * kinds + (kinds == 1 ? 0 : k)) * 4;
        };
        std::vector<Box> own;
        for (int64_t i = 0; i < n; ++i) own.push_back(box_of(box(i), false));
        const double* of_kind = all.data() + (image * classes + k) * n;
        for (int64_t i : kept(own, of_kind, l)) found.push_back({of_kind[i], k, box(i)});
      }
      std::ranges::stable_sort(found, [](const Found& a, const Found& b) { return a.score > b.score; });
      if (static_cast<int64_t>(found.size()) > total) found.resize(static_cast<size_t>(total));
      counts.push_back(static_cast<double>(found.size()));
      for (size_t i = 0; i < found.size(); ++i) {
        const size_t row = static_cast<size_t>(image * total) + i;
        for (size_t c = 0; c < 4; ++c)
          best_boxes[row * 4 + c] = clip_boxes ? std::clamp(found[i].box[c], 0.0, 1.0) : found[i].box[c];
        best_scores[row] = found[i].score;
        best_classes[row] = static_cast<double>(found[i].kind);
      }
    }
    linalg::scatter(to_boxes, best_boxes);
    linalg::scatter(to_scores, best_scores);
    linalg::scatter(to_classes, best_classes);
    linalg::scatter(to_count, counts);
  });
}
ABOUT(NonMaxSuppressionV6, AICPU, "[image, class, box] of the best boxes of each class that do not overlap",
      "各图像各类别互不重叠的最优框的 [图像, 类别, 框] 序号")
IR_OP(NonMaxSuppressionV6, NonMaxSuppressionV6, (In, boxes), (In, scores), (OptIn, max_output_size),
      (OptIn, iou_threshold), (OptIn, score_threshold), (Out, selected_indices), (Int, center_point_box, 0),
      (Int, max_boxes_size, 0)) {
  ir::want(op, "max_boxes_size", max_boxes_size, int64_t{0});
  op.require(boxes->rank == 3 && boxes->dims[2] == 4, "boxes is {}, want [images, boxes, 4]", describe(*boxes));
  op.require(scores->rank == 3 && scores->dims[0] == boxes->dims[0] && scores->dims[2] == boxes->dims[1],
             "scores is {}, want [images, classes, boxes] for boxes {}", describe(*scores), describe(*boxes));
  for (const OptIn& one : {max_output_size, iou_threshold, score_threshold})
    op.require(!one || one->numel() == 1, "a limit is {}, want one number", one ? describe(*one).text() : "");
  const int64_t most[] = {scores->numel(), 3};
  op.suggest_up_to(*selected_indices, most, 2, DType::Int64, 0);
  op.require(selected_indices->dtype == DType::Int64 && selected_indices->is_contiguous() &&
                 selected_indices->numel() >= most[0] * 3,
             "selected_indices is {}, want contiguous INT64 and room for {} rows", describe(*selected_indices),
             most[0]);
  op.work(scores->numel() * 64);
  // What is absent has no view to read.
  auto view = [](const OptIn& v) { return v ? *v : TensorView(); };
  op.launch([boxes = *boxes, scores = *scores, most = view(max_output_size), limit = view(iou_threshold),
             least = view(score_threshold), centre = center_point_box != 0,
             shape = ResultShape(selected_indices.handle), to = selected_indices->as<int64_t>()] {
    Limits l;
    if (most.data) l.most = static_cast<int64_t>(linalg::gather(most)[0]);
    if (limit.data) l.overlap = linalg::gather(limit)[0];
    if (least.data) l.score = linalg::gather(least)[0], l.scored = true;
    const std::vector<double> corners = linalg::gather(boxes), all = linalg::gather(scores);
    const int64_t n = boxes.dims[1], classes = scores.dims[1];
    int64_t rows = 0;
    for (int64_t image = 0; image < boxes.dims[0]; ++image) {
      std::vector<Box> own;
      for (int64_t i = 0; i < n; ++i) own.push_back(box_of(corners.data() + (image * n + i) * 4, centre));
      for (int64_t k = 0; k < classes; ++k)
        for (int64_t i : kept(own, all.data() + (image * classes + k) * n, l)) {
          int64_t* row = to + 3 * rows++;
          row[0] = image, row[1] = k, row[2] = i;
        }
    }
    shape.set({rows, 3});
  });
}

}  // namespace updraft
