// aclprof…: profiles from the program itself.
#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "acl/api.h"
#include "base/accepted.h"
#include "base/config.h"
#include "base/folders.h"
#include "base/log.h"
#include "device/soc.h"
#include "observe/profiling/marker_task.h"
#include "observe/profiling/session.h"

using namespace updraft;
namespace prof = updraft::profiling;

namespace {

constexpr int kUnsupported = 200007;  // ACL_ERROR_PROF_MODULES_UNSUPPORTED
constexpr int kInvalid = 100010;      // ACL_ERROR_INVALID_PROFILING_CONFIG

// Handles are plain objects in one table, so that a foreign pointer is found out.
struct Config1 {
  uint64_t data = 0;
  int metrics = 255;
  std::vector<int> devices;
};
struct Step {
  uint64_t number = 0;
};
template <class T>
class Handles {
 public:
  T* make(T value) {
    std::lock_guard lock(mutex_);
    auto object = std::make_unique<T>(std::move(value));
    T* p = object.get();
    objects_[p] = std::move(object);
    return p;
  }
  T copy(const void* p, const char* what, const char* maker) {
    std::lock_guard lock(mutex_);
    const auto found = objects_.find(p);
    if (found == objects_.end())
      throw Error(code::kAclInvalidParam, "{} {} is none that {} has made, or it was destroyed", what, p, maker);
    return *found->second;
  }
  void drop(const void* p, const char* what, const char* maker) {
    std::lock_guard lock(mutex_);
    if (!objects_.erase(p))
      throw Error(code::kAclInvalidParam, "{} {} is none that {} has made, or it was destroyed", what, p, maker);
  }

 private:
  std::mutex mutex_;
  std::map<const void*, std::unique_ptr<T>> objects_;
};
Handles<Config1>& configs() {
  static auto* h = new Handles<Config1>;
  return *h;
}
Handles<Step>& steps() {
  static auto* h = new Handles<Step>;
  return *h;
}

// What aclprofSetConfig has said, for the profiles that start after it.
struct Further {
  std::mutex mutex;
  prof::Settings settings;
};
Further& further() {
  static auto* f = new Further;
  return *f;
}

prof::Settings settings_of(const Config1& config) {
  prof::Settings settings;
  {
    std::lock_guard lock(further().mutex);
    settings = further().settings;
  }
  settings.data = config.data;
  settings.metrics = config.data & prof::data::kAicoreMetrics ? prof::metrics_name(config.metrics) : "";
  settings.devices = config.devices;
  return settings;
}

constexpr const char* kSource = "aclprofSetConfig";

void set_config(int type, const std::string& value) {
  using namespace prof;
  std::lock_guard lock(further().mutex);
  Settings& s = further().settings;
  switch (type) {
    case 1: s.storage_limit = read_storage_limit(value, kSource); return;
    case 3: s.memory_frequency = read_frequency(value, kSource, "ACL_PROF_SYS_HARDWARE_MEM_FREQ", 1, 100, 50); return;
    case 4:
      if (value != "read" && value != "write" && value != "capacity" && value != "bandwidth")
        throw Error(kInvalid, "{}: ACL_PROF_LLC_MODE is \"{}\", want read or write", kSource, value);
      UPDRAFT_LOG(kWarning, "PROFILING",
                  "ACL_PROF_LLC_MODE: the CPU's last-level cache is not sampled: no figures are made");
      return;
    case 5: s.io_frequency = read_frequency(value, kSource, "ACL_PROF_SYS_IO_FREQ", 1, 100, 100); return;
    case 6:
      s.interconnect_frequency = read_frequency(value, kSource, "ACL_PROF_SYS_INTERCONNECTION_FREQ", 1, 50, 50);
      return;
    case 7:
      read_frequency(value, kSource, "ACL_PROF_DVPP_FREQ", 1, 100, 50);
      UPDRAFT_LOG(kWarning, "PROFILING",
                  "ACL_PROF_DVPP_FREQ: pictures are decoded by the CPU: there is no engine to sample");
      return;
    case 8: {
      s.host_cpu = s.host_memory = false;
      // torch_npu hands disk, network, osrt and numa in, too
      std::string rest;
      for (size_t at = 0; at < value.size();) {
        size_t end = std::min(value.find(',', at), value.size());
        const std::string part = value.substr(at, end - at);
        if (part == "disk" || part == "osrt" || part == "numa")
          UPDRAFT_LOG(kWarning, "PROFILING", "ACL_PROF_HOST_SYS: {} is accepted, no figures are made of it", part);
        else if (part == "network") s.io_frequency = s.io_frequency ? s.io_frequency : 100;
        else rest += (rest.empty() ? "" : ",") + part;
        at = end + 1;
      }
      if (!rest.empty()) read_host_system(rest, kSource, "ACL_PROF_HOST_SYS", s.host_cpu, s.host_memory);
      return;
    }
    case 9: read_host_system(value, kSource, "ACL_PROF_HOST_SYS_USAGE", s.system_cpu, s.system_memory); return;
    case 10: s.host_frequency = read_frequency(value, kSource, "ACL_PROF_HOST_SYS_USAGE_FREQ", 1, 50, 50); return;
    case 11:
    case 12:
    case 13:
    case 14:
    case 15:
      throw Error(kUnsupported, "{}: the setting {} is of a part of the card that a CPU does not have", kSource, type);
    default: throw Error(code::kAclInvalidParam, "{}: the setting {} is not known, want 1 and 3 to 10", kSource, type);
  }
}

// The list of features that clients ask for. The records have two places for pointers that clients never read (their
// structures have virtual destructors).
struct Feature {
  void* unused = nullptr;
  char name[64] = {};
  void* unused_either = nullptr;
  char compatibility[16] = {};
  char version[16] = {};
  char component[16] = {};
  char component_version[16] = {};
  char text[128] = {};
};
static_assert(sizeof(Feature) == 272);

Feature feature(const char* name, const char* text) {
  Feature f;
  std::strcpy(f.name, name);
  std::strcpy(f.compatibility, "1");
  std::strcpy(f.version, "1");
  std::strcpy(f.component, "all");
  std::strcpy(f.component_version, "all");
  std::strcpy(f.text, text);
  return f;
}

int features(const char* name, size_t* count, void** list) {
  return guard(name, [&] {
    need(count, "featuresSize");
    need(list, "featuresData");
    static Feature all[] = {feature("ATTR", "attributes of operators are recorded"),
                            feature("MemoryAccess", "bytes that operators read and write are recorded"),
                            feature("AICORE_SHAPE", "shapes of operators are recorded")};
    *count = std::size(all);
    *list = all;
  });
}

}  // namespace

