// Distinct elements and slices. The number of them is known when the work ran (nonzero.cpp).
#include "ops/index/unique.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "ops/index/order.h"

namespace updraft {
namespace {

// Runs of equal neighbours in an order of n positions. first(i): element i differs from the one before it.
// Gives the position of the first of each run, which run each position belongs to, and their lengths.
struct Runs {
  std::vector<int64_t> heads;

  template <class First>
  Runs(const int64_t* order, int64_t n, const TensorView* inverse, const TensorView* counts, First&& first) {
    int64_t* inv = inverse && inverse->numel() >= n ? inverse->as<int64_t>() : nullptr;
    std::vector<int64_t> starts;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = order ? order[i] : i;
      if (i == 0 || first(order ? order[i - 1] : i - 1, at)) {
        heads.push_back(at);
        starts.push_back(i);
      }
      if (inv) inv[at] = static_cast<int64_t>(heads.size()) - 1;
    }
    if (counts && counts->numel() >= static_cast<int64_t>(heads.size())) {
      auto* to = counts->as<int64_t>();
      for (size_t k = 0; k < starts.size(); ++k) to[k] = (k + 1 < starts.size() ? starts[k + 1] : n) - starts[k];
    }
  }
};

/// Puts runs into the order in which their elements first occur; `inverse` follows.
void by_occurrence(std::vector<int64_t>& heads, int64_t* inverse, int64_t n) {
  std::vector<size_t> order(heads.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t run) { return heads[run]; });
  std::vector<int64_t> sorted(heads.size()), place(heads.size());
  for (size_t i = 0; i < order.size(); ++i) {
    sorted[i] = heads[order[i]];
    place[order[i]] = static_cast<int64_t>(i);
  }
  heads = std::move(sorted);
  for (int64_t i = 0; i < n; ++i) inverse[i] = place[static_cast<size_t>(inverse[i])];
}

void check_output(const Op& op, const char* name, const TensorView& v) {
  op.require(v.dtype == DType::Int64 && is_dense(v), "{} is {}, want contiguous INT64", name, describe(v));
}

struct Outputs {
  Outputs(const aclTensor* y, const aclTensor* inverse, bool want_inverse, const aclTensor* counts, bool want_counts)
      : to(y->view), shape(y), counts_shape(want_counts ? counts : nullptr) {
    if (inverse && want_inverse) inverse_to = inverse->view;
    if (counts && want_counts) counts_to = counts->view;
  }
  /// Null when it is not wanted.
  const TensorView* inverse() const { return inverse_to.data ? &inverse_to : nullptr; }
  const TensorView* counts() const { return counts_to.data ? &counts_to : nullptr; }

  TensorView to, inverse_to, counts_to;
  ResultShape shape, counts_shape;
};

/// Inference: what is not wanted has no elements.
void suggest_unique(const Op& op, const TensorView& self, int d, aclTensor* y, aclTensor* inverse, bool want_inverse,
                    aclTensor* counts, bool want_counts) {
  if (!op.inferring()) return;
  const bool flattened = d < 0;
  const int64_t n = flattened ? self.numel() : self.size(d);
  if (flattened) op.suggest_up_to(y->view, &n, 1, self.dtype, 0);
  else op.suggest_up_to(y->view, self.dims, self.rank, self.dtype, self.rank ? d : -1);
  if (inverse && want_inverse && flattened) op.suggest_like(inverse->view, self, DType::Int64);
  else if (inverse) op.suggest(inverse->view, {want_inverse ? n : 0}, DType::Int64);
  const int64_t most = want_counts ? n : 0;
  if (counts) op.suggest_up_to(counts->view, &most, 1, DType::Int64, want_counts ? 0 : -1);
}

