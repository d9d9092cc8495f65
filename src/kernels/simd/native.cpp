// Elementwise rows on storage types themselves, for int32 and bool: widening to int64 would cost several times the
// arithmetic. And the choice between two arrays of any type.
#include "kernels/simd/math.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

#define LOOP1(NAME, R, ...)                                                                      \
  void NAME(const void* const* in, void* const* out, int64_t n, const Params& params) {          \
    [[maybe_unused]] const T p[] = {static_cast<T>(params.i64[0]), static_cast<T>(params.i64[1])}; \
    const T* a = static_cast<const T*>(in[0]);                                                   \
    R* to = static_cast<R*>(out[0]);                                                             \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) {                                       \
      const T x = a[i];                                                                          \
      to[i] = static_cast<R>(__VA_ARGS__);                                                       \
    }                                                                                            \
  }
#define LOOP2(NAME, R, ...)                                                                      \
  void NAME(const void* const* in, void* const* out, int64_t n, const Params& params) {          \
    [[maybe_unused]] const T p[] = {static_cast<T>(params.i64[0]), static_cast<T>(params.i64[1])}; \
    const T* a = static_cast<const T*>(in[0]);                                                   \
    const T* b = static_cast<const T*>(in[1]);                                                   \
    R* to = static_cast<R*>(out[0]);                                                             \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) {                                       \
      const T x = a[i], y = b[i];                                                                \
      to[i] = static_cast<R>(__VA_ARGS__);                                                       \
    }                                                                                            \
  }

namespace i32 {
using T = uint32_t;  // wraps; comparisons go through S
using S = int32_t;
LOOP2(add, T, x + p[0] * y)
LOOP2(sub, T, x - p[0] * y)
LOOP2(mul, T, x * y)
LOOP2(maximum, T, static_cast<S>(x) > static_cast<S>(y) ? x : y)
LOOP2(minimum, T, static_cast<S>(x) < static_cast<S>(y) ? x : y)
LOOP2(bitwise_and, T, x & y)
LOOP2(bitwise_or, T, x | y)
LOOP2(bitwise_xor, T, x ^ y)
LOOP2(eq, uint8_t, x == y)
LOOP2(ne, uint8_t, x != y)
LOOP2(lt, uint8_t, static_cast<S>(x) < static_cast<S>(y))
LOOP2(le, uint8_t, static_cast<S>(x) <= static_cast<S>(y))
LOOP2(gt, uint8_t, static_cast<S>(x) > static_cast<S>(y))
LOOP2(ge, uint8_t, static_cast<S>(x) >= static_cast<S>(y))
LOOP1(neg, T, T(0) - x)
LOOP1(bitwise_not, T, ~x)
}  // namespace i32

namespace boolean {
using T = uint8_t;
LOOP2(both, uint8_t, (x != 0) & (y != 0))
LOOP2(either, uint8_t, (x != 0) | (y != 0))
LOOP2(differ, uint8_t, (x != 0) != (y != 0))
LOOP2(same, uint8_t, (x != 0) == (y != 0))
LOOP1(negated, uint8_t, x == 0)
}  // namespace boolean

template <class T>
void select(const void* const* in, void* const* out, int64_t n, const Params&) {
  const uint8_t* which = static_cast<const uint8_t*>(in[0]);
  const T* a = static_cast<const T*>(in[1]);
  const T* b = static_cast<const T*>(in[2]);
  T* to = static_cast<T*>(out[0]);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = which[i] ? a[i] : b[i];
}

}  // namespace

BlockFn native_elementwise(Ew row, DType type) {
  if (type == DType::Int32) {
    switch (row) {
      case Ew::add: return i32::add;
      case Ew::sub: return i32::sub;
      case Ew::mul: return i32::mul;
      case Ew::maximum: return i32::maximum;
      case Ew::minimum: return i32::minimum;
      case Ew::bitwise_and: return i32::bitwise_and;
      case Ew::bitwise_or: return i32::bitwise_or;
      case Ew::bitwise_xor: return i32::bitwise_xor;
      case Ew::eq: return i32::eq;
      case Ew::ne: return i32::ne;
      case Ew::lt: return i32::lt;
      case Ew::le: return i32::le;
      case Ew::gt: return i32::gt;
      case Ew::ge: return i32::ge;
      case Ew::neg: return i32::neg;
      case Ew::bitwise_not: return i32::bitwise_not;
      default: return nullptr;
    }
  }
  if (type == DType::Bool) {
    switch (row) {
      case Ew::mul: case Ew::minimum: case Ew::logical_and: case Ew::bitwise_and: return boolean::both;
      case Ew::maximum: case Ew::logical_or: case Ew::bitwise_or: return boolean::either;
      case Ew::ne: case Ew::logical_xor: case Ew::bitwise_xor: return boolean::differ;
      case Ew::eq: return boolean::same;
      case Ew::logical_not: return boolean::negated;
      default: return nullptr;
    }
  }
  return nullptr;
}

BlockFn select_kernel(int64_t element_size) {
  switch (element_size) {
    case 1: return select<uint8_t>;
    case 2: return select<uint16_t>;
    case 4: return select<uint32_t>;
    case 8: return select<uint64_t>;
    default: return nullptr;
  }
}

}  // namespace updraft::UPDRAFT_ISA
