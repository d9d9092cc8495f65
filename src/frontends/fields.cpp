#include "frontends/fields.h"

#include <cstdint>

namespace updraft::frontends {

std::string Where::text() const {
  std::string text;
  for (const At& at : steps_) {
    if (!text.empty()) text += ", ";
    text += at.what;
    if (at.index != SIZE_MAX) text += " " + std::to_string(at.index);
    if (!at.name.empty()) text += fmt::format(" ({})", at.name.substr(0, 200));
  }
  return text.empty() ? "outermost message" : text;
}

}  // namespace updraft::frontends
