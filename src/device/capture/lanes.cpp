#include "device/capture/lanes.h"

#include <map>

#include "base/error.h"
#include "device/device.h"
#include "device/streams.h"
#include "device/waits/event.h"

namespace updraft {
namespace {

// Streams that no client sees. They stay, since a replay may release the last pointer to its graph on one of them.
struct Lanes {
  std::mutex mutex;
  std::map<Device*, std::vector<Stream*>> streams;
};
Lanes& lanes() {
  static auto* all = new Lanes;
  return *all;
}

Stream* idle_lane(Device& device, size_t& from) {
  auto& streams = lanes().streams[&device];
  for (; from < streams.size(); ++from) {
    Stream* stream = streams[from];
    if (!stream->idle() || stream->capturing()) continue;
    ++from;
    try {
      stream->synchronize();  // an earlier replay's failure has been passed on
    } catch (const Error&) {}
    return stream;
  }
  Stream* made = stream_pool().create(device, -1 - static_cast<int32_t>(streams.size()), 0u, 0u);
  made->failure_mode = 1;  // a failure goes along the events to the stream that waits for the lane
  streams.push_back(made);
  from = streams.size();
  return made;
}

// Stands before and after a replay on its first lane. When an abort drops it there, the other lanes drop theirs.
class LaneGuard final : public Task {
 public:
  explicit LaneGuard(std::vector<Stream*> lanes) : lanes_(std::move(lanes)) { kind = TaskKind::Control; }
  Control control(Stream&) override {
    reached_ = true;
    return Control::Done;
  }
  void release() override {
    if (!reached_) Stream::abort(std::span(lanes_).subspan(1));
    delete this;
  }
  const char* name() const override { return "MODEL_LANES"; }

 private:
  std::vector<Stream*> lanes_;
  bool reached_ = false;
};

}  // namespace

LaneReplay::LaneReplay(Stream& stream, uint32_t lanes, uint32_t records)
    : lock_(updraft::lanes().mutex), lanes_{&stream}, events_(records) {
  size_t from = 0;
  while (lanes_.size() < lanes) lanes_.push_back(idle_lane(stream.device(), from));
  stream.submit(new LaneGuard(lanes_));
  auto start = std::make_shared<Event>(0);
  start->record(stream);
  for (size_t i = 1; i < lanes_.size(); ++i) start->wait(*lanes_[i]);
}

LaneReplay::~LaneReplay() {
  for (size_t i = 1; i < lanes_.size(); ++i) {
    auto end = std::make_shared<Event>(0);
    end->record(*lanes_[i]);
    end->wait(*lanes_[0]);
  }
  lanes_[0]->submit(new LaneGuard(lanes_));
}

void LaneReplay::record(uint32_t lane, uint32_t number) {
  events_[number] = std::make_shared<Event>(0);
  events_[number]->record(*lanes_[lane]);
}

void LaneReplay::wait(uint32_t lane, uint32_t number) {
  if (events_[number]) events_[number]->wait(*lanes_[lane]);
}

}  // namespace updraft
