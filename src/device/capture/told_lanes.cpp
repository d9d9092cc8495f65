#include "device/capture/told_lanes.h"

#include "device/device.h"
#include "device/observer.h"
#include "device/stream.h"

namespace updraft {
namespace {

using What = OrderEvent::What;

// Below the numbers of the library's own streams. Lanes of different streams have different ones, as they may run at
// the same time.
constexpr int32_t kFirst = -(1 << 20);
constexpr int32_t kMostLanes = 512;

void tell(What what, const void* object, const Stream& stream, int32_t lane) {
  observe_order({.what = what, .object = object, .device = stream.device().index(), .stream = lane});
}

}  // namespace

ToldLanes::ToldLanes(const Stream& stream, uint32_t lanes, uint32_t records)
    : stream_(stream), lanes_(lanes), records_(records), marks_(records + 1) {
  for (uint32_t lane = 1; lane < lanes_; ++lane) order(0, lane, &marks_[records_]);
}

ToldLanes::~ToldLanes() {
  for (uint32_t lane = 1; lane < lanes_; ++lane) order(lane, 0, &marks_[records_]);
  for (const char& mark : marks_) observe_order({.what = What::Destroyed, .object = &mark});
}

int32_t ToldLanes::id_of(uint32_t lane) const {
  if (lane == 0) return stream_.id();
  return kFirst - stream_.id() * kMostLanes - static_cast<int32_t>(lane) % kMostLanes;
}

void ToldLanes::order(uint32_t first, uint32_t then, const void* by) const {
  tell(What::EventRecorded, by, stream_, id_of(first));
  tell(What::EventAwaited, by, stream_, id_of(then));
}

void ToldLanes::task(uint32_t lane, uint32_t model, int32_t index, const Task& task) const {
  observe_part_of_lane(stream_, id_of(lane), model, index, task);
}

void ToldLanes::record(uint32_t lane, uint32_t number) const {
  tell(What::EventRecorded, &marks_[number], stream_, id_of(lane));
}

void ToldLanes::wait(uint32_t lane, uint32_t number) const {
  tell(What::EventAwaited, &marks_[number], stream_, id_of(lane));
}

void ToldLanes::meet(uint32_t lane) const {
  if (lane == 0) return;
  order(lane, 0, &marks_[records_]);
  order(0, lane, &marks_[records_]);
}

}  // namespace updraft
