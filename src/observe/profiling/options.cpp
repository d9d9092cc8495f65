// The JSON object of PROFILING_OPTIONS, of acl.json's "profiler", and what msprof hands to the program that it runs.
#include <unistd.h>

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/error.h"
#include "base/json_text.h"
#include "observe/profiling/folder.h"
#include "observe/profiling/settings.h"

namespace updraft::profiling {
namespace {

using Json = nlohmann::json;
constexpr int kInvalid = 100010;  // ACL_ERROR_INVALID_PROFILING_CONFIG

// Which products have an option: 310, 310P, 910 and 910B (with 910C) and later.
enum Product : unsigned { k310 = 1, k310P = 2, k910 = 4, k910B = 8, kAll = 15 };

Product product_of(std::string_view name) {
  if (name.find("310P") != std::string_view::npos) return k310P;
  if (name.find("310") != std::string_view::npos) return k310;
  // Ascend910A, Ascend910ProA …: the first generation
  if (name.find("910B") == std::string_view::npos && name.find("910_93") == std::string_view::npos &&
      name.find("910") != std::string_view::npos)
    return k910;
  return k910B;
}

struct Reader {
  const OptionRules& rules;
  const Json& json;
  Settings settings;

  [[noreturn]] void refuse(const char* key, const std::string& value, const char* want) const {
    throw Error(kInvalid, "{}: {} is \"{}\", want {}", rules.source, key, value, want);
  }
  bool has(const char* key) const { return json.contains(key); }
  std::string text(const char* key) const {
    const Json& value = json.at(key);
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number()) return json_text(value);
    refuse(key, json_text(value), "a text or a number");
  }
  void remark(std::string sentence) { settings.remarks.push_back(std::move(sentence)); }

