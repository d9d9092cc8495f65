// Elements that are moved, and converted where the types differ.
#include <bit>
#include <cstring>

#include "base/last_level_cache.h"
#include "base/overflow.h"
#include "base/parallel.h"
#include "kernels/copy.h"
#include "kernels/element_bits.h"
#include "kernels/pipeline.h"
#include "kernels/rows/arithmetic.h"
#include "kernels/space.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

constexpr int64_t kGrain = int64_t{1} << 14;  // fewer elements a thread cost more to hand out than to move

// Adds where the i-th place lies of those that are left without two dimensions (twice the same one: without it alone).
void add_place(const Space& space, int64_t i, int without, int and_without, int64_t (&at)[2]) {
  for (int k = space.rank - 1; k >= 0; --k) {
    if (k == without || k == and_without) continue;
    const int64_t index = i % space.dims[k];
    i /= space.dims[k];
    for (int side : {0, 1}) at[side] += index * space.strides[side][k];
  }
}

// A matrix that is transposed in memory: tiles instead of one cache line an element. Of one type, or floats that become
// halves.
bool copy_transposed(const TensorView& to, const TensorView& from, const Space& space) {
  const int r = space.rank;
  if (r < 2 || space.strides[0][r - 1] != 1 || space.strides[1][r - 1] == 1) return false;
  int d = r - 2;
  while (d > 0 && space.strides[1][d] != 1) --d;
  if (space.strides[1][d] != 1) return false;
  const int64_t rows = space.dims[r - 1], cols = space.dims[d], outer = space.n / rows / cols;
  // What is written past the caches is not read before: a weight of 9 MiB for a product of bf16 takes 0.37 ms instead
  // of 0.53, and the product no longer.
  constexpr int64_t kPast = int64_t{1} << 20, kLine = 64;
  const auto size = static_cast<int64_t>(size_of(to.dtype));
  bool past = to.dtype != from.dtype && to.numel() * size > kPast && reinterpret_cast<uintptr_t>(to.data) % kLine == 0;
  for (int k = 0; k < r - 1; ++k) past = past && space.strides[0][k] * size % kLine == 0;
  // Short enough for the lines that are written to stay at hand; past the caches as many rows as a line has elements.
  const int64_t row_grain = past ? kLine / size : cols < 8 ? 2048 : 256;
  const int64_t col_grain = past ? 1024 : rows < 8 ? 2048 : 128;
  const int64_t col_parts = (cols + col_grain - 1) / col_grain, row_parts = (rows + row_grain - 1) / row_grain;
  parallel_for(outer * col_parts * row_parts,
               std::max<int64_t>(1, kGrain / (std::min(rows, row_grain) * std::min(cols, col_grain))),
               [&](int64_t b, int64_t e) {
                 for (int64_t i = b; i < e; ++i) {
                   const int64_t c0 = i % col_parts * col_grain, r0 = i / col_parts % row_parts * row_grain;
                   int64_t place[2] = {r0 + c0 * space.strides[0][d], r0 * space.strides[1][r - 1] + c0};
                   add_place(space, i / col_parts / row_parts, d, r - 1, place);
                   // `from` is rows of stride strides[1][r-1] over contiguous columns; `to` is its transpose.
                   void* const into = at_element(to, place[0]);
                   const void* const of = at_element(from, place[1]);
                   const int64_t columns = std::min(col_grain, cols - c0), lines = std::min(row_grain, rows - r0);
                   if (to.dtype == from.dtype)
                     kernels().transpose_2d(into, space.strides[0][d], of, space.strides[1][r - 1], lines, columns,
                                            size);
                   else
                     kernels().transpose_narrow(into, to.dtype, space.strides[0][d], static_cast<const float*>(of),
                                                space.strides[1][r - 1], lines, columns, past);
                 }
               });
  return true;
}

// Floats on one side and halves on the other, contiguous or transposed: in one pass, without a buffer between.
bool convert_arrays(const TensorView& to, const TensorView& from) {
  const bool widen = to.dtype == DType::Float && is_half(from.dtype);
  if (!widen && !(from.dtype == DType::Float && is_half(to.dtype))) return false;
  if (!to.same_shape(from)) return false;
  const TensorView* operands[] = {&to, &from};
  const Space space(operands, 2);
  if (space.n == 0) return true;
  const bool saturates = saturating() && to.dtype == DType::Float16;  // which the usual store to fp16 does
  if (!widen && !saturates && copy_transposed(to, from, space)) return true;
  if (space.rank != 1 || space.strides[0][0] != 1 || space.strides[1][0] != 1) return false;
  // Ordinary stores first read the lines that they fill. What the cache would not keep is written past it: 27 to 37
  // GB/s widening and 23 to 37 narrowing at 64M elements, but slower where the result is still at hand for its reader.
  static const int64_t kept = last_level_cache().value_or(int64_t{32} << 20) / 2;
  if (static_cast<int64_t>(to.bytes()) > kept && !saturates) {
    parallel_for(space.n, 16 * kGrain, [&](int64_t begin, int64_t end) {
      if (widen) kernels().widen_streamed(to.as<float>() + begin, from.as<char>() + 2 * begin, from.dtype, end - begin);
      else kernels().narrow_streamed(to.as<char>() + 2 * begin, to.dtype, from.as<float>() + begin, end - begin);
    });
    return true;
  }
  constexpr int kFloat = static_cast<int>(Compute::F32);
  const LoadFn load = kernels().load[static_cast<int>(from.dtype)][kFloat];
  const StoreFn store = kernels().store[kFloat][static_cast<int>(to.dtype)];
  parallel_for(space.n, kGrain, [&](int64_t begin, int64_t end) {
    if (widen) load(to.as<float>() + begin, from.as<char>() + 2 * begin, 1, end - begin);
    else store(to.as<char>() + 2 * begin, 1, from.as<float>() + begin, end - begin);
  });
  return true;
}

