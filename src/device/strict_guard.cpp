#include "device/strict_guard.h"

#include <execinfo.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "base/config.h"
#include "device/device.h"
#include "device/observer.h"

namespace updraft {
namespace {

struct sigaction g_before;

void say(const char* text) { [[maybe_unused]] ssize_t n = write(STDERR_FILENO, text, std::strlen(text)); }

std::atomic<HostFault> g_host_fault{nullptr};

/// True for a write; where the processor does not say, as well.
bool is_write([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  return static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2;
#else
  return true;
#endif
}

void on_fault(int number, siginfo_t* info, void* context) {
  if (const HostFault hook = g_host_fault.load(); hook && info->si_code == SEGV_ACCERR)
    if (const int before = errno; hook(info->si_addr, is_write(context))) {
      errno = before;
      return;
    }
  if (Device* device = Device::owner(info->si_addr)) {
    char text[256];
    std::snprintf(text, sizeof text,
                  "updraft: host code touched device memory: address %p belongs to device %d. On the card this is a "
                  "crash as well: copy with aclrtMemcpy (or .cpu()) first. Host stack:\n",
                  info->si_addr, device->index());
    say(text);
    void* frames[32];
    backtrace_symbols_fd(frames, backtrace(frames, 32), STDERR_FILENO);
    OrderEvent event{.what = OrderEvent::What::HostAccess, .object = info->si_addr};
    event.device = device->index();
    observe_order(event);
  }
  // Whoever was there before decides what happens next; the default ends the process.
  if (g_before.sa_flags & SA_SIGINFO) {
    g_before.sa_sigaction(number, info, context);
  } else if (g_before.sa_handler == SIG_IGN) {
    return;
  } else if (g_before.sa_handler != SIG_DFL) {
    g_before.sa_handler(number);
  } else {
    signal(number, SIG_DFL);
    raise(number);
  }
}

}  // namespace

namespace {

void install() {
  static std::once_flag once;
  std::call_once(once, [] {
    void* frames[1];
    backtrace(frames, 1);  // loads what it needs now, not in the handler
    static char stack[64 << 10];
    stack_t alternative{};
    stack_t current{};
    if (sigaltstack(nullptr, &current) == 0 && (current.ss_flags & SS_DISABLE)) {
      alternative.ss_sp = stack;
      alternative.ss_size = sizeof stack;
      sigaltstack(&alternative, nullptr);
    }
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &g_before);
  });
}

}  // namespace

void install_strict_guard() {
  if (Config::get().strict) install();
}

void set_host_fault(HostFault hook) {
  g_host_fault = hook;
  install();
}

bool faults_arrive() {
  struct sigaction now {};
  return sigaction(SIGSEGV, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault;
}

}  // namespace updraft
