// The ranks of a communicator that share this host: their device memory is mapped here, so that a rank reads and writes
// the buffers of all directly.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "collective/request.h"
#include "collective/shared/fd_exchange.h"
#include "collective/shared/peer_lives.h"
#include "collective/shared/peer_memory.h"
#include "collective/shared/region.h"
#include "collective/shared/scattered_view.h"
#include "device/device.h"

namespace updraft::collective {

class LocalGroup {
 public:
  /// `ranks` are the communicator's ranks on this host, ascending; `me` is an index into them.
  LocalGroup(Device& device, std::vector<uint32_t> ranks, int me);
  ~LocalGroup();
  /// Index 0 first, then the others: makes the shared memory and hands it round.
  void open_hub(const std::string& name);
  /// `check` is called while one waits; it throws when a rank has gone.
  void connect(const std::string& name, const std::string& key, std::chrono::steady_clock::time_point deadline,
               const std::function<void()>& check);

  /// Once, after connect(): `ended` is called in the event loop's thread when the process of a peer has ended.
  void watch(const std::function<void(int index)>& ended);

  int size() const { return static_cast<int>(ranks_.size()); }
  int me() const { return me_; }
  uint32_t rank(int index) const { return ranks_[static_cast<size_t>(index)]; }
  const Region& region() const { return *region_; }
  void ring_all() const;

  /// True when peers can reach [p, p + bytes): it lies in the device's memory file, in no more than `stretches` places.
  bool reachable(const void* p, size_t bytes, size_t stretches = kStretches) const;
  /// A place for peers, of a buffer that is reachable: of the operation with this ticket, or of a message to `peer`.
  uint64_t place_of(const void* p, size_t bytes, uint64_t ticket, ScatteredBuffer which);
  uint64_t place_of_message(const void* p, size_t bytes, int peer);
  /// Where this process sees what rank `index` posted as a place.
  char* at(int index, uint64_t place) const;

 private:
  Device& device_;
  std::vector<uint32_t> ranks_;
  int me_;
  std::unique_ptr<FdHub> hub_;
  std::shared_ptr<PeerMemory> shared_;
  int shared_fd_ = -1;
  std::unique_ptr<Region> region_;
  std::vector<std::shared_ptr<PeerMemory>> memory_;          // null for this rank
  std::unique_ptr<ScatteredViews[]> views_, message_views_;  // by index; those of messages do not drive out others
  const char* own_[2][2] = {};                               // scattered buffers of this rank, by ticket % 2
  std::vector<OwnedFd> lives_;                               // until they are watched
  std::unique_ptr<PeerLives> watched_;
};

/// This rank's part of an operation that all ranks of the group have posted: reads what others posted, writes into what
/// they gave. The group is the whole communicator, but for AllToAll, AllToAllV, AllToAllVC and AllGatherV, of which it
/// does what the ranks of this host have for each other. Runs in the calling thread and its team.
void work_in_place(const LocalGroup& group, const Request& request, uint64_t ticket);
/// The result of an operation whose data all travelled in the slots.
void work_inline(const LocalGroup& group, const Request& request, uint64_t ticket);
/// True when the operation's data fits the slots, so that posting it is all that others need. Depends only on what all
/// ranks must agree on.
bool fits_inline(const Request& request, int ranks);

}  // namespace updraft::collective
