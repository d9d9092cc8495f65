// Elements moved by rule: padding, flips, rolls, repetitions, slices.
#include <vector>

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "ops/elementwise/elementwise.h"
#include "ops/index/rows.h"

namespace updraft {

// pad: (before, after) of the last dimension first; negative numbers cut.
SAMPLE(aclnnConstantPadNd, "pad=M,0 out=f32[N,2M]")
ABOUT(aclnnConstantPadNd, Vector, "Pads self with value by (before, after) of pad, last dimension first; negative cuts",
      "用常数 value 填充 self，pad 从最后一维起为（前, 后），负值表示裁剪")
ACLNN(aclnnConstantPadNd, (In, self), (Ints, pad), (Scalar, value), (Out, out)) {
  op.require(pad.size() % 2 == 0 && pad.size() / 2 <= static_cast<size_t>(self->rank),
             "pad has {} numbers, want two for each of at most {} dimensions", pad.size(), self->rank);
  int64_t dims[kMaxDims];
  std::copy_n(self->dims, self->rank, dims);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    int64_t& size = dims[self->rank - 1 - static_cast<int>(i)];
    if (__builtin_add_overflow(size, pad[2 * i], &size) || __builtin_add_overflow(size, pad[2 * i + 1], &size))
      op.refuse("pad has {} and {}: no tensor is so large", pad[2 * i], pad[2 * i + 1]);
  }
  op.result("out", *out, dims, self->rank, self->dtype);
  op.require(self->dtype == out->dtype, "out is {}, want the type of self, {}", describe(*out), describe(*self));
  TensorView from = *self, to = *out;
  bool whole = true;
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    const int d = self->rank - 1 - static_cast<int>(i);
    const int64_t before = pad[2 * i], after = pad[2 * i + 1];
    const int64_t cut_before = std::max<int64_t>(0, -before), cut_after = std::max<int64_t>(0, -after);
    const int64_t kept = std::max<int64_t>(0, std::min(self->dims[d] - cut_before - cut_after, out->dims[d]));
    from = narrow(from, d, kept ? cut_before : 0, kept);
    to = narrow(to, d, kept ? std::max<int64_t>(0, before) : 0, kept);
    whole = whole && kept == out->dims[d];
  }
  if (out->empty()) return;
  Params p;
  set_param(p, 0, *value);
  op.launch([=, out = *out] {
    if (!whole) fill_elements(out, p);
    if (!to.empty()) copy_elements(to, from);
  });
}

SAMPLE(aclnnFlip, "self=f32[N,M]")
ABOUT(aclnnFlip, Vector, "out = self reversed along each of dims", "沿 dims 各维翻转 self")
ACLNN(aclnnFlip, (In, self), (Ints, dims), (Out, out)) {
  op.result_like("out", *out, *self, self->dtype);
  if (out->empty()) return;
  TensorView from = *self;
  bool seen[kMaxDims] = {};
  for (int64_t dim : *dims) {
    const int d = self->wrap_dim(dim);
    if (self->rank == 0) continue;
    op.require(!seen[d], "dims names dimension {} twice", d);
    seen[d] = true;
    if (from.data) from.data = at_element(from, (from.dims[d] - 1) * from.strides[d]);
    from.strides[d] = -from.strides[d];
  }
  op.launch([from, to = *out] { copy_elements(to, from); });
}

namespace {
void roll(const TensorView& to, const TensorView& from, const int* dims, const int64_t* shifts, size_t count) {
  if (count == 0) return copy_elements(to, from);
  const int d = dims[0];
  const int64_t size = to.dims[d], shift = (shifts[0] % size + size) % size;
  roll(narrow(to, d, shift, size - shift), narrow(from, d, 0, size - shift), dims + 1, shifts + 1, count - 1);
  if (shift) roll(narrow(to, d, 0, shift), narrow(from, d, size - shift, shift), dims + 1, shifts + 1, count - 1);
}
}  // namespace

SAMPLE(aclnnRoll, "shifts=2")
ABOUT(aclnnRoll, Vector, "out = self moved around by shifts along dims; without dims, flattened",
      "沿 dims 循环移位 shifts，dims 为空时按展平移位")
