// Streams, callbacks and host functions.
#include <condition_variable>
#include <deque>
#include <map>

#include "acl/api.h"
#include "acl/poll_slack.h"
#include "device/observer.h"

using namespace updraft;

namespace {

Stream& checked(void* stream) {
  need(stream, "stream");
  return stream_of(stream);
}

/// Another thread may destroy the stream meanwhile; it waits for us then.
StreamPin pinned(void* stream) { return pin_stream(stream ? stream : &current_context().default_stream()); }

/// `timeout` in milliseconds; -1: none.
void synchronize(void* stream, int32_t timeout = -1) {
  if (settled(stream ? stream : &current_context().default_stream())) return;  // mostly: a pin costs more than that
  pinned(stream)->synchronize(std::chrono::milliseconds(timeout));
}

int create(const char* name, void** stream, uint32_t priority, uint32_t flags) {
  return guard(name, [&] {
    need(stream, "stream");
    *stream = current_device().create_stream(priority, flags);
    observe_order({.what = OrderEvent::What::Made, .object = *stream, .name = "stream"});
    coarsen_new_threads();
  });
}

void set_failure_mode(Stream& stream, uint64_t mode) {
  if (mode > 1) throw Error(code::kRtParamInvalid, "failure mode {} is unknown, want 0 (go on) or 1 (stop)", mode);
  stream.failure_mode = mode;
}

void set_overflow_switch(Stream& stream, uint32_t flag) {
  if (flag > 1) throw Error(code::kRtParamInvalid, "overflow switch {} is unknown, want 0 (off) or 1 (on)", flag);
  stream.overflow_switch = flag;
}

}  // namespace

ACL_API aclrtCreateStream(void** stream) { return create("aclrtCreateStream", stream, 0, 0); }
ACL_API aclrtCreateStreamWithConfig(void** stream, uint32_t priority, uint32_t flags) {
  return create("aclrtCreateStreamWithConfig", stream, priority, flags);
}

ACL_API aclrtDeviceGetStreamPriorityRange(int32_t* least, int32_t* greatest) {
  return guard("aclrtDeviceGetStreamPriorityRange", [&] {
    need(least, "leastPriority");
    need(greatest, "greatestPriority");
    *least = 7;
    *greatest = 0;
  });
}

ACL_API aclrtDestroyStream(void* stream) {
  return guard("aclrtDestroyStream", [&] {
    Stream& s = checked(stream);
    observe_order({.what = OrderEvent::What::Destroyed, .object = stream});
    s.device().destroy_stream(&s);
  });
}
ACL_API aclrtDestroyStreamForce(void* stream) {
  return guard("aclrtDestroyStreamForce", [&] {
    Stream& s = checked(stream);
    s.abort();
    observe_order({.what = OrderEvent::What::Destroyed, .object = stream});
    s.device().destroy_stream(&s);
  });
}

ACL_API aclrtSynchronizeStream(void* stream) {
  return guard("aclrtSynchronizeStream", [&] {
    restore_own();
    synchronize(stream);
  });
}
ACL_API aclrtSynchronizeStreamWithTimeout(void* stream, int32_t timeout) {
  return guard("aclrtSynchronizeStreamWithTimeout", [&] {
    restore_own();
    if (timeout < -1) throw Error(code::kRtParamInvalid, "timeout is {}, want -1 or milliseconds", timeout);
    synchronize(stream, timeout);
  });
}

