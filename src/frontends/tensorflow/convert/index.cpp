// Elements chosen by indices.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

void gather(Conversion& c) {
  const int64_t batch = c.integer("batch_dims", 0);
  const Endpoint axis = c.inputs() > 2 ? c.in(2) : c.integer_scalar(0);
  c.result("GatherV2", {c.in(0), c.in(1), axis}, {{"batch_dims", batch}});
}

void one_hot(Conversion& c) {
  c.result("OneHot", {c.in(0), c.in(1), c.in(2), c.in(3)}, {{"axis", c.integer("axis", -1)}});
}

void where(Conversion& c) {
  c.require(c.inputs() == 1, "{} inputs, want one", c.inputs());
  c.result("NonZero", {c.in(0)}, {{"dtype", DType::Int64}});
}

/// The first place in sorted rows where a value could stand, or the one behind the last.
void bound(Conversion& c) { same_inputs(c, {{"out_type", c.element_type("out_type", DType::Int32)}}); }

/// Boundaries that are not larger.
void bucketize(Conversion& c) {
  c.result("Bucketize", {c.in(0)},
           {{"boundaries", c.attribute("boundaries", AttrValue::Kind::List).reals},
            {"dtype", DType::Int32},
            {"right", true}});
}

/// Different elements as they first occur, the place of each element among them, and how often each is there.
void unique(Conversion& c) {
  if (c.inputs() > 1 && c.rank(c.in(0)) != 1) {
    const Dims& axes = c.dims(c.in(1));
    c.require(axes.size() == 1 && axes[0] == 0, "of slices along an axis, want of a vector");
  }
  const DType type = c.element_type("out_idx", DType::Int32);
  graph::Node& made = c.result("Unique", {c.in(0)}, {{"out_idx", type}}, 2);
  if (!std::string_view(c.row.type).starts_with("UniqueWithCounts")) return;
  const Endpoint count = c.emit("Size", {made.out(0)}, {{"dtype", static_cast<int64_t>(DType::Int64)}});
  c.give(c.emit("UnsortedSegmentSum", {c.emit("OnesLike", {made.out(1)}), made.out(1), count}));
}

/// Rows by the number that each has.
void partition(Conversion& c) {
  const int64_t n = c.few(c.integer("num_partitions"), "partitions");
  for (int64_t i = 0; i < n; ++i) {
    const Endpoint here = c.build("Equal", fmt::format("{}/is{}", c.name, i), {c.in(1), c.scalar_like(i, c.in(1))});
    const Endpoint places = c.build("NonZero", fmt::format("{}/of{}", c.name, i), {here}, {{"dtype", DType::Int64}});
    c.give(c.build("GatherNd", fmt::format("{}/{}", c.name, i), {c.in(0), places}));
  }
}

/// Boxes that no better one covers. TensorFlow gives as many as there are, unless it is told to fill up.
void suppress(Conversion& c) {
  const bool older = c.row.type == std::string_view("NonMaxSuppressionV3");
  const bool filled = !older && c.flag("pad_to_max_output_size");
  graph::Node& made = c.node("NonMaxSuppressionV4", c.operands(), {{"pad_to_max_output_size", true}}, 2);
  const Endpoint some =
      filled ? made.out(0)
             : c.emit("Slice", {made.out(0), c.ints({0}), c.cast(c.unsqueeze(made.out(1), {0}), DType::Int64)});
  c.give(some);
  if (!older) c.give(made.out(1));
}

/// What a permutation undoes: places in order of its values.
void invert(Conversion& c) {
  if (const Tensor* t = c.value(c.in(0))) {
    const auto values = t->integers();
    std::vector<double> places(values.size(), -1);
    for (size_t i = 0; i < values.size(); ++i) {
      const bool fits = values[i] >= 0 && static_cast<size_t>(values[i]) < values.size();
      c.require(fits && places[static_cast<size_t>(values[i])] < 0, "the input is no permutation");
      places[static_cast<size_t>(values[i])] = static_cast<double>(i);
    }
    c.give(c.constant(frontends::numbers_tensor(places, t->dims, t->dtype)));
    return;
  }
  same(c);
}

/// Indices of each tensor first, and then the tensors.
void stitch(Conversion& c) {
  const auto n = static_cast<size_t>(c.integer("N"));
  c.require(c.inputs() == 2 * n && n > 0, "there are {} inputs, attribute N is {}", c.inputs(), n);
  c.result(c.row.ascend, {c.all(0, n), c.all(n)}, {{"N", static_cast<int64_t>(n)}});
}

constexpr Row kRows[] = {
    {"Bucketize", bucketize, "Bucketize"},
    {"DynamicPartition", partition, "GatherNd, NonZero"},
    {"DynamicStitch", stitch, "DynamicStitch"},
    {"Gather", gather, "GatherV2"},
    {"GatherNd", same, "GatherNd"},
    {"GatherV2", gather, "GatherV2"},
    {"InplaceAdd", same, "InplaceAdd"},
    {"InplaceSub", same, "InplaceSub"},
    {"InplaceUpdate", same, "InplaceUpdate"},
    {"InvertPermutation", invert, "InvertPermutation"},
    {"LowerBound", bound, "LowerBound"},
    {"NonMaxSuppressionV3", suppress, "NonMaxSuppressionV4"},
    {"NonMaxSuppressionV4", suppress, "NonMaxSuppressionV4"},
    {"NonMaxSuppressionWithOverlaps", same, "NonMaxSuppressionWithOverlaps"},
    {"OneHot", one_hot, "OneHot"},
    {"ParallelDynamicStitch", stitch, "ParallelDynamicStitch"},
    {"ScatterNd", same, "ScatterNd"},
    {"TensorScatterAdd", same, "TensorScatterAdd"},
    {"TensorScatterMax", same, "TensorScatterMax"},
    {"TensorScatterMin", same, "TensorScatterMin"},
    {"TensorScatterSub", same, "TensorScatterSub"},
    {"TensorScatterUpdate", same, "TensorScatterUpdate"},
    {"Unique", unique, "Unique"},
    {"UniqueV2", unique, "Unique", "of vectors", "仅向量"},
    {"UniqueWithCounts", unique, "Unique, UnsortedSegmentSum"},
    {"UniqueWithCountsV2", unique, "Unique, UnsortedSegmentSum", "of vectors", "仅向量"},
    {"UpperBound", bound, "UpperBound"},
    {"Where", where, "NonZero"},
};

}  // namespace

std::span<const Row> index_rows() { return kRows; }

}  // namespace updraft::tensorflow
