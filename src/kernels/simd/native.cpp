// Elementwise rows on storage types themselves, for integers and bool: widening to int64 would cost several times the
// arithmetic. And the choice between two arrays of any type.
#include <type_traits>

#include "kernels/rows/arithmetic.h"
#include "kernels/rows/logic.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

// T is the unsigned type of the width: it wraps. Comparisons, maximum and shifts go through S.
#define NATIVE1(NAME, R, ...)                                                    \
  template <class S>                                                             \
  void NAME(const void* const* in, void* const* out, int64_t n, const Params&) { \
    using T = std::make_unsigned_t<S>;                                           \
    const T* a = static_cast<const T*>(in[0]);                                   \
    R* to = static_cast<R*>(out[0]);                                             \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) {                       \
      const T x = a[i];                                                          \
      to[i] = static_cast<R>(__VA_ARGS__);                                       \
    }                                                                            \
  }
#define NATIVE2(NAME, R, ...)                                                           \
  template <class S>                                                                    \
  void NAME(const void* const* in, void* const* out, int64_t n, const Params& params) { \
    using T = std::make_unsigned_t<S>;                                                  \
    [[maybe_unused]] const T p = static_cast<T>(params.i64[0]);                         \
    const T* a = static_cast<const T*>(in[0]);                                          \
    const T* b = static_cast<const T*>(in[1]);                                          \
    R* to = static_cast<R*>(out[0]);                                                    \
    _Pragma("GCC ivdep") for (int64_t i = 0; i < n; ++i) {                              \
      const T x = a[i], y = b[i];                                                       \
      to[i] = static_cast<R>(__VA_ARGS__);                                              \
    }                                                                                   \
  }

NATIVE2(add_scaled, T, x + p * y)
NATIVE2(sub_scaled, T, x - p * y)
NATIVE2(add, T, x + y)
NATIVE2(sub, T, x - y)
NATIVE2(mul, T, 1u * x * y)
NATIVE2(maximum, T, static_cast<S>(x) > static_cast<S>(y) ? x : y)
NATIVE2(minimum, T, static_cast<S>(x) < static_cast<S>(y) ? x : y)
NATIVE2(bitwise_and, T, x& y)
NATIVE2(bitwise_or, T, x | y)
NATIVE2(bitwise_xor, T, x ^ y)
NATIVE2(eq, uint8_t, x == y)
NATIVE2(ne, uint8_t, x != y)
NATIVE2(lt, uint8_t, static_cast<S>(x) < static_cast<S>(y))
NATIVE2(le, uint8_t, static_cast<S>(x) <= static_cast<S>(y))
NATIVE2(gt, uint8_t, static_cast<S>(x) > static_cast<S>(y))
NATIVE2(ge, uint8_t, static_cast<S>(x) >= static_cast<S>(y))
// Of uint64 alone, whose upper half int64 does not have. By 0: 0, as int64 does it.
NATIVE2(divide, T, y ? x / y : T(0))
NATIVE2(modulo, T, y ? x % y : T(0))
NATIVE1(neg, T, T(0) - x)
NATIVE1(absolute, T, (x >> (8 * sizeof(S) - 1)) && std::is_signed_v<S> ? T(0) - x : x)
NATIVE1(bitwise_not, T, ~x)
NATIVE1(logical_not, uint8_t, x == 0)
// bool: any byte but 0 is true.
NATIVE2(both, uint8_t, (x != 0) & (y != 0))
NATIVE2(either, uint8_t, (x != 0) | (y != 0))
NATIVE2(differ, uint8_t, (x != 0) != (y != 0))
NATIVE2(same, uint8_t, (x != 0) == (y != 0))

template <class S>
BlockFn integer_row(Ew row, const Params& params) {
  switch (row) {
    case ew::add: return params.i64[0] == 1 ? add<S> : add_scaled<S>;
    case ew::sub: return params.i64[0] == 1 ? sub<S> : sub_scaled<S>;
    case ew::mul: return mul<S>;
    case ew::maximum: return maximum<S>;
    case ew::minimum: return minimum<S>;
    case ew::bitwise_and: return bitwise_and<S>;
    case ew::bitwise_or: return bitwise_or<S>;
    case ew::bitwise_xor: return bitwise_xor<S>;
    case ew::eq: return eq<S>;
    case ew::ne: return ne<S>;
    case ew::lt: return lt<S>;
    case ew::le: return le<S>;
    case ew::gt: return gt<S>;
    case ew::ge: return ge<S>;
    case ew::neg: return neg<S>;
    case ew::abs: return absolute<S>;
    case ew::bitwise_not: return bitwise_not<S>;
    case ew::logical_not: return logical_not<S>;
    case ew::logical_and: return sizeof(S) == 1 ? both<S> : nullptr;
    case ew::logical_or: return sizeof(S) == 1 ? either<S> : nullptr;
    default: return nullptr;
  }
}

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

BlockFn native_elementwise(Ew row, DType type, const Params& params) {
  switch (type) {
    case DType::Int32: return integer_row<int32_t>(row, params);
    case DType::Int16: return integer_row<int16_t>(row, params);
    case DType::Int8: return integer_row<int8_t>(row, params);
    case DType::UInt8: return integer_row<uint8_t>(row, params);
    case DType::UInt64:
      switch (row) {
        case ew::trunc_div:
        case ew::floor_div: return divide<uint64_t>;
        case ew::remainder:
        case ew::fmod: return modulo<uint64_t>;
        default: return integer_row<uint64_t>(row, params);
      }
    case DType::Bool:
      switch (row) {
        case ew::mul:
        case ew::minimum:
        case ew::logical_and:
        case ew::bitwise_and: return both<uint8_t>;
        case ew::add: return params.i64[0] != 0 ? either<uint8_t> : nullptr;
        case ew::maximum:
        case ew::logical_or:
        case ew::bitwise_or: return either<uint8_t>;
        case ew::ne:
        case ew::logical_xor:
        case ew::bitwise_xor: return differ<uint8_t>;
        case ew::eq: return same<uint8_t>;
        case ew::logical_not: return logical_not<uint8_t>;
        default: return nullptr;
      }
    default: return nullptr;
  }
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
