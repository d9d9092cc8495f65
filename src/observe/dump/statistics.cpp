#include "observe/dump/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

#include "kernels/pipeline.h"

namespace updraft::dump {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Calls f(pointer, elements, step) for the rows of a view of T.
template <class T, class F>
void each_row(const TensorView& view, F&& f) {
  if (view.empty()) return;
  const TensorView* views[1] = {&view};
  const StridedLoop<1> loop(views);
  const int64_t step = loop.strides[0][loop.rank - 1];
  loop.rows(0, view.numel(),
            [&](const int64_t(&offset)[1], int64_t, int64_t n) { f(view.as<const T>() + offset[0], n, step); });
}

template <class F>
bool with_type(DType type, F&& f) {
  switch (type) {
    case DType::Float: f(float{}); return true;
    case DType::Float16: f(Half{}); return true;
    case DType::BFloat16: f(BFloat16{}); return true;
    case DType::Double: f(double{}); return true;
    case DType::Int8: f(int8_t{}); return true;
    case DType::UInt8: f(uint8_t{}); return true;
    case DType::Bool: f(uint8_t{}); return true;
    case DType::Int16: f(int16_t{}); return true;
    case DType::UInt16: f(uint16_t{}); return true;
    case DType::Int32: f(int32_t{}); return true;
    case DType::UInt32: f(uint32_t{}); return true;
    case DType::Int64: f(int64_t{}); return true;
    case DType::UInt64: f(uint64_t{}); return true;
    default: return false;
  }
}

/// Complex numbers as pairs of their parts.
TensorView parts_of(const TensorView& view) {
  TensorView parts = view;
  if (!is_complex(view.dtype) || view.rank >= kMaxDims) return parts;
  parts.dtype = real_of(view.dtype);
  for (int d = 0; d < view.rank; ++d) parts.strides[d] = view.strides[d] * 2;
  parts.dims[view.rank] = 2;
  parts.strides[view.rank] = 1;
  ++parts.rank;
  return parts;
}

struct Sums {
  int64_t finite = 0, nan = 0, positive = 0, negative = 0;
  double min = std::numeric_limits<double>::infinity(), max = -std::numeric_limits<double>::infinity();
  double sum = 0, squares = 0;
};

template <class T>
void add_row(Sums& sums, const T* row, int64_t n, int64_t step) {
  for (int64_t i = 0; i < n; ++i) {
    const auto x = static_cast<double>(
        static_cast<std::conditional_t<sizeof(T) == 2 && !std::is_integral_v<T>, float, T>>(row[i * step]));
    if constexpr (!std::is_integral_v<T>) {
      if (!std::isfinite(x)) {
        if (std::isnan(x)) ++sums.nan;
        else if (x > 0) ++sums.positive;
        else ++sums.negative;
        continue;
      }
    }
    ++sums.finite;
    sums.min = std::min(sums.min, x);
    sums.max = std::max(sums.max, x);
    sums.sum += x;
    sums.squares += x * x;
  }
}

// Bits of the exponent, all of which are set where a number is not finite.
template <class T>
constexpr auto exponent_bits() {
  if constexpr (std::is_same_v<T, float>) return uint32_t{0x7f800000};
  else if constexpr (std::is_same_v<T, double>) return uint64_t{0x7ff0000000000000};
  else if constexpr (std::is_same_v<T, BFloat16>) return uint16_t{0x7f80};
  else return uint16_t{0x7c00};
}

template <class T>
bool finite_row(const T* row, int64_t n, int64_t step) {
  constexpr auto bits = exponent_bits<T>();
  using Bits = std::remove_const_t<decltype(bits)>;
  const auto at = [&](int64_t i) {
    Bits word;
    std::memcpy(&word, row + i * step, sizeof word);
    return word;
  };
  constexpr int64_t kBlock = 4096;  // then it looks whether to go on
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, n);
    unsigned found = 0;
    if (step == 1)
      for (int64_t i = begin; i < end; ++i) {
        Bits word;
        std::memcpy(&word, row + i, sizeof word);
        found |= (word & bits) == bits;
      }
    else
      for (int64_t i = begin; i < end; ++i) found |= (at(i) & bits) == bits;
    if (found) return false;
  }
  return true;
}

}  // namespace

