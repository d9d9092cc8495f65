// Messages between two ranks: the sender posts where its data lies, the receiver fetches it and says so.
#include <cstring>

#include "collective/communicator.h"
#include "collective/copy.h"
#include "collective/error.h"
#include "collective/flight.h"
#include "collective/network.h"

namespace updraft::collective {

// With the lock.
void Communicator::throw_if_dead(const Operation& operation) const {
  // Rank 0 only when it is alone: its end, long ago maybe, does not keep the others from their messages.
  const Departed::Entry* dead = nullptr;
  for (const auto& entry : gone_)
    if (!entry.second && (!dead || (dead->first == 0 && entry.first != 0))) dead = &entry;
  if (dead)
    throw Error(result::kRemote, "EI0002: {} cannot complete: rank {} {}", describe(operation), culprit(dead->first),
                how_gone(false));
}

// With the lock; true when something moved. Only the communicator's thread comes here.
bool Communicator::advance_messages(std::unique_lock<std::mutex>& lock) {
  if (messages_.empty() || failure_ || suspended_) return false;
  note_departures();
  const Region& region = group_->region();
  const int me = group_->me();
  for (auto it = messages_.begin(); it != messages_.end(); ++it) {
    Pending& pending = *it;
    const Message& m = pending.message;
    const size_t bytes = m.count * size_of(m.type);
    const int peer = local_index_[m.peer];
    bool over = false;
    try {
      if (peer < 0) {
        if (!pending.posted) {
          pending.posted = true;
          pending.remote = network_->message(m, pending.number);
        }
        const int state = pending.remote->state.load(std::memory_order_acquire);
        if (state == 2) {
          // The peer may have given up because of another rank's death, of which we shall hear.
          if (!pending.failed_at) pending.failed_at = Clock::now();
          throw_if_dead(*pending.operation);
          if (Clock::now() - *pending.failed_at > std::chrono::seconds(1))
            throw Error(pending.remote->error->code(), "{}: {}: message number {} {} rank {}: {}",
                        fault_of(*pending.remote->error), describe(*pending.operation), pending.number,
                        m.send ? "to" : "from", m.peer, pending.remote->error->text());
        }
        over = state == 1;
      } else if (m.send) {
        Mailbox& box = region.mailbox(me, peer);
        if (!pending.posted && box.taken.load(std::memory_order_acquire) + 1 == pending.number) {
          const void* data = m.data;
          if (bytes && !group_->reachable(data, bytes, kMessageStretches)) {
            lock.unlock();  // what was appended meanwhile comes later
            pending.staged = device_.memory().allocate(bytes, DeviceMemory::Owner::Library);
            std::memcpy(host_address(pending.staged), host_address(data), bytes);
            lock.lock();
            data = pending.staged;
          }
          box.place = group_->place_of_message(data, bytes, peer);
          box.bytes = bytes;
          box.type = static_cast<uint32_t>(m.type);
          pending.posted = true;
          box.sent.store(pending.number, std::memory_order_release);
          region.bell(peer).ring();
        }
        over = pending.posted && box.taken.load(std::memory_order_acquire) >= pending.number;
      } else {
        Mailbox& box = region.mailbox(peer, me);
        if (box.sent.load(std::memory_order_acquire) >= pending.number) {
          if (box.bytes != bytes || box.type != static_cast<uint32_t>(m.type))
            throw Error(result::kPara,
                        "EI0005: message number {} from rank {} to rank {} has {} bytes of {}, the receiver expects {} "
                        "bytes of {}",
                        pending.number, m.peer, rank_, box.bytes, name_of(static_cast<Type>(box.type)), bytes,
                        name_of(m.type));
          const char* from = group_->at(peer, box.place);
          char* to = static_cast<char*>(host_address(m.data));
          // Busy maybe already, with a collective that waits for other hosts. The order is that of claim_peers().
          const uint32_t before = region.busy(me).exchange(1, std::memory_order_seq_cst);
          if (region.broken(peer).load(std::memory_order_seq_cst)) {
            region.busy(me).store(before, std::memory_order_release);
          } else {
            lock.unlock();
            copy_bytes(to, from, bytes);
            lock.lock();
            region.busy(me).store(before, std::memory_order_release);
            box.taken.store(pending.number, std::memory_order_release);
            region.bell(peer).ring();
            over = true;
          }
        }
      }
      // Who gave up the communicator goes on with nothing.
      if (!over && peer >= 0 && region.broken(peer).load(std::memory_order_acquire)) {
        throw_if_dead(*pending.operation);
        if (!pending.failed_at) pending.failed_at = Clock::now();
        if (Clock::now() - *pending.failed_at > kGrace) throw_given_up(peer, *pending.operation);
      }
      // What a rank of another host sent before it left may still be on its way; its connection says when not.
      if (const auto* gone = gone_.find(m.peer); !over && gone && !(gone->second && peer < 0))
        throw Error(result::kRemote, "EI0002: {} cannot complete: rank {} {}", describe(*pending.operation),
                    gone->second ? m.peer : culprit(m.peer), how_gone(gone->second));
      if (!over && options_.exec_timeout > 0 &&
          Clock::now() > pending.operation->since + seconds(options_.exec_timeout))
        throw Error(result::kTimeout, "EI0002: {} waited for rank {} for {} s (HCCL_EXEC_TIMEOUT sets the time)",
                    describe(*pending.operation), m.peer, options_.exec_timeout);
    } catch (const Error& e) {
      if (lock.owns_lock()) lock.unlock();
      // A disagreement or a time-out is only seen here.
      fail(e, e.code() != result::kRemote);
      lock.lock();
      return true;
    } catch (const std::exception& e) {
      if (lock.owns_lock()) lock.unlock();
      fail(Error(result::kInternal, "EI0007: {}: {}", describe(*pending.operation), e.what()), true);
      lock.lock();
      return true;
    }
    if (!over) continue;
    give_back(pending.staged);
    Operation* operation = pending.operation;
    messages_.erase(it);
    if (--operation->open_messages == 0) {
      Stream* stream = operation->stream;
      lock.unlock();
      stream->device().unpark(*stream);
      lock.lock();
    }
    return true;  // the list may have changed meanwhile: look at it anew
  }
  return false;
}

}  // namespace updraft::collective
