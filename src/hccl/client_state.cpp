#include "hccl/client_state.h"

extern "C" int HcclGetConfig(int32_t option, int32_t* value);

namespace updraft {
namespace {
std::mutex g_mutex;
std::map<const collective::Communicator*, std::unique_ptr<ClientState>>& states() {
  static auto* all = new std::map<const collective::Communicator*, std::unique_ptr<ClientState>>;
  return *all;
}
}  // namespace

ClientState::ClientState() : deterministic(0) {
  int32_t value = 0;
  if (HcclGetConfig(0, &value) == 0) deterministic = value;
}

ClientState& ClientState::of(const collective::Communicator& communicator) {
  std::lock_guard lock(g_mutex);
  std::unique_ptr<ClientState>& state = states()[&communicator];
  if (!state) state.reset(new ClientState);
  return *state;
}

void ClientState::forget(const collective::Communicator& communicator) {
  std::lock_guard lock(g_mutex);
  states().erase(&communicator);
}

}  // namespace updraft
