// aclprofModelSubscribe and what reads its records.
#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "acl/api.h"
#include "acl/model/dataset.h"
#include "base/log.h"
#include "device/observer.h"
#include "observe/profiling/subscription.h"

using namespace updraft;
using profiling::OperatorRecord;
using profiling::Subscription;

namespace {

constexpr int kAlreadySubscribed = 148046;  // ACL_ERROR_PROF_REPEAT_SUBSCRIBE
constexpr int kNotSubscribed = 100043;      // ACL_ERROR_PROF_NOT_RUN

struct Configuration {
  bool times = true;
  int fd = -1;
};
struct State {
  std::mutex mutex;
  std::map<const void*, std::unique_ptr<Configuration>> configurations;
  std::map<uint32_t, std::shared_ptr<Subscription>> subscriptions;  // by model
};
State& state() {
  static auto* s = new State;
  return *s;
}

// The number behind `fd`: programs in C hand the address of it over, those in Python the number itself.
int number_of(void* fd) {
  const auto value = reinterpret_cast<uintptr_t>(fd);
  int number = 0;
  if (value < 4096) number = static_cast<int>(value);
  else std::memcpy(&number, fd, sizeof number);
  const int flags = fcntl(number, F_GETFL);
  if (flags < 0)
    throw Error(code::kAclInvalidParam, "fd is {}: {}, want the end of a pipe that can be written", number,
                std::strerror(errno));
  if ((flags & O_ACCMODE) == O_RDONLY)
    throw Error(code::kAclInvalidParam, "fd {} can only be read, want the end of a pipe that can be written", number);
  return number;
}

size_t count_of(const void* info, size_t bytes) {
  need(info, "opInfo");
  if (bytes == 0 || bytes % sizeof(OperatorRecord))
    throw Error(code::kAclInvalidParam,
                "opInfoLen is {}, want a multiple of {}: as many whole records as were read (aclprofGetOpDescSize)",
                bytes, sizeof(OperatorRecord));
  return bytes / sizeof(OperatorRecord);
}

OperatorRecord record_at(const void* info, size_t bytes, uint32_t index) {
  const size_t count = count_of(info, bytes);
  if (index >= count) throw Error(code::kAclInvalidParam, "index is {}, there are {} operators", index, count);
  OperatorRecord record;  // the buffer may lie anywhere
  std::memcpy(&record, static_cast<const char*>(info) + index * sizeof record, sizeof record);
  if (record.mark != OperatorRecord::kMark ||
      static_cast<size_t>(record.type_length) + record.name_length > OperatorRecord::kTextBytes)
    throw Error(code::kAclInvalidParam, "opInfo[{}] is no record of aclprofModelSubscribe: was a part of one read?",
                index);
  return record;
}

int copy_text(const char* name, const void* info, size_t bytes, uint32_t index, char* to, size_t size,
              std::string_view (OperatorRecord::*text)() const) {
  return guard(name, [&] {
    const OperatorRecord record = record_at(info, bytes, index);
    need(to, "the buffer");
    const std::string_view value = (record.*text)();
    if (size <= value.size())
      throw Error(code::kAclInvalidParam, "the buffer has {} bytes, want {} (with the zero)", size, value.size() + 1);
    std::memcpy(to, value.data(), value.size());
    to[value.size()] = 0;
  });
}

template <class T, class F>
T value_of(const char* name, T otherwise, F&& read) {
  T value = otherwise;
  guard(name, [&] { value = read(); });
  return value;
}

}  // namespace

extern "C" UPDRAFT_API void* aclprofCreateSubscribeConfig(int8_t times, int metrics, void* fd) {
  void* made = nullptr;
  guard("aclprofCreateSubscribeConfig", [&] {
    if (metrics != 255)
      UPDRAFT_LOG(kWarning, "PROFILING",
                  "aclprofCreateSubscribeConfig: metrics {} change nothing, records have names and times", metrics);
    if (times != 0 && times != 1) throw Error(code::kAclInvalidParam, "timeInfoSwitch is {}, want 0 or 1", times);
    need(fd, "fd");
    auto configuration = std::make_unique<Configuration>(Configuration{times == 1, number_of(fd)});
    std::lock_guard lock(state().mutex);
    made = configuration.get();
    state().configurations[made] = std::move(configuration);
  });
  return made;
}

ACL_API aclprofDestroySubscribeConfig(const void* config) {
  return guard("aclprofDestroySubscribeConfig", [&] {
    need(config, "profSubscribeConfig");
    std::lock_guard lock(state().mutex);
    if (!state().configurations.erase(config))
      throw Error(code::kAclInvalidParam,
                  "profSubscribeConfig {} is none that aclprofCreateSubscribeConfig has made, or it was destroyed",
                  config);
  });
}

