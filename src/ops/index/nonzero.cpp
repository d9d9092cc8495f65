// Operators whose result has as many elements as there are true ones: nonzero, masked_select and its inverse
// masked_scatter. The exemplar of a shape that is known only when the work ran: ResultShape.
#include <bit>
#include <vector>

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "ops/index/indices.h"

namespace updraft {
namespace {

constexpr int64_t kBlock = 1 << 15;

// Where the true elements of each block of positions go.
struct Places {
  std::vector<int64_t> start;  ///< one a block, and the total
  int64_t total() const { return start.back(); }

  template <class Count>
  Places(int64_t n, Count&& count) : start(static_cast<size_t>((n + kBlock - 1) / kBlock + 1)) {
    const auto blocks = static_cast<int64_t>(start.size()) - 1;
    parallel_for(blocks, 1, [&](int64_t b, int64_t e) {
      for (; b < e; ++b) start[static_cast<size_t>(b)] = count(b * kBlock, std::min(n, (b + 1) * kBlock));
    });
    int64_t sum = 0;
    for (int64_t& s : start) sum += std::exchange(s, sum);
    start.back() = sum;
  }
  /// write(begin, end, first place) for each block.
  template <class Write>
  void each(int64_t n, Write&& write) const {
    parallel_for(static_cast<int64_t>(start.size()) - 1, 1, [&](int64_t b, int64_t e) {
      for (; b < e; ++b) write(b * kBlock, std::min(n, (b + 1) * kBlock), start[static_cast<size_t>(b)]);
    });
  }
};

template <class T>
bool is_true(const T& v) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) return (v.bits & 0x7fff) != 0;
  else if constexpr (std::is_same_v<T, ComplexHalf>) return is_true(v.real) || is_true(v.imag);
  else return v != T(0);
}

// A bit for each of n <= 64 elements: true ones are found without a branch an element.
template <class T>
uint64_t truth(const T* p, int64_t stride, int64_t n) {
  uint64_t bits = 0;
  if (stride != 1 || n < 64) {
    for (int64_t i = 0; i < n; ++i) bits |= static_cast<uint64_t>(is_true(p[i * stride])) << i;
    return bits;
  }
  uint8_t flags[64];
  for (int i = 0; i < 64; ++i) flags[i] = is_true(p[i]);
  for (int i = 0; i < 64; i += 8) {
    uint64_t eight = 0;
    for (int k = 0; k < 8; ++k) eight |= static_cast<uint64_t>(flags[i + k]) << (8 * k);
    bits |= (eight * 0x0102040810204080u >> 56) << i;
  }
  return bits;
}

// to[place * place_stride + d * dim_stride] = coordinate d.
template <class T>
void nonzero(const TensorView& self, const ResultShape& shape, int64_t* to, bool transposed) {
  const TensorView* views[] = {&self};
  const StridedLoop<1> loop(views);
  const int64_t n = self.numel();
  const T* data = self.as<const T>();
  Places places(n, [&](int64_t begin, int64_t end) {
    int64_t count = 0;
    const int64_t stride = loop.strides[0][loop.rank - 1];
    loop.rows(begin, end, [&](const int64_t(&at)[1], int64_t, int64_t m) {
      for (int64_t i = 0; i < m; i += 64)
        count += std::popcount(truth(data + at[0] + i * stride, stride, std::min<int64_t>(64, m - i)));
    });
    return count;
  });
  const int64_t total = places.total();
  const int rank = self.rank;
  if (rank > 0) {
    const int64_t place_stride = transposed ? 1 : rank, dim_stride = transposed ? total : 1;
    const int inner = rank - 1;
    const int64_t stride = self.strides[inner];
    places.each(n, [&](int64_t begin, int64_t end, int64_t place) {
      int64_t index[kMaxDims], rest = begin;
      for (int d = inner; d >= 0; --d) {
        index[d] = rest % self.dims[d];
        rest /= self.dims[d];
      }
      while (begin < end) {
        int64_t offset = 0;
        for (int d = 0; d < inner; ++d) offset += index[d] * self.strides[d];
        const int64_t stop = std::min(self.dims[inner], index[inner] + end - begin);
        begin += stop - index[inner];
        const T* p = data + offset;
        for (int64_t i = index[inner]; i < stop; i += 64) {
          for (uint64_t bits = truth(p + i * stride, stride, std::min<int64_t>(64, stop - i)); bits; bits &= bits - 1) {
            int64_t* at = to + place++ * place_stride;
            for (int d = 0; d < inner; ++d) at[d * dim_stride] = index[d];
            at[inner * dim_stride] = i + std::countr_zero(bits);
          }
        }
        index[inner] = 0;
        for (int d = inner - 1; d >= 0 && ++index[d] == self.dims[d]; --d) index[d] = 0;
      }
    });
  }
  if (transposed) {
    shape.set({rank, total});
  } else {
    shape.set({total, rank});
  }
}

void plan_nonzero(Op& op, const TensorView& self, aclTensor* out, bool transposed) {
  const int64_t most[] = {transposed ? self.rank : self.numel(), transposed ? self.numel() : self.rank};
  op.suggest_up_to(out->view, most, 2, DType::Int64, transposed ? 1 : 0);
  op.require(out->view.dtype == DType::Int64 && is_dense(out->view), "out is {}, want contiguous INT64",
             describe(out->view));
  op.require(out->view.numel() >= self.numel() * self.rank, "out is {}, want room for {} indices", describe(out->view),
             self.numel() * self.rank);
  op.launch([self, shape = ResultShape(out), to = out->view.as<int64_t>(), transposed] {
    if (!visit_storage(self.dtype, [&]<class T>() { nonzero<T>(self, shape, to, transposed); }))
      no_such_type(self.dtype, "nonzero");
  });
}

