// Elements and rows that an index names.
#include <algorithm>
#include <type_traits>

#include "kernels/element_bits.h"
#include "kernels/simd/widen.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

/// The largest of them as numbers without a sign, where negative ones are the largest: loops that compare with the
/// limit element by element are no vectors.
template <class I>
auto largest_of(const I* index, int64_t step, int64_t n) {
  std::make_unsigned_t<I> top = 0;
  if (step == 1) {
    for (int64_t i = 0; i < n; ++i) top = std::max(top, static_cast<std::make_unsigned_t<I>>(index[i]));
  } else {
    for (int64_t i = 0; i < n; ++i) top = std::max(top, static_cast<std::make_unsigned_t<I>>(index[i * step]));
  }
  return top;
}

template <class I>
int64_t first_outside(const I* index, int64_t step, int64_t limit, int64_t n) {
  const auto outside = [limit](I i) { return i < 0 || static_cast<int64_t>(i) >= limit; };
  if (n == 0 || !outside(static_cast<I>(largest_of(index, step, n)))) return n;
  int64_t i = 0;
  while (!outside(index[i * step])) ++i;
  return i;
}

template <class T, class I>
void gather(T* to, int64_t to_step, const T* from, int64_t from_step, const I* index, int64_t index_step,
            int64_t stride, int64_t n) {
  if (to_step == 1 && index_step == 1) {
    if (from_step == 0) {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) to[i] = from[index[i] * stride];
    } else {
#pragma GCC ivdep
      for (int64_t i = 0; i < n; ++i) to[i] = from[i * from_step + index[i] * stride];
    }
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step + index[i * index_step] * stride];
}

}  // namespace

int64_t gather_elements(void* to, int64_t to_step, const void* from, int64_t from_step, const void* index,
                        int64_t index_step, bool wide_index, int64_t limit, int64_t stride, int64_t n, int64_t size) {
  auto run = [&]<class I>(const I* at) {
    const int64_t bad = first_outside(at, index_step, limit, n);
    if (bad == n)
      visit_size(static_cast<size_t>(size), [&]<class T>() {
        gather(static_cast<T*>(to), to_step, static_cast<const T*>(from), from_step, at, index_step, stride, n);
      });
    return bad;
  };
  return wide_index ? run(static_cast<const int64_t*>(index)) : run(static_cast<const int32_t*>(index));
}

void take_elements(void* to, int64_t to_step, const void* from, const int64_t* at, int64_t n, int64_t size) {
  visit_size(static_cast<size_t>(size),
             [&]<class T>() { gather(static_cast<T*>(to), to_step, static_cast<const T*>(from), 0, at, 1, 1, n); });
}

namespace {
template <class T>
void add_row(float* sum, const T* x, int64_t n, float factor) {
  constexpr int64_t L = kLanes<float>;
  const VectorF f = broadcast(factor);
  int64_t i = 0;
  for (; i + L <= n; i += L) store_vector<float>(sum + i, load_vector<float>(sum + i) + f * widen(x + i));
  for (; i < n; ++i) sum[i] += factor * static_cast<float>(x[i]);
}
}  // namespace

void add_row_f32(float* sum, const void* x, DType type, int64_t n, float factor) {
  if (type == DType::Float) add_row(sum, static_cast<const float*>(x), n, factor);
  else if (type == DType::Float16) add_row(sum, static_cast<const Half*>(x), n, factor);
  else add_row(sum, static_cast<const BFloat16*>(x), n, factor);
}

void add_row_f64(double* sum, const double* x, int64_t n, double factor) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) sum[i] += factor * x[i];
}

}  // namespace updraft::UPDRAFT_ISA
