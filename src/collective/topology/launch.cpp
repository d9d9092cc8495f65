// What job launchers set: RANK_*, CM_*.
#include <limits>

#include "base/config.h"
#include "collective/error.h"
#include "collective/topology/rank_table.h"
#include "collective/topology/variable.h"

namespace updraft::collective {
namespace {
constexpr int kMostDevices = 1024;  // of UPDRAFT_DEVICES
constexpr int64_t kMostRanks = 1 << 20;
}  // namespace

Launch read_launch() {
  Launch launch;
  if (auto v = variable("RANK_TABLE_FILE")) launch.rank_table = v->text;
  if (auto v = variable("RANK_SIZE")) launch.size = static_cast<uint32_t>(v->integer(1, kMostRanks));
  if (auto v = variable("RANK_ID")) {
    launch.rank_text = v->text;
    const std::optional<int64_t> n = parse_integer(v->text);
    // Without a rank table there are no pods, and so RANK_ID can only be a number.
    if (launch.rank_table.empty()) v->integer(0, launch.size ? *launch.size - 1 : kMostRanks - 1);
    if (n && *n >= 0 && *n < kMostRanks) launch.rank = static_cast<uint32_t>(*n);
  }
  for (const char* name : {"DEVICE_ID", "ASCEND_DEVICE_ID"})
    if (auto v = variable(name)) launch.device = static_cast<int>(v->integer(0, kMostDevices - 1));
  return launch;
}

const RankEntry& own_entry(const RankTable& table, const Launch& launch) {
  const size_t n = table.ranks.size();
  if (launch.size && *launch.size != n)
    throw Error(result::kPara,
                "EI0004: the rank table has {} devices, RANK_SIZE says {}. Start a process for every device of the "
                "table, or take out the devices that are not used",
                n, *launch.size);
  if (launch.rank_text.empty()) {
    if (n == 1) return table.ranks.front();
    throw Error(result::kPara,
                "EI0001: the environment variable RANK_ID is not set: want the place of this process in the rank table "
                "of {} devices. Set RANK_ID to {} in each process",
                n, table.version.empty() ? "its pod_name" : fmt::format("0 to {}", n - 1));
  }
  const Variable v{"RANK_ID", launch.rank_text};
  if (!table.version.empty()) return table.ranks[static_cast<size_t>(v.integer(0, static_cast<int64_t>(n) - 1))];
  const RankEntry* found = nullptr;
  std::string pods;
  size_t of_pod = 0;
  for (const RankEntry& entry : table.ranks) {
    if (entry.pod == launch.rank_text) {
      ++of_pod;
      if (!found || (launch.device && entry.device == *launch.device)) found = &entry;
    }
    if (pods.size() < 200) pods += (pods.empty() ? "" : ", ") + entry.pod;
  }
  if (!found) v.refuse("a pod_name of the rank table: " + pods, "Set RANK_ID to the pod_name of this process");
  if (of_pod > 1 && (!launch.device || found->device != *launch.device))
    throw Error(
        result::kPara,
        "EI0001: pod {} has {} devices in the rank table: want ASCEND_DEVICE_ID to say which is this process's. "
        "Set it to one of its device_id",
        launch.rank_text, of_pod);
  return *found;
}

std::optional<ChiefSettings> read_chief_settings() {
  constexpr const char* names[] = {"CM_CHIEF_IP", "CM_CHIEF_PORT", "CM_CHIEF_DEVICE", "CM_WORKER_SIZE", "CM_WORKER_IP"};
  std::optional<Variable> values[std::size(names)];
  const Variable* first = nullptr;
  for (size_t i = 0; i < std::size(names); ++i)
    if ((values[i] = variable(names[i])) && !first) first = &*values[i];
  if (!first) return {};
  for (const char* other : {"RANK_TABLE_FILE", "RANK_ID", "RANK_SIZE"})
    if (variable(other))
      first->refuse(fmt::format("either the CM_* variables or a rank table, and {} is set", other),
                    fmt::format("Unset {}, or unset all CM_* variables", other));
  for (size_t i = 0; i < std::size(names); ++i)
    if (!values[i])
      throw Error(result::kPara,
                  "EI0001: the environment variable {} is not set although {} is: want all of CM_CHIEF_IP, "
                  "CM_CHIEF_PORT, CM_CHIEF_DEVICE, CM_WORKER_SIZE and CM_WORKER_IP. Set it, or unset all of them",
                  names[i], first->name);
  ChiefSettings c;
  c.chief_ip = values[0]->ip();
  // The guide's ranges begin at 0, with which nobody could be met.
  c.chief_port = static_cast<uint16_t>(values[1]->integer(1, 65520));
  c.chief_device = static_cast<int>(values[2]->integer(0, kMostDevices - 1));
  c.worker_size = static_cast<uint32_t>(values[3]->integer(1, 4096));
  c.worker_ip = values[4]->ip();
  if ((c.chief_ip.find(':') == std::string::npos) != (c.worker_ip.find(':') == std::string::npos))
    values[4]->refuse(fmt::format("an address of the same IP version as CM_CHIEF_IP={}", c.chief_ip));
  return c;
}

}  // namespace updraft::collective
