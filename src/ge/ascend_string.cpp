#include "graph/ascend_string.h"

#include <cstring>
#include <string>

namespace ge {

class AscendStringImpl {
 public:
  std::string text;
};

AscendString::AscendString(const char* name)
    : impl_(std::make_shared<const AscendStringImpl>(AscendStringImpl{name ? name : ""})) {}

const char* AscendString::GetString() const { return impl_ ? impl_->text.c_str() : ""; }

bool AscendString::operator<(const AscendString& other) const {
  return std::strcmp(GetString(), other.GetString()) < 0;
}
bool AscendString::operator==(const AscendString& other) const {
  return std::strcmp(GetString(), other.GetString()) == 0;
}

}  // namespace ge
