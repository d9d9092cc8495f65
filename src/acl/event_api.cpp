// Events and notifies.
#include <unordered_map>
#include <vector>

#include "acl/api.h"
#include "acl/shared_handles.h"
#include "device/observer.h"
#include "device/waits/event.h"
#include "device/waits/notify.h"
#include "device/waits/shared_event.h"
#include "device/waits/time_limits.h"

using namespace updraft;

namespace {

constexpr size_t kRestingEvents = 1 << 13;

SharedHandles<Event>& pool() {
  static auto* p = new SharedHandles<Event>(1 << 20, kRestingEvents);
  return *p;
}

[[noreturn]] void no_event(const void* event) {
  throw Error(code::kRtInvalidHandle, "{} is not an event (destroyed, or never created)", event);
}

std::shared_ptr<Event> checked(const void* event) {
  need(event, "event");
  if (auto e = pool().find(event)) return e;
  no_event(event);
}

/// What waits for events that were destroyed shortly before are to wait for. torch_npu gives each device a thread that
/// makes its calls, up to 4096 of them late: one destroys an event right after its record, while another's wait for it
/// comes later. What that one is to wait for is known, so it waits. Handles rest for as many events as are kept here.
class RecentlyDestroyed {
 public:
  void add(const void* handle, std::shared_ptr<Event> event) {
    if (!event->recorded()) event = nullptr;
    else if (event->reached()) {
      observe_order({.what = OrderEvent::What::EventReached, .object = event.get()});
      event = reached_;
    }
    std::lock_guard lock(mutex_);
    if (order_.size() < kRestingEvents) {
      order_.push_back(handle);
    } else {
      // A handle that has been another event's since stands in the order twice, and stays for the later one.
      if (auto oldest = kept_.find(order_[next_]); oldest != kept_.end() && oldest->second.number == next_)
        kept_.erase(oldest);
      order_[next_] = handle;
    }
    kept_[handle] = {std::move(event), next_};
    next_ = (next_ + 1) % kRestingEvents;
  }
  /// Null when there is no record to wait for.
  std::shared_ptr<Event> find(const void* handle) {
    std::lock_guard lock(mutex_);
    const auto found = kept_.find(handle);
    return found == kept_.end() ? nullptr : found->second.event;
  }

