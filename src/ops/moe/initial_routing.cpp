// Tokens copied to where their experts read them: sorted by expert, within room for each, and quantised on the way.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

/// The entries in the order of their keys, equal ones in their order.
std::vector<int64_t> order_of(const std::vector<int64_t>& keys) {
  std::vector<int64_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return keys[static_cast<size_t>(a)] < keys[static_cast<size_t>(b)]; });
  return order;
}

enum class Counts : uint8_t { None, UpTo, Each, Pairs };  // sums up to an expert, counts, or (expert, count)
enum class Quant : uint8_t { None, Static, Dynamic };

struct Routing {
  TensorView x{}, experts{}, to{}, places{};
  TensorView scale{}, offset{}, counts{}, scales{};  // may be absent; the last two are written
  int64_t first = 0, last = 0;                       // experts of this rank
  int64_t active = 0;                                // rows at most; 0: all
  int64_t capacity = 0;                              // rows of each expert; 0: they follow each other
  bool any = false;                                  // experts may have any number, `last` says nothing
  bool scatter = false;                              // places[row] = entry instead of places[entry] = row
  Counts count = Counts::None;
  Quant quant = Quant::None;
};

/// A whole number within INT8; NaN becomes 0, as conversions of the card have it.
float kept(float x) { return std::isnan(x) ? 0.0f : std::clamp(std::nearbyint(x), -128.0f, 127.0f); }

/// One row, quantised to INT8. `factor` is multiplied first; the scale that undoes it is returned.
float quantised(std::vector<float>& row, const float* factor, size_t factors) {
  float most = 0;
  for (size_t c = 0; c < row.size(); ++c) {
    if (factor) row[c] *= factor[factors == 1 ? 0 : c];
    most = std::max(most, std::abs(row[c]));
  }
  const float scale = most / 127.0f;
  for (float& v : row) v = scale > 0 ? kept(v / scale) : 0.0f;
  return scale;
}

void write_counts(const Routing& r, const std::vector<int64_t>& count) {
  if (r.count == Counts::None || !r.counts.data) return;
  std::vector<int64_t> out(static_cast<size_t>(r.counts.numel()), 0);
  if (r.count == Counts::Pairs) {
    size_t at = 0;
    for (size_t e = 0; e < count.size(); ++e) {
      if (!count[e] || at + 2 > out.size()) continue;
      out[at++] = r.first + static_cast<int64_t>(e);
      out[at++] = count[e];
    }
  } else {
    int64_t sum = 0;
    for (size_t e = 0; e < std::min(out.size(), count.size()); ++e)
      out[e] = r.count == Counts::Each ? count[e] : sum += count[e];
  }
  write_all(r.counts, out);
}

void run(const Routing& r) {
  const std::vector<int64_t> expert = integers_of(r.experts);
  const auto entries = static_cast<int64_t>(expert.size());
  const int64_t k = r.experts.rank == 2 ? r.experts.dims[1] : 1;
  std::vector<int64_t> key = expert;
  const int64_t beyond = std::numeric_limits<int64_t>::max();
  // Experts of other ranks come last: those behind in their order, those before without one.
  for (int64_t& e : key)
    if (e < r.first) e = beyond;
  const std::vector<int64_t> order = order_of(key);
  std::vector<int64_t> count(static_cast<size_t>(r.any ? 0 : r.last - r.first), 0);
  // rows: which entry goes to each row of the result; -1: none.
  const TensorView to = r.to.rank == 3 ? reshape(r.to, {r.to.dims[0] * r.to.dims[1], r.to.dims[2]}) : r.to;
  std::vector<int64_t> rows(static_cast<size_t>(to.dims[0]), -1);
  std::vector<int32_t> places(static_cast<size_t>(entries), -1);
  for (int64_t i = 0, next = 0; i < entries; ++i) {
    const int64_t entry = order[static_cast<size_t>(i)], e = key[static_cast<size_t>(entry)];
    if (!r.any && e >= r.last) {
      if (r.scatter) places[static_cast<size_t>(i)] = static_cast<int32_t>(entry);
      continue;
    }
    const int64_t before = r.any ? 0 : count[static_cast<size_t>(e - r.first)]++;  // of its expert
    const int64_t row = r.capacity ? (before < r.capacity ? (e - r.first) * r.capacity + before : -1) : next++;
    if (row >= 0 && row < static_cast<int64_t>(rows.size()) && (!r.active || r.capacity || row < r.active))
      rows[static_cast<size_t>(row)] = entry;
    if (r.scatter) places[static_cast<size_t>(i)] = static_cast<int32_t>(entry);
    else places[static_cast<size_t>(entry)] = static_cast<int32_t>(row);
  }
  write_all(r.places, places);
  write_counts(r, count);

  const std::vector<float> scale = given(r.scale) ? floats_of(r.scale) : std::vector<float>();
  const std::vector<float> offset = given(r.offset) ? floats_of(r.offset) : std::vector<float>();
  std::vector<float> scales(static_cast<size_t>(r.scales.data ? r.scales.numel() : 0), 0.0f);
  const auto width = static_cast<size_t>(row_length(r.x));
  parallel_for(to.dims[0], 4, [&](int64_t begin, int64_t end) {
    std::vector<float> row(width);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t entry = rows[static_cast<size_t>(i)];
      const TensorView target = select(to, 0, i);
      if (entry < 0) {
        fill_zero(target);
        continue;
      }
      const TensorView source = select(r.x, 0, entry / k);
      const auto at = static_cast<size_t>(i);
      if (r.quant == Quant::None) {
        copy_elements(target, source);
        if (at < scales.size() && !scale.empty()) scales[at] = scale[static_cast<size_t>(entry / k)];
        continue;
      }
      gather_to(row.data(), DType::Float, source);
      if (r.quant == Quant::Static) {
        for (float& v : row) v = kept(v * scale[0] + (offset.empty() ? 0.0f : offset[0]));
      } else {
        const float* factor = nullptr;
        if (!scale.empty()) {
          const int64_t e = r.scale.dims[0] == 1 ? 0 : expert[static_cast<size_t>(entry)] - r.first;
          factor = scale.data() + static_cast<size_t>(e) * width;
        }
        const float s = quantised(row, factor, width);
        if (at < scales.size()) scales[at] = s;
      }
      write_all(target, row);
    }
  });
  if (r.scales.data) write_all(r.scales, scales);
}

