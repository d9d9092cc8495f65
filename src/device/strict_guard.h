// Strict mode: host code that touches a device pointer crashes as it would on the card, with a sentence that says so.
#pragma once
namespace updraft {
/// Installs the handler once; chains to what was there. Does nothing in normal mode.
void install_strict_guard();
}  // namespace updraft
