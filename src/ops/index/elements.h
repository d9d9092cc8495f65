// An element of `src` for each element of the index, combined with self along one dimension.
#pragma once
#include "ops/index/indices.h"

namespace updraft {

/// As the client numbers them.
enum class Reduce : int64_t { None = 0, Add = 1, Mul = 2, Max = 3, Min = 4, Mean = 5 };

/// self[.., index, ..] = self combined with src (of index's shape, strides may be 0). The order of src decides, never
/// the number of threads. Without include_self the first value that meets an element replaces it.
void scatter_elements(const TensorView& self, int d, const TensorView& index, const TensorView& src, Reduce reduce,
                      bool include_self);
/// What that takes from scopes.
size_t scatter_bytes(const TensorView& self, const TensorView& index, Reduce reduce, bool include_self);

}  // namespace updraft
