#include "device/waits/parking.h"

#include <atomic>

namespace updraft {
namespace {

uint64_t next_ticket() {
  static std::atomic<uint64_t> count{0};
  return ++count;
}

void run_out(Stream& stream, const char* name, std::chrono::nanoseconds limit) {
  stream.fail(Error(code::kRtWaitTimeout, "what the stream waits for did not come within {} s",
                    std::chrono::duration<double>(limit).count()),
              name);
}

}  // namespace

WaitTask::WaitTask(std::shared_ptr<ParkingPlace> place, std::chrono::nanoseconds limit)
    : place_(std::move(place)), ticket_(next_ticket()), limit_(limit) {
  kind = TaskKind::Control;
}

Control WaitTask::control(Stream& stream) {
  const auto place =
      place_;  // once the stream is parked the task, and its pointer, may go before we are out of arrive()
  if (over(stream)) {
    passed(stream);
    return Control::Done;
  }
  auto end = Timer::Clock::time_point::max();
  if (limit_.count() > 0) {
    // Before the stream parks, since the task may be gone afterwards. A timer that is too early finds no entry; then
    // arrive() sees that the time is up.
    end = Timer::Clock::now() + limit_;
    timer_ = Timer::get().at(end, [place, ticket = ticket_, &stream, name = name(), limit = limit_] {
      if (!place->take_out(ticket)) return;  // it is over: nothing says that the stream still exists
      run_out(stream, name, limit);
      stream.resume();
    });
  }
  switch (arrive(stream, ticket_, end)) {
    case Arrival::Parked: return Control::Parked;
    case Arrival::Late: run_out(stream, name(), limit_); return Control::Done;
    case Arrival::Over: break;
  }
  passed(stream);
  return Control::Done;
}

void WaitTask::release() {
  if (limit_.count() > 0) Timer::get().cancel(timer_);
  delete this;
}

}  // namespace updraft
