// x[i, :, j] and its assignment: index tensors broadcast together; where the indexed dimensions are neighbours the
// result has the index's dimensions in their place, else in front.
#include <algorithm>
#include <vector>

#include "ops/index/rows.h"

namespace updraft {
namespace {

constexpr int kMarkerRank = 9;

struct Indexing {
  TensorView table;        ///< the dimensions that are not indexed
  int outer = 0;           ///< how many of them come before the index's in the result
  int64_t dims[kMaxDims];  ///< of the index
  int rank = 0;
  int64_t result[kMaxDims];
  int result_rank = 0;
  bool nothing = false;  ///< an empty index
  struct Entry {
    TensorView index;
    int64_t size, stride;
    int dim;
  };
  std::vector<Entry> entries;

  /// out: the result, which has elements, or null.
  Indexing(const Op& op, const TensorView& self, const Tensors& indices, const TensorView* out) {
    op.require(indices.size() <= static_cast<size_t>(self.rank), "{} indices for self, {}", indices.size(),
               describe(self));
    const bool filled = out && !op.inferring();
    // For a dimension that is not indexed torch_npu passes an empty vector of self's type, MindSpore an empty vector
    // of int64 or nine dimensions of size 0. A result with elements has no empty index, so there each empty one is
    // absent.
    auto absent = [&](size_t i) {
      if (i >= indices.size() || !indices.item(i)) return true;
      const TensorView& v = indices[i];
      if (v.rank == kMarkerRank) return std::all_of(v.dims, v.dims + v.rank, [](int64_t n) { return n == 0; });
      return v.rank == 1 && v.dims[0] == 0 && (filled || v.dtype == self.dtype || !is_integral(v.dtype, true));
    };
    bool any = false, ambiguous = false;
    for (size_t i = 0; i < indices.size(); ++i) {
      any = any || !absent(i);
      ambiguous = ambiguous ||
                  (absent(i) && indices.item(i) && indices[i].dtype == self.dtype && is_integral(self.dtype, false));
    }
    if (!any && ambiguous) {
      nothing = true;  // at least one index is there, and they are all empty
      if (out) {
        int64_t none[kMaxDims] = {0};
        const int named = static_cast<int>(indices.size());
        std::copy_n(self.dims + named, self.rank - named, none + 1);
        op.suggest(*out, none, self.rank - named + 1, self.dtype);
      }
      return;
    }
    op.require(any, "no index is given");
    table.data = self.data;
    table.dtype = self.dtype;
    int first = -1, last = -1;
    for (int d = 0; d < self.rank; ++d) {
      if (absent(static_cast<size_t>(d))) continue;
      const TensorView& v = indices[static_cast<size_t>(d)];
      op.require(v.dtype == DType::Int64 || v.dtype == DType::Int32, "indices[{}] is {}, want INT64 or INT32", d,
                 describe(v));
      rank = broadcast_shape(dims, rank, v.dims, v.rank, dims);
      if (first < 0) first = d;
      last = d;
      entries.push_back({v, self.dims[d], self.strides[d], d});
    }
    const bool together = last - first + 1 == static_cast<int>(entries.size());
    for (Entry& e : entries) e.index = e.index.expand(dims, rank);
    for (int d = 0; d < self.rank; ++d) {
      if (!absent(static_cast<size_t>(d))) continue;
      append_dim(table, self.dims[d], self.strides[d]);
      if (together && d < first) ++outer;
    }
    for (int d = 0; d < outer; ++d) result[result_rank++] = table.dims[d];
    for (int d = 0; d < rank; ++d) result[result_rank++] = dims[d];
    for (int d = outer; d < table.rank; ++d) result[result_rank++] = table.dims[d];
    if (out) op.result("out", *out, result, result_rank, self.dtype);
    for (int d = 0; d < result_rank; ++d) nothing = nothing || result[d] == 0;
  }