/// The results of the forms that may quantise, and may have room for each expert.
struct Written {
  const Out &to, &places;
  const OptOut &counts, &scales;
  DType counted;  // the type of counts
  bool pairs;     // counts are (expert, count)
};

/// Checks the inputs and infers what is written; before the plan keeps views of it.
void infer_results(const Op& op, const Routing& r, int64_t expert_num, const Written& w) {
  op.require(r.x.rank == 2, "x is {}, want tokens [N,H]", describe(r.x));
  op.require(r.experts.rank == 2 && r.experts.dims[0] == r.x.dims[0] && is_integral(r.experts.dtype),
             "expertIdx is {}, want integers [{},K]", describe(r.experts), r.x.dims[0]);
  op.require(r.any || (r.first >= 0 && r.first < r.last), "the range of experts is {} to {}, want one or more", r.first,
             r.last);
  op.require(r.capacity >= 0, "expertCapacity is {}, want 0 or more", r.capacity);
  const int64_t entries = r.experts.numel(), width = r.x.dims[1];
  const DType type = r.quant == Quant::None ? r.x.dtype : DType::Int8;
  int64_t rows = r.active ? std::min(r.active, entries) : entries;
  if (r.capacity) {
    rows = expert_num * r.capacity;
    op.suggest(*w.to, {expert_num, r.capacity, width}, type);
  } else {
    op.suggest(*w.to, {rows, width}, type);
  }
  op.suggest(*w.places, {entries}, DType::Int32);
  if (w.counts && w.pairs) op.suggest(*w.counts, {expert_num, 2}, w.counted);
  else if (w.counts) op.suggest(*w.counts, {r.last - r.first}, w.counted);
  if (w.scales) op.suggest(*w.scales, {rows}, DType::Float);
}

/// What all forms check of their results.
void plan(Op& op, const Routing& r, int64_t expert_num) {
  op.require(row_length(r.to) == r.x.dims[1], "expandedX is {}, want rows of {}", describe(r.to), r.x.dims[1]);
  op.require(r.places.numel() == r.experts.numel(), "expandedRowIdx is {}, want {} numbers", describe(r.places),
             r.experts.numel());
  if (r.capacity)
    op.require(r.first == 0 && r.to.numel() == expert_num * r.capacity * r.x.dims[1],
               "expandedX is {}, want room for {} tokens of each of {} experts", describe(r.to), r.capacity,
               expert_num);
  if (r.quant == Quant::None) {
    op.require(r.to.dtype == r.x.dtype, "expandedX is {}, want {}", describe(r.to), name_of(r.x.dtype));
    if (given(r.scale))
      op.require(r.scale.numel() >= r.x.dims[0], "scale is {}, want {} values", describe(r.scale), r.x.dims[0]);
  } else {
    op.require(r.to.dtype == DType::Int8, "expandedX is {}, want INT8", describe(r.to));
  }
  op.require(r.quant != Quant::Static || given(r.scale), "scale is null, want a value with quantMode 0");
  if (r.quant == Quant::Dynamic && given(r.scale) && r.x.dims[0] > 0)
    op.require(r.scale.rank == 2 && r.scale.dims[1] == r.x.dims[1] &&
                   (r.scale.dims[0] == 1 || r.scale.dims[0] >= r.last - r.first),
               "scale is {}, want [1,{}] or [{},{}]", describe(r.scale), r.x.dims[1], r.last - r.first, r.x.dims[1]);
  op.work(r.to.numel() * 2 + r.experts.numel() * 20);
  op.launch([r] { run(r); });
}

