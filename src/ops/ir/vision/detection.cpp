// Detectors of images: suppression of boxes that overlap, and which anchors answer for which object.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

using ir::Dims;

/// Overlap of boxes between two opposite corners each.
double overlap(const double* a, const double* b) {
  const auto low = [](const double* x, int c) { return std::min(x[c], x[2 + c]); };
  const auto high = [](const double* x, int c) { return std::max(x[c], x[2 + c]); };
  double common = 1, area_a = 1, area_b = 1;
  for (int c = 0; c < 2; ++c) {
    common *= std::max(std::min(high(a, c), high(b, c)) - std::max(low(a, c), low(b, c)), 0.0);
    area_a *= high(a, c) - low(a, c);
    area_b *= high(b, c) - low(b, c);
  }
  const double all = area_a + area_b - common;
  return all > 0 ? common / all : 0;
}

/// The indices of those of `order` that overlap with none before them by more than `limit`, `count` at most.
std::vector<int64_t> suppressed(const std::vector<int64_t>& order, const double* boxes, int64_t stride, double limit,
                                size_t count) {
  std::vector<int64_t> kept;
  for (int64_t i : order) {
    if (kept.size() >= count) break;
    const bool alone =
        std::ranges::none_of(kept, [&](int64_t k) { return overlap(boxes + i * stride, boxes + k * stride) > limit; });
    if (alone) kept.push_back(i);
  }
  return kept;
}

/// Indices of scores of at least (or above) `least`, the best first.
std::vector<int64_t> ordered(const std::vector<double>& scores, double least) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < scores.size(); ++i)
    if (scores[i] > least) order.push_back(static_cast<int64_t>(i));
  std::ranges::stable_sort(
      order, [&](int64_t a, int64_t b) { return scores[static_cast<size_t>(a)] > scores[static_cast<size_t>(b)]; });
  return order;
}

}  // namespace

ABOUT(NMSWithMask, Vector, "Marks the boxes that no better one before them overlaps", "标记未被靠前的框压制的检测框")
IR_OP(NMSWithMask, NMSWithMask, (In, box_scores), (Out, selected_boxes), (Out, selected_idx), (Out, selected_mask),
      (Float, iou_threshold, 0.5f)) {
  op.require(box_scores->rank == 2 && box_scores->dims[1] == 5, "box_scores is {}, want [N, 5]: a box and its score",
             describe(*box_scores));
  const int64_t n = box_scores->dims[0];
  op.result_like("selected_boxes", *selected_boxes, *box_scores, box_scores->dtype);
  op.result("selected_idx", *selected_idx, {n}, DType::Int32);
  op.result("selected_mask", *selected_mask, {n}, DType::UInt8);
  op.work(n * (n + 16));
  op.launch([=, x = *box_scores, boxes = *selected_boxes, idx = *selected_idx, mask = *selected_mask,
             limit = static_cast<double>(iou_threshold)] {
    const std::vector<double> all = linalg::gather(x);
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::vector<double> keep(order.size()), index(order.begin(), order.end());
    for (int64_t i : suppressed(order, all.data(), 5, limit, order.size())) keep[static_cast<size_t>(i)] = 1;
    copy_elements(boxes, x);
    linalg::scatter(idx, index);
    linalg::scatter(mask, keep);
  });
}

ABOUT(NonMaxSuppressionV4, Vector, "Indices of the best boxes that do not overlap, and how many they are",
      "互不重叠的最优框的序号及其数量")
IR_OP(NonMaxSuppressionV4, NonMaxSuppressionV4, (In, boxes), (In, scores), (In, max_output_size), (In, iou_threshold),
      (In, score_threshold), (Out, selected_indices), (Out, valid_outputs), (Bool, pad_to_max_output_size, false)) {
  (void)pad_to_max_output_size;  // the client has room for all: the rest is zeros in any case
  op.require(boxes->rank == 2 && boxes->dims[1] == 4, "boxes is {}, want [N, 4]", describe(*boxes));
  op.require_shape("scores", *scores, boxes->dims, 1);
  op.require(iou_threshold->numel() == 1 && score_threshold->numel() == 1, "thresholds are {} and {}, want one number",
             describe(*iou_threshold), describe(*score_threshold));
  Dims dims = ir::dims_of(*selected_indices);
  if (op.inferring()) dims = {integer_of(op, "max_output_size", max_output_size.handle)};
  ir::result(op, "selected_indices", *selected_indices, dims, DType::Int32);
  op.result("valid_outputs", *valid_outputs, {}, DType::Int32);
  op.require(dims.size() == 1, "selected_indices is {}, want a vector", describe(*selected_indices));
  op.work(boxes->dims[0] * 64);
  op.launch([box = *boxes, score = *scores, most = *max_output_size, limit = *iou_threshold, least = *score_threshold,
             to = *selected_indices, valid = *valid_outputs] {
    const std::vector<double> all = linalg::gather(box), s = linalg::gather(score);
    const double count = linalg::gather(most)[0];
    const size_t room = std::min(static_cast<size_t>(to.dims[0]), static_cast<size_t>(std::max(count, 0.0)));
    const std::vector<int64_t> kept =
        suppressed(ordered(s, linalg::gather(least)[0]), all.data(), 4, linalg::gather(limit)[0], room);
    std::vector<double> index(static_cast<size_t>(to.dims[0]));
    std::ranges::copy(kept, index.begin());
    linalg::scatter(to, index);
    linalg::scatter(valid, {static_cast<double>(kept.size())});
  });
}

