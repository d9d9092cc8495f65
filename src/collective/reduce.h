// The arithmetic of collectives.
#pragma once
#include <cstdint>

#include "collective/types.h"

namespace updraft::collective {

/// out[k][i] = in[0][i] op in[1][i] op … for i in [0, n) and every k: each input element is read once, each output
/// element written once, in blocks that stay in the cache. The order of the inputs is the order of the arithmetic.
/// fp16 and bf16 are combined in fp32 and rounded once; integers wrap around; max and min of floats follow NaN
/// (a NaN in any input gives NaN). An output may be the same memory as an input (same start), never a shifted part of
/// it. `inputs` is at least 1: with one it copies. Runs in the calling thread.
void reduce_blocks(Type type, Op op, const void* const* in, int inputs, void* const* out, int outputs, int64_t n);

/// What a block may touch and still find in the cache: a quarter of the last level, since ranks share it and an
/// operation has several blocks.
int64_t cached_bytes();

}  // namespace updraft::collective
