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
/// The boxes that are kept of one class, the best first.
std::vector<int64_t> kept(const std::vector<Box>& boxes, const double* scores, const Limits& l) {
  std::vector<int64_t> order(boxes.size()), found;
  std::iota(order.begin(), order.end(), 0);
  if (l.scored) std::erase_if(order, [&](int64_t i) { return !(scores[i] > l.score); });
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  for (int64_t i : order) {
    if (static_cast<int64_t>(found.size()) >= l.most) break;
    const Box& box = boxes[static_cast<size_t>(i)];
    if (std::ranges::none_of(found, [&](int64_t k) { return overlaps(boxes[static_cast<size_t>(k)], box, l.overlap); }))
      found.push_back(i);
  }
  return found;
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
  for (const In& one : {max_output_size, iou_threshold, score_threshold})
    op.require(one->numel() == 1, "a limit is {}, want one number", describe(*one));
  op.suggest_up_to(*selected_indices, scores->dims, 1, DType::Int32, 0);
  op.require(selected_indices->dtype == DType::Int32 && selected_indices->is_contiguous() &&
                 selected_indices->numel() >= scores->numel(),
             "selected_indices is {}, want contiguous INT32 and room for {}", describe(*selected_indices),
             scores->numel());
  op.work(scores->numel() * 64);
  op.launch([boxes = *boxes, scores = *scores, most = *max_output_size, limit = *iou_threshold,
             least = *score_threshold, shape = ResultShape(selected_indices.handle),
             to = selected_indices->as<int32_t>()] {
    Limits l;
    l.most = static_cast<int64_t>(linalg::gather(most)[0]);
    l.overlap = linalg::gather(limit)[0];
    l.score = linalg::gather(least)[0], l.scored = true;
    const std::vector<double> corners = linalg::gather(boxes), all = linalg::gather(scores);
    std::vector<Box> own;
    for (int64_t i = 0; i < scores.numel(); ++i) own.push_back(box_of(corners.data() + i * 4, false));
    int64_t n = 0;
    for (int64_t i : kept(own, all.data(), l)) to[n++] = static_cast<int32_t>(i);
    shape.set({n});
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
