// Keeps UCX from using a connection that it has just ended.
//
// UCX's TCP (1.13, Debian 12's) takes up to 16 events of its sockets at once, and what can be read and written of a
// socket in one of them. A connection that ends while the first is taken is used by the next all the same, and what is
// freed memory by then is called: one in ten sends that are cancelled in the middle ended the process. UCX asks for
// events by this function of its own, which the libraries that were loaded with this plugin find here before UCX's. It
// passes on one event at a time, and one direction, which chance chooses: the kernel tells again what is left, and
// neither direction can keep the other from its turn.
#include <dlfcn.h>
#include <ucs/sys/event_set.h>

#include <algorithm>
#include <cstdint>

namespace {

struct Taker {
  ucs_event_set_handler_t handler;
  void* argument;
};

bool chance() {
  static thread_local uint32_t state = 1;
  state = state * 1664525U + 1013904223U;
  return state >> 31;
}

void take_one(void* data, ucs_event_set_types_t events, void* argument) {
  const auto& taker = *static_cast<const Taker*>(argument);
  constexpr ucs_event_set_types_t kBoth = UCS_EVENT_SET_EVREAD | UCS_EVENT_SET_EVWRITE;
  if ((events & kBoth) == kBoth) events ^= chance() ? UCS_EVENT_SET_EVREAD : UCS_EVENT_SET_EVWRITE;
  taker.handler(data, events, taker.argument);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ucs_status_t ucs_event_set_wait(ucs_sys_event_set_t* set,
                                                                                  unsigned* count, int timeout_ms,
                                                                                  ucs_event_set_handler_t handler,
                                                                                  void* argument) {
  static const auto wait = reinterpret_cast<decltype(&ucs_event_set_wait)>(dlsym(RTLD_NEXT, "ucs_event_set_wait"));
  if (!wait) return UCS_ERR_UNSUPPORTED;
  Taker taker{handler, argument};
  unsigned one = std::min(*count, 1U);
  const ucs_status_t status = wait(set, &one, timeout_ms, take_one, &taker);
  *count = one;
  return status;
}