void plan_unique(Op& op, const TensorView& self, bool sort, aclTensor* y, aclTensor* inverse, bool want_inverse,
                 aclTensor* counts, bool want_counts, bool as_they_occur = false) {
  suggest_unique(op, self, -1, y, as_they_occur ? nullptr : inverse, want_inverse, counts, want_counts);
  op.require(is_ordered(self.dtype), "self is {}: complex numbers have no order", describe(self));
  op.require(y->view.dtype == self.dtype && is_dense(y->view) && y->view.numel() >= self.numel(),
             "valueOut is {}, want room for {}", describe(y->view), describe(self));
  if (inverse && !as_they_occur) check_output(op, "inverseOut", inverse->view);
  if (counts) check_output(op, "countsOut", counts->view);
  const Outputs out(y, inverse, want_inverse, counts, want_counts);
  op.work(20 * self.numel() + 1);
  op.kernel_scratch(contiguous_bytes(self) + (as_they_occur ? static_cast<size_t>(self.numel()) * 8 : 0) +
                    (sort ? static_cast<size_t>(self.numel()) * 8 + sort_bytes(self.dtype, self.numel()) : 0));
  op.launch([=] {
    const int64_t n = self.numel();
    ScratchScope scratch;
    const void* data = contiguous_in(self, scratch).data;
    int64_t* order = nullptr;
    if (sort && n) {
      order = scratch.take<int64_t>(static_cast<size_t>(n));
      sort_line(self.dtype, data, 1, n, false, order);
    }
    int64_t found = 0;
    TensorView places;
    if (as_they_occur)
      places = TensorView::contiguous(scratch.take<int64_t>(static_cast<size_t>(n)), DType::Int64, &n, 1);
    const bool known = visit_type(self.dtype, [&]<class T>() {
      const T* from = static_cast<const T*>(data);
      Runs runs(order, n, as_they_occur ? &places : out.inverse(), out.counts(),
                [&](int64_t a, int64_t b) { return !(from[a] == from[b]); });
      if (as_they_occur) by_occurrence(runs.heads, places.as<int64_t>(), n);
      found = static_cast<int64_t>(runs.heads.size());
      for (int64_t i = 0; i < found; ++i) out.to.as<T>()[i] = from[runs.heads[static_cast<size_t>(i)]];
    });
    if (!known) no_such_type(self.dtype, "unique");
    if (as_they_occur && n)
      copy_elements(out.inverse_to, TensorView::contiguous(places.data, DType::Int64, self.dims, self.rank));
    out.shape.set({found});
    out.counts_shape.set({found});
  });
}

// Slices along d, compared element by element in row-major order of the rest.
void plan_unique_dim(Op& op, const TensorView& self, int64_t dim, bool sort, aclTensor* y, aclTensor* inverse,
                     bool want_inverse, aclTensor* counts, bool want_counts) {
  suggest_unique(op, self, self.wrap_dim(dim), y, inverse, want_inverse, counts, want_counts);
  op.require(is_ordered(self.dtype), "self is {}: complex numbers have no order", describe(self));
  op.require(y->view.dtype == self.dtype && is_dense(y->view) && y->view.numel() >= self.numel(),
             "valueOut is {}, want room for {}", describe(y->view), describe(self));
  const int d = self.wrap_dim(dim);
  if (inverse) check_output(op, "inverseOut", inverse->view);
  if (counts) check_output(op, "countsOut", counts->view);
  const Outputs out(y, inverse, want_inverse, counts, want_counts);
  op.work(40 * self.numel() + 1);
  op.kernel_scratch(self.bytes());
  op.launch([=] {
    const int64_t n = self.size(d), length = n ? self.numel() / n : 0;
    // Slices as rows.
    TensorView rows;
    rows.data = self.data;
    rows.dtype = self.dtype;
    append_dim(rows, n, self.stride(d));
    for (int k = 0; k < self.rank; ++k)
      if (k != d) append_dim(rows, self.dims[k], self.strides[k]);
    ScratchScope scratch;
    const void* data = self.empty() ? self.data : gather_to(scratch.take(self.bytes()), self.dtype, rows).data;
    std::vector<int64_t> order(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) order[static_cast<size_t>(i)] = i;
    int64_t found = 0;
    const bool known = visit_type(self.dtype, [&]<class T>() {
      if constexpr (!std::is_same_v<T, complex64> && !std::is_same_v<T, complex128>) {
        const T* from = static_cast<const T*>(data);
        if (sort)
          std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
            const T *x = from + a * length, *z = from + b * length;
            for (int64_t i = 0; i < length; ++i) {
              const auto p = key_of(x[i]), q = key_of(z[i]);
              if (p != q) return p < q;
            }
            return false;
          });
        const Runs runs(order.data(), n, out.inverse(), out.counts(), [&](int64_t a, int64_t b) {
          return !std::equal(from + a * length, from + (a + 1) * length, from + b * length);
        });
        found = static_cast<int64_t>(runs.heads.size());
        int64_t dims[kMaxDims];
        std::copy_n(self.dims, self.rank, dims);
        if (self.rank) dims[d] = found;
        const TensorView to = TensorView::contiguous(out.to.data, self.dtype, dims, self.rank);
        for (int64_t i = 0; i < found; ++i) {
          const TensorView slice = self.rank ? drop_dim(narrow(to, d, i, 1), d) : to;
          copy_elements(slice,
                        TensorView::contiguous(const_cast<T*>(from) + runs.heads[static_cast<size_t>(i)] * length,
                                               self.dtype, slice.dims, slice.rank));
        }
        out.shape.set(dims, self.rank);
      }
    });
    if (!known) no_such_type(self.dtype, "unique along a dimension");
    out.counts_shape.set({found});
  });
}

}  // namespace

