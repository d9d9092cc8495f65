#include "device/tensor_channel.h"

#include <map>
#include <mutex>
#include <utility>

#include "base/error.h"

namespace updraft {
namespace {

std::mutex g_mutex;
std::map<std::pair<int, std::string>, std::shared_ptr<TensorChannel>>& channels() {
  static auto* all = new std::map<std::pair<int, std::string>, std::shared_ptr<TensorChannel>>;
  return *all;
}

}  // namespace

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
