// Whether a source chooses between vendors by itself.
#pragma once
#include "migrate/syntax/tree.h"

namespace updraft::migrate::names {

/// Whether the code asks for NPUs: is_npu_available(), torch.npu, device == "npu", {"npu": …}. A source that imports
/// torch_npu in any case is for NPUs alone and chooses nothing; a list of names that are allowed asks for none of them.
bool asks_for_npu(const syntax::Tree& tree);

}  // namespace updraft::migrate::names
