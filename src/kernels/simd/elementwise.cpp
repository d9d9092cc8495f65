// The loops behind elementwise.inc.
#include "kernels/simd/math.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

// One function object a row; T is deduced, so one definition serves all types.
#define EW1(name, types, ...)                   \
  struct name##_row {                           \
    template <class T>                          \
    static inline auto apply(T x, const T* p) { \
      (void)p;                                  \
      return __VA_ARGS__;                       \
    }                                           \
  };
#define EW2(name, types, ...)                        \
  struct name##_row {                                \
    template <class T>                               \
    static inline auto apply(T x, T y, const T* p) { \
      (void)p;                                       \
      return __VA_ARGS__;                            \
    }                                                \
  };
#define EW3(name, types, ...)                             \
  struct name##_row {                                     \
    template <class T>                                    \
    static inline auto apply(T x, T y, T z, const T* p) { \
      (void)p;                                            \
      return __VA_ARGS__;                                 \
    }                                                     \
  };
#define EWB1 EW1
#define EWB2 EW2
#include "kernels/elementwise.inc"
#undef EW1
#undef EW2
#undef EW3
#undef EWB1
#undef EWB2

template <class Row, class T, class R, int N>
void loop(const void* const* in, void* const* out, int64_t n, const Params& params) {
  T p[Params::kMax];
  for (int i = 0; i < Params::kMax; ++i) p[i] = params.get<T>()[i];
  const T* x = static_cast<const T*>(in[0]);
  R* to = static_cast<R*>(out[0]);
  // The output is either disjoint from an input or the same array: independent iterations either way.
  if constexpr (N == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<R>(Row::apply(x[i], p));
  } else if constexpr (N == 2) {
    const T* y = static_cast<const T*>(in[1]);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<R>(Row::apply(x[i], y[i], p));
  } else {
    const T* y = static_cast<const T*>(in[1]);
    const T* z = static_cast<const T*>(in[2]);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<R>(Row::apply(x[i], y[i], z[i], p));
  }
}

enum Types { F = 1, I = 2, C = 4, FI = 3, FC = 5, FIC = 7, IC = 6 };

template <class Row, int N, bool Bool, int Mask>
void fill(BlockFn* row) {
  if constexpr (Mask & F) {
    row[static_cast<int>(Compute::F32)] = loop<Row, float, std::conditional_t<Bool, uint8_t, float>, N>;
    row[static_cast<int>(Compute::F64)] = loop<Row, double, std::conditional_t<Bool, uint8_t, double>, N>;
  }
  if constexpr (Mask & I)
    row[static_cast<int>(Compute::I64)] = loop<Row, int64_t, std::conditional_t<Bool, uint8_t, int64_t>, N>;
  if constexpr (Mask & C) {
    row[static_cast<int>(Compute::C64)] = loop<Row, complex64, std::conditional_t<Bool, uint8_t, complex64>, N>;
    row[static_cast<int>(Compute::C128)] = loop<Row, complex128, std::conditional_t<Bool, uint8_t, complex128>, N>;
  }
}

}  // namespace

void fill_elementwise(KernelTable& t) {
  BlockFn(*row)[kComputeTypes] = t.elementwise;
#define EW1(name, types, ...) fill<name##_row, 1, false, types>(*row++);
#define EW2(name, types, ...) fill<name##_row, 2, false, types>(*row++);
#define EW3(name, types, ...) fill<name##_row, 3, false, types>(*row++);
#define EWB1(name, types, ...) fill<name##_row, 1, true, types>(*row++);
#define EWB2(name, types, ...) fill<name##_row, 2, true, types>(*row++);
#include "kernels/elementwise.inc"
#undef EW1
#undef EW2
#undef EW3
#undef EWB1
#undef EWB2
}

}  // namespace updraft::UPDRAFT_ISA
