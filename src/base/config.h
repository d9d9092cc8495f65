// The UPDRAFT_* variables, read once. Every variable is listed in README.md.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace updraft {

struct Config {
  int installed = 8;                ///< UPDRAFT_DEVICES, 1..1024
  std::vector<int> visible;         ///< the devices that this process may use, by index (ASCEND_RT_VISIBLE_DEVICES)
  bool restricted = false;          ///< ASCEND_RT_VISIBLE_DEVICES is set
  std::string soc = "Ascend910B2";  ///< UPDRAFT_SOC
  size_t memory = 0;                ///< UPDRAFT_MEMORY, bytes a device (0: 80 % of the machine's)
  int threads = 1;                  ///< UPDRAFT_THREADS, workers of one compute engine
  bool strict = false;              ///< UPDRAFT_STRICT: the host cannot touch device memory
  bool card_fidelity = false;       ///< UPDRAFT_FIDELITY=card: refuse what the product would refuse
  bool inline_tasks = true;         ///< UPDRAFT_INLINE: small tasks may run in the submitting thread
  std::string max_isa;              ///< UPDRAFT_MAX_ISA: reference, v2, v3, v4
  std::string trace;                ///< UPDRAFT_TRACE: file that receives every call
  std::string profile;              ///< UPDRAFT_PROFILE: file that receives the time of tasks by name at exit
  /// What works here and would fail on the card is refused: a copy's kind against its pointers, host memory as an
  /// operator's argument, layouts that the host made.
  bool card_rules() const { return strict || card_fidelity; }
  int devices() const { return static_cast<int>(visible.size()); }
  static const Config& get();
  /// As the environment is now (tests; everybody else takes get()).
  static Config read();
};

/// "512M", "2G", "1048576" to bytes; throws Error naming `variable` when malformed.
size_t parse_size(const std::string& text, const char* variable);

/// What ASCEND_RT_VISIBLE_DEVICES (null: not set) means with `installed` devices.
std::vector<int> visible_devices(const char* text, int installed);

/// The least of RAM, the cgroup's limit and an eighth of a limit of addresses (ulimit -v), in bytes.
size_t machine_memory();

}  // namespace updraft
