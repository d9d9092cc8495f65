// Memory of runs under ge.exec.staticMemoryPolicy (or GE_USE_STATIC_MEMORY): 0, each graph has its own; 2 (1 of the
// variable is the same), the graphs of a session share one block as large as the largest of them wants.
#pragma once
#include <map>
#include <mutex>
#include <string>

#include "graph/executor/run.h"

namespace updraft {
class Stream;
}

namespace ge {

class StaticMemory {
 public:
  StaticMemory() = default;
  /// Throws OptionError for a policy that is none, and when both the option and the variable are set.
  explicit StaticMemory(const std::map<std::string, std::string>& options);
  StaticMemory& operator=(StaticMemory&& other) noexcept;

  bool shared() const { return shared_; }
  /// Held from before block() until the run is on its stream; of no mutex where nothing is shared.
  std::unique_lock<std::mutex> turn() { return shared_ ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>(); }
  /// The block, with room for `bytes`, in one's turn. A larger one takes the place of what is too small when the stream
  /// has passed it. Runs would write over each other on two streams: another stream than the last one waits until the
  /// device has nothing to do.
  std::byte* block(size_t bytes, updraft::Device& device, updraft::Stream& stream);

 private:
  bool shared_ = false;
  std::mutex mutex_;
  updraft::DeviceBlock block_;
  const updraft::Stream* stream_ = nullptr;
};

}  // namespace ge
