#include "device/tensor_channel.h"

#include <map>
#include <utility>

#include "base/error.h"

namespace updraft {
namespace {

std::mutex g_mutex;
std::map<std::pair<int, std::string>, std::shared_ptr<TensorChannel>>& channels() {
  static auto* all = new std::map<std::pair<int, std::string>, std::shared_ptr<TensorChannel>>;
  return *all;
}

/// Waits until `ready`; false when the limit passed before.
template <class Ready>
bool wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock, std::chrono::milliseconds limit,
          Ready&& ready) {
  if (limit >= limit.zero()) return changed.wait_for(lock, limit, ready);
  changed.wait(lock, ready);
  return true;
}

}  // namespace

TensorChannel::Outcome TensorChannel::send(ChannelItems items, std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  if (!wait(changed_, lock, limit, [&] { return stopped_ || queue_.size() < capacity_; })) return Outcome::TimedOut;
  if (stopped_) return Outcome::Stopped;
  queue_.push_back(std::move(items));
  changed_.notify_all();
  return Outcome::Done;
}

TensorChannel::Outcome TensorChannel::receive(ChannelItems& items, std::chrono::milliseconds limit) {
  std::unique_lock lock(mutex_);
  if (!wait(changed_, lock, limit, [&] { return stopped_ || !queue_.empty(); })) return Outcome::TimedOut;
  if (queue_.empty()) return Outcome::Stopped;
  items = std::move(queue_.front());
  queue_.pop_front();
  changed_.notify_all();
  return Outcome::Done;
}

void TensorChannel::stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

void TensorChannel::clear() {
  std::lock_guard lock(mutex_);
  queue_.clear();
  changed_.notify_all();
}

size_t TensorChannel::size() const {
  std::lock_guard lock(mutex_);
  return queue_.size();
}

std::shared_ptr<TensorChannel> open_channel(int device, const std::string& name, size_t capacity) {
  std::lock_guard lock(g_mutex);
  auto& place = channels()[{device, name}];
  if (place) throw Error(code::kRtParamInvalid, "device {} has a channel '{}' already: destroy it first", device, name);
  place = std::make_shared<TensorChannel>(name, capacity);
  return place;
}

std::shared_ptr<TensorChannel> find_channel(int device, const std::string& name) {
  std::lock_guard lock(g_mutex);
  const auto found = channels().find({device, name});
  return found == channels().end() ? nullptr : found->second;
}

void close_channel(int device, const TensorChannel& channel) {
  std::shared_ptr<TensorChannel> last;
  {
    std::lock_guard lock(g_mutex);
    const auto found = channels().find({device, channel.name()});
    if (found == channels().end() || found->second.get() != &channel) return;
    last = std::move(found->second);
    channels().erase(found);
  }
  last->stop();
}

}  // namespace updraft
