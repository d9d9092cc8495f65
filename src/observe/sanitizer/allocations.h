// Memory that the client has: allocations, the blocks that a caching allocator of the client makes of them, and which
// bytes nobody has written yet.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "device/intervals.h"
#include "observe/sanitizer/runs.h"
#include "observe/sanitizer/work.h"

namespace updraft::sanitizer {

/// A piece of memory with one life: an allocation, or a block of one.
struct Piece {
  Range bytes;
  uintptr_t client = 0;  ///< where `bytes` begins for the client
  int32_t device = -1;   ///< -1: memory of the host
  bool block = false;    ///< of a caching allocator
  bool live = true;
  bool mapped = false;  ///< to addresses that were reserved: tensors may reach into the next one
  bool pool = false;    ///< of captured graphs: who uses it when, the graphs know, and blocks are none
  uint64_t born = 0;    ///< Work::serial of that time
  std::shared_ptr<Site> made = {}, freed = {};
};

class Allocations {
 public:
  /// `known`: what is in it counts as written.
  void add(Piece piece, bool known);
  /// The allocation that begins there; nothing when there is none. It is remembered as a dead one.
  std::optional<Piece> remove(uintptr_t at, std::shared_ptr<Site> site);
  /// The library has the bytes now, none of which is allocated.
  void forget(Range bytes);
  /// A caching allocator gives out, or takes back, memory from `at` on. How much it is nobody says: it ends where the
  /// next block is that is in use. `captured`: while a graph is captured, whose replays use the memory after it was
  /// given back.
  void block_taken(uintptr_t at, uint64_t serial, bool captured, std::shared_ptr<Site> site);
  void block_freed(uintptr_t at, std::shared_ptr<Site> site);
  /// Of the blocks that were taken up to `until` no others are in use than these.
  void keep_blocks(const std::set<uintptr_t>& used, uint64_t until);

  /// The allocation that holds the byte, dead ones as well where nothing is there now.
  const Piece* allocation_at(uintptr_t at) const;
  /// The same of the block, where its allocation has such.
  const Piece* block_at(uintptr_t at) const;
  /// Where the memory ends that an access to the bytes may reach: that of the allocation, or of mapped ones in a row.
  uintptr_t end_for(Range bytes) const;
  /// Where the bytes run into another block that is in use; 0: they do not.
  uintptr_t next_block(Range bytes) const;

  void written(Range bytes) { unwritten_.remove(bytes.begin, bytes.end); }
  bool all_written(Range bytes) const { return !unwritten_.meets(bytes.begin, bytes.end); }
  /// True when no byte of them was.
  bool none_written(Range bytes) const;
  void copy_none_written(Range to) { unwritten_.add(to.begin, to.end); }
  /// From now on all of it counts as written, since others write to it.
  void shared(uintptr_t at);

  const std::map<uintptr_t, Piece>& live() const { return live_; }

 private:
  static constexpr size_t kMostDead = 4096;
  std::map<uintptr_t, Piece> live_, dead_;  ///< by begin
  std::map<uintptr_t, Piece> blocks_;       ///< by begin; ends are where the next one begins, or the allocation ends
  Intervals unwritten_;
};

}  // namespace updraft::sanitizer
