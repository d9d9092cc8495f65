// Signals are for the program's own threads.
#pragma once
#include <csignal>

namespace updraft {

/// This thread blocks all signals while it lives: threads that it starts meanwhile inherit that, so that none reaches
/// them before they could block it themselves.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace updraft
