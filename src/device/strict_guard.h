// Strict mode: host code that touches a device pointer crashes as it would on the card, with a sentence that says so.
#pragma once
namespace updraft {

/// Installs the handler once; chains to what was there. Does nothing in normal mode.
void install_strict_guard();

/// Who protects pages of the host is asked first, in the thread that touched them: true when it may go on and try
/// again.
using HostFault = bool (*)(const void* at, bool writes);
/// Installs the handler, in whatever mode.
void set_host_fault(HostFault hook);
/// False where the client has put another handler in its place: then a touched page would end the process.
bool faults_arrive();

}  // namespace updraft
