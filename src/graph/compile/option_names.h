// Names of the options of graphs. A name that nobody knows has no effect, which the client is told.
#pragma once
#include <string_view>

#include "graph/compile/compile.h"

namespace updraft::graph {

/// Says once a process, on stderr where another name was probably meant and else in the log, which of the options are
/// not known. `door`: the function that got them, "GEInitialize".
void tell_unknown_options(const OptionTexts& options, std::string_view door);

}  // namespace updraft::graph
