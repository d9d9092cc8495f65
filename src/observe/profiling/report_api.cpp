// Msprof…: what clients report of the host, and the clock of their records.
#include <time.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string_view>

#include "acl/api.h"
#include "observe/profiling/session.h"
#include "toolchain/prof_api.h"

using namespace updraft;
namespace prof = updraft::profiling;

namespace {

int report(prof::ReportKind what, const void* data, size_t bytes) {
  if (!data) return code::kAclInvalidParam;
  if (!(watched_bits() & watch::kRawTimes)) return 0;  // nobody profiles
  try {
    if (const auto recorder = prof::recorder()) recorder->report(what, data, bytes);
  } catch (...) { return 500005; }
  return 0;
}

// Texts of numbers are wanted by profiles that start later, too.
struct Texts {
  std::mutex mutex;
  std::unordered_map<uint64_t, std::string> all;
};
Texts& texts() {
  static auto* t = new Texts;
  return *t;
}

}  // namespace

ACL_API MsprofReportApi(uint32_t, const MsprofApi* api) {
  return report(prof::ReportKind::Api, api, sizeof(MsprofApi));
}
ACL_API MsprofReportCompactInfo(uint32_t, void* const data, uint32_t bytes) {
  return report(prof::ReportKind::Compact, data, bytes);
}
ACL_API MsprofReportAdditionalInfo(uint32_t, void* const data, uint32_t bytes) {
  return report(prof::ReportKind::Additional, data, bytes);
}

extern "C" UPDRAFT_API uint64_t MsprofGetHashId(const char* text, size_t length) {
  if (!text) return 0;
  const std::string_view view(text, length);
  const uint64_t id = prof::text_id(view);
  try {
    std::lock_guard lock(texts().mutex);
    texts().all.try_emplace(id, view);
  } catch (...) {}
  if (watched_bits() & watch::kRawTimes)
    if (const auto recorder = prof::recorder()) recorder->text(view);
  return id;
}
extern "C" UPDRAFT_API uint64_t aclprofStr2Id(const char* text) {
  return text ? MsprofGetHashId(text, std::strlen(text)) : 0;
}

extern "C" UPDRAFT_API uint64_t MsprofSysCycleTime() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

ACL_API MsprofRegisterCallback(uint32_t module, ProfCommandHandle handle) {
  return guard("MsprofRegisterCallback", [&] {
    need(reinterpret_cast<const void*>(handle), "handle");
    static_cast<void>(module);
    prof::listen([handle](bool start, uint64_t switches, const prof::Settings& settings) {
      if (start)  // the numbers that were made before
        if (const auto recorder = prof::recorder()) {
          std::lock_guard lock(texts().mutex);
          for (const auto& [id, text] : texts().all) recorder->text(text);
        }
      auto command = std::make_unique<MsprofCommandHandle>();
      std::memset(command.get(), 0, sizeof(MsprofCommandHandle));
      command->profSwitch = switches;
      command->type = start ? PROF_COMMANDHANDLE_TYPE_START : PROF_COMMANDHANDLE_TYPE_STOP;
      command->devNums = static_cast<uint32_t>(std::min<size_t>(settings.devices.size(), 64));
      for (uint32_t i = 0; i < command->devNums; ++i)
        command->devIdList[i] = static_cast<uint32_t>(settings.devices[i]);
      handle(PROF_CTRL_SWITCH, command.get(), sizeof(MsprofCommandHandle));
    });
  });
}

// A device API version below 0x071905 makes clients stamp with CLOCK_MONOTONIC_RAW, as we do. halGetDeviceInfo is a
// stub that fails: there is no driver whose figures it could give.
ACL_API halGetAPIVersion(int* version) {
  return guard("halGetAPIVersion", [&] {
    need(version, "halAPIVersion");
    *version = 0x071800;
  });
}
