// How a rank says that it has come to an operation, and looks for the others.
#include <sched.h>

#include <algorithm>
#include <cstring>

#include "base/pause.h"
#include "collective/communicator.h"

namespace updraft::collective {
namespace {
// Longer than it takes to wake a rank that sleeps: who is behind by that must still be met, or the ranks would take
// turns at sleeping for ever.
constexpr auto kWatch = std::chrono::microseconds(200);
}  // namespace

// With the lock. To wake a thread, its own and then the one that waits for the stream, takes many times as long as a
// small operation. So who submits one looks for the others itself for a moment, as long as that helps now and then.
bool Communicator::worth_watching(const Operation& operation) {
  constexpr int kMisses = 4, kRest = 32;
  if (!cores_for_ranks_ || !operation.inlined) return false;
  // The turn stays until there is somebody to look for: ranks that wake each other come last every other time.
  return missed_ < kMisses || ++unwatched_ >= kRest;
}

bool Communicator::all_posted(const Operation& operation) const {
  const Region& region = group_->region();
  int i = 0;
  while (i < group_->size() && region.has_posted(i, operation.ticket)) ++i;
  return i == group_->size();
}

/// Where a rank that has not come yet was at the operation before.
int Communicator::cpu_of(int index, const Operation& operation) const {
  return group_->region().post(index, operation.ticket - 1).cpu.load(std::memory_order_relaxed);
}

// With the lock, in a thread that may run where no other rank of this host is: goes there. The system may have put two
// ranks on one CPU, and leaves them there as long as they wait for each other in turn. One of two goes, and seldom: if
// the system brings it back, the other CPUs are taken.
void Communicator::leave_cpu_of(int index, const Operation& operation) {
  constexpr auto kFirst = std::chrono::milliseconds(1), kLongest = std::chrono::milliseconds(1000);
  cpu_set_t allowed, free;
  const auto now = Clock::now();
  if (group_->me() < index || now < next_move_ || sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    sched_yield();  // to the rank that is awaited
    return;
  }
  free = allowed;
  CPU_CLR(sched_getcpu(), &free);
  for (int i = 0; i < group_->size(); ++i)
    if (const int cpu = cpu_of(i, operation); i != group_->me() && cpu >= 0 && cpu < CPU_SETSIZE) CPU_CLR(cpu, &free);
  if (CPU_COUNT(&free) > 0 && sched_setaffinity(0, sizeof free, &free) == 0)
    sched_setaffinity(0, sizeof allowed, &allowed);  // it stays, but need not
  between_moves_ = std::clamp<Clock::duration>(2 * between_moves_, kFirst, kLongest);
  next_move_ = now + between_moves_;
}

// With the lock, after a post that said so: true when all ranks have come meanwhile. Who comes last either sees that
// this rank does not watch any more, and rings, or is seen by the last look.
bool Communicator::watch(const Operation& operation) {
  const Region& region = group_->region();
  const int n = group_->size();
  int missing = 0;
  const auto reached = [&] {
    while (missing < n && region.has_posted(missing, operation.ticket)) ++missing;
    return missing == n;
  };
  bool here = false;
  std::optional<Clock::time_point> end;
  do {
    for (int i = 0; i < 64 && !(here = reached()); ++i) pause_briefly();
    if (here) break;
    if (cpu_of(missing, operation) == sched_getcpu()) leave_cpu_of(missing, operation);
    if (!end) end = Clock::now() + kWatch;
  } while (Clock::now() < *end && !hopeless_.load(std::memory_order_relaxed));
  unwatched_ = 0;
  if (!here) {
    region.watching(group_->me()).store(0, std::memory_order_seq_cst);
    here = reached();
  }
  missed_ = here ? 0 : missed_ + 1;
  return here;
}

// With the lock. True when all ranks have come. `watch`: watch() follows.
bool Communicator::post(Operation& operation, bool watch) {
  const Request& r = operation.request;
  const Region& region = group_->region();
  const int me = group_->me(), n = group_->size();
  Post& post = region.post(me, operation.ticket);
  post.kind = r.kind;
  post.type = r.type;
  post.op = r.op;
  post.root = r.root;
  post.count = r.kind == Kind::AllToAllVC ? r.matrix : r.count;
  post.cpu.store(sched_getcpu(), std::memory_order_relaxed);
  if (operation.inlined) {
    const size_t bytes = r.send_bytes(static_cast<int>(rank_), static_cast<int>(ranks_));
    if (bytes) std::memcpy(region.inline_data(me, operation.ticket, bytes), host_address(r.send), bytes);
  } else {
    const void* send = operation.staged_send ? operation.staged_send : r.send;
    const int rank = static_cast<int>(rank_), ranks = static_cast<int>(ranks_);
    post.send = group_->place_of(send, r.send_bytes(rank, ranks), operation.ticket, ScatteredBuffer::Send);
    post.receive = group_->place_of(operation.staged_receive ? operation.staged_receive : r.receive,
                                    r.receive_bytes(rank, ranks), operation.ticket, ScatteredBuffer::Receive);
    for (int i = 0; i < n && (!r.send_counts.empty() || !r.receive_counts.empty()); ++i) {
      const auto other = static_cast<size_t>(group_->rank(i));
      const uint64_t count = r.send_counts.empty() ? r.count : r.send_counts[other];
      const uint64_t offset = r.send_counts.empty() ? 0 : r.send_offsets[other];
      const uint64_t expected = r.receive_counts.empty() ? r.count : r.receive_counts[other];
      // The place of an empty part may be anything.
      region.part(me, operation.ticket, i) = {count ? post.send + offset * r.element() : 0, count * r.element(),
                                              expected * r.element()};
    }
  }
  operation.posted = true;
  // It stays from one small operation to the next, so that others need not fetch its line again.
  if (auto& watching = region.watching(me); watching.load(std::memory_order_relaxed) != uint32_t{watch})
    watching.store(watch, std::memory_order_relaxed);
  post.ticket.store(operation.ticket, std::memory_order_seq_cst);
  // Of ranks that come at one time the last sees all, others may as well.
  if (!all_posted(operation)) return false;
  for (int i = 0; i < n; ++i)
    if (i != me && !region.watching(i).load(std::memory_order_seq_cst)) region.bell(i).ring();
  return true;
}

}  // namespace updraft::collective
