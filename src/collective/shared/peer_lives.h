// Processes of this host that must not die unnoticed, whoever else supervises them: the kernel says when one ends.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "collective/shared/fd_exchange.h"

namespace updraft::collective {

/// A descriptor that becomes readable when this process ends, to be handed to others; forked children do not keep it
/// alive. Where the kernel has none it is one that never becomes readable.
OwnedFd own_life();

class PeerLives {
 public:
  /// Watches one life a peer; `ended` is called in the event loop's thread with the place in the list, once. A process
  /// that others of these watch already costs no further descriptor.
  PeerLives(std::vector<OwnedFd> lives, const std::function<void(int index)>& ended);
  ~PeerLives();
  PeerLives(const PeerLives&) = delete;

 private:
  class Life;
  static std::shared_ptr<Life> life_of(OwnedFd fd);
  std::vector<std::pair<std::shared_ptr<Life>, uint64_t>> watched_;  ///< and which of its watchers we are
};

}  // namespace updraft::collective