  // "on" or off. The guide says that any other value counts as off.
  bool on(const char* key, bool usual = false) {
    if (!has(key)) return usual;
    const Json& value = json.at(key);
    if (value.is_boolean()) return value.get<bool>();
    const std::string word = text(key);
    if (word == "on") return true;
    if (word != "off")
      remark(fmt::format("{}: {} is \"{}\", which is neither on nor off and counts as off", rules.source, key, word));
    return false;
  }
  // An option that the product does not have.
  void want_product(const char* key, unsigned products) {
    if (!has(key) || (products & product_of(rules.product))) return;
    if (rules.card) throw Error(kInvalid, "{}: {} is not an option of {}", rules.source, key, rules.product);
    remark(fmt::format("{}: {} is not an option of {}; it is accepted and changes nothing there", rules.source, key,
                       rules.product));
  }
  int frequency(const char* key, int lowest, int highest, int usual) const {
    return has(key) ? read_frequency(text(key), rules.source, key, lowest, highest, usual) : 0;
  }
};

void read_output(Reader& r) {
  if (!r.has("output") && !r.rules.usual_output)
    throw Error(kInvalid, "{}: output is missing: the folder that receives the profile, which must exist",
                r.rules.source);
  const std::string given = r.has("output") ? r.text("output") : r.rules.usual_output;
  std::string path = given;
  if (path.empty() || path[0] != '/') {  // relative to where the command was started
    char* here = getcwd(nullptr, 0);
    if (here) path = std::string(here) + "/" + path;
    std::free(here);
  }
  struct stat info;
  if (stat(path.c_str(), &info) != 0)
    r.refuse("output", given, fmt::format("a folder that exists ({})", std::strerror(errno)).c_str());
  if (!S_ISDIR(info.st_mode)) r.refuse("output", given, "a folder; this is a file");
  if (access(path.c_str(), R_OK | W_OK | X_OK) != 0)
    throw Error(kFailure, "{}: output is \"{}\", want a folder that may be read and written ({})", r.rules.source,
                given, std::strerror(errno));
  r.settings.output = path;
}

void read_traces(Reader& r) {
  Settings& s = r.settings;
  if (r.has("training_trace") && r.text("training_trace") != "on")
    r.refuse("training_trace", r.text("training_trace"), "on, or no such key");
  const bool training = r.has("training_trace");
  if (training && !r.rules.training_ok)
    throw Error(kInvalid, "{}: training_trace is on, in online inference there is none: remove the key",
                r.rules.source);
  const bool lean = r.has("task_time") && r.json.at("task_time") == "l0";  // msprof's word
  const bool tasks = r.on("task_trace"), times = !lean && r.on("task_time", true);
  if (tasks && !training && r.rules.training)
    throw Error(kInvalid,
                "{}: task_trace is on without training_trace: in training it wants \"training_trace\":\"on\" as well",
                r.rules.source);
  for (const char* key : {"fp_point", "bp_point"})
    if (r.has(key) && !training)
      throw Error(kInvalid, "{}: {} is given without training_trace: it wants \"training_trace\":\"on\" as well",
                  r.rules.source, key);
  if (r.has("fp_point")) s.fp_point = r.text("fp_point");
  if (r.has("bp_point")) s.bp_point = r.text("bp_point");
  if (training) s.data |= data::kTrainingTrace;
  s.training = training && r.rules.training;
  // Only PROFILING_OPTIONS has switches for these that are off where they are not given.
  s.iterations = training || !r.rules.training;
  if (times || tasks) s.data |= data::kTaskTime;
  if (lean) s.data |= data::kTaskTimeL0;
  s.collectives = r.on("hccl", !r.rules.training);
  if (r.has("hccl") && s.collectives) s.data |= data::kHcclTrace;
  if (r.on("aicpu")) s.data |= data::kAicpu;
  if (r.on("l2")) {
    s.data |= data::kL2Cache;
    r.remark("l2: a CPU has no counters of the card's L2 cache: no figures are made");
  }
  if (r.on("msproftx")) s.data |= data::kMarkers;
  if (r.on("runtime_api")) s.data |= data::kRuntimeApi;
  if (r.on("ascendcl", true)) s.data |= data::kAclApi;
  if (r.on("task_memory")) s.data |= data::kTaskMemory;
  s.metrics = "PipeUtilization";
  if (r.has("aic_metrics")) {
    const std::string metrics = r.text("aic_metrics");
    if (!metrics.empty()) {
      check_metrics(metrics);
      s.metrics = metrics;
      s.data |= data::kAicoreMetrics;
      if (metrics.rfind("Custom:", 0) == 0)
        r.remark("aic_metrics Custom: a CPU has no such registers: no figures are made");
    }
    if (metrics == "L2Cache" && product_of(r.rules.product) != k910B) {
      if (r.rules.card)
        throw Error(kInvalid, "{}: aic_metrics L2Cache is not an option of {}", r.rules.source, r.rules.product);
      r.remark("aic_metrics: L2Cache is not an option of " + std::string(r.rules.product));
    }
  }
}

void read_system(Reader& r) {
  Settings& s = r.settings;
  s.memory_frequency = r.frequency("sys_hardware_mem_freq", 1, 100, 50);
  s.io_frequency = r.frequency("sys_io_sampling_freq", 1, 100, 100);
  s.interconnect_frequency = r.frequency("sys_interconnection_freq", 1, 50, 50);
  if (r.frequency("dvpp_freq", 1, 100, 50))
    r.remark("dvpp_freq: pictures are decoded by the CPU: there is no engine to sample");
  if (r.has("llc_profiling")) {
    const std::string value = r.text("llc_profiling");
    const bool small = product_of(r.rules.product) == k310;
    if (small ? value != "capacity" && value != "bandwidth" : value != "read" && value != "write")
      r.refuse("llc_profiling", value,
               small ? "capacity or bandwidth on this product" : "read or write on this product");
    r.remark("llc_profiling: the CPU's last-level cache is not sampled: no figures are made");
  }
  if (r.has("host_sys")) read_host_system(r.text("host_sys"), r.rules.source, "host_sys", s.host_cpu, s.host_memory);
  if (r.has("host_sys_usage"))
    read_host_system(r.text("host_sys_usage"), r.rules.source, "host_sys_usage", s.system_cpu, s.system_memory);
  if (const int f = r.frequency("host_sys_usage_freq", 1, 50, 50)) s.host_frequency = f;
  if (r.has("storage_limit")) s.storage_limit = read_storage_limit(r.text("storage_limit"), r.rules.source);
}

void read_instructions(Reader& r) {
  if (!r.has("instr_profiling_freq")) return;
  read_frequency(r.text("instr_profiling_freq"), r.rules.source, "instr_profiling_freq", 300, 30000, 1000);
  for (const char* key : {"training_trace", "task_trace", "hccl", "aicpu", "fp_point", "bp_point", "aic_metrics", "l2",
                          "task_time", "runtime_api"})
    // What is off by its own word does not clash; task_time counts only where it is written.
    if (r.has(key) && !(r.json.at(key).is_string() && r.json.at(key) == "off"))
      throw Error(kInvalid, "{}: instr_profiling_freq excludes {}: remove one of the two", r.rules.source, key);
  r.remark("instr_profiling_freq: a CPU has no instructions of AI cores to sample: no figures are made");
}

constexpr const char* kKeys[] = {"output", "storage_limit", "training_trace", "task_trace", "hccl", "aicpu", "fp_point",
                                 "bp_point", "aic_metrics", "l2", "msproftx", "task_time", "runtime_api",
                                 "sys_hardware_mem_freq", "llc_profiling", "sys_io_sampling_freq",
                                 "sys_interconnection_freq", "dvpp_freq", "instr_profiling_freq", "host_sys",
                                 "host_sys_usage", "host_sys_usage_freq",
                                 // not in the guide: acl.json and msprof have them
                                 "switch", "ascendcl", "task_memory", "mstxDomainInclude", "mstxDomainExclude"};

}  // namespace

Settings read_options(std::string_view text, const OptionRules& rules) {
  Json json;
  try {
    json = parse_json(text);
  } catch (const Json::parse_error& e) {
    throw Error(
        kInvalid,
        "{} is no JSON at byte {} of {}: want an object such as {{\"output\":\"/tmp/profile\",\"task_trace\":\"on\"}}",
        rules.source, e.byte, text.size());
  }
  if (!json.is_object()) throw Error(kInvalid, "{} is {}, want a JSON object", rules.source, json.type_name());
  for (const auto& [key, value] : json.items()) {
    if (std::find(std::begin(kKeys), std::end(kKeys), key) == std::end(kKeys)) {
      std::string all;
      for (const char* known : kKeys) all += std::string(all.empty() ? "" : ", ") + known;
      throw Error(kInvalid, "{}: the key {} is not known; known are {}", rules.source, key, all);
    }
  }
  Reader r{rules, json, {}};
  read_output(r);
  read_instructions(r);
  read_traces(r);
  read_system(r);
  r.want_product("l2", k310P | k910 | k910B);
  r.want_product("sys_hardware_mem_freq", k310 | k310P | k910 | k910B);
  r.want_product("sys_io_sampling_freq", k310 | k910 | k910B);
  r.want_product("sys_interconnection_freq", k310P | k910 | k910B);
  r.want_product("instr_profiling_freq", k910B);
  return r.settings;
}

}  // namespace updraft::profiling