int64_t capacity_of(const Op& op, int64_t drop_pad_mode, int64_t expert_capacity) {
  op.require(drop_pad_mode == 0 || expert_capacity > 0, "expertCapacity is {}, want above 0 with dropPadMode 1",
             expert_capacity);
  return drop_pad_mode ? expert_capacity : 0;
}
Quant quant_of(const Op& op, int64_t mode) {
  op.require(mode >= -1 && mode <= 1, "quantMode is {}, supported are -1 (none), 0 (static) and 1 (dynamic)", mode);
  return mode < 0 ? Quant::None : mode == 0 ? Quant::Static : Quant::Dynamic;
}

}  // namespace

SAMPLE(aclnnMoeInitRouting,
       "x=f32[1,M] rowIdx=i32[1,1]:0..1 expertIdx=i32[1,1] activeNum=1 expandedXOut=f32[1,M] expandedRowIdxOut=i32[1] "
       "expandedExpertIdxOut=i32[1]")
ABOUT(aclnnMoeInitRouting, Vector, "Rows of x in the order of their experts, as rowIdx numbers the entries",
      "按 rowIdx 的编号将 x 的行按专家排序")
ACLNN(aclnnMoeInitRouting, (In, x), (In, rowIdx), (In, expertIdx), (Int, activeNum), (Out, expandedXOut),
      (Out, expandedRowIdxOut), (Out, expandedExpertIdxOut)) {
  op.require(x->rank == 2 && expertIdx->rank == 2 && expertIdx->dims[0] == x->dims[0],
             "x is {} and expertIdx {}, want [N,H] and [N,K]", describe(*x), describe(*expertIdx));
  op.require_same_shape("rowIdx", *rowIdx, "expertIdx", *expertIdx);
  const int64_t k = expertIdx->dims[1], rows = x->dims[0];
  op.require(activeNum >= 0, "activeNum is {}, want 0 or more", activeNum);
  op.result("expandedXOut", *expandedXOut, {std::min<int64_t>(activeNum, rows) * k, x->dims[1]}, x->dtype);
  op.result("expandedRowIdxOut", *expandedRowIdxOut, {rows * k}, DType::Int32);
  op.result("expandedExpertIdxOut", *expandedExpertIdxOut, {rows * k}, DType::Int32);
  op.work(expandedXOut->numel() * 2 + rows * k * 20);
  op.launch([=, x = *x, numbers = *rowIdx, experts = *expertIdx, to = *expandedXOut, places = *expandedRowIdxOut,
             sorted = *expandedExpertIdxOut] {
    const std::vector<int64_t> key = integers_of(experts), number = integers_of(numbers), order = order_of(key);
    std::vector<int32_t> place(key.size()), in_order(key.size());
    for (size_t i = 0; i < key.size(); ++i) {
      const int64_t n = number[static_cast<size_t>(order[i])];
      if (n < 0 || n >= rows * k)
        fail_kernel(fmt::format("moe_init_routing: row number {} is out of range, want 0 to {}", n, rows * k - 1));
      place[static_cast<size_t>(n)] = static_cast<int32_t>(i);
      in_order[i] = static_cast<int32_t>(key[static_cast<size_t>(order[i])]);
      if (static_cast<int64_t>(i) < to.dims[0])
        copy_elements(select(to, 0, static_cast<int64_t>(i)), select(x, 0, n % rows));
    }
    write_all(places, place);
    write_all(sorted, in_order);
  });
}

SAMPLE(aclnnMoeInitRoutingV2,
       "x=f32[4,M] expertIdx=i32[4,2]:0..3 activeNum=0 expertCapacity=0 expertNum=4 dropPadMode=0 "
       "expertTokensCountOrCumsumFlag=2 expertTokensBeforeCapacityFlag=false expandedXOut=f32[8,M] "
       "expandedRowIdxOut=i32[8] expertTokensCountOrCumsumOut=i32[4] expertTokensBeforeCapacityOut=null")
