#include "base/error.h"

namespace updraft {

void throw_error(int code, fmt::string_view format, fmt::format_args args) {
  throw Error(code, fmt::vformat(format, args));
}

}  // namespace updraft
