#include "device/waits/value_wait.h"

#include <algorithm>
#include <vector>

#include "device/device.h"
#include "device/observer.h"

namespace updraft {
namespace {

constexpr std::chrono::nanoseconds kShortest = std::chrono::microseconds(20);
constexpr std::chrono::nanoseconds kLongest = std::chrono::milliseconds(1);

/// All streams that wait for values, of all devices: the timer's thread looks at their memory for all of them.
class ValueWaits : public Parking<ValueCondition> {
 public:
  static const std::shared_ptr<ValueWaits>& get() {
    static auto* waits = new std::shared_ptr<ValueWaits>(std::make_shared<ValueWaits>());
    return *waits;
  }

  Arrival arrive(Stream& stream, uint64_t ticket, Timer::Clock::time_point limit, const ValueCondition& condition) {
    std::lock_guard lock(mutex_);
    if (condition.met()) return Arrival::Over;
    pause_ = kShortest;
    poll_later();  // first: it throws when there is no thread
    const Arrival arrival = park(ticket, stream, limit, condition);
    waiting_.store(parked_.size(), std::memory_order_seq_cst);
    return arrival;
  }

  /// Lets go on who has what it waits for.
  void look() {
    if (waiting_.load(std::memory_order_seq_cst) == 0) return;
    std::vector<Stream*> ready;
    {
      std::lock_guard lock(mutex_);
      std::erase_if(parked_, [&](const Entry& entry) {
        if (!entry.what.met()) return false;
        ready.push_back(entry.stream);
        return true;
      });
      waiting_.store(parked_.size(), std::memory_order_seq_cst);
    }
    for (Stream* stream : ready) stream->device().unpark(*stream);
  }

 private:
  // With the lock.
  void poll_later() {
    if (polling_) return;
    Timer::get().at(Timer::Clock::now() + pause_, [this] { poll(); });
    polling_ = true;
  }
  void poll() {
    look();
    std::lock_guard lock(mutex_);
    polling_ = false;
    if (parked_.empty()) return;
    pause_ = std::min(kLongest, pause_ + pause_ / 4);
    poll_later();
  }

  std::atomic<size_t> waiting_{0};
  bool polling_ = false;
  std::chrono::nanoseconds pause_ = kShortest;
};

class ValueWaitTask final : public WaitTask {
 public:
  ValueWaitTask(const ValueCondition& condition, std::chrono::nanoseconds limit)
      : WaitTask(ValueWaits::get(), limit), condition_(condition) {
    waits = true;
  }
  bool replayed_by_stream() const override { return true; }
  void replay(Stream& stream) override { wait_for_value(stream, condition_, limit()); }
  const char* name() const override { return "VALUE_WAIT"; }

 protected:
  // Nothing after a wait of a stopped stream is computed.
  bool over(Stream& stream) override { return stream.stopped() || condition_.met(); }
  Arrival arrive(Stream& stream, uint64_t ticket, Timer::Clock::time_point limit) override {
    return ValueWaits::get()->arrive(stream, ticket, limit, condition_);
  }

 private:
  const ValueCondition condition_;
};

class ValueWriteTask final : public Task {
 public:
  ValueWriteTask(std::atomic<uint64_t>* at, uint64_t value) : at_(at), value_(value) { kind = TaskKind::Control; }
  Control control(Stream& stream) override {
    if (stream.stopped()) return Control::Done;
    at_->store(value_, std::memory_order_seq_cst);
    ValueWaits::get()->look();
    return Control::Done;
  }
  bool replayed_by_stream() const override { return true; }
  void replay(Stream& stream) override { write_value(stream, at_, value_); }
  void release() override { delete this; }
  const char* name() const override { return "VALUE_WRITE"; }

 private:
  std::atomic<uint64_t>* at_;
  uint64_t value_;
};

}  // namespace

// What the client copies there meanwhile is the wait's purpose and no race: a wait sees it sooner or later.
__attribute__((no_sanitize_thread)) bool ValueCondition::met() const {
  const uint64_t now = __atomic_load_n(reinterpret_cast<const uint64_t*>(at), __ATOMIC_SEQ_CST);
  switch (test) {
    case ValueTest::GreaterOrEqual: return static_cast<int64_t>(now - value) >= 0;  // cyclic
    case ValueTest::Equal: return now == value;
    case ValueTest::And: return (now & value) != 0;
    case ValueTest::Nor: break;
  }
  return ~(now | value) != 0;
}

void write_value(Stream& stream, std::atomic<uint64_t>* at, uint64_t value) {
  if (!stream.capturing()) observe_order(OrderEvent::What::SignalSet, at, stream, value, 0);
  stream.submit(new ValueWriteTask(at, value));
}

void wait_for_value(Stream& stream, const ValueCondition& condition, std::chrono::nanoseconds limit) {
  const auto test = static_cast<int32_t>(condition.test);
  if (!stream.capturing()) observe_order(OrderEvent::What::SignalTaken, condition.at, stream, condition.value, test);
  stream.submit(new ValueWaitTask(condition, limit));
}

void values_changed() { ValueWaits::get()->look(); }

}  // namespace updraft
