// Codes of the graph engine's functions.
#pragma once
#include "base/boundary.h"
#include "base/error.h"
#include "graph/types.h"

namespace ge {

/// Runs `body`; what it throws becomes a code, and its text GEGetErrorMsg()'s.
template <class F>
Status status(const char* name, F&& body) {
  const int failed = updraft::guard(name, body);
  return failed == 0 ? SUCCESS : failed == updraft::code::kAclInvalidParam ? GRAPH_PARAM_INVALID : FAILED;
}

}  // namespace ge