  /// What rows() takes at most: offsets of both sides, and of one index as int64.
  size_t rows_bytes() const {
    size_t n = 8, copied = 0;
    for (int d = 0; d < rank; ++d) n *= static_cast<size_t>(dims[d]);
    for (const Entry& e : entries) copied = std::max(copied, index_bytes(e.index));
    return 2 * n + copied;
  }

  /// In the stream: offsets of the rows of the table and of the values (which have the result's shape).
  Rows rows(const TensorView& values, ScratchScope& scratch) const {
    Rows r;
    r.table = table;
    r.outer = outer;
    r.n = 1;
    for (int d = 0; d < rank; ++d) r.n *= dims[d];
    auto* at = scratch.take<int64_t>(static_cast<size_t>(r.n));
    bool add = false;
    for (const Entry& e : entries) {
      index_offsets(at, e.index, e.size, e.stride, e.dim, true, add);
      add = true;
    }
    r.at = at;
    r.values.data = values.data;
    r.values.dtype = values.dtype;
    TensorView index_part;
    for (int d = 0; d < values.rank; ++d)
      append_dim(d < outer || d >= outer + rank ? r.values : index_part, values.dims[d], values.strides[d]);
    const TensorView* views[] = {&index_part};
    const StridedLoop<1> loop(views);
    if (loop.rank == 1) {
      r.value_stride = loop.strides[0][0];
    } else {
      auto* value_at = scratch.take<int64_t>(static_cast<size_t>(r.n));
      loop.rows(0, r.n, [&](const int64_t(&o)[1], int64_t linear, int64_t n) {
        for (int64_t i = 0; i < n; ++i) value_at[linear + i] = o[0] + i * loop.strides[0][loop.rank - 1];
      });
      r.value_at = value_at;
    }
    return r;
  }
};

}  // namespace

SAMPLE(aclnnIndex, "indices=i64[5] out=f32[5,M]")
ABOUT(aclnnIndex, Vector, "out = self[indices], a list of index tensors of which some may be absent",
      "out = self[indices]，按索引张量列表取值，列表元素可为空")
ACLNN(aclnnIndex, (In, self), (Tensors, indices), (Out, out)) {
  if (out->empty()) return;
  Indexing plan(op, *self, indices, &*out);
  op.require(self->dtype == out->dtype, "out is {}, want the type of self, {}", describe(*out), describe(*self));
  if (plan.nothing) return;
  op.work(out->numel() + static_cast<int64_t>(indices.size()) * 64);
  op.kernel_scratch(plan.rows_bytes());
  op.launch([plan = std::move(plan), out = *out] {
    ScratchScope scratch;
    gather_rows(plan.rows(out, scratch));
  });
}

SAMPLE(aclnnIndexPutImpl, "indices=i64[1]:2..3 values=f32[1,M]")
ABOUT(aclnnIndexPutImpl, Vector, "selfRef[indices] = values in place; accumulate: adds them",
      "原地执行 selfRef[indices] = values，accumulate 为真时累加")
ACLNN(aclnnIndexPutImpl, (InOut, selfRef), (Tensors, indices), (In, values), (Bool, accumulate), (Bool, unsafe)) {
  (void)unsafe;  // says that the indices were checked; they are checked anyway
  if (selfRef->empty() || values->empty()) return;
  op.require(selfRef->dtype == values->dtype, "values is {}, want the type of self, {}", describe(*values),
             describe(*selfRef));
  Indexing plan(op, *selfRef, indices, nullptr);
  if (plan.nothing) return;
  // Leading dimensions of size 1 that the result does not have are PyTorch's to drop.
  TensorView from = *values;
  while (from.rank > plan.result_rank && from.dims[0] == 1) from = drop_dim(from, 0);
  from = from.expand(plan.result, plan.result_rank);
  op.work(4 * from.numel());
  op.kernel_scratch(plan.rows_bytes());
  op.launch([plan = std::move(plan), from, accumulate] {
    ScratchScope scratch;
    const Rows rows = plan.rows(from, scratch);
    if (accumulate) {
      add_rows(rows, nullptr);
    } else {
      put_rows(rows);
    }
  });
}

}  // namespace updraft
