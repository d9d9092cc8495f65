// A table whose rows are named by offsets: what index_select, embeddings and advanced indexing have in common.
#pragma once
#include "ops/index/indices.h"

namespace updraft {

/// For every position o of the first `outer` dimensions, and every i < n, row i is
///   table:  at(o) + at[i],                    values: at(o) + (value_at ? value_at[i] : i * value_stride)
/// over the remaining dimensions. table and values have the same dims.
struct Rows {
  TensorView table, values;
  int outer = 0;
  int64_t n = 0;
  const int64_t* at = nullptr;
  const int64_t* value_at = nullptr;
  int64_t value_stride = 0;
  const float* scale = nullptr;  ///< Combine::Add: a factor for each i
};

/// values = table's rows.
void gather_rows(const Rows& r);
/// table's rows = values, the last of equals wins.
void put_rows(const Rows& r);
/// table's rows += alpha * values: in the order of i for each row, halves summed in float and rounded once. The
/// result does not depend on the number of threads.
void add_rows(const Rows& r, const aclScalar* alpha);

/// Rows of dimension `dim` of `table` for a 1-d (or 0-d) index; `values` has the index's length in its place. The
/// offsets are in the scope.
Rows rows_of(const TensorView& table, int dim, const TensorView& index, const TensorView& values, bool wrap,
             ScratchScope& scratch);
/// What rows_of() takes at most.
inline size_t rows_bytes(const TensorView& index) {
  return static_cast<size_t>(index.numel()) * 8 + index_bytes(index);
}

}  // namespace updraft
