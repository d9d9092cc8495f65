// What observers are told of a captured graph of several streams that is replayed on one: its tasks are told of on
// lanes, with the order that the captured events make, since a card runs the lanes at the same time.
#pragma once
#include <cstdint>
#include <vector>

namespace updraft {

class Stream;
class Task;

class ToldLanes {
 public:
  /// The first lane is the stream; the others begin after what it was given before.
  ToldLanes(const Stream& stream, uint32_t lanes, uint32_t records);
  /// The stream goes on after all lanes.
  ~ToldLanes();
  ToldLanes(const ToldLanes&) = delete;

  void task(uint32_t lane, uint32_t model, int32_t index, const Task& task) const;
  void record(uint32_t lane, uint32_t number) const;
  void wait(uint32_t lane, uint32_t number) const;
  /// What the stream is given next comes after what the lane was given, and before what it will be.
  void meet(uint32_t lane) const;

 private:
  int32_t id_of(uint32_t lane) const;
  void order(uint32_t first, uint32_t then, const void* by) const;

  const Stream& stream_;
  const uint32_t lanes_, records_;
  std::vector<char> marks_;  ///< whose addresses stand for events: those of the records, and one to join lanes
};

/// As observe_part(), of a lane's task: `place` is what stands for the lane in place of the stream's number.
void observe_part_of_lane(const Stream& stream, int32_t place, uint32_t model, int32_t index, const Task& task);

}  // namespace updraft