 private:
  struct Kept {
    std::shared_ptr<Event> event;
    size_t number;  ///< its place in the order
  };
  const std::shared_ptr<Event> reached_ = std::make_shared<Event>(0);  // holds nobody
  std::mutex mutex_;
  std::unordered_map<const void*, Kept> kept_;
  std::vector<const void*> order_;
  size_t next_ = 0;
};

RecentlyDestroyed& recently_destroyed() {
  static auto* p = new RecentlyDestroyed;
  return *p;
}

std::shared_ptr<Event> to_wait_for(const void* event) {
  need(event, "event");
  if (auto e = pool().find(event)) return e;
  // Looked for here second: an event is noted here before its handle goes.
  if (auto e = recently_destroyed().find(event)) return e;
  no_event(event);
}

int create(const char* name, void** event, uint32_t flags) {
  return guard(name, [&] {
    need(event, "event");
    *event = pool().create(std::make_shared<Event>(flags));
    observe_order({.what = OrderEvent::What::Made, .object = *event, .name = "event"});
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
    recently_destroyed().add(event, checked(event));
    observe_order({.what = OrderEvent::What::Destroyed, .object = event});
    pool().destroy(event);
  });
}
ACL_API aclrtRecordEvent(void* event, void* stream) {
  return guard("aclrtRecordEvent", [&] { checked(event)->record(stream_of(stream)); });
}
ACL_API aclrtResetEvent(void* event, void* stream) {
  return guard("aclrtResetEvent", [&] { checked(event)->reset(stream_of(stream)); });
}
ACL_API aclrtStreamWaitEvent(void* stream, void* event) {
  return guard("aclrtStreamWaitEvent", [&] { to_wait_for(event)->wait(stream_of(stream), wait_limit()); });
}
ACL_API aclrtStreamWaitEventWithTimeout(void* stream, void* event, int32_t timeout) {
  return guard("aclrtStreamWaitEventWithTimeout", [&] {
    if (timeout < 0) throw Error(code::kRtParamInvalid, "timeout is {}, want seconds or 0 (no limit)", timeout);
    to_wait_for(event)->wait(stream_of(stream), std::chrono::seconds(timeout));
  });
}
ACL_API aclrtSetOpWaitTimeout(uint32_t seconds) {
  return guard("aclrtSetOpWaitTimeout", [&] { set_wait_limit(std::chrono::seconds(seconds)); });
}
ACL_API aclrtSynchronizeEvent(void* event) {
  return guard("aclrtSynchronizeEvent", [&] { checked(event)->synchronize(); });
}
ACL_API aclrtSynchronizeEventWithTimeout(void* event, int32_t timeout) {
  return guard("aclrtSynchronizeEventWithTimeout", [&] {
    if (timeout < -1) throw Error(code::kRtParamInvalid, "timeout is {}, want -1 or milliseconds", timeout);
    checked(event)->synchronize(timeout);
  });
}
ACL_API aclrtQueryEvent(void* event, int32_t* status) {
  return guard("aclrtQueryEvent", [&] {
    need(status, "status");
    *status = checked(event)->query() ? 0 : 1;
  });
}
ACL_API aclrtQueryEventStatus(void* event, int32_t* status) {
  return guard("aclrtQueryEventStatus", [&] {
    need(status, "status");
    *status = checked(event)->query() ? 1 : 0;
  });
}
ACL_API aclrtQueryEventWaitStatus(void* event, int32_t* status) {
  return guard("aclrtQueryEventWaitStatus", [&] {
    need(status, "status");
    *status = checked(event)->waits_done() ? 0 : 1;
  });
}
ACL_API aclrtEventElapsedTime(float* ms, void* start, void* end) {
  return guard("aclrtEventElapsedTime", [&] {
    need(ms, "ms");
    uint64_t a = checked(start)->timestamp(), b = checked(end)->timestamp();
    *ms = static_cast<float>(static_cast<double>(static_cast<int64_t>(b - a)) * 1e-6);
  });
}
ACL_API aclrtEventGetTimestamp(void* event, uint64_t* timestamp) {
  return guard("aclrtEventGetTimestamp", [&] {
    need(timestamp, "timestamp");
    *timestamp = checked(event)->timestamp() / 1000;  // microseconds
  });
}

// --- events between processes ---------------------------------------------------------------------------------------
namespace {
struct IpcEventHandle {  // aclrtIpcEventHandle, which the ABI passes by value
  SharedEvent::Handle bytes;
};
}  // namespace
ACL_API aclrtIpcGetEventHandle(void* event, IpcEventHandle* handle) {
  return guard("aclrtIpcGetEventHandle", [&] {
    need(handle, "handle");
    const auto e = checked(event);
    if (!e->shared())
      throw Error(code::kRtParamInvalid, "the event was made with flags {:#x}, want ACL_EVENT_IPC ({:#x})", e->flags(),
                  Event::kIpc);
    handle->bytes = e->shared()->handle();
  });
}
ACL_API aclrtIpcOpenEventHandle(IpcEventHandle handle, void** event) {
  return guard("aclrtIpcOpenEventHandle", [&] {
    need(event, "event");
    *event = pool().create(std::make_shared<Event>(Event::kIpc, SharedEvent::open(handle.bytes)));
  });
}

// --- notifies ---------------------------------------------------------------------------------------------------
namespace {

SharedHandles<Notify>& notify_pool() {
  static auto* p = new SharedHandles<Notify>(1 << 16);
  return *p;
}
std::shared_ptr<Notify> checked_notify(const void* notify) {
  need(notify, "notify");
  if (auto n = notify_pool().find(notify)) return n;
  throw Error(code::kRtInvalidHandle, "{} is not a notify (destroyed, or never created)", notify);
}

}  // namespace

ACL_API aclrtCreateNotify(void** notify, uint64_t) {
  return guard("aclrtCreateNotify", [&] {
    need(notify, "notify");
    static std::atomic<uint32_t> next{0};
    *notify = notify_pool().create(std::make_shared<Notify>(next++));
    observe_order({.what = OrderEvent::What::Made, .object = *notify, .name = "notify"});
  });
}
ACL_API aclrtDestroyNotify(void* notify) {
  return guard("aclrtDestroyNotify", [&] {
    checked_notify(notify);
    observe_order({.what = OrderEvent::What::Destroyed, .object = notify});
    notify_pool().destroy(notify);
  });
}
ACL_API aclrtRecordNotify(void* notify, void* stream) {
  return guard("aclrtRecordNotify", [&] { checked_notify(notify)->record(stream_of(stream)); });
}
ACL_API aclrtWaitAndResetNotify(void* notify, void* stream, uint32_t timeout) {
  return guard("aclrtWaitAndResetNotify",
               [&] { checked_notify(notify)->wait(stream_of(stream), std::chrono::seconds(timeout)); });
}
ACL_API aclrtGetNotifyId(void* notify, uint32_t* id) {
  return guard("aclrtGetNotifyId", [&] {
    need(id, "notifyId");
    *id = checked_notify(notify)->id();
  });
}
ACL_API aclrtNotifyBatchReset(void** notifies, size_t count) {
  return guard("aclrtNotifyBatchReset", [&] {
    need(notifies, "notifies");
    for (size_t i = 0; i < count; ++i) checked_notify(notifies[i])->reset();
  });
}