Statistics statistics_of(const TensorView& given) {
  Statistics result;
  result.count = given.numel();
  if (!given.data || given.empty()) {
    result.min = result.max = result.mean = kNaN;
    return result;
  }
  const TensorView view = parts_of(given);
  Sums sums;
  const bool known = with_type(view.dtype, [&](auto type) {
    using T = decltype(type);
    each_row<T>(view, [&](const T* row, int64_t n, int64_t step) { add_row(sums, row, n, step); });
  });
  if (!known) return result;
  result.nan = sums.nan;
  result.positive_infinity = sums.positive;
  result.negative_infinity = sums.negative;
  result.min = sums.finite ? sums.min : kNaN;
  result.max = sums.finite ? sums.max : kNaN;
  result.mean = sums.finite ? sums.sum / static_cast<double>(sums.finite) : kNaN;
  result.l2 = std::sqrt(sums.squares);
  return result;
}

bool all_finite(const TensorView& given) {
  if (!given.data || given.empty()) return true;
  const TensorView view = parts_of(given);
  bool finite = true;
  auto look = [&]<class T>(T) {
    each_row<T>(view, [&](const T* row, int64_t n, int64_t step) { finite = finite && finite_row(row, n, step); });
  };
  switch (view.dtype) {
    case DType::Float: look(float{}); break;
    case DType::Double: look(double{}); break;
    case DType::Float16: look(Half{}); break;
    case DType::BFloat16: look(BFloat16{}); break;
    default: break;
  }
  return finite;
}

bool has_largest(const TensorView& view) {
  if (view.dtype != DType::Float16 || !view.data) return false;
  bool found = false;
  each_row<Half>(view, [&](const Half* row, int64_t n, int64_t step) {
    for (int64_t i = 0; i < n && !found; ++i) {
      uint16_t word;
      std::memcpy(&word, row + i * step, sizeof word);
      found = (word & 0x7fff) == 0x7bff;
    }
  });
  return found;
}

std::string describe(const Statistics& s) {
  if (s.count == 0) return "empty";
  std::string text =
      s.min == s.min ? fmt::format("min {:.6g}, max {:.6g}, mean {:.6g}", s.min, s.max, s.mean) : "nothing finite";
  if (s.nan) text += fmt::format(", {} NaN", s.nan);
  if (s.positive_infinity) text += fmt::format(", {} +Inf", s.positive_infinity);
  if (s.negative_infinity) text += fmt::format(", {} -Inf", s.negative_infinity);
  return text;
}

void copy_elements(const TensorView& view, std::byte* to) {
  if (view.empty() || !view.data) return;
  // The kernel of copies moves tiles where a view is transposed.
  updraft::copy_elements(TensorView::contiguous(to, view.dtype, view.dims, view.rank), view);
}

void copy_pieces(const TensorView& view, const std::function<void(const std::byte*, size_t)>& take) {
  if (view.empty() || !view.data) return;
  constexpr size_t kPiece = size_t{8} << 20;
  std::unique_ptr<std::byte[]> buffer(new std::byte[std::min(view.bytes(), kPiece) + 1]);
  const std::function<void(const TensorView&, int)> split = [&](const TensorView& part, int d) {
    while (d < part.rank && part.dims[d] == 1) ++d;
    const size_t bytes = part.bytes();
    if (bytes <= kPiece || d >= part.rank) {
      copy_elements(part, buffer.get());
      return take(buffer.get(), bytes);
    }
    const size_t row = bytes / static_cast<size_t>(part.dims[d]);
    const int64_t rows = std::max<int64_t>(1, static_cast<int64_t>(kPiece / row));
    for (int64_t i = 0; i < part.dims[d]; i += rows) {
      TensorView piece = part;
      piece.data = part.as<std::byte>() + i * part.strides[d] * static_cast<int64_t>(size_of(part.dtype));
      piece.dims[d] = std::min(rows, part.dims[d] - i);
      split(piece, piece.dims[d] == 1 ? d + 1 : d);
    }
  };
  split(view, 0);
}

}  // namespace updraft::dump
