// Rows that belong together, reduced: segments, which are sorted or not, and rows of a table that indices choose for
// them.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

/// How many rows each segment has, at least 1, as a number for each row of `like`.
Endpoint sizes(Conversion& c, Endpoint like, Endpoint segments) {
  const Endpoint ones = c.cast(c.emit("OnesLike", {segments}), c.type(like));
  const Endpoint count = c.emit("Maximum", {c.emit("SegmentSum", {ones, segments}), c.scalar_like(1, like)});
  Dims axes;
  for (int64_t d = 1; d < c.rank(like); ++d) axes.push_back(d);
  return axes.empty() ? count : c.unsqueeze(count, axes);
}

/// What the sum of a segment is divided by: its size for the mean, the root of that for "SqrtN".
Endpoint divided(Conversion& c, Endpoint sums, Endpoint segments) {
  const std::string_view type = c.row.type;
  const Endpoint count = sizes(c, sums, segments);
  if (type.find("SqrtN") != std::string_view::npos) return c.div(sums, c.emit("Sqrt", {count}));
  return type.find("Mean") != std::string_view::npos ? c.div(sums, count) : sums;
}

void segment_mean(Conversion& c) { c.give(divided(c, c.emit("SegmentSum", {c.in(0), c.in(1)}), c.in(1))); }

/// Of rows that indices choose.
void sparse_segment(Conversion& c) {
  const Endpoint rows = c.gather(c.in(0), c.in(1), 0);
  c.give(divided(c, c.emit("SegmentSum", {rows, c.in(2)}), c.in(2)));
}
/// The gradient goes to the rows that were chosen.
void sparse_segment_gradient(Conversion& c) {
  const std::string_view type = c.row.type;
  Endpoint rows = c.gather(c.in(0), c.in(2), 0);
  if (type.find("Sum") == std::string_view::npos) {
    Endpoint by = c.gather(sizes(c, c.in(0), c.in(2)), c.in(2), 0);
    if (type.find("SqrtN") != std::string_view::npos) by = c.emit("Sqrt", {by});
    rows = c.div(rows, by);
  }
  c.result("UnsortedSegmentSum", {rows, c.in(1), c.in(3)});
}

constexpr Row kRows[] = {
    {"SegmentMean", segment_mean, "SegmentSum"},
    {"SegmentSum", same, "SegmentSum"},
    {"SparseSegmentMean", sparse_segment, "SegmentSum"},
    {"SparseSegmentMeanGrad", sparse_segment_gradient, "UnsortedSegmentSum"},
    {"SparseSegmentSqrtN", sparse_segment, "SegmentSum"},
    {"SparseSegmentSqrtNGrad", sparse_segment_gradient, "UnsortedSegmentSum"},
    {"SparseSegmentSum", sparse_segment, "SegmentSum"},
    {"SparseSegmentSumGrad", sparse_segment_gradient, "UnsortedSegmentSum"},
    {"UnsortedSegmentMax", same, "UnsortedSegmentMax"},
    {"UnsortedSegmentMin", same, "UnsortedSegmentMin"},
    {"UnsortedSegmentProd", same, "UnsortedSegmentProd"},
    {"UnsortedSegmentSum", same, "UnsortedSegmentSum"},
};

}  // namespace

std::span<const Row> segment_rows() { return kRows; }

}  // namespace updraft::tensorflow
