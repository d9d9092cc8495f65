// The process's environment as the libraries inside see it.
#pragma once

namespace updraft {

/// Copies the environment, once: what is set later does not count. Called with the settings of the process (Config),
/// which the client's own thread asks for first.
void keep_environment();

}  // namespace updraft

/// What the private copy of oneDNN calls in the place of getenv(): it asks when a device's thread first computes, while
/// the script may be writing its environment, and getenv() may then read freed memory. Null if the copy has no such
/// variable.
extern "C" const char* updraft_getenv(const char* name);
