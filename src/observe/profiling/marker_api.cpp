// Marks and ranges of the user: mstx (libms_tools_ext), aclprofMarkEx, and the stamps of aclprof.
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "acl/api.h"
#include "observe/profiling/marker_task.h"
#include "observe/profiling/session.h"

using namespace updraft;
namespace prof = updraft::profiling;

namespace {

constexpr size_t kLongest = 4095;  ///< bytes of a message; the rest is cut off

std::atomic<uint64_t> g_ranges{0};

// Domains live until they are destroyed; their names are wanted by every mark.
struct Domains {
  std::mutex mutex;
  std::map<const void*, std::unique_ptr<std::string>> all;
};
Domains& domains() {
  static auto* d = new Domains;
  return *d;
}
std::string name_of_domain(const void* domain) {
  if (!domain) return "default";
  std::lock_guard lock(domains().mutex);
  const auto found = domains().all.find(domain);
  if (found == domains().all.end())
    throw Error(code::kAclInvalidParam, "the domain {} is none that mstxDomainCreateA has made, or it was destroyed",
                domain);
  return *found->second;
}

struct Mark {
  prof::MarkerKind what = prof::MarkerKind::Mark;
  uint64_t range = 0;
  std::string_view message;
  std::string domain = "default";
  void* stream = nullptr;
  uint32_t category = 0;
  uint64_t message_id = 0;  ///< instead of message
};

// Only while a profile wants marks.
void record(const Mark& mark) {
  const auto recorder = prof::recorder();
  if (!recorder || !prof::recording_markers()) return;
  prof::MarkerRecord record{};
  record.message = mark.message_id ? mark.message_id : recorder->text(mark.message.substr(0, kLongest));
  record.domain = recorder->text(mark.domain);
  record.what = static_cast<uint32_t>(mark.what);
  record.range = mark.range;
  record.thread = thread_number();
  record.correlation = current_correlation();
  record.on_stream = mark.stream != nullptr;
  record.category = mark.category;
  record.time = stamp(watch::kRawTimes).raw;
  recorder->marker(record);
  if (mark.stream)
    prof::mark_stream(mark.stream, mark.what == prof::MarkerKind::Mark    ? "MSTX_MARK"
                                   : mark.what == prof::MarkerKind::Begin ? "MSTX_RANGE_START"
                                                                          : "MSTX_RANGE_END");
}

// A range that has a stream at its begin has it at its end.
struct Open {
  void* stream;
};
struct Ranges {
  std::mutex mutex;
  std::map<uint64_t, Open> open;
};
Ranges& ranges() {
  static auto* r = new Ranges;
  return *r;
}

void mark(const char* name, const char* message, void* stream, const void* domain) {
  if (!prof::recording_markers()) return;
  guard(name, [&] {
    need(message, "message");
    Mark m;
    m.message = message;
    m.domain = name_of_domain(domain);
    m.stream = stream;
    record(m);
  });
}

uint64_t range_start(const char* name, const char* message, void* stream, const void* domain) {
  // Ranges have numbers though nobody records: they may end while somebody does.
  const uint64_t id = ++g_ranges;
  if (!prof::recording_markers()) return id;
  guard(name, [&] {
    need(message, "message");
    Mark m;
    m.what = prof::MarkerKind::Begin;
    m.range = id;
    m.message = message;
    m.domain = name_of_domain(domain);
    m.stream = stream;
    {
      std::lock_guard lock(ranges().mutex);
      ranges().open[id] = {stream};
    }
    record(m);
  });
  return id;
}

void range_end(const char* name, uint64_t id, const void* domain) {
  if (!prof::recording_markers()) return;
  guard(name, [&] {
    void* stream = nullptr;
    {
      std::lock_guard lock(ranges().mutex);
      const auto found = ranges().open.find(id);
      if (found == ranges().open.end()) return;  // it began before the profile
      stream = found->second.stream;
      ranges().open.erase(found);
    }
    Mark m;
    m.what = prof::MarkerKind::End;
    m.range = id;
    m.domain = name_of_domain(domain);
    m.stream = stream;
    record(m);
  });
}

}  // namespace

// --- mstx ------------------------------------------------------------------------------------------------------------

extern "C" {
UPDRAFT_API void mstxMarkA(const char* message, void* stream) { mark("mstxMarkA", message, stream, nullptr); }
UPDRAFT_API uint64_t mstxRangeStartA(const char* message, void* stream) {
  return range_start("mstxRangeStartA", message, stream, nullptr);
}
UPDRAFT_API void mstxRangeEnd(uint64_t id) { range_end("mstxRangeEnd", id, nullptr); }

UPDRAFT_API void* mstxDomainCreateA(const char* name) {
  void* made = nullptr;
  guard("mstxDomainCreateA", [&] {
    need(name, "name");
    auto domain = std::make_unique<std::string>(std::string_view(name).substr(0, 1023));
    std::lock_guard lock(domains().mutex);
    for (const auto& [handle, old] : domains().all)
      if (*old == *domain) {
        made = const_cast<void*>(handle);
        return;
      }
    made = domain.get();
    domains().all[made] = std::move(domain);
  });
  return made;
}
UPDRAFT_API void mstxDomainDestroy(void* domain) {
  guard("mstxDomainDestroy", [&] {
    need(domain, "domain");
    std::lock_guard lock(domains().mutex);
    if (!domains().all.erase(domain))
      throw Error(code::kAclInvalidParam, "the domain {} is none that mstxDomainCreateA has made, or it was destroyed",
                  domain);
  });
}
UPDRAFT_API void mstxDomainMarkA(void* domain, const char* message, void* stream) {
  mark("mstxDomainMarkA", message, stream, domain);
}
UPDRAFT_API uint64_t mstxDomainRangeStartA(void* domain, const char* message, void* stream) {
  return range_start("mstxDomainRangeStartA", message, stream, domain);
}
UPDRAFT_API void mstxDomainRangeEnd(void* domain, uint64_t id) { range_end("mstxDomainRangeEnd", id, domain); }
}

