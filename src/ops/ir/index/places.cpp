#include "ops/ir/index/places.h"

#include <vector>

#include "ops/index/indices.h"

namespace updraft::ir {

void require_places(Op& op, const TensorView& indices, const int64_t* dims) {
  if (indices.empty()) return;
  const auto depth = static_cast<size_t>(indices.dims[indices.rank - 1]);
  op.kernel_scratch(index_bytes(indices));
  op.launch([indices, sizes = std::vector<int64_t>(dims, dims + depth)] {
    ScratchScope scratch;
    const int64_t* at = read_indices(indices, scratch);
    for (const int64_t* end = at + indices.numel(); at != end; at += sizes.size())
      for (size_t d = 0; d < sizes.size(); ++d) checked_index(at[d], sizes[d], static_cast<int>(d), false);
  });
}

}  // namespace updraft::ir