ABOUT(BatchMultiClassNonMaxSuppression, Vector, "The best boxes of all classes, of each image, that do not overlap",
      "每幅图各类别非极大值抑制后的最优框")
IR_OP(BatchMultiClassNonMaxSuppression, BatchMultiClassNonMaxSuppression, (In, boxes), (In, scores),
      (OptIn, clip_window), (OptIn, num_valid_boxes), (Out, nmsed_boxes), (Out, nmsed_scores), (Out, nmsed_classes),
      (Out, nmsed_num), (Float, score_threshold), (Float, iou_threshold), (Int, max_size_per_class),
      (Int, max_total_size), (Bool, change_coordinate_frame, false), (Bool, transpose_box, false),
      (Ints, image_size, nullptr)) {
  op.require(!clip_window && !num_valid_boxes && image_size.size() == 0,
             "clip_window, num_valid_boxes and image_size are not supported: leave them out");
  ir::want(op, "change_coordinate_frame", change_coordinate_frame, false);
  op.require(boxes->rank == 4 && scores->rank == 3, "boxes is {} and scores is {}, want [B, N, C, 4] and [B, N, C]",
             describe(*boxes), describe(*scores));
  // Transposed, dimensions stand the other way round: [B, C, 4, N] and [B, C, N].
  const TensorView score = transpose_box ? scores->transpose(1, 2) : *scores;
  const int64_t batches = score.dims[0], n = score.dims[1], classes = score.dims[2];
  const bool shared = transpose_box ? boxes->dims[1] == 1 : boxes->dims[2] == 1;
  const TensorView each = transpose_box ? boxes->transpose(2, 3) : boxes->transpose(1, 2);  // [B, C, N, 4]
  op.require(each.dims[0] == batches && (shared || each.dims[1] == classes) && each.dims[2] == n && each.dims[3] == 4,
             "boxes is {} and scores is {}: images, boxes or classes do not match", describe(*boxes),
             describe(*scores));
  op.require(max_size_per_class >= 0 && max_total_size >= 0, "max_size_per_class is {} and max_total_size is {}",
             max_size_per_class, max_total_size);
  op.result("nmsed_boxes", *nmsed_boxes, {batches, max_total_size, 4}, boxes->dtype);
  op.result("nmsed_scores", *nmsed_scores, {batches, max_total_size}, scores->dtype);
  op.result("nmsed_classes", *nmsed_classes, {batches, max_total_size}, boxes->dtype);
  op.result("nmsed_num", *nmsed_num, {batches}, DType::Int32);
  op.work(batches * classes * n * 64);
  op.launch([=, to_boxes = *nmsed_boxes, to_scores = *nmsed_scores, to_classes = *nmsed_classes, to_num = *nmsed_num,
             limit = static_cast<double>(iou_threshold), least = static_cast<double>(score_threshold)] {
    const std::vector<double> b = linalg::gather(each), s = linalg::gather(score.transpose(1, 2));
    const auto total = static_cast<size_t>(max_total_size);
    std::vector<double> out_boxes(static_cast<size_t>(batches) * total * 4), out_scores(out_boxes.size() / 4),
        out_classes(out_scores.size()), out_num(static_cast<size_t>(batches));
    struct Found {
      double score;
      int64_t kind;
      const double* box;
    };
    for (int64_t image = 0; image < batches; ++image) {
      std::vector<Found> found;
      for (int64_t c = 0; c < classes; ++c) {
        const double* from = b.data() + (image * each.dims[1] + (shared ? 0 : c)) * n * 4;
        const auto at = s.begin() + (image * classes + c) * n;
        const std::vector<double> of_class(at, at + n);
        for (int64_t i : suppressed(ordered(of_class, least), from, 4, limit, static_cast<size_t>(max_size_per_class)))
          found.push_back({of_class[static_cast<size_t>(i)], c, from + i * 4});
      }
      std::ranges::stable_sort(found, [](const Found& x, const Found& y) { return x.score > y.score; });
      if (found.size() > total) found.resize(total);
      out_num[static_cast<size_t>(image)] = static_cast<double>(found.size());
      for (size_t i = 0; i < found.size(); ++i) {
        const size_t row = static_cast<size_t>(image) * total + i;
        std::copy_n(found[i].box, 4, out_boxes.begin() + static_cast<int64_t>(row) * 4);
        out_scores[row] = found[i].score;
        out_classes[row] = static_cast<double>(found[i].kind);
      }
    }
    linalg::scatter(to_boxes, out_boxes);
    linalg::scatter(to_scores, out_scores);
    linalg::scatter(to_classes, out_classes);
    linalg::scatter(to_num, out_num);
  });
}

