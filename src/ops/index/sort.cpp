// sort and topk along one dimension.
#include <vector>

#include "base/parallel.h"
#include "ops/index/order.h"

namespace updraft {
namespace {

// order(line of self, positions) for each line along d; the first `count` are written.
template <class Order>
void run_lines(const TensorView& self, int d, int64_t count, const TensorView& values, const TensorView& indices,
               Order&& order) {
  const int64_t n = self.size(d), stride = self.stride(d);
  const TensorView lines = self.rank ? drop_dim(self, d) : self;
  const TensorView to = values.rank ? drop_dim(values, d) : values, at = indices.rank ? drop_dim(indices, d) : indices;
  const int64_t vs = values.stride(d), is = indices.stride(d);
  const int64_t total = lines.numel();
  const int64_t grain = std::max<int64_t>(1, 4096 / std::max<int64_t>(n, 1));
  // Few long lines: the threads work inside one of them.
  const bool inside = total < parallel_width();
  visit_size(size_of(self.dtype), [&]<class T>() {
    auto work = [&](int64_t begin, int64_t end) {
      ScratchScope scratch;
      auto* positions = scratch.take<int64_t>(static_cast<size_t>(n));
      const bool aliased = self.data == values.data;
      T* copy = scratch.take<T>(aliased ? static_cast<size_t>(n) : 0);
      for (int64_t l = begin; l < end; ++l) {
        const T* line = self.as<const T>() + lines.offset_of(l);
        order(line, stride, n, positions);
        T* out = values.as<T>() + to.offset_of(l);
        int64_t step = stride;
        if (aliased) {
          for (int64_t i = 0; i < n; ++i) copy[i] = line[i * stride];
          line = copy;
          step = 1;
        }
        const int64_t base = at.offset_of(l);
        parallel_for(count, 65536, [&](int64_t b, int64_t e) {
          for (int64_t i = b; i < e; ++i) out[i * vs] = line[positions[i] * step];
          if (indices.dtype == DType::Int64) {
            for (int64_t i = b; i < e; ++i) indices.as<int64_t>()[base + i * is] = positions[i];
          } else {
            for (int64_t i = b; i < e; ++i) indices.as<int32_t>()[base + i * is] = static_cast<int32_t>(positions[i]);
          }
        });
      }
    };
    if (inside) work(0, total);
    else parallel_for(total, grain, work);
  });
}

/// What run_lines() takes in the engine's thread; other threads, which sort lines of their own, have arenas of theirs.
size_t lines_bytes(const TensorView& self, int d, const TensorView& values) {
  const int64_t n = self.size(d);
  return static_cast<size_t>(n) * (8 + (self.data == values.data ? size_of(self.dtype) : 0)) +
         sort_bytes(self.dtype, n);
}

void check(const Op& op, const TensorView& self, const TensorView& values, const TensorView& indices) {
  op.require(is_ordered(self.dtype), "self is {}: complex numbers have no order", describe(self));
  op.require(values.dtype == self.dtype, "values is {}, want the type of self, {}", describe(values), describe(self));
  op.require(indices.dtype == DType::Int64 || indices.dtype == DType::Int32, "indices is {}, want INT64",
             describe(indices));
  op.require_same_shape("values", values, "indices", indices);
}

void plan_topk(Op& op, const TensorView& self, int64_t k, int64_t dim, bool largest, const TensorView& values,
               const TensorView& indices) {
  const int d = self.wrap_dim(dim);
  op.require(k >= 0 && k <= self.size(d), "k is {}, dimension {} has {}", k, d, self.size(d));
  if (op.inferring()) {
    TensorView top = self;
    if (self.rank) top.dims[d] = k;
    op.suggest_like(values, top, self.dtype);
    op.suggest_like(indices, top, DType::Int64);
  }
  check(op, self, values, indices);
  bool fits = values.rank == self.rank && values.size(d) == (self.rank ? k : 1);
  for (int i = 0; fits && i < self.rank; ++i) fits = i == d || values.dims[i] == self.dims[i];
  op.require(fits, "values is {}, want {} of dimension {} of self, {}", describe(values), k, d, describe(self));
  if (values.empty()) return;
  op.work(8 * self.numel());
  op.kernel_scratch(lines_bytes(self, d, values));
  op.launch([=] {
    run_lines(self, d, self.rank ? k : 1, values, indices,
              [&](const void* line, int64_t stride, int64_t n, int64_t* order) {
                top_of_line(self.dtype, line, stride, n, self.rank ? k : 1, largest, order);
              });
  });
}

}  // namespace

CARD(aclnnSort, on("indices", kI64), on("self", kFloats | kIntegers), kFloats | kF64 | kIntegers)
SAMPLE(aclnnSort, "indices=i64[N,M]")
ABOUT(aclnnSort, Vector, "values and indices of self sorted along dim (stable)", "沿 dim 稳定排序，输出值与索引")
ACLNN(aclnnSort, (In, self), (Bool, stable), (Int, dim), (Bool, descending), (Out, values), (Out, indices)) {
  (void)stable;  // always
  const int d = self->wrap_dim(dim);
  op.result_like("values", *values, *self, self->dtype);
  op.suggest_like(*indices, *self, DType::Int64);
  check(op, *self, *values, *indices);
  if (self->empty()) return;
  op.work(20 * self->numel());
  op.kernel_scratch(lines_bytes(*self, d, *values));
  op.launch([=, self = *self, values = *values, indices = *indices] {
    run_lines(self, d, self.size(d), values, indices, [&](const void* line, int64_t stride, int64_t n, int64_t* order) {
      sort_line(self.dtype, line, stride, n, descending, order);
    });
  });
}

SAMPLE(aclnnTopk, "k=2 largest=true sorted=true values=f32[N,2] indices=i64[N,2]")
ABOUT(aclnnTopk, Vector, "values and indices of the k largest or smallest elements along dim",
      "沿 dim 取最大或最小的 k 个元素及其索引")
ACLNN(aclnnTopk, (In, self), (Int, k), (Int, dim), (Bool, largest), (Bool, sorted), (Out, values), (Out, indices)) {
  (void)sorted;  // always: it is one of the allowed orders
  plan_topk(op, *self, k, dim, largest, *values, *indices);
}

}  // namespace updraft
