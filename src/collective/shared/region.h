// The memory that the ranks of a communicator on one host share: what each has posted, how far all are, doorbells.
//
// Ranks here are local: 0 … n-1 of this host. A rank posts operation k (from 1 on) into its slot k % 2, the number k
// last; operation k may be read once all have posted it. Nobody posts k + 2 before all have posted k + 1, that is,
// before all are done with reading k: two slots are enough.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collective/shared/doorbell.h"
#include "collective/types.h"

namespace updraft::collective {

constexpr size_t kInlineBytes = 4096;  ///< data up to this size travels beside the post
constexpr size_t kTinyBytes = 16;      ///< and up to this size in it: others fetch one line of the cache

/// Whether an operation of `bytes` (HCCL's count) is that small: everything that a rank sends is in its slot.
constexpr bool fits_inline(Kind kind, size_t bytes, int ranks) {
  switch (kind) {
    case Kind::AllReduce:
    case Kind::AllGather:
    case Kind::Broadcast:
    case Kind::Reduce: return bytes <= kInlineBytes;
    case Kind::ReduceScatter:
    case Kind::Scatter:
    case Kind::AllToAll: return bytes * static_cast<size_t>(ranks) <= kInlineBytes;
    case Kind::Barrier: return true;
    default: return false;
  }
}

/// What a rank says of an operation. Places are offsets in the rank's device memory. In one line of the cache: that is
/// what others wait for.
struct alignas(64) Post {
  std::atomic<uint64_t> ticket;  ///< written last
  Kind kind;
  Type type;
  Op op;
  uint32_t root;
  uint64_t count;  ///< of AllToAllVC: Request::matrix
  uint64_t send, receive;
  std::atomic<int32_t> cpu;  ///< that the rank ran on
  alignas(16) char tiny[kTinyBytes];
};
static_assert(sizeof(Post) == 64);

/// What a rank and one other have for each other in an operation whose ranks have parts of different sizes.
struct Part {
  uint64_t place, bytes;  ///< of the rank's send buffer, meant for the other
  uint64_t expected;      ///< bytes that the rank wants from the other
};

/// Why a rank has given up the communicator.
struct Reason {
  int32_t code;
  char text[1020];  ///< ends with the first zero
};
/// States of Region::broken().
constexpr uint32_t kGivingUp = 1, kGivenUp = 2;

/// A buffer that lies in several places of the device's memory, as mapped addresses do (aclrtMapMem).
constexpr size_t kStretches = 256, kMessageStretches = 16;
struct Stretch {
  uint64_t place, bytes;
};
template <size_t n>
struct Scattered {
  uint64_t count;
  Stretch stretches[n];
};

/// Point to point: one a pair of ranks.
struct Mailbox {
  std::atomic<uint64_t> sent, taken;
  uint64_t place, bytes;
  uint32_t type;
};

/// Places from here on are of a scattered buffer: which one, and the offset in it.
constexpr uint64_t kScattered = uint64_t{1} << 63;
enum class ScatteredBuffer : uint64_t { Send, Receive, Message };

class Region {
 public:
  static size_t bytes_for(int ranks);
  /// In memory of bytes_for(ranks) zero bytes that all map.
  Region(void* base, int ranks) : base_(static_cast<char*>(base)), n_(static_cast<size_t>(ranks)) {}

  std::atomic<uint64_t>& finished() const { return head()->finished; }
  Doorbell& bell(int rank) const { return at<Rank>(ranks_at(), rank).bell; }
  bool has_posted(int rank, uint64_t ticket) const {
    return post(rank, ticket).ticket.load(std::memory_order_seq_cst) >= ticket;
  }
  /// 1 while the rank's thread reads or writes memory of others.
  std::atomic<uint32_t>& busy(int rank) const { return at<Rank>(ranks_at(), rank).busy; }
  /// Not 0 once the rank has given up the communicator; with kGivenUp the reason may be read.
  std::atomic<uint32_t>& broken(int rank) const { return at<Rank>(ranks_at(), rank).broken; }
  Reason& reason(int rank) const { return at<Rank>(ranks_at(), rank).reason; }
  /// 1 while the rank's submitting threads look by themselves for others to post: it need not be rung for.
  std::atomic<uint32_t>& watching(int rank) const { return at<Rank>(ranks_at(), rank).watching; }
  /// 1 once the rank has left by itself.
  std::atomic<uint32_t>& left(int rank) const { return at<Rank>(ranks_at(), rank).left; }
  /// 1 + the communicator's rank whose death made this one give up; 0: none. Who ends because of another is not to
  /// blame.
  std::atomic<uint32_t>& blames(int rank) const { return at<Rank>(ranks_at(), rank).blames; }
  /// The rank's process as it numbers itself, for messages.
  std::atomic<int32_t>& process(int rank) const { return at<Rank>(ranks_at(), rank).process; }
  Post& post(int rank, uint64_t ticket) const { return at<Rank>(ranks_at(), rank).posts[ticket % 2]; }
  /// Of so many bytes.
  char* inline_data(int rank, uint64_t ticket, size_t bytes) const {
    if (bytes <= kTinyBytes) return post(rank, ticket).tiny;
    return base_ + inline_at() + (static_cast<size_t>(rank) * 2 + ticket % 2) * kInlineBytes;
  }
  Part& part(int rank, uint64_t ticket, int other) const {
    return at<Part>(parts_at(), static_cast<int>((static_cast<size_t>(rank) * 2 + ticket % 2) * n_) + other);
  }
  /// Of the buffers of an operation.
  Scattered<kStretches>& scattered(int rank, uint64_t ticket, ScatteredBuffer which) const {
    const size_t index = (static_cast<size_t>(rank) * 2 + ticket % 2) * 2 + static_cast<size_t>(which);
    return at<Scattered<kStretches>>(scattered_at(), static_cast<int>(index));
  }
  Scattered<kMessageStretches>& scattered_message(int from, int to) const {
    return at<Scattered<kMessageStretches>>(scattered_messages_at(), from * static_cast<int>(n_) + to);
  }
  Mailbox& mailbox(int from, int to) const { return at<Mailbox>(boxes_at(), from * static_cast<int>(n_) + to); }

 private:
  struct Head {
    alignas(64) std::atomic<uint64_t> finished;
  };
  struct alignas(64) Rank {
    Doorbell bell;
    std::atomic<uint32_t> busy, broken, left, blames, watching;
    std::atomic<int32_t> process;
    Post posts[2];
    Reason reason;
  };
  static size_t aligned(size_t n) { return (n + 4095) / 4096 * 4096; }
  Head* head() const { return reinterpret_cast<Head*>(base_); }
  size_t ranks_at() const { return 4096; }
  size_t inline_at() const { return ranks_at() + aligned(n_ * sizeof(Rank)); }
  size_t parts_at() const { return inline_at() + n_ * 2 * kInlineBytes; }
  size_t boxes_at() const { return parts_at() + aligned(n_ * 2 * n_ * sizeof(Part)); }
  size_t scattered_at() const { return boxes_at() + aligned(n_ * n_ * sizeof(Mailbox)); }
  size_t scattered_messages_at() const { return scattered_at() + aligned(n_ * 4 * sizeof(Scattered<kStretches>)); }
  size_t end() const { return scattered_messages_at() + aligned(n_ * n_ * sizeof(Scattered<kMessageStretches>)); }
  template <class T>
  T& at(size_t start, int index) const {
    return reinterpret_cast<T*>(base_ + start)[index];
  }

  char* base_;
  size_t n_;
};

inline size_t Region::bytes_for(int ranks) { return Region(nullptr, ranks).end(); }

}  // namespace updraft::collective