ACLNN(aclnnRoll, (In, self), (Ints, shifts), (Ints, dims), (Out, out)) {
  op.result_like("out", *out, *self, self->dtype);
  op.require(self->dtype == out->dtype, "out is {}, want the type of self, {}", describe(*out), describe(*self));
  if (out->empty()) return;
  if (self->rank == 0) {
    op.launch([from = *self, to = *out] { copy_elements(to, from); });
    return;
  }
  if (dims.size() == 0) {
    op.require(shifts.size() == 1, "shifts has {} numbers, want one where dims is empty", shifts.size());
    op.kernel_scratch(contiguous_bytes(*self) + contiguous_bytes(*out));
    op.launch([self = *self, out = *out, shift = shifts[0]] {
      const int64_t n = self.numel();
      const int d = 0;
      TensorView from = self, to = out;
      ScratchScope scratch;
      from = contiguous_in(self, scratch);
      if (!out.is_contiguous()) to.data = scratch.take(out.bytes());
      const TensorView line_from = TensorView::contiguous(from.data, from.dtype, &n, 1);
      const TensorView line_to = TensorView::contiguous(to.data, to.dtype, &n, 1);
      roll(line_to, line_from, &d, &shift, 1);
      if (to.data != out.data) copy_elements(out, TensorView::contiguous(to.data, out.dtype, out.dims, out.rank));
    });
    return;
  }
  op.require(shifts.size() == dims.size(), "shifts has {} numbers, dims {}", shifts.size(), dims.size());
  // A dimension may be named more than once: its shifts add up.
  int64_t total[kMaxDims] = {};
  for (size_t i = 0; i < dims.size(); ++i) total[self->wrap_dim(dims[i])] += shifts[i];
  std::vector<int> which;
  std::vector<int64_t> by;
  for (int d = 0; d < self->rank; ++d)
    if (total[d] % self->dims[d]) {
      which.push_back(d);
      by.push_back(total[d]);
    }
  op.launch([=, from = *self, to = *out] { roll(to, from, which.data(), by.data(), which.size()); });
}

SAMPLE(aclnnRepeat, "repeats=2,3 out=f32[2N,3M]")
ABOUT(aclnnRepeat, Vector, "out = self repeated repeats[d] times along each dimension",
      "沿各维将 self 重复 repeats[d] 次")
ACLNN(aclnnRepeat, (In, self), (Ints, repeats), (Out, out)) {
  const int rank = static_cast<int>(repeats.size());
  op.require(rank >= self->rank, "repeats has {} numbers, want at least self's {} dimensions", rank, self->rank);
  if (op.inferring()) {
    op.require(rank <= kMaxDims, "repeats has {} numbers, the most is {}", rank, kMaxDims);
    int64_t dims[kMaxDims];
    for (int d = 0; d < rank; ++d) {
      const int s = d - (rank - self->rank);
      if (__builtin_mul_overflow(s < 0 ? 1 : self->dims[s], repeats[static_cast<size_t>(d)], &dims[d])) dims[d] = -1;
    }
    op.suggest(*out, dims, rank, self->dtype);
  }
  op.require(out->rank == rank, "out is {}, want {} dimensions", describe(*out), rank);
  TensorView from, to;
  from.data = self->data;
  from.dtype = self->dtype;
  to.data = out->data;
  to.dtype = out->dtype;
  for (int d = 0; d < rank; ++d) {
    const int s = d - (rank - self->rank);
    const int64_t size = s < 0 ? 1 : self->dims[s], stride = s < 0 ? 0 : self->strides[s];
    op.require(repeats[static_cast<size_t>(d)] >= 0 && out->dims[d] == size * repeats[static_cast<size_t>(d)],
               "out is {}: dimension {} is not {} times {}", describe(*out), d, repeats[static_cast<size_t>(d)], size);
    if (repeats[static_cast<size_t>(d)] != 1) {
      append_dim(from, repeats[static_cast<size_t>(d)], 0);
      append_dim(to, repeats[static_cast<size_t>(d)], size * out->strides[d]);
    }
    if (size != 1) {
      append_dim(from, size, stride);
      append_dim(to, size, out->strides[d]);
    }
  }
  if (out->empty()) return;
  op.work(out->numel());
  op.launch([=] { copy_elements(to, from); });
}

// Row-major TensorFlow slices: bit i of a mask concerns entry i of begin, end and strides.
SAMPLE(aclnnStridedSlice,
       "self=f32[N,2M] begin=0,0 end=N,2M strides=1,2 beginMask=0 endMask=0 ellipsisMask=0 newAxisMask=0 "
       "shrinkAxisMask=0 out=f32[N,M]")
ABOUT(aclnnStridedSlice, Vector, "out = self[begin : end : strides] with TensorFlow's five masks",
      "out = self[begin : end : strides]，支持 TensorFlow 的五种掩码")
