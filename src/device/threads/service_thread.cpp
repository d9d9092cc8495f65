#include "device/threads/service_thread.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <system_error>
#include <thread>

#include "base/error.h"

namespace updraft {
namespace {
std::atomic<bool> g_refuse{false};
}

void refuse_service_threads(bool refuse) { g_refuse = refuse; }

void start_service_thread(const std::string& name, std::function<void()> body) {
  // The new thread inherits the mask, so that no signal reaches it before it could block it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  struct Restore {
    const sigset_t& mask;
    ~Restore() { pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
  } restore{before};
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