ACL_API aclrtStreamQuery(void* stream, int32_t* status) {
  return guard("aclrtStreamQuery", [&] {
    need(status, "status");
    const StreamPin pin = pinned(stream);
    *status = pin->idle() ? 0 : 1;
    if (*status == 0) observe_order(OrderEvent::What::StreamReached, &*pin, *pin);
  });
}
ACL_API aclrtStreamAbort(void* stream) {
  return guard("aclrtStreamAbort", [&] {
    need(stream, "stream");
    pin_stream(stream)->abort();
  });
}
ACL_API aclrtStreamGetId(void* stream, int32_t* id) {
  return guard("aclrtStreamGetId", [&] {
    need(id, "streamId");
    *id = stream_of(stream).id();
  });
}
ACL_API aclrtStreamGetPriority(void* stream, uint32_t* priority) {
  return guard("aclrtStreamGetPriority", [&] {
    need(priority, "priority");
    *priority = stream_of(stream).priority();
  });
}
ACL_API aclrtStreamGetFlags(void* stream, uint32_t* flags) {
  return guard("aclrtStreamGetFlags", [&] {
    need(flags, "flags");
    *flags = stream_of(stream).flags();
  });
}
ACL_API aclrtSetStreamFailureMode(void* stream, uint64_t mode) {
  return guard("aclrtSetStreamFailureMode", [&] { set_failure_mode(stream_of(stream), mode); });
}
ACL_API aclrtSetStreamOverflowSwitch(void* stream, uint32_t flag) {
  return guard("aclrtSetStreamOverflowSwitch", [&] { set_overflow_switch(stream_of(stream), flag); });
}
ACL_API aclrtGetStreamOverflowSwitch(void* stream, uint32_t* flag) {
  return guard("aclrtGetStreamOverflowSwitch", [&] {
    need(flag, "flag");
    *flag = stream_of(stream).overflow_switch;
  });
}
ACL_API aclrtSetStreamAttribute(void* stream, int32_t attribute, void* value) {
  return guard("aclrtSetStreamAttribute", [&] {
    need(value, "value");
    Stream& s = stream_of(stream);
    switch (attribute) {
      case 1: set_failure_mode(s, *static_cast<uint64_t*>(value)); break;
      case 2: set_overflow_switch(s, *static_cast<uint32_t*>(value)); break;
      case 3:
      case 4: break;  // without effect (docs/internals/decisions.md)
      case 5: s.set_priority(*static_cast<uint32_t*>(value)); break;
      default: throw Error(code::kRtParamInvalid, "stream attribute {} is unknown, want 1 to 5", attribute);
    }
  });
}
ACL_API aclrtGetStreamAttribute(void* stream, int32_t attribute, void* value) {
  return guard("aclrtGetStreamAttribute", [&] {
    need(value, "value");
    Stream& s = stream_of(stream);
    switch (attribute) {
      case 1: *static_cast<uint64_t*>(value) = s.failure_mode; break;
      case 2: *static_cast<uint32_t*>(value) = s.overflow_switch; break;
      case 5: *static_cast<uint32_t*>(value) = s.priority(); break;
      default: throw Error(code::kRtParamInvalid, "stream attribute {} cannot be read", attribute);
    }
  });
}
ACL_API aclrtGetStreamAvailableNum(uint32_t* count) {
  return guard("aclrtGetStreamAvailableNum", [&] {
    need(count, "streamCount");
    *count = 32768u - static_cast<uint32_t>(current_device().streams().size());
  });
}

// --- callbacks -------------------------------------------------------------------------------------------------
namespace {

using HostFunction = void (*)(void*);

class HostTask final : public Task {
 public:
  HostTask(HostFunction f, void* data) : f_(f), data_(data) {
    kind = TaskKind::Host;
    waits = true;
  }
  void run() override { f_(data_); }
  bool replayed_by_stream() const override { return true; }
  void replay(Stream& stream) override { stream.submit(new HostTask(f_, data_)); }
  void release() override { delete this; }
  const char* name() const override { return "HOST_FUNC"; }

 private:
  HostFunction f_;
  void* data_;
};

// Callbacks that wait for the thread that subscribed to their stream (aclrtProcessReport runs them there).
struct Reports {
  std::mutex mutex;
  std::condition_variable arrived;
  struct Item {
    HostFunction f;
    void* data;
    Stream* parked;  ///< resumed after the callback; null when the stream does not wait
  };
  std::map<uint64_t, std::deque<Item>> queues;
};
Reports& reports() {
  static auto* r = new Reports;
  return *r;
}

class CallbackTask final : public Task {
 public:
  CallbackTask(HostFunction f, void* data, bool block, uint64_t thread)
      : f_(f), data_(data), block_(block), thread_(thread) {
    kind = TaskKind::Control;
    waits = block;
  }
  Control control(Stream& stream) override {
    Reports& r = reports();
    std::lock_guard lock(r.mutex);
    if (stream.dropping()) return Control::Done;
    r.queues[thread_].push_back({f_, data_, block_ ? &stream : nullptr});
    r.arrived.notify_all();
    return block_ ? Control::Parked : Control::Done;
  }
  bool forget(Stream& stream) override {
    Reports& r = reports();
    std::lock_guard lock(r.mutex);
    return std::erase_if(r.queues[thread_], [&](const Reports::Item& item) { return item.parked == &stream; }) != 0;
  }
  bool replayed_by_stream() const override { return true; }
  void replay(Stream& stream) override { stream.submit(new CallbackTask(f_, data_, block_, thread_)); }
  void release() override { delete this; }
  const char* name() const override { return "CALLBACK"; }

