// Threads of the runtime's own.
#pragma once
#include <functional>
#include <string>

namespace updraft {

/// Starts a detached thread with this name. It takes no signals: they belong to the client's threads. Throws 207005
/// when the system gives no thread.
void start_service_thread(const std::string& name, std::function<void()> body);

/// For tests: while `refuse`, as if the system gave no thread.
void refuse_service_threads(bool refuse);

}  // namespace updraft