// --- aclprofMarkEx and stamps
// ------------------------------------------------------------------------------------------

ACL_API aclprofMarkEx(const char* message, size_t length, void* stream) {
  return guard("aclprofMarkEx", [&] {
    need(message, "message");
    need(stream, "stream");
    if (!length || length >= 128 || strnlen(message, length) != length)
      throw Error(code::kAclInvalidParam, "the message has {} bytes, want 1 to 127 and no zero among them", length);
    const StreamPin pin = pin_stream(stream);
    Mark m;
    m.message = {message, length};
    m.stream = stream;
    record(m);
  });
}

namespace {

struct Stamp1 {
  std::string message;
};
struct Stamps {
  std::mutex mutex;
  std::map<const void*, std::unique_ptr<Stamp1>> all;
  std::map<uint32_t, std::string> ranges;
};
Stamps& stamps() {
  static auto* s = new Stamps;
  return *s;
}
std::string message_of(const void* stamp) {
  need(stamp, "stamp");
  std::lock_guard lock(stamps().mutex);
  const auto found = stamps().all.find(stamp);
  if (found == stamps().all.end())
    throw Error(code::kAclInvalidParam, "the stamp {} is none that aclprofCreateStamp has made, or it was destroyed",
                stamp);
  return found->second->message;
}

thread_local std::vector<uint64_t> t_pushed;

void end_range(uint64_t range) {
  Mark m;
  m.what = prof::MarkerKind::End;
  m.range = range;
  record(m);
}

uint64_t begin_range(std::string_view message, uint64_t message_id = 0) {
  Mark m;
  m.what = prof::MarkerKind::Begin;
  m.range = ++g_ranges;
  m.message = message;
  m.message_id = message_id;
  record(m);
  return m.range;
}

void pop(const char* name) {
  if (t_pushed.empty()) throw Error(code::kAclInvalidParam, "{}: this thread has pushed no range", name);
  end_range(t_pushed.back());
  t_pushed.pop_back();
}

}  // namespace

extern "C" UPDRAFT_API void* aclprofCreateStamp() {
  void* made = nullptr;
  guard("aclprofCreateStamp", [&] {
    auto stamp = std::make_unique<Stamp1>();
    std::lock_guard lock(stamps().mutex);
    made = stamp.get();
    stamps().all[made] = std::move(stamp);
  });
  return made;
}
extern "C" UPDRAFT_API void aclprofDestroyStamp(void* stamp) {
  guard("aclprofDestroyStamp", [&] {
    message_of(stamp);
    std::lock_guard lock(stamps().mutex);
    stamps().all.erase(stamp);
  });
}
ACL_API aclprofSetStampTraceMessage(void* stamp, const char* message, uint32_t length) {
  return guard("aclprofSetStampTraceMessage", [&] {
    need(message, "msg");
    if (length >= 128) throw Error(code::kAclInvalidParam, "the message has {} bytes, the most is 127", length);
    message_of(stamp);
    std::lock_guard lock(stamps().mutex);
    stamps().all[stamp]->message.assign(message, strnlen(message, length));
  });
}
ACL_API aclprofMark(void* stamp) {
  return guard("aclprofMark", [&] {
    const std::string message = message_of(stamp);
    Mark m;
    m.message = message;
    record(m);
  });
}
ACL_API aclprofPush(void* stamp) {
  return guard("aclprofPush", [&] { t_pushed.push_back(begin_range(message_of(stamp))); });
}
ACL_API aclprofPop() {
  return guard("aclprofPop", [] { pop("aclprofPop"); });
}
ACL_API aclprofRangeStart(void* stamp, uint32_t* range) {
  return guard("aclprofRangeStart", [&] {
    const std::string message = message_of(stamp);
    need(range, "rangeId");
    *range = static_cast<uint32_t>(begin_range(message));
    std::lock_guard lock(stamps().mutex);
    stamps().ranges[*range] = message;
  });
}
ACL_API aclprofRangeStop(uint32_t range) {
  return guard("aclprofRangeStop", [&] {
    {
      std::lock_guard lock(stamps().mutex);
      if (!stamps().ranges.erase(range))
        throw Error(code::kAclInvalidParam, "the range {} is none that aclprofRangeStart has begun, or it was stopped",
                    range);
    }
    end_range(range);
  });
}

// What the client's operators are called by, with numbers of aclprofStr2Id.
ACL_API aclprofRangePushEx(void* attributes) {
  return guard("aclprofRangePushEx", [&] {
    need(attributes, "attr");
    uint32_t type;
    std::memcpy(&type, static_cast<char*>(attributes) + 4, sizeof type);
    if (type != 0) throw Error(code::kAclInvalidParam, "messageType is {}, want 0 (tensor information)", type);
    const uint64_t* tensor_info;
    std::memcpy(&tensor_info, static_cast<char*>(attributes) + 8, sizeof tensor_info);
    need(tensor_info, "attr.message.tensorInfo");
    t_pushed.push_back(begin_range("", tensor_info[0]));
  });
}
ACL_API aclprofRangePop() {
  return guard("aclprofRangePop", [] { pop("aclprofRangePop"); });
}