ACL_API aclprofInit(const char* path, size_t length) {
  return guard("aclprofInit", [&] {
    need(path, "profilerResultPath");
    if (!length || strnlen(path, length) != length || length >= PATH_MAX)
      throw Error(code::kAclInvalidParam, "the result path has {} bytes, want 1 to {} and no zero among them", length,
                  PATH_MAX - 1);
    const std::string folder(path, length);
    char real[PATH_MAX];
    if (!make_folders(folder, 0750) || !realpath(folder.c_str(), real) || access(real, W_OK | X_OK) != 0)
      throw Error(code::kAclInvalidFile, "the result path {} cannot be made or written: {}", folder,
                  std::strerror(errno));
    prof::prepare(real);
  });
}

ACL_API aclprofFinalize() {
  return guard("aclprofFinalize", [] {
    prof::finish();
    std::lock_guard lock(further().mutex);
    further().settings = {};
  });
}

extern "C" UPDRAFT_API void* aclprofCreateConfig(uint32_t* devices, uint32_t count, int metrics, const void* events,
                                                 uint64_t data_types) {
  void* made = nullptr;
  guard("aclprofCreateConfig", [&] {
    if (events) throw Error(kUnsupported, "aicoreEvents: a CPU has no events of AI cores, want null");
    if (count && !devices) need(devices, "deviceIdList");
    if (count > 64) throw Error(code::kAclInvalidParam, "deviceNums is {}, the most is 64", count);
    if (data_types & ~prof::data::kKnown)
      UPDRAFT_LOG(kWarning, "PROFILING",
                  "aclprofCreateConfig: the bits {:#x} of dataTypeConfig are not known and change nothing",
                  data_types & ~prof::data::kKnown);
    Config1 config;
    config.data = data_types & prof::data::kKnown;
    config.metrics = metrics;
    if (data_types & prof::data::kAicoreMetrics && metrics != 255 && prof::metrics_name(metrics).empty())
      throw Error(code::kAclInvalidParam, "aicoreMetrics is {}, want 0 to 8, or 255 for none", metrics);
    for (uint32_t i = 0; i < count; ++i) {
      if (devices[i] >= static_cast<uint32_t>(Device::count()))
        throw Error(code::kRtInvalidDevice, "deviceIdList[{}] is {}, there are {} devices", i, devices[i],
                    Device::count());
      config.devices.push_back(static_cast<int>(devices[i]));
    }
    made = configs().make(std::move(config));
  });
  return made;
}