ABOUT(AnchorResponseFlags, Vector, "1 for the anchors of the cells in which the centre of an object lies",
      "目标中心所在网格的锚框标记为 1")
IR_OP(AnchorResponseFlags, AnchorResponseFlags, (In, gt_bboxes), (Out, flags), (Ints, featmap_size), (Ints, strides),
      (Int, num_base_anchors)) {
  op.require(gt_bboxes->rank == 2 && gt_bboxes->dims[1] == 4, "gt_bboxes is {}, want [N, 4]", describe(*gt_bboxes));
  op.require(featmap_size.size() == 2 && strides.size() == 2, "featmap_size and strides have {} and {} values, want 2",
             featmap_size.size(), strides.size());
  const int64_t rows = featmap_size[0], columns = featmap_size[1], wide = strides[0], high = strides[1];
  op.require(rows > 0 && columns > 0 && wide > 0 && high > 0 && num_base_anchors > 0,
             "featmap_size is [{}, {}], strides [{}, {}] and num_base_anchors {}: want all above 0", rows, columns,
             wide, high, num_base_anchors);
  op.result("flags", *flags, {rows * columns * num_base_anchors}, DType::UInt8);
  op.launch([=, boxes = *gt_bboxes, to = *flags] {
    const std::vector<double> x = linalg::gather(boxes);
    std::vector<double> flag(static_cast<size_t>(to.numel()));
    for (size_t i = 0; i < x.size(); i += 4) {
      const auto column = static_cast<int64_t>(std::floor((x[i] + x[i + 2]) / 2 / static_cast<double>(wide)));
      const auto row = static_cast<int64_t>(std::floor((x[i + 1] + x[i + 3]) / 2 / static_cast<double>(high)));
      const int64_t cell = row * columns + column;
      if (cell < 0 || cell >= rows * columns) continue;  // outside of the picture
      std::fill_n(flag.begin() + cell * num_base_anchors, num_base_anchors, 1.0);
    }
    linalg::scatter(to, flag);
  });
}

ABOUT(GridAssignPositive, Vector, "Assigns objects to the anchors that answer for them and overlap them enough",
      "将目标分配给负责且重叠足够的锚框")
IR_OP(GridAssignPositive, GridAssignPositive, (In, assigned_gt_inds), (In, overlaps), (In, box_responsible_flags),
      (In, max_overlaps), (In, argmax_overlaps), (In, gt_max_overlaps), (In, gt_argmax_overlaps), (In, num_gts),
      (Out, assigned_gt_inds_pos), (Float, pos_iou_thr), (Float, min_pos_iou), (Bool, gt_max_assign_all)) {
  op.require(overlaps->rank == 2, "overlaps is {}, want [objects, anchors]", describe(*overlaps));
  const int64_t objects = overlaps->dims[0], anchors = overlaps->dims[1];
  op.require_shape("assigned_gt_inds", *assigned_gt_inds, &anchors, 1);
  op.require_shape("box_responsible_flags", *box_responsible_flags, &anchors, 1);
  op.require_shape("max_overlaps", *max_overlaps, &anchors, 1);
  op.require_shape("argmax_overlaps", *argmax_overlaps, &anchors, 1);
  op.require_shape("gt_max_overlaps", *gt_max_overlaps, &objects, 1);
  op.require_shape("gt_argmax_overlaps", *gt_argmax_overlaps, &objects, 1);
  op.require(num_gts->numel() == 1, "num_gts is {}, want one number", describe(*num_gts));
  op.result_like("assigned_gt_inds_pos", *assigned_gt_inds_pos, *assigned_gt_inds, assigned_gt_inds->dtype);
  op.work(overlaps->numel() * 4);
  op.launch([=, from = *assigned_gt_inds, all = *overlaps, flags = *box_responsible_flags, best = *max_overlaps,
             best_at = *argmax_overlaps, object_best = *gt_max_overlaps, object_at = *gt_argmax_overlaps,
             number = *num_gts, to = *assigned_gt_inds_pos, enough = static_cast<double>(pos_iou_thr),
             least = static_cast<double>(min_pos_iou)] {
    std::vector<double> assigned = linalg::gather(from);
    const std::vector<double> o = linalg::gather(all), flag = linalg::gather(flags), most = linalg::gather(best),
                              where = linalg::gather(best_at), top = linalg::gather(object_best),
                              top_at = linalg::gather(object_at);
    for (size_t i = 0; i < assigned.size(); ++i)
      if (most[i] > enough && flag[i] != 0) assigned[i] = where[i] + 1;
    const auto count = std::min<size_t>(top.size(), static_cast<size_t>(std::max(linalg::gather(number)[0], 0.0)));
    for (size_t k = 0; k < count; ++k) {
      if (!(top[k] > least)) continue;
      const auto object = static_cast<double>(k + 1);
      if (gt_max_assign_all) {
        for (size_t i = 0; i < assigned.size(); ++i)
          if (o[k * assigned.size() + i] == top[k] && flag[i] != 0) assigned[i] = object;
      } else if (top_at[k] >= 0 && top_at[k] < static_cast<double>(assigned.size())) {
        const auto i = static_cast<size_t>(top_at[k]);
        if (flag[i] != 0) assigned[i] = object;
      }
    }
    linalg::scatter(to, assigned);
  });
}

