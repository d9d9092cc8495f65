// What was found, once for each distinct place.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "observe/sanitizer/allocations.h"
#include "observe/sanitizer/stacks.h"
#include "observe/sanitizer/work.h"

namespace updraft::sanitizer {

enum class Kind : uint8_t {
  Race,         ///< two streams, or a stream and the host, without order
  Reused,       ///< memory given out again while somebody may still use it
  Freed,        ///< memory that is freed, or was, while somebody may still use it
  Unwritten,    ///< read, and never written
  HostRace,     ///< the host touches its own memory while a copy may still do
  HostAccess,   ///< the host touches memory of the device
  OutOfBounds,  ///< beyond the storage, the allocation or the block
  Leak,         ///< never given back
};
inline constexpr int kKinds = 8;
const char* id_of(Kind kind);
/// Bits (1 << kind) of a list "race,leak,memory"; "all" and "1" are all of them. Nothing where a word is unknown.
std::optional<uint32_t> kinds_of(const std::string& text);

/// One of the two that meet.
struct Side {
  std::string name, call;
  int32_t device = -1, stream = INT32_MIN;
  uint32_t model = 0;
  int32_t thread = 0;
  bool reads = false, writes = false;
  std::string parameter, tensor;     ///< "self", "FLOAT[2,3]"
  uintptr_t address = 0, bytes = 0;  ///< as the client has it; of the reach
  uint32_t stack = 0;
};
/// The memory that they meet at.
struct Place {
  uintptr_t address = 0, bytes = 0, offset = 0;
  int32_t device = -1;
  bool block = false, live = true;
  std::shared_ptr<Site> made, freed;
};
struct Finding {
  Kind kind = Kind::Race;
  long count = 1;
  std::optional<Side> first = {}, second = {};
  std::optional<Place> place = {};
  std::string detail = {};  ///< of out-of-bounds: the library's words; of leaks: what
  long items = 0;           ///< of leaks
  uintptr_t bytes = 0;
};

class Findings {
 public:
  explicit Findings(const Stacks& stacks) : stacks_(stacks) {}
  /// Calls `fresh` after one that is new.
  std::function<void()> fresh;
  void add(Finding finding);
  std::string json() const;
  void before_fork() { mutex_.lock(); }
  /// A child forgets them.
  void after_fork(bool child);
  bool empty() const;

 private:
  using Key = std::tuple<Kind, std::string, std::string, uint32_t, uint32_t, std::string>;
  static constexpr size_t kMost = 1000;
  const Stacks& stacks_;
  mutable std::mutex mutex_;
  std::map<Key, size_t> known_;
  std::vector<Finding> all_;
  long left_out_ = 0;
};

}  // namespace updraft::sanitizer
