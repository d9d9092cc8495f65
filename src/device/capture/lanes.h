// One replay of a captured graph on several streams: the first lane is the stream that the client named, the others are
// streams of the library, which begin after what that stream was given before, and which it waits for at the end.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace updraft {

class Event;
class Stream;

class LaneReplay {
 public:
  /// Takes lanes that nobody uses. One replay of a device is enqueued at a time.
  LaneReplay(Stream& stream, uint32_t lanes, uint32_t records);
  /// Makes the stream wait for the other lanes.
  ~LaneReplay();

  Stream& stream(uint32_t lane) { return *lanes_[lane]; }
  /// The record of this number is reached when its lane is there; waits for it.
  void record(uint32_t lane, uint32_t number);
  void wait(uint32_t lane, uint32_t number);

 private:
  std::unique_lock<std::mutex> lock_;
  std::vector<Stream*> lanes_;
  std::vector<std::shared_ptr<Event>> events_;  ///< by record
};

}  // namespace updraft
