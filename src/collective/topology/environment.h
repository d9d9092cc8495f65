// The HCCL_* variables, validated. Sources: the guide's chapter on collective communication and today's public
// reference of the variables (docs/use/hccl-variables.md lists them with their effect here).
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "collective/types.h"
#include "device/soc.h"

namespace updraft::collective {

using Levels = std::array<Algorithm, 3>;  ///< in a server, between servers, between super pods

/// What HCCL_ALGO, or a communicator's own setting, wishes for.
struct Algorithms {
  Levels level = {Algorithm::Auto, Algorithm::Auto, Algorithm::Auto};  ///< for all operators
  std::map<Kind, Levels> level_of;                                     ///< for single operators

  /// Replaces both; `origin` names the variable or field in an error (EI0001).
  void read_algorithms(const std::string& text, const char* origin = "HCCL_ALGO");
  Algorithm algorithm(Kind kind, int at) const {
    auto it = level_of.find(kind);
    return (it == level_of.end() ? level : it->second)[static_cast<size_t>(at)];
  }
  /// Whether anything is chosen for level 1 or 2 by itself.
  bool chosen(int at) const;
  /// "HcclAllReduce NHR, HcclBroadcast auto and ring" of the levels between servers and (after "and", where chosen)
  /// between super pods; what is not chosen left out.
  std::string between_servers() const;
};

struct Environment : Algorithms {
  std::string if_ip;           ///< HCCL_IF_IP, in inet_ntop's spelling
  std::string socket_ifname;   ///< HCCL_SOCKET_IFNAME as written: eth,enp | ^eth,enp | =eth0,eth1 | ^=eth0,eth1
  int socket_family = 0;       ///< HCCL_SOCKET_FAMILY: AF_INET, AF_INET6, 0: either (IPv4 first)
  uint16_t base_port = 60000;  ///< HCCL_IF_BASE_PORT; 16 ports are reserved from it on; 0: any free ports
  /// Where listeners go, first to last, inclusive: HCCL_HOST_SOCKET_PORT_RANGE, else base_port and the 15 after it.
  /// Empty: any free ports.
  std::vector<std::pair<uint16_t, uint16_t>> ports = {{uint16_t{60000}, uint16_t{60015}}};
  bool whitelist = false;             ///< HCCL_WHITELIST_DISABLE=0
  std::vector<std::string> host_ips;  ///< HCCL_WHITELIST_FILE's host_ip, in inet_ntop's spelling; read when it is on
  double connect_timeout = 120;       ///< HCCL_CONNECT_TIMEOUT, s (UPDRAFT_HCCL_CONNECT_TIMEOUT overrides it)
  /// HCCL_EXEC_TIMEOUT, s; 0: never. On the first generation a multiple of 68 (UPDRAFT_HCCL_EXEC_TIMEOUT overrides it).
  double exec_timeout = 1800;
  bool deterministic = false;        ///< HCCL_DETERMINISTIC (our order is fixed anyway)
  int64_t buffer_bytes = 200 << 20;  ///< HCCL_BUFFSIZE, MB there
  std::string super_pod;             ///< HCCL_LOGIC_SUPERPOD_ID: the third level without a rank table
  /// UPDRAFT_HCCL_SECRET, or what UPDRAFT_HCCL_SECRET_FILE holds: what only the processes of the job know; "": nothing.
  std::string secret;
  bool trust_network = false;                   ///< UPDRAFT_HCCL_TRUST_NETWORK=1: several servers need no secret
  std::map<std::string, std::string> accepted;  ///< validated, without a meaning in software: name -> value
  std::map<std::string, std::string> unknown;   ///< HCCL_* that nobody knows -> the nearest name that exists

  /// The process's environment as it is now. Throws Error (HCCL_E_PARA) with EI0001, the variable, its value, what is
  /// wanted and how to fix it. Unknown HCCL_* variables get one logged warning a process.
  static Environment read(const SocProfile& product = updraft::soc());
  /// As it was at first use.
  static const Environment& get();
};

/// One of this host's addresses that other hosts may use.
struct Interface {
  std::string name;  ///< eth0
  std::string ip;    ///< numeric
  int family;        ///< AF_INET, AF_INET6
  bool up;           ///< up and with a carrier
};
/// By name; of one name IPv4 first. Link-local IPv6 addresses are left out: they mean nothing to another host.
std::vector<Interface> interfaces();
/// HCCL_IF_IP > HCCL_SOCKET_IFNAME > any other > docker* > lo; logs the choice and its reason. Throws EI0001 when what
/// the variables ask for does not exist.
Interface choose_interface(const Environment& environment, const std::vector<Interface>& all);

}  // namespace updraft::collective