ACLNN(aclnnStridedSlice, (In, self), (Ints, begin), (Ints, end), (Ints, strides), (Int, beginMask), (Int, endMask),
      (Int, ellipsisMask), (Int, newAxisMask), (Int, shrinkAxisMask), (Out, out)) {
  op.require(begin.size() == end.size() && begin.size() == strides.size(),
             "begin, end and strides have {}, {} and {} numbers", begin.size(), end.size(), strides.size());
  TensorView from;
  from.dtype = self->dtype;
  int64_t offset = 0;
  int d = 0, later = 0;
  bool ellipsis = false;
  auto bit = [](int64_t mask, size_t i) { return (mask >> i & 1) != 0; };
  for (size_t i = 0; i < begin.size(); ++i) later += !bit(newAxisMask, i) && !bit(ellipsisMask, i);
  for (size_t i = 0; i < begin.size(); ++i) {
    if (bit(ellipsisMask, i)) {
      op.require(!ellipsis, "ellipsisMask has more than one bit");
      ellipsis = true;
      for (; d < self->rank - later; ++d) append_dim(from, self->dims[d], self->strides[d]);
      continue;
    }
    if (bit(newAxisMask, i)) {
      append_dim(from, 1, 0);
      continue;
    }
    op.require(d < self->rank, "begin has more entries than self, {}, has dimensions", describe(*self));
    --later;
    const int64_t size = self->dims[d], step = strides[i];
    op.require(step != 0, "strides[{}] is 0", i);
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
    int64_t b = begin[i] < 0 ? begin[i] + size : begin[i], e = end[i] < 0 ? end[i] + size : end[i];
    if (bit(shrinkAxisMask, i)) {
      op.require(b >= 0 && b < size, "begin[{}] is {}, dimension {} has {}", i, begin[i], d, size);
      offset += b * self->strides[d];
    } else {
      b = bit(beginMask, i) ? (step > 0 ? 0 : size - 1) : std::clamp(b, low, high);
      e = bit(endMask, i) ? (step > 0 ? size : -1) : std::clamp(e, low, high);
      const int64_t count = std::max<int64_t>(0, (e - b + step + (step > 0 ? -1 : 1)) / step);
      if (count) offset += b * self->strides[d];
      append_dim(from, count, step * self->strides[d]);
    }
    ++d;
  }
  for (; d < self->rank; ++d) append_dim(from, self->dims[d], self->strides[d]);
  if (self->data) from.data = at_element(*self, offset);
  op.result_like("out", *out, from, self->dtype);
  if (out->empty()) return;
  op.launch([from, to = *out] { copy_elements(to, from); });
}

SAMPLE(aclnnOneHot, "self=i64[N] numClasses=5 onValue=f32[1] offValue=f32[1] axis=-1 out=f32[N,5]")
ABOUT(aclnnOneHot, Vector, "onValue where the position along axis equals self, else offValue",
      "独热编码：axis 上位置等于 self 处为 onValue，其余为 offValue")
ACLNN(aclnnOneHot, (In, self), (Int, numClasses), (In, onValue), (In, offValue), (Int, axis), (Out, out)) {
  require_index(op, "self", *self);
  if (op.inferring()) {
    TensorView spread = *self;
    append_dim(spread, 1, 0);
    const int at = spread.wrap_dim(axis);
    std::copy_n(self->dims + at, self->rank - at, spread.dims + at + 1);
    spread.dims[at] = numClasses;
    op.suggest_like(*out, spread, onValue->dtype);
  }
  op.require(out->rank == self->rank + 1, "out is {}, want a dimension more than self, {}", describe(*out),
             describe(*self));
  const int d = out->wrap_dim(axis);
  op.require(out->dims[d] == numClasses, "out is {}, want {} in dimension {}", describe(*out), numClasses, d);
  op.require_same_shape("self", *self, "out without its classes", drop_dim(*out, d));
  op.require(onValue->numel() == 1 && offValue->numel() == 1, "onValue is {} and offValue {}, want one element each",
             describe(*onValue), describe(*offValue));
  if (out->empty()) return;
  op.kernel_scratch(index_bytes(*self));
  op.launch([=, self = *self, on = *onValue, off = *offValue, out = *out] {
    alignas(16) unsigned char one[16];
    copy_elements(TensorView::contiguous(one, out.dtype, nullptr, 0),
                  TensorView::contiguous(on.data, on.dtype, nullptr, 0));
    copy_elements(out, TensorView::contiguous(off.data, off.dtype, nullptr, 0).expand_as(out));
    ScratchScope scratch;
    const int64_t* id = read_indices(self, scratch);
    const TensorView spots = drop_dim(out, d);
    const int64_t stride = out.strides[d], classes = out.dims[d];
    visit_size(size_of(out.dtype), [&]<class T>() {
      T value;
      __builtin_memcpy(&value, one, sizeof value);
      // As the card does it: a number that is no class leaves its row off.
      parallel_for(self.numel(), 4096, [&](int64_t b, int64_t e) {
        for (; b < e; ++b)
          if (id[b] >= 0 && id[b] < classes) out.as<T>()[spots.offset_of(b) + id[b] * stride] = value;
      });
    });
  });
}

}  // namespace updraft