 private:
  HostFunction f_;
  void* data_;
  bool block_;
  uint64_t thread_;
};

}  // namespace

ACL_API aclrtLaunchHostFunc(void* stream, HostFunction f, void* data) {
  return guard("aclrtLaunchHostFunc", [&] {
    need(reinterpret_cast<void*>(f), "fn");
    stream_of(stream).submit(new HostTask(f, data));
  });
}

ACL_API aclrtSubscribeReport(uint64_t thread, void* stream) {
  return guard("aclrtSubscribeReport", [&] {
    Stream& s = stream_of(stream);
    std::lock_guard lock(reports().mutex);
    s.callback_thread = thread;
    reports().queues[thread];
  });
}
ACL_API aclrtUnSubscribeReport(uint64_t thread, void* stream) {
  return guard("aclrtUnSubscribeReport", [&] {
    Stream& s = stream_of(stream);
    std::lock_guard lock(reports().mutex);
    if (s.callback_thread != thread)
      throw Error(code::kRtThreadSubscribe, "thread {} did not subscribe to stream {}", thread, s.id());
    s.callback_thread = 0;
  });
}

ACL_API aclrtLaunchCallback(HostFunction f, void* data, int32_t block, void* stream) {
  return guard("aclrtLaunchCallback", [&] {
    need(reinterpret_cast<void*>(f), "fn");
    if (block != 0 && block != 1) throw Error(code::kRtParamInvalid, "blockType {} is unknown, want 0 or 1", block);
    Stream& s = stream_of(stream);
    const uint64_t thread = s.callback_thread;
    if (thread == 0)
      throw Error(code::kRtStreamNoCallback, "no thread subscribed to stream {}: call aclrtSubscribeReport first",
                  s.id());
    s.submit(new CallbackTask(f, data, block == 1, thread));
  });
}

ACL_API aclrtProcessReport(int32_t timeout) {
  constexpr int kNoCallback = 100036;  // ACL_ERROR_WAIT_CALLBACK_TIMEOUT
  // Threads ask again and again: that nothing came is no failure whose text the next one should show.
  bool arrived = true;
  const int failed = guard("aclrtProcessReport", [&] {
    if (timeout < -1) throw Error(code::kRtParamInvalid, "timeout is {}, want -1 or milliseconds", timeout);
    auto self = static_cast<uint64_t>(pthread_self());
    Reports& r = reports();
    Reports::Item item;
    {
      std::unique_lock lock(r.mutex);
      auto queue = r.queues.find(self);
      if (queue == r.queues.end())
        throw Error(code::kRtThreadSubscribe, "this thread did not subscribe: call aclrtSubscribeReport with its id");
      auto ready = [&] { return !queue->second.empty(); };
      if (timeout < 0) {
        r.arrived.wait(lock, ready);
      } else if (!r.arrived.wait_for(lock, std::chrono::milliseconds(timeout), ready)) {
        arrived = false;
        return;
      }
      item = queue->second.front();
      queue->second.pop_front();
    }
    // Whatever the callback throws, its stream must not stay parked.
    struct Resume {
      Stream* stream;
      ~Resume() {
        if (stream) stream->resume();
      }
    } resume{item.parked};
    try {
      item.f(item.data);
    } catch (...) {
      if (item.parked) item.parked->fail(Error(code::kRtInternal, "the callback threw an exception"), "CALLBACK");
      throw;
    }
  });
  return arrived ? failed : kNoCallback;
}
