// The graph engine's C++ interface passes one std::string, and clients expect it in the ABI before C++11. Nothing of
// ours that holds a std::string may be included here: it would have another layout.
#define _GLIBCXX_USE_CXX11_ABI 0  // NOLINT(bugprone-reserved-identifier)
#include <string>

#include "acl/acl.h"

namespace ge {

/// The text of the calling thread's latest failure, "" when there is none; reading clears it.
__attribute__((visibility("default"))) std::string GEGetErrorMsg() {
  const char* text = aclGetRecentErrMsg();
  return text ? text : "";
}

}  // namespace ge
