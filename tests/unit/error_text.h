// The text of the last failure, as clients read it.
#pragma once
#include <string>

#include "acl/acl.h"

inline std::string error_text() {
  const char* text = aclGetRecentErrMsg();
  return text ? text : "";
}