// Rows of one dimension that lie together on both sides: heads that change places with words, parts of tensors with the
// channels innermost. Long rows of the last dimension are not for this: they are divided.
bool copy_rows(const TensorView& to, const TensorView& from, const Space& space) {
  const int r = space.rank;
  int d = r - 1;
  while (d >= 0 && (space.strides[0][d] != 1 || space.strides[1][d] != 1)) --d;
  if (d < 0 || r == 1) return false;
  const int64_t row = space.dims[d], size = static_cast<int64_t>(size_of(to.dtype));
  if (d == r - 1 ? row >= kGrain : row < 4) return false;
  const int line = d == r - 1 ? r - 2 : r - 1;  // the innermost of the other dimensions: rows evenly apart
  parallel_for(space.n / row, std::max<int64_t>(1, kGrain / row), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin, rows; i < end; i += rows) {
      int64_t at[2] = {};
      add_place(space, i, d, d, at);
      rows = std::min(end - i, space.dims[line] - i % space.dims[line]);
      kernels().copy_rows(at_element(to, at[0]), space.strides[0][line] * size, at_element(from, at[1]),
                          space.strides[1][line] * size, rows, row * size);
    }
  });
  return true;
}

// Elements of one type, as they are.
void move_elements(const TensorView& to, const TensorView& from) {
  if (to.data == from.data && std::equal(to.strides, to.strides + to.rank, from.strides)) return;
  const TensorView* operands[] = {&to, &from};
  const Space space(operands, 2);
  if (space.n == 0 || copy_transposed(to, from, space) || copy_rows(to, from, space)) return;
  const int inner = space.rank - 1;
  const size_t size = size_of(to.dtype);
  parallel_for(space.n, kGrain, [&](int64_t begin, int64_t end) {
    Cursor targets(space, 0, to, begin), sources(space, 1, from, begin);
    for (int64_t at = begin, n; at < end; at += n) {
      n = std::min(end - at, targets.left_of_row());
      char* const target = targets.pass(n);
      const char* const source = sources.pass(n);
      const int64_t step = space.strides[0][inner], stride = space.strides[1][inner];
      if (step == 1 && stride == 1) {
        std::memcpy(target, source, static_cast<size_t>(n) * size);
      } else if (step == 1 && size <= 8) {
        kernels().move_in[std::countr_zero(size)](target, source, stride, n);
      } else {
        visit_size(size, [&]<class T>() {
          T* const t = reinterpret_cast<T*>(target);
          const T* const f = reinterpret_cast<const T*>(source);
          for (int64_t i = 0; i < n; ++i) t[i * step] = f[i * stride];
        });
      }
    }
  });
}

}  // namespace

void copy_elements(const TensorView& to, const TensorView& from) {
  if (to.dtype == from.dtype) return move_elements(to, from.same_shape(to) ? from : from.expand_as(to));
  if (convert_arrays(to, from)) return;
  // Bool is decided in the source's type (0.5 is true); everything else converts to the destination's.
  Compute compute = to.dtype == DType::Bool ? compute_of(from.dtype) : compute_of(to.dtype);
  if (compute == Compute::I64 && !is_integral(from.dtype, true)) {
    compute = to.dtype == DType::Bool ? compute_of(from.dtype) : Compute::I64;
  }
  run_elementwise(elementwise_kernel(ew::copy, compute), compute, {from}, {to}, Params{});
}

void fill_elements(const TensorView& to, const Params& value) {
  const Compute compute = compute_of(to.dtype);
  const void* const one = compute == Compute::F32   ? static_cast<const void*>(value.f32)
                          : compute == Compute::F64 ? static_cast<const void*>(value.f64)
                          : compute == Compute::I64 ? static_cast<const void*>(value.i64)
                          : compute == Compute::C64 ? static_cast<const void*>(value.c64)
                                                    : static_cast<const void*>(value.c128);
  alignas(16) char stored[16];
  kernels().store[static_cast<int>(compute)][static_cast<int>(to.dtype)](stored, 1, one, 1);
  copy_elements(to, TensorView::contiguous(stored, to.dtype, nullptr, 0));
}

void fill_zero(const TensorView& to) {
  if (to.empty()) return;
  if (!to.is_contiguous()) return fill_elements(to, Params{});
  parallel_for(static_cast<int64_t>(to.bytes()), 65536, [&](int64_t begin, int64_t end) {
    std::memset(to.as<char>() + begin, 0, static_cast<size_t>(end - begin));
  });
}

TensorView gather_to(void* buffer, DType t, const TensorView& from) {
  TensorView v = TensorView::contiguous(buffer, t, from.dims, from.rank);
  copy_elements(v, from);
  return v;
}

}  // namespace updraft
