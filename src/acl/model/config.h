// The handle of aclmdlSetConfigOpt.
#pragma once
#include <string>

#include "acl/acl_mdl.h"
#include "acl/model/load.h"

struct aclmdlConfigHandle {
  size_t type = 0;  ///< ACL_MDL_LOAD_TYPE_SIZET
  std::string path, weight_path;
  const void* model = nullptr;
  size_t model_bytes = 0;
  updraft::ModelMemory memory;
};

namespace updraft {
/// Throws 100000 for a handle that is none.
aclmdlConfigHandle& live(const aclmdlConfigHandle* handle);
}  // namespace updraft
