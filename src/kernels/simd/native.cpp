// Elementwise rows on storage types themselves, for integers and bool: widening to int64 would cost several times the
// arithmetic. And the choice between two arrays of any type.
#include <type_traits>

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
    case Ew::add: return params.i64[0] == 1 ? add<S> : add_scaled<S>;
    case Ew::sub: return params.i64[0] == 1 ? sub<S> : sub_scaled<S>;
    case Ew::mul: return mul<S>;
    case Ew::maximum: return maximum<S>;
    case Ew::minimum: return minimum<S>;
    case Ew::bitwise_and: return bitwise_and<S>;
    case Ew::bitwise_or: return bitwise_or<S>;
    case Ew::bitwise_xor: return bitwise_xor<S>;
    case Ew::eq: return eq<S>;
    case Ew::ne: return ne<S>;
    case Ew::lt: return lt<S>;
    case Ew::le: return le<S>;
    case Ew::gt: return gt<S>;
    case Ew::ge: return ge<S>;
    case Ew::neg: return neg<S>;
    case Ew::bitwise_not: return bitwise_not<S>;
    case Ew::logical_not: return logical_not<S>;
    case Ew::logical_and: return sizeof(S) == 1 ? both<S> : nullptr;
    case Ew::logical_or: return sizeof(S) == 1 ? either<S> : nullptr;
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
        case Ew::trunc_div:
        case Ew::floor_div: return divide<uint64_t>;
        case Ew::remainder:
        case Ew::fmod: return modulo<uint64_t>;
        default: return integer_row<uint64_t>(row, params);
      }
    case DType::Bool:
      switch (row) {
        case Ew::mul:
        case Ew::minimum:
        case Ew::logical_and:
        case Ew::bitwise_and: return both<uint8_t>;
        case Ew::add: return params.i64[0] != 0 ? either<uint8_t> : nullptr;
        case Ew::maximum:
        case Ew::logical_or:
        case Ew::bitwise_or: return either<uint8_t>;
        case Ew::ne:
        case Ew::logical_xor:
        case Ew::bitwise_xor: return differ<uint8_t>;
        case Ew::eq: return same<uint8_t>;
        case Ew::logical_not: return logical_not<uint8_t>;
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