ABOUT(aclnnMoeInitRoutingV2, Vector, "Rows of x sorted by expert, dropped beyond expertCapacity",
      "按专家排序 x 的行，超出 expertCapacity 的丢弃")
ACLNN(aclnnMoeInitRoutingV2, (In, x), (In, expertIdx), (Int, activeNum), (Int, expertCapacity), (Int, expertNum),
      (Int, dropPadMode), (Int, expertTokensCountOrCumsumFlag), (Bool, expertTokensBeforeCapacityFlag),
      (Out, expandedXOut), (Out, expandedRowIdxOut), (OptOut, expertTokensCountOrCumsumOut),
      (OptOut, expertTokensBeforeCapacityOut)) {
  op.require(dropPadMode == 0 || dropPadMode == 1, "dropPadMode is {}, want 0 or 1", dropPadMode);
  op.require(expertTokensCountOrCumsumFlag >= 0 && expertTokensCountOrCumsumFlag <= 2,
             "expertTokensCountOrCumsumFlag is {}, want 0 (none), 1 (sums) or 2 (counts)",
             expertTokensCountOrCumsumFlag);
  op.require(activeNum >= 0, "activeNum is {}, want 0 or more", activeNum);
  op.require(expertNum >= 0, "expertNum is {}, want 0 or more", expertNum);
  Routing r{.x = *x, .experts = *expertIdx};
  r.last = expertNum;
  r.active = activeNum;
  r.capacity = capacity_of(op, dropPadMode, expertCapacity);
  // Each form has counts of its own; in the other one they are not written.
  const bool counted = !dropPadMode && expertTokensCountOrCumsumFlag != 0,
             before = dropPadMode && expertTokensBeforeCapacityFlag;
  r.any = !dropPadMode && !counted;
  const OptOut none{};
  infer_results(op, r, expertNum, {expandedXOut, expandedRowIdxOut, none, none, DType::Int32, false});
  for (const OptOut& counts : {expertTokensCountOrCumsumOut, expertTokensBeforeCapacityOut})
    if (counts) op.suggest(*counts, {expertNum}, DType::Int32);
  r.to = *expandedXOut;
  r.places = *expandedRowIdxOut;
  if (counted && expertTokensCountOrCumsumOut) {
    r.counts = *expertTokensCountOrCumsumOut;
    r.count = expertTokensCountOrCumsumFlag == 1 ? Counts::UpTo : Counts::Each;
  } else if (before && expertTokensBeforeCapacityOut) {
    r.counts = *expertTokensBeforeCapacityOut;
    r.count = Counts::Each;
  }
  plan(op, r, expertNum);
}

SAMPLE(aclnnMoeInitRoutingV3,
       "x=f32[4,M] expertIdx=i32[4,2]:0..3 scaleOptional=f32[4] offsetOptional=null activeNum=8 expertCapacity=0 "
       "expertNum=4 dropPadMode=0 expertTokensNumType=1 expertTokensNumFlag=true quantMode=-1 "
       "activeExpertRangeOptional=0,4 rowIdxType=0 expandedXOut=f32[8,M] expandedRowIdxOut=i32[8] "
       "expertTokensCountOrCumsumOut=i64[4] expandedScaleOut=f32[8]")
ABOUT(aclnnMoeInitRoutingV3, Vector, "Rows of x sorted by expert, dropped beyond expertCapacity, quantised on request",
      "按专家排序 x 的行，超出 expertCapacity 的丢弃，可选量化")