ABOUT(YoloBoxesEncode, Vector, "Offsets of gt_bboxes from anchor_boxes as YOLO learns them",
      "按 YOLO 方式编码 gt_bboxes 相对 anchor_boxes 的偏移")
IR_OP(YoloBoxesEncode, YoloBoxesEncode, (In, anchor_boxes), (In, gt_bboxes), (In, stride), (Out, encoded_bboxes),
      (Text, performance_mode, "high_precision")) {
  (void)performance_mode;  // always precise
  op.require(anchor_boxes->rank == 2 && anchor_boxes->dims[1] == 4, "anchor_boxes is {}, want [N, 4]",
             describe(*anchor_boxes));
  op.require_same_shape("gt_bboxes", *gt_bboxes, "anchor_boxes", *anchor_boxes);
  op.require_shape("stride", *stride, anchor_boxes->dims, 1);
  op.result_like("encoded_bboxes", *encoded_bboxes, *gt_bboxes, gt_bboxes->dtype);
  op.launch([anchors = *anchor_boxes, truth = *gt_bboxes, steps = *stride, to = *encoded_bboxes] {
    constexpr double kSmall = 1e-6;
    const std::vector<double> a = linalg::gather(anchors), g = linalg::gather(truth), step = linalg::gather(steps);
    std::vector<double> result(a.size());
    for (size_t i = 0; i < a.size(); ++i) {
      const size_t box = i / 4 * 4, c = i % 4 % 2, low = box + c, high = low + 2;
      const double shift = ((g[low] + g[high]) - (a[low] + a[high])) / 2 / step[i / 4] + 0.5;
      result[i] = i % 4 < 2 ? std::clamp(shift, kSmall, 1 - kSmall)
                            : std::log(std::max((g[high] - g[low]) / (a[high] - a[low]), kSmall));
    }
    linalg::scatter(to, result);
  });
}

ABOUT(CheckValid, Vector, "Which boxes lie in the image, whose height, width and ratio img_metas gives",
      "各框是否位于图像内，img_metas 给出图像的高、宽与缩放比")
IR_OP(CheckValid, CheckValid, (In, bbox_tensor), (In, img_metas), (Out, valid_tensor)) {
  op.require(bbox_tensor->rank == 2 && bbox_tensor->dims[1] == 4, "bbox_tensor is {}, want [boxes, 4]",
             describe(*bbox_tensor));
  op.require(img_metas->numel() == 3, "img_metas is {}, want height, width and ratio", describe(*img_metas));
  ir::suggest(op, *valid_tensor, {bbox_tensor->dims[0]}, DType::Bool);
  op.require(valid_tensor->numel() == bbox_tensor->dims[0] && size_of(valid_tensor->dtype) == 1,
             "valid_tensor is {}, want a byte for each of {} boxes", describe(*valid_tensor), bbox_tensor->dims[0]);
  op.work(bbox_tensor->numel() * 4);
  op.launch([boxes = *bbox_tensor, image = *img_metas, to = *valid_tensor] {
    const std::vector<double> box = linalg::gather(boxes), size = linalg::gather(image);
    const double bottom = size[0] * size[2] - 1, right = size[1] * size[2] - 1;
    std::vector<double> valid(static_cast<size_t>(boxes.dims[0]));
    for (size_t i = 0; i < valid.size(); ++i) {
      const double* b = box.data() + 4 * i;
      valid[i] = b[0] >= 0 && b[1] >= 0 && b[2] <= right && b[3] <= bottom ? 1 : 0;
    }
    linalg::scatter(to, valid);
  });
}

}  // namespace updraft
