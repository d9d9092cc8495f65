#include "collective/topology/environment.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <mutex>
#include <set>

#include "base/json_text.h"
#include "base/log.h"
#include "base/spelling.h"
#include "collective/error.h"
#include "collective/topology/product.h"
#include "collective/topology/text_file.h"
#include "collective/topology/variable.h"

namespace updraft::collective {
namespace {

constexpr double kLongest = 1e9;  // seconds; a steady_clock holds ten times that
constexpr const char* kBooleans[] = {"false", "true"};
constexpr const char* kFamilies[] = {"AF_INET", "AF_INET6"};
constexpr const char* kDeterministic[] = {"false", "true", "strict"};
constexpr const char* kExpansion[] = {"AI_CPU", "AIV", "HOST", "HOST_TS", "CCU_MS", "CCU_SCHED"};

void socket_ifname(Environment& e, const Variable& v, const ProductLimits&) {
  std::string_view rest = v.text;
  for (char sign : {'^', '='})
    if (rest.starts_with(sign)) rest.remove_prefix(1);
  for (const std::string& name : split(rest, ','))
    if (trimmed(name).empty() || name.find('^') != std::string::npos)
      v.refuse("names or beginnings of names: eth,enp or ^eth,enp or =eth0,eth1 or ^=eth0,eth1");
  e.socket_ifname = v.text;
}

std::vector<std::pair<uint16_t, uint16_t>> port_ranges(const Variable& v) {
  std::vector<std::pair<uint16_t, uint16_t>> ranges;
  if (v.text == "auto") return ranges;
  const char* wanted = "auto, or ports and ranges of ports in [1, 65535] that do not overlap: 60000,60050-60100";
  for (const std::string& part : split(v.text, ',')) {
    const size_t dash = part.find('-');
    const auto first = parse_integer(trimmed(std::string_view(part).substr(0, dash)));
    const auto last =
        dash == std::string::npos ? first : parse_integer(trimmed(std::string_view(part).substr(dash + 1)));
    if (!first || !last || *first < 1 || *first > *last || *last > 65535) v.refuse(wanted);
    for (auto [a, b] : ranges)
      if (*first <= b && a <= *last) v.refuse(wanted);
    ranges.emplace_back(static_cast<uint16_t>(*first), static_cast<uint16_t>(*last));
  }
  return ranges;
}

void exec_timeout(Environment& e, const Variable& v, const ProductLimits& p) {
  if (!p.timer_of_68) {
    e.exec_timeout = static_cast<double>(v.integer(0, INT32_MAX, "seconds"));
    return;
  }
  const std::optional<int64_t> n = parse_integer(v.text);
  if (!n || *n < 1 || *n > 17340)
    v.refuse(fmt::format("an integer in (0, 17340] seconds for {} (UPDRAFT_SOC)", p.family));
  e.exec_timeout = static_cast<double>(std::max<int64_t>(*n / 68, 1) * 68);
}

/// "key:value,key:value" with known keys; each value by its own check.
template <class Check>
void pairs(const Variable& v, const char* wanted, Check check) {
  std::set<std::string> seen;
  for (const std::string& part : split(v.text, ',')) {
    const size_t colon = part.find(':');
    const std::string key(trimmed(std::string_view(part).substr(0, colon)));
    const std::string value(colon == std::string::npos ? "" : trimmed(std::string_view(part).substr(colon + 1)));
    if (!check(key, value) || !seen.insert(key).second) v.refuse(wanted);
  }
}

bool within(const std::string& text, int64_t low, int64_t high) {
  const std::optional<int64_t> n = parse_integer(text);
  return n && *n >= low && *n <= high;
}

void dfs_config(Environment&, const Variable& v, const ProductLimits&) {
  pairs(v,
        "KEY:VALUE,… of connection_fault_detection_time (0 or 20 to 7200), cluster_heartbeat, stuck_detection, "
        "inconsistent_check (on or off), task_monitor_interval (0 to 7200000)",
        [](const std::string& key, const std::string& value) {
          if (key == "connection_fault_detection_time") return value == "0" || within(value, 20, 7200);
          if (key == "task_monitor_interval") return within(value, 0, 7200000);
          return (key == "cluster_heartbeat" || key == "stuck_detection" || key == "inconsistent_check") &&
                 (value == "on" || value == "off");
        });
}

void op_retry_enable(Environment&, const Variable& v, const ProductLimits&) {
  pairs(v, "levels and 0 or 1: L0:0,L1:1,L2:1", [](const std::string& key, const std::string& value) {
    return key.size() == 2 && key[0] == 'L' && key[1] >= '0' && key[1] <= '2' && (value == "0" || value == "1");
  });
}

void op_retry_params(Environment&, const Variable& v, const ProductLimits&) {
  pairs(v, "MaxCnt:1 to 10,HoldTime:0 to 60000,IntervalTime:0 to 60000 (ms)",
        [](const std::string& key, const std::string& value) {
          if (key == "MaxCnt") return within(value, 1, 10);
          return (key == "HoldTime" || key == "IntervalTime") && within(value, 0, 60000);
        });
}

void flag(Environment&, const Variable& v, const ProductLimits&) { v.flag(); }
void boolean(Environment&, const Variable& v, const ProductLimits&) { v.one_of(kBooleans, true); }
void anything(Environment&, const Variable&, const ProductLimits&) {}

struct Rule {
  const char* name;
  bool effective;  ///< else what was validated goes to `accepted`
  void (*apply)(Environment&, const Variable&, const ProductLimits&);
};
using E = Environment;
using V = const Variable&;
using P = const ProductLimits&;
constexpr Rule kRules[] = {
    {"HCCL_IF_IP", true, [](E& e, V v, P) { e.if_ip = v.ip(); }},
    {"HCCL_SOCKET_IFNAME", true, socket_ifname},
    {"HCCL_SOCKET_FAMILY", true, [](E& e, V v, P) { e.socket_family = v.one_of(kFamilies) ? AF_INET6 : AF_INET; }},
    {"HCCL_IF_BASE_PORT", true,
     [](E& e, V v, P) {
       e.base_port = static_cast<uint16_t>(v.integer(0, 65520));
       e.ports.clear();
       if (e.base_port) e.ports.emplace_back(e.base_port, static_cast<uint16_t>(e.base_port + 15));
     }},
    {"HCCL_HOST_SOCKET_PORT_RANGE", true, [](E& e, V v, P) { e.ports = port_ranges(v); }},  // after HCCL_IF_BASE_PORT
    {"HCCL_WHITELIST_DISABLE", true, [](E& e, V v, P) { e.whitelist = !v.flag(); }},
    {"HCCL_WHITELIST_FILE", true, anything},  // read_whitelist
    {"HCCL_CONNECT_TIMEOUT", true,
     [](E& e, V v, P) { e.connect_timeout = static_cast<double>(v.integer(120, 7200, "seconds")); }},
    {"HCCL_EXEC_TIMEOUT", true, exec_timeout},
    {"HCCL_ALGO", true, [](E& e, V v, P) { e.read_algorithms(v.text); }},
    {"HCCL_DETERMINISTIC", true, [](E& e, V v, P) { e.deterministic = v.one_of(kDeterministic, true) != 0; }},
    {"HCCL_BUFFSIZE", true, [](E& e, V v, P) { e.buffer_bytes = v.integer(1, 2048, "MB") << 20; }},
    {"HCCL_LOGIC_SUPERPOD_ID", true,
     [](E& e, V v, P) {
       if (v.text.size() >= 128) v.refuse("fewer than 128 bytes");
       e.super_pod = v.text;
     }},
    {"HCCL_INTRA_PCIE_ENABLE", false, flag},
    {"HCCL_INTRA_ROCE_ENABLE", false, flag},
    {"HCCL_RDMA_TC", false,
     [](E&, V v, P) {
       if (v.integer(0, 255) % 4 != 0) v.refuse("a multiple of 4 in [0, 255] (the DSCP times 4)");
     }},
    {"HCCL_RDMA_SL", false, [](E&, V v, P) { v.integer(0, 7); }},
    {"HCCL_RDMA_TIMEOUT", false, [](E&, V v, P p) { v.integer(5, p.rdma_timeout_most); }},
    {"HCCL_RDMA_RETRY_CNT", false, [](E&, V v, P) { v.integer(1, 7); }},
    {"HCCL_ALLTOALL_Z_COPY", false, flag},
    {"HCCL_OP_EXPANSION_MODE", false, [](E&, V v, P) { v.one_of(kExpansion); }},
    {"HCCL_NPU_SOCKET_PORT_RANGE", false, [](E&, V v, P) { port_ranges(v); }},
    {"HCCL_RDMA_QPS_PER_CONNECTION", false, [](E&, V v, P) { v.integer(1, 32); }},
    {"HCCL_MULTI_QP_THRESHOLD", false, [](E&, V v, P) { v.integer(1, 8192, "KB"); }},
    {"HCCL_RDMA_QP_PORT_CONFIG_PATH", false, anything},
    {"HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT", false, boolean},
    {"HCCL_INTER_HCCS_DISABLE", false, boolean},
    {"HCCL_OP_RETRY_ENABLE", false, op_retry_enable},
    {"HCCL_OP_RETRY_PARAMS", false, op_retry_params},
    {"HCCL_DFS_CONFIG", false, dfs_config},
    {"HCCL_DIAGNOSE_ENABLE", false, flag},
    {"HCCL_ENTRY_LOG_ENABLE", false, flag},
    {"HCCL_DEBUG_CONFIG", false, anything},
    {"HCCL_OP_BASE_FFTS_MODE_ENABLE", false, anything},
    {"HCCL_CONCURRENT_ENABLE", false, anything},
};
/// torch_npu reads these itself.
constexpr const char* kOfClients[] = {"HCCL_ASYNC_ERROR_HANDLING", "HCCL_BLOCKING_WAIT", "HCCL_DESYNC_DEBUG",
                                      "HCCL_EVENT_TIMEOUT"};

void find_unknown(Environment& e) {
  std::vector<std::string_view> known(std::begin(kOfClients), std::end(kOfClients));
  for (const Rule& rule : kRules) known.emplace_back(rule.name);
  for (char** entry = environ; entry && *entry; ++entry) {
    std::string_view name = *entry;
    name = name.substr(0, name.find('='));
    if (!name.starts_with("HCCL_") || std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string_view shortened = name.substr(0, 128);  // the search is quadratic
    e.unknown[std::string(name)] = nearest_name(shortened, known);
  }
  static std::mutex mutex;
  static std::set<std::string> told;
  std::lock_guard lock(mutex);
  for (const auto& [name, nearest] : e.unknown)
    if (told.insert(name).second)
      UPDRAFT_LOG(kWarning, "HCCL", "the environment variable {} is not known and has no effect; did you mean {}?",
                  printable(name, 200), nearest);
}

/// {"host_ip": ["10.0.0.1", …], "device_ip": […]}: device_ip is reserved.
void read_whitelist(Environment& e) {
  if (!e.whitelist) return;
  const std::optional<Variable> v = variable("HCCL_WHITELIST_FILE");
  if (!v)
    Variable{"HCCL_WHITELIST_DISABLE", "0"}.refuse("HCCL_WHITELIST_FILE beside it",
                                                   "Name the white list's file there, or set HCCL_WHITELIST_DISABLE=1");
  const char* fix = R"(Write {"host_ip": ["10.0.0.1", "10.0.0.2"], "device_ip": []}, or set HCCL_WHITELIST_DISABLE=1)";
  const TextFile file = read_text_file(v->text, 16 << 20);
  if (!file.problem.empty()) v->refuse("a file that can be read (" + file.problem + ")", fix);
  const auto json = try_json(file.text, true);
  if (json.is_discarded() || !json.is_object()) v->refuse("a file that holds a JSON object", fix);
  const auto ips = json.find("host_ip");
  if (ips == json.end() || !ips->is_array() || ips->empty()) v->refuse("a list host_ip that is not empty in it", fix);
  for (size_t i = 0; i < ips->size(); ++i) {
    const auto& ip = (*ips)[i];
    const auto address = ip.is_string() ? parse_ip(std::string(trimmed(ip.get<std::string>()))) : std::nullopt;
    if (!address) v->refuse(fmt::format("numeric addresses in its host_ip (host_ip[{}] is none)", i), fix);
    e.host_ips.push_back(*address);
  }
}

// What is wrong is said without the secret itself.
void read_secret(Environment& e) {
  constexpr size_t kLeast = 16;
  const char* fix = "openssl rand -hex 32 > FILE; chmod 600 FILE; the same FILE for all processes of the job";
  const std::optional<Variable> text = variable("UPDRAFT_HCCL_SECRET"), path = variable("UPDRAFT_HCCL_SECRET_FILE");
  if (text && path)
    path->refuse("either UPDRAFT_HCCL_SECRET_FILE or UPDRAFT_HCCL_SECRET, and both are set", "Unset one of the two");
  if (text) e.secret = text->text;
  if (path) {
    const TextFile file = read_text_file(path->text, 1 << 16);
    if (!file.problem.empty()) path->refuse("a file that can be read (" + file.problem + ")", fix);
    if (file.others)
      path->refuse("a file of this user that nobody else may read or write", fmt::format("chmod 600 {}", path->text));
    e.secret = trimmed(file.text);
  }
  if ((text || path) && e.secret.size() < kLeast)
    throw Error(result::kPara, "EI0001: {} is too short: want at least {} bytes that nobody can guess. {}",
                text ? "UPDRAFT_HCCL_SECRET" : "what UPDRAFT_HCCL_SECRET_FILE holds", kLeast, fix);
  if (const auto v = variable("UPDRAFT_HCCL_TRUST_NETWORK")) e.trust_network = v->flag();
}

}  // namespace

Environment Environment::read(const SocProfile& product) {
  Environment e;
  const ProductLimits limits = limits_of(product);
  for (const Rule& rule : kRules) {
    const std::optional<Variable> v = variable(rule.name);
    if (!v) continue;
    rule.apply(e, *v, limits);
    if (!rule.effective) e.accepted[rule.name] = v->text;
  }
  if (e.accepted.contains("HCCL_INTRA_PCIE_ENABLE") && e.accepted["HCCL_INTRA_PCIE_ENABLE"] == "1" &&
      e.accepted.contains("HCCL_INTRA_ROCE_ENABLE") && e.accepted["HCCL_INTRA_ROCE_ENABLE"] == "1")
    Variable{"HCCL_INTRA_ROCE_ENABLE", "1"}.refuse("0 beside HCCL_INTRA_PCIE_ENABLE=1",
                                                   "Set one of the two to 0, or unset both (PCIe)");
  read_whitelist(e);
  read_secret(e);
  if (auto v = variable("UPDRAFT_HCCL_CONNECT_TIMEOUT")) {
    e.connect_timeout = v->seconds(0, kLongest);
    if (e.connect_timeout == 0) v->refuse("a number above 0");
  }
  if (auto v = variable("UPDRAFT_HCCL_EXEC_TIMEOUT")) e.exec_timeout = v->seconds(0, kLongest);
  find_unknown(e);
  return e;
}

const Environment& Environment::get() {
  static const Environment environment = read();
  return environment;
}

}  // namespace updraft::collective