ACLNN(aclnnMoeInitRoutingV3, (In, x), (In, expertIdx), (OptIn, scaleOptional), (OptIn, offsetOptional),
      (Int, activeNum), (Int, expertCapacity), (Int, expertNum), (Int, dropPadMode), (Int, expertTokensNumType),
      (Bool, expertTokensNumFlag), (Int, quantMode), (OptInts, activeExpertRangeOptional), (Int, rowIdxType),
      (Out, expandedXOut), (Out, expandedRowIdxOut), (OptOut, expertTokensCountOrCumsumOut),
      (OptOut, expandedScaleOut)) {
  op.require(dropPadMode == 0 || dropPadMode == 1, "dropPadMode is {}, want 0 or 1", dropPadMode);
  op.require(rowIdxType == 0 || rowIdxType == 1, "rowIdxType is {}, want 0 (gather) or 1 (scatter)", rowIdxType);
  op.require(expertTokensNumType >= 0 && expertTokensNumType <= 2, "expertTokensNumType is {}, want 0 to 2",
             expertTokensNumType);
  Routing r{
      .x = *x, .experts = *expertIdx, .scale = optional_view(scaleOptional), .offset = optional_view(offsetOptional)};
  r.last = expertNum;
  if (activeExpertRangeOptional && activeExpertRangeOptional->size() == 2) {
    r.first = (*activeExpertRangeOptional)[0];
    r.last = (*activeExpertRangeOptional)[1];
  }
  r.active = std::max<int64_t>(0, activeNum);
  r.capacity = capacity_of(op, dropPadMode, expertCapacity);
  r.scatter = rowIdxType == 1 && !dropPadMode;
  r.quant = quant_of(op, quantMode);
  infer_results(op, r, expertNum,
                {expandedXOut, expandedRowIdxOut, expertTokensCountOrCumsumOut, expandedScaleOut, DType::Int64,
                 expertTokensNumType == 2});
  r.to = *expandedXOut;
  r.places = *expandedRowIdxOut;
  if (expertTokensNumFlag && expertTokensCountOrCumsumOut) {
    r.counts = *expertTokensCountOrCumsumOut;
    r.count = expertTokensNumType == 0 ? Counts::UpTo : expertTokensNumType == 1 ? Counts::Each : Counts::Pairs;
  }
  if (expandedScaleOut && (r.quant == Quant::Dynamic || (r.quant == Quant::None && given(r.scale))))
    r.scales = *expandedScaleOut;
  plan(op, r, expertNum);
}

SAMPLE(aclnnMoeInitRoutingQuantV2,
       "x=f32[4,M] expertIdx=i32[4,2]:0..3 scaleOptional=null offsetOptional=null activeNum=0 expertCapacity=0 "
       "expertNum=4 dropPadMode=0 expertTokensCountOrCumsumFlag=2 expertTokensBeforeCapacityFlag=false quantMode=1 "
       "expandedXOut=i8[8,M] expandedRowIdxOut=i32[8] expertTokensCountOrCumsumOut=i32[4] "
       "expertTokensBeforeCapacityOut=null dynamicQuantScaleOut=f32[8]")
ABOUT(aclnnMoeInitRoutingQuantV2, Vector, "Rows of x sorted by expert in INT8, by a scale given or one for each row",
      "按专家排序 x 的行并量化为 INT8，scale 给定或逐行动态")
ACLNN(aclnnMoeInitRoutingQuantV2, (In, x), (In, expertIdx), (OptIn, scaleOptional), (OptIn, offsetOptional),
      (Int, activeNum), (Int, expertCapacity), (Int, expertNum), (Int, dropPadMode),
      (Int, expertTokensCountOrCumsumFlag), (Bool, expertTokensBeforeCapacityFlag), (Int, quantMode),
      (Out, expandedXOut), (Out, expandedRowIdxOut), (OptOut, expertTokensCountOrCumsumOut),
      (OptOut, expertTokensBeforeCapacityOut), (OptOut, dynamicQuantScaleOut)) {
  op.require(quantMode == 0 || quantMode == 1, "quantMode is {}, want 0 (static) or 1 (dynamic)", quantMode);
  Routing r{
      .x = *x, .experts = *expertIdx, .scale = optional_view(scaleOptional), .offset = optional_view(offsetOptional)};
  r.last = expertNum;
  r.active = std::max<int64_t>(0, activeNum);
  r.capacity = capacity_of(op, dropPadMode, expertCapacity);
  r.quant = quant_of(op, quantMode);
  infer_results(
      op, r, expertNum,
      {expandedXOut, expandedRowIdxOut, expertTokensCountOrCumsumOut, dynamicQuantScaleOut, DType::Int32, false});
  if (expertTokensBeforeCapacityOut) op.suggest(*expertTokensBeforeCapacityOut, {expertNum}, DType::Int32);
  r.to = *expandedXOut;
  r.places = *expandedRowIdxOut;
  if (expertTokensCountOrCumsumFlag && expertTokensCountOrCumsumOut) {
    r.counts = *expertTokensCountOrCumsumOut;
    r.count = expertTokensCountOrCumsumFlag == 1 ? Counts::UpTo : Counts::Each;
  }
  if (expertTokensBeforeCapacityFlag && expertTokensBeforeCapacityOut && r.count == Counts::None) {
    r.counts = *expertTokensBeforeCapacityOut;
    r.count = Counts::Each;
  }
  r.any = !dropPadMode && r.count == Counts::None;
  if (dynamicQuantScaleOut && r.quant == Quant::Dynamic) r.scales = *dynamicQuantScaleOut;
  plan(op, r, expertNum);
}

}  // namespace updraft
