// The elements of strided operands in one order.
#pragma once
#include <algorithm>

#include "tensor/view.h"
#include "tensor/view_algebra.h"

namespace updraft {

inline constexpr int kMaxOperands = 8;

/// The common index space of all operands: dimensions ordered as the first output lies in memory, merged where
/// every operand is regular across them.
struct Space {
  int rank = 0;
  int64_t n = 1;
  int64_t dims[kMaxDims];
  int64_t strides[kMaxOperands][kMaxDims];

  Space(const TensorView* const* v, int count) {
    const TensorView& first = *v[0];
    n = first.numel();
    if (n == 0) return;
    int order[kMaxDims];
    const int kept = memory_order({v, static_cast<size_t>(count)}, order);
    for (int i = 0; i < kept; ++i) {
      int d = order[i];
      bool merge = rank > 0;
      for (int k = 0; merge && k < count; ++k) merge = strides[k][rank - 1] == v[k]->strides[d] * first.dims[d];
      if (merge) {
        dims[rank - 1] *= first.dims[d];
      } else {
        dims[rank++] = first.dims[d];
      }
      for (int k = 0; k < count; ++k) strides[k][rank - 1] = v[k]->strides[d];
    }
    if (rank == 0) {
      rank = 1;
      dims[0] = 1;
      for (int k = 0; k < count; ++k) strides[k][0] = 1;
    }
  }
};

/// Walks one operand through the space in steps of any length.
struct Cursor {
  const Space* space = nullptr;
  const int64_t* strides = nullptr;
  char* data = nullptr;
  int64_t size = 0;  ///< of an element
  int64_t index[kMaxDims];
  int64_t offset = 0;

  Cursor() = default;
  /// Operand k, from element `begin` of the space.
  Cursor(const Space& s, int k, const TensorView& v, int64_t begin)
      : space(&s),
        strides(s.strides[k]),
        data(static_cast<char*>(v.data)),
        size(static_cast<int64_t>(size_of(v.dtype))) {
    seek(begin);
  }

  int64_t left_of_row() const { return space->dims[space->rank - 1] - index[space->rank - 1]; }

  void seek(int64_t linear) {
    offset = 0;
    for (int d = space->rank - 1; d >= 0; --d) {
      index[d] = linear % space->dims[d];
      linear /= space->dims[d];
      offset += index[d] * strides[d];
    }
  }

  /// Where the next n elements begin, which lie in one row.
  char* pass(int64_t n) {
    char* first = nullptr;
    walk(n, [&](char* row, int64_t, int64_t, int64_t) { first = row; });
    return first;
  }

  template <class Row>
  void walk(int64_t n, Row&& row) {
    const int inner = space->rank - 1;
    int64_t done = 0;
    while (done < n) {
      int64_t step = std::min(space->dims[inner] - index[inner], n - done);
      row(data + offset * size, strides[inner], done, step);
      done += step;
      index[inner] += step;
      offset += step * strides[inner];
      for (int d = inner; d > 0 && index[d] == space->dims[d]; --d) {
        index[d] = 0;
        offset += strides[d - 1] - space->dims[d] * strides[d];
        ++index[d - 1];
      }
    }
  }

  /// The same by lines of whole rows, and parts of rows at the ends: rows(first, bytes to the next, done, count,
  // length).
  template <class Rows>
  void walk_lines(int64_t n, Rows&& rows) {
    const int inner = space->rank - 1;
    const int64_t length = space->dims[inner];
    for (int64_t done = 0; done < n;) {
      if (inner == 0 || index[inner] > 0 || n - done < length) {
        const int64_t step = std::min(length - index[inner], n - done);
        rows(pass(step), 0, done, 1, step);
        done += step;
        continue;
      }
      const int64_t count = std::min(space->dims[inner - 1] - index[inner - 1], (n - done) / length);
      rows(data + offset * size, strides[inner - 1] * size, done, count, length);
      done += count * length;
      index[inner - 1] += count - 1;
      offset += (count - 1) * strides[inner - 1];
      pass(length);
    }
  }
};

}  // namespace updraft
