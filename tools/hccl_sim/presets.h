// Clusters that have a name.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hccl_sim {

struct Preset {
  const char *name, *about;
  const char* description;  ///< as parse_cluster() takes it, without the number of servers
};
const std::vector<Preset>& presets();
/// The description by its name; throws updraft::Error with all names.
nlohmann::json preset(const std::string& name);

/// Changes a description by "inter.bandwidth_GBps=50,servers=32": keys as in the description's JSON, with a dot inside
/// a link. What says the same in another unit (beta) goes. Throws updraft::Error.
void change(nlohmann::json& description, const std::string& changes);

}  // namespace hccl_sim