ABOUT(aclnnUnique2, AICPU, "Sorted distinct elements of self, with the place of each element and their counts",
      "self 的去重元素（有序），及各元素的反向索引与计数")
ACLNN(aclnnUnique2, (In, self), (Bool, sorted), (Bool, returnInverse), (Bool, returnCounts), (Out, valueOut),
      (Out, inverseOut), (Out, countsOut)) {
  (void)sorted;  // always: it is one of the allowed orders
  plan_unique(op, *self, true, valueOut.handle, inverseOut.handle, returnInverse || returnCounts, countsOut.handle,
              returnCounts);
}

ABOUT(aclnnUnique, AICPU, "Sorted distinct elements of self and the place of each element among them",
      "self 的去重元素（有序）及反向索引")
ACLNN(aclnnUnique, (In, self), (Bool, sorted), (Bool, returnInverse), (Out, valueOut), (Out, inverseOut)) {
  (void)sorted;
  plan_unique(op, *self, true, valueOut.handle, inverseOut.handle, returnInverse, nullptr, false);
}

ABOUT(aclnnUniqueConsecutive, AICPU, "Runs of equal neighbours as one each, flattened or along dim, with counts",
      "将连续重复的元素（或沿 dim 的切片）合并为一个，并给出计数")
ACLNN(aclnnUniqueConsecutive, (In, self), (Bool, returnInverse), (Bool, returnCounts), (Int, dim), (Out, valueOut),
      (Out, inverseOut), (Out, countsOut)) {
  constexpr int64_t kNone = 1000;  // the client's way to say: flattened
  if (dim == kNone) {
    plan_unique(op, *self, false, valueOut.handle, inverseOut.handle, returnInverse, countsOut.handle, returnCounts);
  } else {
    plan_unique_dim(op, *self, dim, false, valueOut.handle, inverseOut.handle, returnInverse, countsOut.handle,
                    returnCounts);
  }
}

ABOUT(aclnnUniqueDim, AICPU, "Sorted distinct slices of self along dim, with places and counts",
      "self 沿 dim 的去重切片（有序），及反向索引与计数")
ACLNN(aclnnUniqueDim, (In, self), (Bool, sorted), (Bool, returnInverse), (Int, dim), (Out, valueOut), (Out, inverseOut),
      (Out, countsOut)) {
  (void)sorted;
  (void)returnInverse;  // the client has room for it and hands it on either way
  plan_unique_dim(op, *self, dim, true, valueOut.handle, inverseOut.handle, true, countsOut.handle, true);
}

void plan_unique_as_it_occurs(Op& op, const TensorView& x, aclTensor& y, aclTensor& places) {
  plan_unique(op, x, true, &y, &places, true, nullptr, false, true);
}

}  // namespace updraft
