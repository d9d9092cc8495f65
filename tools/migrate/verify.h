// --verify: once the output is written, Python runs both trees and compares what they print (python/updraft/verify).
#pragma once
#include "arguments.h"

namespace updraft::migrate {

/// Becomes that program. Throws Error where it cannot.
[[noreturn]] void verify(const Arguments& arguments);

}  // namespace updraft::migrate