ACL_API aclprofDestroyConfig(const void* config) {
  return guard("aclprofDestroyConfig", [&] {
    need(config, "profilerConfig");
    configs().drop(config, "profilerConfig", "aclprofCreateConfig");
  });
}

ACL_API aclprofWarmup(const void* config) {
  return guard("aclprofWarmup", [&] {
    need(config, "profilerConfig");
    configs().copy(config, "profilerConfig", "aclprofCreateConfig");
    if (!prof::prepared()) throw Error(100043, "aclprofInit was not called: it says where the results go");
  });
}

ACL_API aclprofStart(const void* config) {
  return guard("aclprofStart", [&] {
    need(config, "profilerConfig");
    prof::start(settings_of(configs().copy(config, "profilerConfig", "aclprofCreateConfig")));
  });
}

ACL_API aclprofStop(const void* config) {
  return guard("aclprofStop", [&] {
    need(config, "profilerConfig");
    configs().copy(config, "profilerConfig", "aclprofCreateConfig");
    prof::stop();
  });
}

ACL_API aclprofSetConfig(int type, const char* value, size_t length) {
  return guard("aclprofSetConfig", [&] {
    need(value, "config");
    if (!length || length > 256 || strnlen(value, length) != length)
      throw Error(code::kAclInvalidParam, "config has {} bytes, want 1 to 256 and no zero among them", length);
    set_config(type, std::string(value, length));
  });
}

ACCEPTED(aclprofRegisterDeviceCallback,
         "a profile has every device that it was asked for, opened before or after its start",
         "profile 覆盖所请求的全部设备，与设备打开的先后无关")
ACL_API aclprofRegisterDeviceCallback() { return 0; }

ACL_API aclprofGetSupportedFeatures(size_t* count, void** list) {
  return features("aclprofGetSupportedFeatures", count, list);
}
ACL_API aclprofGetSupportedFeaturesV2(size_t* count, void** list) {
  return features("aclprofGetSupportedFeaturesV2", count, list);
}

// --- steps
// -------------------------------------------------------------------------------------------------------------

extern "C" UPDRAFT_API void* aclprofCreateStepInfo() {
  void* made = nullptr;
  guard("aclprofCreateStepInfo", [&] {
    static std::atomic<uint64_t> number{0};
    made = steps().make(Step{++number});
  });
  return made;
}

extern "C" UPDRAFT_API void aclprofDestroyStepInfo(void* step) {
  guard("aclprofDestroyStepInfo", [&] {
    need(step, "stepInfo");
    steps().drop(step, "stepInfo", "aclprofCreateStepInfo");
  });
}

ACL_API aclprofGetStepTimestamp(void* info, int tag, void* stream) {
  return guard("aclprofGetStepTimestamp", [&] {
    need(info, "stepInfo");
    need(stream, "stream");
    const Step step = steps().copy(info, "stepInfo", "aclprofCreateStepInfo");
    if (tag != 0 && tag != 1) throw Error(code::kAclInvalidParam, "tag is {}, want 0 (start) or 1 (end)", tag);
    const StreamPin pin = pin_stream(stream);
    const auto recorder = prof::recorder();
    if (!recorder) return;  // nobody profiles: a step is no error
    prof::StepRecord record{};
    record.time = stamp(watch::kRawTimes).raw;
    record.step = step.number;
    record.correlation = current_correlation();
    record.tag = static_cast<uint32_t>(tag);
    record.device = pin->device().index();
    recorder->step(record);
    pin->submit(new prof::MarkerTask(tag ? "STEP_END" : "STEP_START"));
  });
}
