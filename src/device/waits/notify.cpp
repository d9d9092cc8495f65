#include "device/waits/notify.h"

#include "device/device.h"
#include "device/observer.h"

namespace updraft {
namespace {

class NotifyRecordTask final : public Task {
 public:
  explicit NotifyRecordTask(std::shared_ptr<Notify> notify) : notify_(std::move(notify)) { kind = TaskKind::Control; }
  Control control(Stream&) override {
    notify_->set();
    return Control::Done;
  }
  bool replayed_by_stream() const override { return true; }
  void replay(Stream& stream) override { notify_->record(stream); }
  void release() override { delete this; }
  const char* name() const override { return "NOTIFY_RECORD"; }

 private:
  std::shared_ptr<Notify> notify_;
};

class NotifyWaitTask final : public WaitTask {
 public:
  NotifyWaitTask(std::shared_ptr<Notify> notify, std::chrono::nanoseconds limit)
      : WaitTask(notify, limit), notify_(std::move(notify)) {
    waits = true;
  }
  bool replayed_by_stream() const override { return true; }
  void replay(Stream& stream) override { notify_->wait(stream, limit()); }
  const char* name() const override { return "NOTIFY_WAIT"; }

 protected:
  bool over(Stream&) override { return notify_->take(); }
  Arrival arrive(Stream& stream, uint64_t ticket, Timer::Clock::time_point end) override {
    return notify_->arrive(stream, ticket, end);
  }

 private:
  std::shared_ptr<Notify> notify_;
};

}  // namespace

void Notify::record(Stream& stream) {
  if (!stream.capturing()) observe_order(OrderEvent::What::SignalSet, this, stream);
  stream.submit(new NotifyRecordTask(shared_from_this()));
}

void Notify::wait(Stream& stream, std::chrono::nanoseconds limit) {
  stream.submit(new NotifyWaitTask(shared_from_this(), limit));
  if (!stream.capturing()) observe_order(OrderEvent::What::SignalTaken, this, stream);
}

void Notify::reset() {
  std::lock_guard lock(mutex_);
  set_ = false;
}

void Notify::set() {
  Stream* ready = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (parked_.empty()) {
      set_ = true;
      return;
    }
    ready = parked_.front().stream;
    parked_.erase(parked_.begin());
  }
  ready->device().unpark(*ready);
}

bool Notify::take() {
  std::lock_guard lock(mutex_);
  return std::exchange(set_, false);
}

Arrival Notify::arrive(Stream& stream, uint64_t ticket, Timer::Clock::time_point limit) {
  std::lock_guard lock(mutex_);
  if (std::exchange(set_, false)) return Arrival::Over;
  return park(ticket, stream, limit, {});
}

}  // namespace updraft
