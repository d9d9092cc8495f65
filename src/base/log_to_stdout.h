// For programs whose own option says how much they print.
#pragma once
#include "base/log.h"

namespace updraft::log {

/// Lines of this level and above are printed to stdout, whatever the variables say. Before the first line only.
void print_from(Level level);

}  // namespace updraft::log