int64_t count_true(const StridedLoop<2>& loop, const uint8_t* mask, int64_t begin, int64_t end) {
  int64_t count = 0;
  const int64_t stride = loop.strides[0][loop.rank - 1];
  loop.rows(begin, end, [&](const int64_t(&at)[2], int64_t, int64_t n) {
    const uint8_t* m = mask + at[0];
    if (stride == 1) {
      for (int64_t i = 0; i < n; ++i) count += m[i] != 0;
    } else {
      for (int64_t i = 0; i < n; ++i) count += m[i * stride] != 0;
    }
  });
  return count;
}

void require_mask(const Op& op, const TensorView& mask) {
  op.require(mask.dtype == DType::Bool || mask.dtype == DType::UInt8, "mask is {}, want BOOL", describe(mask));
}

}  // namespace

ABOUT(aclnnNonzero, AICPU, "out = coordinates of the nonzero elements, a row each; the row count is data-dependent",
      "非零元素的坐标，每行一个，行数取决于数据")
ACLNN(aclnnNonzero, (In, self), (Out, out)) { plan_nonzero(op, *self, out.handle, false); }
ABOUT(aclnnNonzeroV2, AICPU, "out = coordinates of the nonzero elements, a column each; the count is data-dependent",
      "非零元素的坐标，每列一个，列数取决于数据")
ACLNN(aclnnNonzeroV2, (In, self), (Out, out)) { plan_nonzero(op, *self, out.handle, true); }

ABOUT(aclnnMaskedSelect, AICPU, "out = elements of self where mask is true, as a vector of data-dependent length",
      "取 self 中 mask 为真的元素组成一维张量，长度取决于数据")
ACLNN(aclnnMaskedSelect, (In, self), (In, mask), (Out, out)) {
  require_mask(op, *mask);
  int64_t dims[kMaxDims];
  const int rank = broadcast_shape(self->dims, self->rank, mask->dims, mask->rank, dims);
  const TensorView from = self->expand(dims, rank), flags = mask->expand(dims, rank);
  const int64_t most = from.numel();
  op.suggest_up_to(*out, &most, 1, self->dtype, 0);
  op.require(self->dtype == out->dtype, "out is {}, want the type of self, {}", describe(*out), describe(*self));
  op.require(out->rank == 1 && out->dims[0] >= from.numel(), "out is {}, want room for {} elements", describe(*out),
             from.numel());
  op.launch([from, flags, to = *out, shape = ResultShape(out.handle)] {
    const TensorView* views[] = {&flags, &from};
    const StridedLoop<2> loop(views);
    const auto* mask = flags.as<const uint8_t>();
    const int64_t n = from.numel(), step = to.stride(0);
    Places places(n, [&](int64_t begin, int64_t end) { return count_true(loop, mask, begin, end); });
    visit_size(size_of(from.dtype), [&]<class T>() {
      const int64_t ms = loop.strides[0][loop.rank - 1], fs = loop.strides[1][loop.rank - 1];
      places.each(n, [&](int64_t begin, int64_t end, int64_t place) {
        T* out = to.as<T>() + place * step;
        loop.rows(begin, end, [&](const int64_t(&at)[2], int64_t, int64_t count) {
          const uint8_t* m = mask + at[0];
          const T* f = from.as<const T>() + at[1];
          for (int64_t i = 0; i < count; ++i)
            if (m[i * ms]) {
              *out = f[i * fs];
              out += step;
            }
        });
      });
    });
    shape.set({places.total()});
  });
}

SAMPLE(aclnnInplaceMaskedScatter, "mask=bool[N,M] source=f32[N,M]")
ABOUT(aclnnInplaceMaskedScatter, AICPU, "Writes the elements of source in order to selfRef where mask is true",
      "将 source 的元素依次写入 selfRef 中 mask 为真的位置")
ACLNN(aclnnInplaceMaskedScatter, (InOut, selfRef), (In, mask), (In, source)) {
  require_mask(op, *mask);
  op.require(selfRef->dtype == source->dtype, "source is {}, want the type of self, {}", describe(*source),
             describe(*selfRef));
  const TensorView flags = mask->expand_as(*selfRef);
  if (selfRef->empty()) return;
  op.kernel_scratch(contiguous_bytes(*source));
  op.launch([to = *selfRef, flags, from = *source] {
    const TensorView* views[] = {&flags, &to};
    const StridedLoop<2> loop(views);
    const auto* mask = flags.as<const uint8_t>();
    const int64_t n = to.numel();
    Places places(n, [&](int64_t begin, int64_t end) { return count_true(loop, mask, begin, end); });
    if (places.total() > from.numel())
      fail_kernel(fmt::format("mask has {} true elements, source only {}", places.total(), from.numel()));
    ScratchScope scratch;
    const void* source = contiguous_in(from, scratch).data;
    visit_size(size_of(to.dtype), [&]<class T>() {
      const int64_t ms = loop.strides[0][loop.rank - 1], ts = loop.strides[1][loop.rank - 1];
      places.each(n, [&](int64_t begin, int64_t end, int64_t place) {
        const T* next = static_cast<const T*>(source) + place;
        loop.rows(begin, end, [&](const int64_t(&at)[2], int64_t, int64_t count) {
          const uint8_t* m = mask + at[0];
          T* t = to.as<T>() + at[1];
          for (int64_t i = 0; i < count; ++i)
            if (m[i * ms]) t[i * ts] = *next++;
        });
      });
    });
  });
}

}  // namespace updraft
