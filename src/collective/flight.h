// What is on its way between hosts.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "collective/shared/doorbell.h"
#include "collective/transport/transport.h"

namespace updraft::collective {

/// Messages of different channels do not meet.
enum Channel : uint8_t { kData, kHeader, kMessages, kPairs };

/// A message of the client's to a rank of another host, or from it.
struct RemoteMessage {
  std::atomic<int> state{0};   ///< 0: under way, 1: done, 2: failed
  std::optional<Error> error;  ///< once it has failed
};

/// Messages that are waited for together.
struct Flight {
  struct State {
    std::atomic<int> open{0};
    std::atomic<bool> failed{false};
    std::mutex mutex;
    std::optional<Error> error;
    uint32_t rank = 0;  ///< whose message failed
  };
  std::shared_ptr<State> state = std::make_shared<State>();

  Completion completion(Doorbell& bell, uint32_t rank) {
    state->open.fetch_add(1, std::memory_order_relaxed);
    return [state = state, &bell, rank](const Error* error) {
      if (error) {
        std::lock_guard lock(state->mutex);
        if (!state->error) {
          state->error = *error;
          state->rank = rank;
        }
        state->failed = true;
      }
      if (state->open.fetch_sub(1, std::memory_order_acq_rel) == 1 || error) bell.ring();
    };
  }
};

}  // namespace updraft::collective
