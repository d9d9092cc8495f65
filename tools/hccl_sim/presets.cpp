#include "hccl_sim/presets.h"

#include "base/error.h"
#include "collective/error.h"
#include "hccl_sim/fabric.h"

namespace hccl_sim {

using nlohmann::json;
using updraft::Error;
namespace result = updraft::collective::result;

// Bandwidths are the nominal ones of the products' public data sheets, per card and direction; latencies, and how fast
// received data is combined, are assumptions.
const std::vector<Preset>& presets() {
  static const std::vector<Preset> all = {
      {"910a-server", "servers of 8 Ascend 910A, 100 Gbit/s RoCE a card",
       R"({"cards_per_server": 8,
           "intra": {"latency_us": 5, "bandwidth_GBps": 30, "reduce_GBps": 300, "dedicated": true},
           "inter": {"latency_us": 12, "bandwidth_GBps": 12.5, "reduce_GBps": 300, "dedicated": false, "overhead_us": 2}})"},
      {"910b-server", "servers of 8 Ascend 910B, all linked to all, 200 Gbit/s RoCE a card",
       R"({"cards_per_server": 8,
           "intra": {"latency_us": 4, "bandwidth_GBps": 28, "reduce_GBps": 400, "dedicated": true},
           "inter": {"latency_us": 10, "bandwidth_GBps": 25, "reduce_GBps": 400, "dedicated": false, "overhead_us": 2}})"},
      {"a3-super-pod", "super pods of 48 servers of 16 dies on one bus, 400 Gbit/s RoCE for two dies between the pods",
       R"({"cards_per_server": 16, "servers_per_super_pod": 48,
           "intra": {"latency_us": 2, "bandwidth_GBps": 196, "reduce_GBps": 800, "dedicated": false, "overhead_us": 0.5},
           "inter": {"latency_us": 3, "bandwidth_GBps": 196, "reduce_GBps": 800, "dedicated": false, "overhead_us": 0.5},
           "super": {"latency_us": 12, "bandwidth_GBps": 25, "reduce_GBps": 800, "dedicated": false, "overhead_us": 2}})"},
      {"tcp-25g", "hosts of one card on 25 Gbit/s Ethernet",
       R"({"cards_per_server": 1,
           "inter": {"latency_us": 50, "bandwidth_GBps": 3.1, "reduce_GBps": 10, "dedicated": false, "overhead_us": 10}})"},
  };
  return all;
}

json preset(const std::string& name) {
  std::string names;
  for (const Preset& p : presets()) {
    if (name == p.name) return json::parse(p.description);
    names += (names.empty() ? "" : ", ") + std::string(p.name);
  }
  throw Error(result::kPara,
              "--preset: there is none named \"{}\": take one of {}, or describe the cluster (--cluster)", name, names);
}

void change(json& description, const std::string& changes) {
  constexpr const char* same[][2] = {
      {"alpha", "latency_us"},     {"beta", "bandwidth_GBps"},      {"gamma", "reduce_GBps"},
      {"overhead", "overhead_us"}, {"rendezvous", "rendezvous_us"}, {"cached", "cached_GBps"},
      {"wake", "wake_us"}};
  bool any = false;
  for (size_t at = 0; at < changes.size();) {
    // a comma inside a list does not end a change
    size_t end = at;
    for (int depth = 0; end < changes.size() && (changes[end] != ',' || depth > 0); ++end)
      depth += (changes[end] == '[') - (changes[end] == ']');
    const std::string part = changes.substr(at, end - at);
    at = end + 1;
    const size_t equal = part.find('='), dot = part.find('.');
    const json value = equal == std::string::npos ? json(json::value_t::discarded)
                                                  : json::parse(part.substr(equal + 1), nullptr, false);
    if (equal == std::string::npos || equal == 0 || value.is_discarded())
      throw Error(
          result::kPara,
          "what-if \"{}\": wanted KEY=VALUE such as inter.bandwidth_GBps=50, servers=32 or inter.dedicated=true, "
          "got \"{}\"",
          changes, part);
    any = true;
    const std::string key = part.substr(0, equal);
    if (key == "launch") description.erase("launch_us");
    if (key == "launch_us") description.erase("launch");
    if (dot == std::string::npos || dot > equal) {
      description[key] = value;
      continue;
    }
    const std::string level = key.substr(0, dot), of = key.substr(dot + 1);
    json& link = description[level];
    if (link.is_null()) link = json::object();
    if (!link.is_object())
      throw Error(result::kPara, "what-if \"{}\": {} has no {}: links are intra, inter and super", changes, level, of);
    for (const auto& [one, other] : same) {
      if (of == one) link.erase(other);
      if (of == other) link.erase(one);
    }
    link[of] = value;
  }
  if (!any) throw Error(result::kPara, "what-if \"{}\": wanted KEY=VALUE such as inter.bandwidth_GBps=50", changes);
}

}  // namespace hccl_sim
