// Medians and k-th smallest values.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/table.h"
#include "ops/reduction/reduction.h"

namespace updraft {
namespace {

enum class Which { median, nan_median, kth };

template <class T>
struct Chosen {
  T value;
  int64_t index;
};

template <class T>
bool is_nan(T v) {
  return v != v;
}

// Of equal elements the first counts as the smaller, as on PyTorch's CPU; NaNs come last.
template <class T>
Chosen<T> median(const T* v, int64_t n, bool skip_nan, std::vector<int64_t>& place) {
  int64_t nans = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (!is_nan(v[i])) continue;
    if (!skip_nan) return {v[i], i};
    ++nans;
  }
  place.resize(static_cast<size_t>(n));
  std::iota(place.begin(), place.end(), 0);
  auto nth = place.begin() + (nans == n ? 0 : (n - nans - 1) / 2);
  std::nth_element(place.begin(), nth, place.end(), [&](int64_t a, int64_t b) {
    return v[a] < v[b] || (is_nan(v[b]) && !is_nan(v[a])) || (v[a] == v[b] && a < b);
  });
  return {v[*nth], *nth};
}

// Selection by partition about the median of three; NaN is the largest.
template <class T>
Chosen<T> kth(T* v, int64_t n, int64_t k, std::vector<int64_t>& place) {
  place.resize(static_cast<size_t>(n));
  std::iota(place.begin(), place.end(), 0);
  int64_t* p = place.data();
  auto above = [](T a, T b) { return (is_nan(a) && !is_nan(b)) || a > b; };
  auto exchange = [&](int64_t a, int64_t b) {
    std::swap(v[a], v[b]);
    std::swap(p[a], p[b]);
  };
  int64_t low = 0, high = n - 1;
  while (high > low) {
    if (high == low + 1) {
      if (above(v[low], v[high])) exchange(low, high);
      break;
    }
    exchange(low + (high - low) / 2, low + 1);
    if (above(v[low + 1], v[high])) exchange(low + 1, high);
    if (above(v[low], v[high])) exchange(low, high);
    if (above(v[low + 1], v[low])) exchange(low + 1, low);
    int64_t i = low + 1, j = high;
    const T pivot = v[low];
    for (;;) {
      do ++i;
      while (above(pivot, v[i]));
      do --j;
      while (above(v[j], pivot));
      if (j < i) break;
      exchange(i, j);
    }
    exchange(low, j);
    if (j <= k) low = i;
    if (j >= k) high = j - 1;
  }
  return {v[k], p[k]};
}

template <class T>
void choose(Which which, int64_t k, const TensorView& self, int dim, bool whole, const TensorView& values,
            const TensorView& indices, Compute compute) {
  const LoadFn load = kernels().load[static_cast<int>(self.dtype)][static_cast<int>(compute)];
  const StoreFn store = kernels().store[static_cast<int>(compute)][static_cast<int>(values.dtype)];
  auto pick = [&](std::vector<T>& v, std::vector<int64_t>& place) {
    const int64_t n = static_cast<int64_t>(v.size());
    return which == Which::kth ? kth(v.data(), n, k, place) : median(v.data(), n, which == Which::nan_median, place);
  };
  const int64_t size = static_cast<int64_t>(size_of(self.dtype));
  if (whole) {
    std::vector<T> v(static_cast<size_t>(self.numel()));
    std::vector<int64_t> place;
    const TensorView* views[] = {&self};
    const StridedLoop<1> walk(views);
    walk.rows(0, self.numel(), [&](const int64_t(&at)[1], int64_t linear, int64_t n) {
      load(v.data() + linear, self.as<char>() + at[0] * size, walk.strides[0][walk.rank - 1], n);
    });
    const Chosen<T> c = pick(v, place);
    store(values.data, 1, &c.value, 1);
    return;
  }
  TensorView kept = self;
  if (kept.rank) kept.dims[dim] = 1;
  const int64_t n = self.size(dim), step = self.stride(dim);
  parallel_for(kept.numel(), std::max<int64_t>(1, 2048 / n), [&](int64_t begin, int64_t end) {
    std::vector<T> v(static_cast<size_t>(n));
    std::vector<int64_t> place;
    for (int64_t i = begin; i < end; ++i) {
      load(v.data(), self.as<char>() + kept.offset_of(i) * size, step, n);
      const Chosen<T> c = pick(v, place);
      store(values.as<char>() + values.offset_of(i) * static_cast<int64_t>(size_of(values.dtype)), 1, &c.value, 1);
      if (indices.data) indices.as<int64_t>()[indices.offset_of(i)] = c.index;
    }
  });
}

void launch(Op& op, Which which, int64_t k, const TensorView& self, int dim, bool whole, const TensorView& values,
            const TensorView& indices) {
  require_order(op, self);
  op.work(self.numel() * 20);
  op.launch([=] {
    if (compute_of(self.dtype) == Compute::I64)
      choose<int64_t>(which, k, self, dim, whole, values, indices, Compute::I64);
    else if (self.dtype == DType::Double) choose<double>(which, k, self, dim, whole, values, indices, Compute::F64);
    else choose<float>(which, k, self, dim, whole, values, indices, Compute::F32);
  });
}

void plan_whole(Op& op, Which which, const TensorView& self, const TensorView& out) {
  op.suggest(out, {}, self.dtype);
  op.require(out.numel() == 1, "out is {}, want one element", describe(out));
  if (self.empty()) {
    // The median of nothing: NaN, or the smallest integer.
    Params p;
    p.set(0, is_floating(out.dtype) ? std::nan("") : 0.0);
    if (!is_floating(out.dtype)) p.set(0, std::numeric_limits<int64_t>::min());
    op.launch([=] {
      const Compute compute = compute_of(out.dtype);
      const void* from = compute == Compute::I64   ? static_cast<const void*>(p.i64)
                         : compute == Compute::F64 ? static_cast<const void*>(p.f64)
                                                   : static_cast<const void*>(p.f32);
      kernels().store[static_cast<int>(compute)][static_cast<int>(out.dtype)](out.data, 1, from, 1);
    });
    return;
  }
  launch(op, which, 0, self, 0, true, out, TensorView());
}

void plan_dim(Op& op, Which which, int64_t k, const TensorView& self, int64_t dim, bool keepdim,
              const TensorView& values, const TensorView& indices) {
  const int d = self.wrap_dim(dim);
  const DimMask mask = reduction_mask(self, dim);
  suggest_reduction(op, self, mask, keepdim, values, self.dtype);
  suggest_reduction(op, self, mask, keepdim, indices, DType::Int64);
  const TensorView to = reduction_output(op, "values", self, mask, keepdim, values);
  const TensorView at = reduction_output(op, "indices", self, mask, keepdim, indices);
  op.require(indices.dtype == DType::Int64, "indices is {}, want data type INT64", describe(indices));
  if (to.empty()) return;
  op.require(self.size(d) > 0, "self is {}: dim {} is empty", describe(self), dim);
  if (which == Which::kth)
    op.require(k >= 1 && k <= self.size(d), "k is {}, want 1 to {} for dim {} of {}", k, self.size(d), dim,
               describe(self));
  launch(op, which, k - 1, self, d, false, to, at);
}

}  // namespace

