// What a profile records. One structure, whoever asks for it: aclprofCreateConfig, PROFILING_OPTIONS, acl.json, msprof.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace updraft::profiling {

/// Bits of aclprofCreateConfig's dataTypeConfig.
namespace data {
inline constexpr uint64_t kAclApi = 0x1;
inline constexpr uint64_t kTaskTime = 0x2;
inline constexpr uint64_t kAicoreMetrics = 0x4;
inline constexpr uint64_t kAicpu = 0x8;
inline constexpr uint64_t kL2Cache = 0x10;
inline constexpr uint64_t kHcclTrace = 0x20;
inline constexpr uint64_t kTrainingTrace = 0x40;
inline constexpr uint64_t kMarkers = 0x80;
inline constexpr uint64_t kRuntimeApi = 0x100;
inline constexpr uint64_t kTaskTimeL0 = 0x800;
inline constexpr uint64_t kTaskMemory = 0x1000;
inline constexpr uint64_t kTaskTimeL2 = 0x2000;
inline constexpr uint64_t kOpAttributes = 0x4000;
inline constexpr uint64_t kAicoreShape = 0x800000000;
inline constexpr uint64_t kKnown = kAclApi | kTaskTime | kAicoreMetrics | kAicpu | kL2Cache | kHcclTrace |
                                   kTrainingTrace | kMarkers | kRuntimeApi | kTaskTimeL0 | kTaskMemory | kTaskTimeL2 |
                                   kOpAttributes | kAicoreShape;
inline constexpr uint64_t kAnyTasks = kTaskTime | kTaskTimeL0 | kTaskTimeL2 | kAicoreMetrics | kAicpu | kL2Cache |
                                      kHcclTrace | kTrainingTrace | kTaskMemory | kOpAttributes | kAicoreShape;
}  // namespace data

struct Settings {
  uint64_t data = 0;               ///< bits of data
  std::vector<int> devices;        ///< empty: every one that the process uses
  std::string metrics;             ///< "PipeUtilization", …; "" none
  std::string output;              ///< the folder in which PROF_* is made
  uint64_t storage_limit = 0;      ///< bytes of PROF_*/…/data; 0: 90 % of what is free on the disk
  std::string fp_point, bp_point;  ///< names of the first forward and the last backward operator; "" automatic
  bool collectives = true;         ///< the tables tell them
  bool iterations = true;          ///< the tables tell those of graphs
  bool training = false;           ///< iterations were asked for in a way that graphs of inference refuse
  int memory_frequency = 0;        ///< samples of device memory a second; 0 none
  bool host_cpu = false, host_memory = false;      ///< of this process
  bool system_cpu = false, system_memory = false;  ///< of the machine
  int host_frequency = 50;
  int io_frequency = 0;              ///< NIC and RoCE
  int interconnect_frequency = 0;    ///< HCCS and PCIe
  std::vector<std::string> remarks;  ///< what was accepted and has no effect here, as sentences
};

/// Names of groups of metrics by their number in aclprofAicoreMetrics; "" for none and unknown ones.
std::string metrics_name(int number);
/// True for those and for "Custom:0x1,2,…"; throws 100010 that lists what there is otherwise.
void check_metrics(const std::string& name);

/// Who hands options in, for the text of errors: "PROFILING_OPTIONS", "acl.json: profiler" or "msprof".
struct OptionRules {
  const char* source = "PROFILING_OPTIONS";
  std::string_view product = "Ascend910B2";
  bool card = false;                   ///< options that the product does not have are refused, not accepted
  bool training = true;                ///< task_trace wants training_trace
  bool training_ok = true;             ///< false: online inference, in which there is no training_trace
  const char* usual_output = nullptr;  ///< where the key output may be absent
};

/// A JSON object of options, as PROFILING_OPTIONS has it. Throws Error 100010 (ACL_ERROR_INVALID_PROFILING_CONFIG) that
/// names source, key, value and what is allowed. The folder `output` must exist and be writable.
Settings read_options(std::string_view json, const OptionRules& rules);

/// "200MB" or "200" in [200, 4294967296] as bytes; throws 100010.
uint64_t read_storage_limit(const std::string& text, const char* source);
/// A whole number within the range; throws 100010 that names key, range and default.
int read_frequency(const std::string& text, const char* source, const char* key, int lowest, int highest, int usual);
/// "cpu", "mem" or both by a comma.
void read_host_system(const std::string& text, const char* source, const char* key, bool& cpu, bool& memory);

}  // namespace updraft::profiling
