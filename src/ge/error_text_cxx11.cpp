// GEGetErrorMsg() for clients with the std::string of C++11 (src/ge/error_text.cpp is for those with the older one).
#include "acl/acl.h"
#include "ge/ge_api.h"

namespace ge {

std::string GEGetErrorMsg() {
  const char* text = aclGetRecentErrMsg();
  return text ? text : "";
}

}  // namespace ge
