// Processes of this host that must not die unnoticed, whoever else supervises them: the kernel says when one ends.
#pragma once
#include <functional>
#include <vector>

#include "collective/shared/fd_exchange.h"

namespace updraft::collective {

/// A descriptor that becomes readable when this process ends, to be handed to others; forked children do not keep it
/// alive. Where the kernel has none it is one that never becomes readable.
OwnedFd own_life();

class PeerLives {
 public:
  /// Watches one life a peer; `ended` is called in the event loop's thread with the place in the list, once.
  PeerLives(std::vector<OwnedFd> lives, const std::function<void(int index)>& ended);
  ~PeerLives();
  PeerLives(const PeerLives&) = delete;

 private:
  std::vector<int> lives_;
};

}  // namespace updraft::collective
