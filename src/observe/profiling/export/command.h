// msprof as a function: profiles a program, and makes tables of profiles.
#pragma once

namespace updraft::profiling {

/// Runs `msprof ARGUMENTS…`; gives its exit status. Never throws.
int msprof(int argc, char** argv);

}  // namespace updraft::profiling
