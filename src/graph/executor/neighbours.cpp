#include "graph/executor/neighbours.h"

#include <algorithm>
#include <map>
#include <memory>

#include "base/config.h"
#include "base/parallel.h"

namespace updraft::graph {
namespace {
/// A client that fetches results and brings the next inputs is back within this time.
constexpr auto kMoment = std::chrono::milliseconds(1);
}  // namespace

Neighbours& Neighbours::of(const Device& device) {
  static std::mutex mutex;
  static auto* all = new std::map<const Device*, std::unique_ptr<Neighbours>>;  // devices live as long as the process
  std::lock_guard lock(mutex);
  std::unique_ptr<Neighbours>& found = (*all)[&device];
  if (!found) found = std::make_unique<Neighbours>();
  return *found;
}

bool Neighbours::counts(const Entry& entry, Clock::time_point now) const {
  return entry.in_flight > 0 || now - entry.left < kMoment;
}

bool Neighbours::enter(const Stream& stream) {
  std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  std::erase_if(streams_, [&](const Entry& e) { return e.stream != &stream && !counts(e, now); });
  const auto own = std::ranges::find(streams_, &stream, &Entry::stream);
  const bool others = streams_.size() > (own == streams_.end() ? 0u : 1u);
  if (own == streams_.end()) streams_.push_back({&stream, 1, {}});
  else ++own->in_flight;
  return others;
}

void Neighbours::leave(const Stream& stream) {
  std::lock_guard lock(mutex_);
  const auto own = std::ranges::find(streams_, &stream, &Entry::stream);
  --own->in_flight;
  own->left = Clock::now();
}

Neighbours::Share::Share(Neighbours& all) : all_(all) {
  const int threads = Config::get().threads;
  std::unique_lock lock(all.mutex_);
  all.room_.wait(lock, [&] { return all.running_ < threads; });
  ++all.running_;
  const auto now = Clock::now();
  const auto streams = std::ranges::count_if(all.streams_, [&](const Entry& e) { return all.counts(e, now); });
  set_parallel_threads(std::max(1, threads / static_cast<int>(std::max<std::ptrdiff_t>(1, streams))));
}

Neighbours::Share::~Share() {
  set_parallel_threads(1);  // as threads for host functions have it
  {
    std::lock_guard lock(all_.mutex_);
    --all_.running_;
  }
  all_.room_.notify_one();
}

}  // namespace updraft::graph
