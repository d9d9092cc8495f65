#include "acl/poll_slack.h"

#include <sys/prctl.h>

namespace updraft {
namespace {
constexpr unsigned long kSlackNs = 1'000'000;
thread_local unsigned long own_slack = 0;  // 0: not raised
}  // namespace

void coarsen_new_threads() {
  const int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  if (own_slack || slack <= 0 || static_cast<unsigned long>(slack) >= kSlackNs) return;
  own_slack = static_cast<unsigned long>(slack);
  prctl(PR_SET_TIMERSLACK, kSlackNs, 0, 0, 0);
}

void restore_own() {
  if (!own_slack) return;
  prctl(PR_SET_TIMERSLACK, own_slack, 0, 0, 0);
  own_slack = 0;
}

}  // namespace updraft