ABOUT(aclnnMedian, Vector, "Median of all elements, the lower one of two; NaN where there is one",
      "全部元素的中位数（偶数个时取较小者），含 NaN 时为 NaN")
ACLNN(aclnnMedian, (In, self), (Out, valuesOut)) { plan_whole(op, Which::median, *self, *valuesOut); }
ABOUT(aclnnNanMedian, Vector, "Median of all elements that are not NaN", "忽略 NaN 的全部元素中位数")
ACLNN(aclnnNanMedian, (In, self), (Out, out)) { plan_whole(op, Which::nan_median, *self, *out); }
ABOUT(aclnnMedianDim, Vector, "Median along dim and its index", "沿 dim 的中位数及其索引")
ACLNN(aclnnMedianDim, (In, self), (Int, dim), (Bool, keepDim), (Out, valuesOut), (Out, indicesOut)) {
  plan_dim(op, Which::median, 0, *self, dim, keepDim, *valuesOut, *indicesOut);
}
ABOUT(aclnnNanMedianDim, Vector, "Median along dim without NaN, and its index", "沿 dim 忽略 NaN 的中位数及其索引")
ACLNN(aclnnNanMedianDim, (In, self), (Int, dim), (Bool, keepDim), (Out, valuesOut), (Out, indicesOut)) {
  plan_dim(op, Which::nan_median, 0, *self, dim, keepDim, *valuesOut, *indicesOut);
}
ABOUT(aclnnKthvalue, Vector, "k-th smallest element along dim and its index", "沿 dim 第 k 小的元素及其索引")
ACLNN(aclnnKthvalue, (In, self), (Int, k), (Int, dim), (Bool, keepdim), (Out, valuesOut), (Out, indicesOut)) {
  plan_dim(op, Which::kth, k, *self, dim, keepdim, *valuesOut, *indicesOut);
}

}  // namespace updraft
