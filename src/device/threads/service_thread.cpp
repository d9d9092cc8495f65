#include "device/threads/service_thread.h"

#include <pthread.h>

#include <atomic>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/signals_blocked.h"

namespace updraft {
namespace {
std::atomic<bool> g_refuse{false};
}

void refuse_service_threads(bool refuse) { g_refuse = refuse; }

void start_service_thread(const std::string& name, std::function<void()> body) {
  const SignalsBlocked blocked;
  try {
    if (g_refuse) throw std::system_error(EAGAIN, std::generic_category());
    // Detached: it lives as long as the process, and an exit in any order must not wait for it.
    std::thread([name, body = std::move(body)] {
      pthread_setname_np(pthread_self(), name.substr(0, 15).c_str());
      body();
    }).detach();
  } catch (const std::system_error& e) {
    throw Error(code::kRtResourceAllocFail,
                "the thread {} cannot be started: {}; see the limits of processes and threads (ulimit -u, the "
                "container's pids limit)",
                name, e.what());
  }
}

}  // namespace updraft
