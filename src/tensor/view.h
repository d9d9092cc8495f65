// A strided view of device memory: what every kernel works on.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "tensor/dtype.h"

namespace updraft {

inline constexpr int kMaxDims = 16;

struct TensorView {
  void* data = nullptr;  ///< first element of the view, as kernels may touch it
  DType dtype = DType::Undefined;
  int32_t rank = 0;
  int64_t dims[kMaxDims];
  int64_t strides[kMaxDims];  ///< in elements

  TensorView() = default;
  TensorView(const TensorView& o) : data(o.data), dtype(o.dtype), rank(o.rank) {
    std::copy_n(o.dims, rank, dims);
    std::copy_n(o.strides, rank, strides);
  }
  TensorView& operator=(const TensorView& o) {
    if (this == &o) return *this;  // copy_n of a range to itself is not defined
    data = o.data;
    dtype = o.dtype;
    rank = o.rank;
    std::copy_n(o.dims, rank, dims);
    std::copy_n(o.strides, rank, strides);
    return *this;
  }

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  int64_t numel() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= dims[i];
    return n;
  }
  size_t bytes() const { return static_cast<size_t>(numel()) * size_of(dtype); }
  bool empty() const { return numel() == 0; }
  bool is_contiguous() const {
    int64_t expected = 1;
    for (int i = rank - 1; i >= 0; --i) {
      if (dims[i] != 1 && strides[i] != expected) return false;
      expected *= dims[i];
    }
    return true;
  }
  bool same_shape(const TensorView& o) const { return rank == o.rank && std::equal(dims, dims + rank, o.dims); }
  /// -rank..rank-1 to 0..rank-1 (a 0-d tensor has the one dimension 0); throws 161002 otherwise.
  int wrap_dim(int64_t dim) const;
  /// Size of dimension d, 1 for the only dimension of a 0-d tensor.
  int64_t size(int d) const { return rank == 0 ? 1 : dims[d]; }
  int64_t stride(int d) const { return rank == 0 ? 1 : strides[d]; }

  /// Contiguous view of the given shape at `data`.
  static TensorView contiguous(void* data, DType t, const int64_t* dims, int rank);
  /// The view broadcast to a shape (strides 0 where it is expanded); throws 161002 when it cannot be.
  TensorView expand(const int64_t* to, int to_rank) const;
  TensorView expand_as(const TensorView& o) const { return expand(o.dims, o.rank); }
  TensorView transpose(int a, int b) const;
  /// Element offset of the row-major linear index.
  int64_t offset_of(int64_t linear) const {
    int64_t at = 0;
    for (int i = rank - 1; i >= 0; --i) {
      at += linear % dims[i] * strides[i];
      linear /= dims[i];
    }
    return at;
  }
};

/// What describe() gives: a text that is written only when a message is, since checks that hold name what they check as
/// well, at every call of an operator. It refers to what it describes.
struct DescribedView {
  const TensorView& view;
  std::string text() const;
  operator std::string() const { return text(); }
};
struct DescribedShape {
  const int64_t* dims;
  int rank;
  std::string text() const;
  operator std::string() const { return text(); }
};

template <class Described>
struct DescribedFormatter;
/// The text behind what `to` holds already.
fmt::format_context::iterator write_text(fmt::format_context& to, std::string_view text);

/// "FLOAT[2,3]" for messages; strides are added when the view is not contiguous.
inline DescribedView describe(const TensorView& v) { return {v}; }
inline DescribedShape describe_shape(const int64_t* dims, int rank) { return {dims, rank}; }

/// The broadcast of two shapes; throws 161002 when they do not match.
int broadcast_shape(const int64_t* a, int ra, const int64_t* b, int rb, int64_t* out);

/// True when the two views may touch a common byte; a view without memory touches none.
bool may_overlap(const TensorView& a, const TensorView& b);

/// Walks an n-d index space in row-major order and keeps the element offsets of N views; the views have the
/// same shape. Adjacent dimensions that are regular in all views are merged first.
template <int N>
struct StridedLoop {
  int rank = 0;
  int64_t dims[kMaxDims];
  int64_t strides[N][kMaxDims];

  StridedLoop(const TensorView* const (&views)[N]) {
    const TensorView& first = *views[0];
    for (int d = 0; d < first.rank; ++d) {
      if (first.dims[d] == 1) continue;
      bool merge = rank > 0;
      for (int k = 0; merge && k < N; ++k) merge = strides[k][rank - 1] == views[k]->strides[d] * first.dims[d];
      if (merge) {
        dims[rank - 1] *= first.dims[d];
      } else {
        dims[rank++] = first.dims[d];
      }
      for (int k = 0; k < N; ++k) strides[k][rank - 1] = views[k]->strides[d];
    }
    if (rank == 0) {
      rank = 1;
      dims[0] = first.numel();  // 1, or 0 when a dimension was 0
      for (int k = 0; k < N; ++k) strides[k][0] = 1;
    }
  }

  /// Calls row(offsets, linear, n) for runs of the innermost dimension that cover linear indices [begin, end).
  template <class Row>
  void rows(int64_t begin, int64_t end, Row&& row) const {
    int64_t index[kMaxDims], offset[N] = {};
    int64_t rest = begin;
    for (int d = rank - 1; d >= 0; --d) {
      index[d] = dims[d] ? rest % dims[d] : 0;
      rest = dims[d] ? rest / dims[d] : 0;
      for (int k = 0; k < N; ++k) offset[k] += index[d] * strides[k][d];
    }
    while (begin < end) {
      int64_t n = std::min(dims[rank - 1] - index[rank - 1], end - begin);
      row(static_cast<const int64_t(&)[N]>(offset), begin, n);
      begin += n;
      index[rank - 1] += n;
      for (int k = 0; k < N; ++k) offset[k] += n * strides[k][rank - 1];
      for (int d = rank - 1; d > 0 && index[d] == dims[d]; --d) {
        index[d] = 0;
        ++index[d - 1];
        for (int k = 0; k < N; ++k) offset[k] += strides[k][d - 1] - dims[d] * strides[k][d];
      }
    }
  }
};

}  // namespace updraft

/// Takes no width and the like: fmt's own formatter of texts, which does, would bring 20 KiB of code into each source.
template <class Described>
struct updraft::DescribedFormatter {
  constexpr auto parse(fmt::format_parse_context& from) { return from.begin(); }
  auto format(const Described& d, fmt::format_context& to) const { return write_text(to, d.text()); }
};
template <>
struct fmt::formatter<updraft::DescribedView> : updraft::DescribedFormatter<updraft::DescribedView> {};
template <>
struct fmt::formatter<updraft::DescribedShape> : updraft::DescribedFormatter<updraft::DescribedShape> {};
