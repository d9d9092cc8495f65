// Seeds of graph operators that draw new numbers for each call.
#pragma once
#include <cstdint>

namespace updraft::ir {

/// Another one for each call.
int64_t fresh_seed();

}  // namespace updraft::ir
