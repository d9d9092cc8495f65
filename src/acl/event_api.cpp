// Events and notifies.
#include <cstring>

#include "acl/api.h"
#include "device/event.h"

using namespace updraft;

namespace {

HandlePool<std::shared_ptr<Event>>& pool() {
  static auto* p = new HandlePool<std::shared_ptr<Event>>(1 << 20);
  return *p;
}

Event& checked(const void* event) {
  need(event, "event");
  if (auto* e = pool().get(event)) return **e;
  throw Error(code::kRtInvalidHandle, "{} is not an event (destroyed, or never created)", event);
}

int create(const char* name, void** event, uint32_t flags) {
  return guard(name, [&] {
    need(event, "event");
    *event = pool().create(std::make_shared<Event>(flags));
  });
}

}  // namespace

ACL_API aclrtCreateEvent(void** event) { return create("aclrtCreateEvent", event, 0); }
ACL_API aclrtCreateEventWithFlag(void** event, uint32_t flag) {
  return create("aclrtCreateEventWithFlag", event, flag);
}
ACL_API aclrtCreateEventExWithFlag(void** event, uint32_t flag) {
  return create("aclrtCreateEventExWithFlag", event, flag);
}
ACL_API aclrtDestroyEvent(void* event) {
  return guard("aclrtDestroyEvent", [&] {
    checked(event);
    pool().destroy(event);
  });
}
ACL_API aclrtRecordEvent(void* event, void* stream) {
  return guard("aclrtRecordEvent", [&] { checked(event).record(stream_of(stream)); });
}
ACL_API aclrtResetEvent(void* event, void* stream) {
  return guard("aclrtResetEvent", [&] { checked(event).reset(stream_of(stream)); });
}
ACL_API aclrtStreamWaitEvent(void* stream, void* event) {
  return guard("aclrtStreamWaitEvent", [&] { checked(event).wait(stream_of(stream)); });
}
ACL_API aclrtStreamWaitEventWithTimeout(void* stream, void* event, int32_t) {
  return guard("aclrtStreamWaitEventWithTimeout", [&] { checked(event).wait(stream_of(stream)); });
}
ACL_API aclrtSynchronizeEvent(void* event) {
  return guard("aclrtSynchronizeEvent", [&] { checked(event).synchronize(); });
}
ACL_API aclrtSynchronizeEventWithTimeout(void* event, int32_t timeout) {
  return guard("aclrtSynchronizeEventWithTimeout", [&] {
    if (timeout < -1) throw Error(code::kRtParamInvalid, "timeout is {}, want -1 or milliseconds", timeout);
    checked(event).synchronize(timeout);
  });
}
ACL_API aclrtQueryEvent(void* event, int32_t* status) {
  return guard("aclrtQueryEvent", [&] {
    need(status, "status");
    *status = checked(event).query() ? 0 : 1;
  });
}
ACL_API aclrtQueryEventStatus(void* event, int32_t* status) {
  return guard("aclrtQueryEventStatus", [&] {
    need(status, "status");
    *status = checked(event).query() ? 1 : 0;
  });
}
ACL_API aclrtQueryEventWaitStatus(void* event, int32_t* status) {
  return guard("aclrtQueryEventWaitStatus", [&] {
    need(status, "status");
    *status = checked(event).waits_done() ? 0 : 1;
  });
}
ACL_API aclrtEventElapsedTime(float* ms, void* start, void* end) {
  return guard("aclrtEventElapsedTime", [&] {
    need(ms, "ms");
    uint64_t a = checked(start).timestamp(), b = checked(end).timestamp();
    *ms = static_cast<float>(static_cast<double>(static_cast<int64_t>(b - a)) * 1e-6);
  });
}
ACL_API aclrtEventGetTimestamp(void* event, uint64_t* timestamp) {
  return guard("aclrtEventGetTimestamp", [&] {
    need(timestamp, "timestamp");
    *timestamp = checked(event).timestamp() / 1000;  // microseconds
  });
}

// --- notify: a flag that one stream sets and one consumes. ---------------------------------------------------------
namespace {

class Notify {
 public:
  void record() {
    Stream* ready = nullptr;
    {
      std::lock_guard lock(mutex_);
      if (!parked_.empty()) {
        ready = parked_.front();
        parked_.erase(parked_.begin());
      } else {
        set_ = true;
      }
    }
    if (ready) ready->resume();
  }
  bool take_or_park(Stream& stream) {
    std::lock_guard lock(mutex_);
    if (set_) {
      set_ = false;
      return true;
    }
    parked_.push_back(&stream);
    return false;
  }
  void reset() {
    std::lock_guard lock(mutex_);
    set_ = false;
  }
  uint32_t id = 0;

 private:
  std::mutex mutex_;
  bool set_ = false;
  std::vector<Stream*> parked_;
};

HandlePool<std::shared_ptr<Notify>>& notify_pool() {
  static auto* p = new HandlePool<std::shared_ptr<Notify>>(1 << 16);
  return *p;
}
std::shared_ptr<Notify>& checked_notify(const void* notify) {
  need(notify, "notify");
  if (auto* n = notify_pool().get(notify)) return *n;
  throw Error(code::kRtInvalidHandle, "{} is not a notify (destroyed, or never created)", notify);
}

class NotifyTask final : public Task {
 public:
  NotifyTask(std::shared_ptr<Notify> notify, bool wait) : notify_(std::move(notify)), wait_(wait) {
    kind = TaskKind::Control;
  }
  Control control(Stream& stream) override {
    if (wait_) return notify_->take_or_park(stream) ? Control::Done : Control::Parked;
    notify_->record();
    return Control::Done;
  }
  void release() override { delete this; }
  const char* name() const override { return wait_ ? "NOTIFY_WAIT" : "NOTIFY_RECORD"; }

 private:
  std::shared_ptr<Notify> notify_;
  bool wait_;
};

}  // namespace

ACL_API aclrtCreateNotify(void** notify, uint64_t) {
  return guard("aclrtCreateNotify", [&] {
    need(notify, "notify");
    static std::atomic<uint32_t> next{0};
    auto made = std::make_shared<Notify>();
    made->id = next++;
    *notify = notify_pool().create(std::move(made));
  });
}
ACL_API aclrtDestroyNotify(void* notify) {
  return guard("aclrtDestroyNotify", [&] {
    checked_notify(notify);
    notify_pool().destroy(notify);
  });
}
ACL_API aclrtRecordNotify(void* notify, void* stream) {
  return guard("aclrtRecordNotify", [&] { stream_of(stream).submit(new NotifyTask(checked_notify(notify), false)); });
}
ACL_API aclrtWaitAndResetNotify(void* notify, void* stream, uint32_t) {
  return guard("aclrtWaitAndResetNotify",
               [&] { stream_of(stream).submit(new NotifyTask(checked_notify(notify), true)); });
}
ACL_API aclrtGetNotifyId(void* notify, uint32_t* id) {
  return guard("aclrtGetNotifyId", [&] {
    need(id, "notifyId");
    *id = checked_notify(notify)->id;
  });
}
ACL_API aclrtNotifyBatchReset(void** notifies, size_t count) {
  return guard("aclrtNotifyBatchReset", [&] {
    need(notifies, "notifies");
    for (size_t i = 0; i < count; ++i) checked_notify(notifies[i])->reset();
  });
}