ACL_API aclprofModelSubscribe(uint32_t model, const void* config) {
  return guard("aclprofModelSubscribe", [&] {
    need(config, "profSubscribeConfig");
    loaded_model(model);  // throws where there is none
    std::shared_ptr<Subscription> made;
    {
      std::lock_guard lock(state().mutex);
      const auto found = state().configurations.find(config);
      if (found == state().configurations.end())
        throw Error(code::kAclInvalidParam,
                    "profSubscribeConfig {} is none that aclprofCreateSubscribeConfig has made, or it was destroyed",
                    config);
      if (state().subscriptions.contains(model))
        throw Error(kAlreadySubscribed, "model {} is subscribed already: aclprofModelUnSubscribe first", model);
      made = std::make_shared<Subscription>(model, found->second->fd, found->second->times);
      state().subscriptions[model] = made;
    }
    subscribe(made, watch::kTasks);
  });
}

ACL_API aclprofModelUnSubscribe(uint32_t model) {
  return guard("aclprofModelUnSubscribe", [&] {
    std::shared_ptr<Subscription> gone;
    {
      std::lock_guard lock(state().mutex);
      const auto found = state().subscriptions.find(model);
      if (found == state().subscriptions.end())
        throw Error(kNotSubscribed, "model {} is not subscribed (aclprofModelSubscribe)", model);
      gone = std::move(found->second);
      state().subscriptions.erase(found);
    }
    unsubscribe(gone.get());
    gone->finish();
  });
}

ACL_API aclprofGetOpDescSize(size_t* size) {
  return guard("aclprofGetOpDescSize", [&] {
    need(size, "opDescSize");
    *size = sizeof(OperatorRecord);
  });
}

ACL_API aclprofGetOpNum(const void* info, size_t bytes, uint32_t* count) {
  return guard("aclprofGetOpNum", [&] {
    need(count, "opNumber");
    *count = static_cast<uint32_t>(count_of(info, bytes));
  });
}

ACL_API aclprofGetOpTypeLen(const void* info, size_t bytes, uint32_t index, size_t* length) {
  return guard("aclprofGetOpTypeLen", [&] {
    need(length, "opTypeLen");
    *length = record_at(info, bytes, index).type_length + 1u;
  });
}
ACL_API aclprofGetOpType(const void* info, size_t bytes, uint32_t index, char* type, size_t size) {
  return copy_text("aclprofGetOpType", info, bytes, index, type, size, &OperatorRecord::type);
}
ACL_API aclprofGetOpNameLen(const void* info, size_t bytes, uint32_t index, size_t* length) {
  return guard("aclprofGetOpNameLen", [&] {
    need(length, "opNameLen");
    *length = record_at(info, bytes, index).name_length + 1u;
  });
}
ACL_API aclprofGetOpName(const void* info, size_t bytes, uint32_t index, char* name, size_t size) {
  return copy_text("aclprofGetOpName", info, bytes, index, name, size, &OperatorRecord::name);
}

extern "C" UPDRAFT_API uint64_t aclprofGetOpStart(const void* info, size_t bytes, uint32_t index) {
  return value_of<uint64_t>("aclprofGetOpStart", 0, [&] { return record_at(info, bytes, index).begin; });
}
extern "C" UPDRAFT_API uint64_t aclprofGetOpEnd(const void* info, size_t bytes, uint32_t index) {
  return value_of<uint64_t>("aclprofGetOpEnd", 0, [&] { return record_at(info, bytes, index).end; });
}
extern "C" UPDRAFT_API uint64_t aclprofGetOpDuration(const void* info, size_t bytes, uint32_t index) {
  return value_of<uint64_t>("aclprofGetOpDuration", 0, [&] {
    const OperatorRecord record = record_at(info, bytes, index);
    return record.end - record.begin;
  });
}
extern "C" UPDRAFT_API size_t aclprofGetModelId(const void* info, size_t bytes, uint32_t index) {
  return value_of<size_t>("aclprofGetModelId", 0, [&] { return size_t{record_at(info, bytes, index).model}; });
}
extern "C" UPDRAFT_API int aclprofGetOpFlag(const void* info, size_t bytes, uint32_t index) {
  return value_of<int>("aclprofGetOpFlag", 255, [&] {
    record_at(info, bytes, index);
    return 0;  // an operator: subgraphs and threads have no records of their own
  });
}
extern "C" UPDRAFT_API const char* aclprofGetOpAttriValue(const void* info, size_t bytes, uint32_t index,
                                                          int attribute) {
  return value_of<const char*>("aclprofGetOpAttriValue", nullptr, [&]() -> const char* {
    const OperatorRecord record = record_at(info, bytes, index);
    if (attribute != 0)
      throw Error(code::kAclInvalidParam, "attri is {}, want 0 (ACL_SUBSCRIBE_ATTRI_THREADID)", attribute);
    static thread_local std::string text;  // valid until the thread asks again
    text = std::to_string(record.thread);
    return text.c_str();
  });
}
