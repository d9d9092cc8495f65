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
  c.refuse("the permutation is computed while the graph runs, want a value that is known before");
}

constexpr Row kRows[] = {
    {"Bucketize", bucketize, "Bucketize"},
    {"Gather", gather, "GatherV2"},
    {"GatherNd", same, "GatherNd"},
    {"GatherV2", gather, "GatherV2"},
    {"InvertPermutation", invert, "", "of a known value", "须已知取值"},
    {"LowerBound", bound, "LowerBound"},
    {"OneHot", one_hot, "OneHot"},
    {"ScatterNd", same, "ScatterNd"},
    {"TensorScatterAdd", same, "TensorScatterAdd"},
    {"TensorScatterMax", same, "TensorScatterMax"},
    {"TensorScatterMin", same, "TensorScatterMin"},
    {"TensorScatterSub", same, "TensorScatterSub"},
    {"TensorScatterUpdate", same, "TensorScatterUpdate"},
    {"UnsortedSegmentSum", same, "UnsortedSegmentSum"},
    {"UpperBound", bound, "UpperBound"},
    {"Where", where, "NonZero"},
};

}  // namespace

std::span<const Row> index_rows() { return kRows; }

}  // namespace updraft::tensorflow
