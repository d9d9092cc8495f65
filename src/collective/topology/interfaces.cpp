// Which of the host's addresses HCCL uses.
#include <fnmatch.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>

#include "base/log.h"
#include "collective/error.h"
#include "collective/topology/environment.h"
#include "collective/topology/variable.h"

namespace updraft::collective {
namespace {

std::string names_of(const std::vector<Interface>& all) {
  std::string text;
  for (const Interface& i : all)
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", i.name, i.ip, i.up ? "" : " (down)");
  return text.empty() ? "none" : text;
}

const char* family_name(int family) { return family == AF_INET6 ? "AF_INET6" : "AF_INET"; }

/// HCCL_SOCKET_IFNAME taken apart.
struct Pattern {
  bool no = false;     ///< ^
  bool whole = false;  ///< =: whole names (the guide's eth* as well), else beginnings
  std::vector<std::string> names;

  explicit Pattern(std::string_view text) {
    no = text.starts_with('^');
    if (no) text.remove_prefix(1);
    whole = text.starts_with('=');
    if (whole) text.remove_prefix(1);
    names = split(text, ',');
    for (std::string& name : names)
      if (whole && name.starts_with('=')) name.erase(0, 1);  // =eth0,=eth1
  }
  bool fits(const std::string& interface, const std::string& name) const {
    return whole ? fnmatch(name.c_str(), interface.c_str(), 0) == 0 : interface.starts_with(name);
  }
  bool fits(const std::string& interface) const {
    return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return fits(interface, name); });
  }
};

/// 0: any other, 1: docker*, 2: lo.
int rank_of(const std::string& name) { return name == "lo" ? 2 : name.starts_with("docker") ? 1 : 0; }

}  // namespace

std::vector<Interface> interfaces() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0)
    throw Error(result::kSyscall, "the host's network interfaces cannot be listed: {}", std::strerror(errno));
  std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> guard(list, freeifaddrs);
  std::vector<Interface> all;
  for (const ifaddrs* i = list; i; i = i->ifa_next) {
    if (!i->ifa_addr) continue;
    const int family = i->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (family == AF_INET6) {
      sockaddr_in6 address;
      std::memcpy(&address, i->ifa_addr, sizeof address);
      if (IN6_IS_ADDR_LINKLOCAL(&address.sin6_addr)) continue;
    }
    char ip[NI_MAXHOST];
    if (getnameinfo(i->ifa_addr, size, ip, sizeof ip, nullptr, 0, NI_NUMERICHOST) != 0) continue;
    const unsigned wanted = IFF_UP | IFF_RUNNING;
    all.push_back({i->ifa_name, ip, family, (i->ifa_flags & wanted) == wanted});
  }
  std::stable_sort(all.begin(), all.end(), [](const Interface& a, const Interface& b) {
    return std::tuple(a.name, a.family != AF_INET) < std::tuple(b.name, b.family != AF_INET);
  });
  return all;
}

Interface choose_interface(const Environment& environment, const std::vector<Interface>& all) {
  const auto chosen = [](const Interface& i, const std::string& reason) {
    UPDRAFT_LOG(kInfo, "HCCL", "the host's interface is {} {}: {}", i.name, i.ip, reason);
    return i;
  };
  if (!environment.if_ip.empty()) {
    const Variable v{"HCCL_IF_IP", environment.if_ip};
    const Interface* down = nullptr;
    for (const Interface& i : all) {
      if (i.ip != environment.if_ip) continue;
      if (i.up) return chosen(i, "HCCL_IF_IP");
      down = &i;
    }
    if (down) v.refuse("an interface that is up", fmt::format("Bring {} up, or name another address", down->name));
    v.refuse("an address of this host: " + names_of(all), "Name one of these, or unset HCCL_IF_IP");
  }

  // Candidates, the best first: by the order of the names that were asked for, then by kind, then by name.
  std::vector<const Interface*> candidates;
  for (const Interface& i : all)
    if (i.up) candidates.push_back(&i);
  std::stable_sort(candidates.begin(), candidates.end(), [](const Interface* a, const Interface* b) {
    return std::tuple(rank_of(a->name), a->name, a->family != AF_INET) <
           std::tuple(rank_of(b->name), b->name, b->family != AF_INET);
  });
  std::string reason = "the first that is neither docker nor lo";
  if (!environment.socket_ifname.empty()) {
    const Pattern pattern(environment.socket_ifname);
    reason = "HCCL_SOCKET_IFNAME=" + environment.socket_ifname;
    std::vector<const Interface*> left;
    if (pattern.no) {
      std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(left),
                   [&](const Interface* i) { return !pattern.fits(i->name); });
    } else {
      for (const std::string& name : pattern.names)
        for (const Interface* i : candidates)
          if (pattern.fits(i->name, name)) left.push_back(i);
    }
    if (left.empty())
      Variable{"HCCL_SOCKET_IFNAME", environment.socket_ifname}.refuse(
          "an interface of this host that is up: " + names_of(all), "Name one of these, or unset HCCL_SOCKET_IFNAME");
    candidates = left;
  }
  for (const Interface* i : candidates) {
    if (environment.socket_family && i->family != environment.socket_family) continue;
    if (environment.socket_ifname.empty() && rank_of(i->name))
      reason = i->name == "lo" ? "there is no other" : "there is none but docker and lo";
    if (environment.socket_family) reason += std::string(", ") + family_name(environment.socket_family);
    return chosen(*i, reason);
  }
  if (environment.socket_family)
    Variable{"HCCL_SOCKET_FAMILY", family_name(environment.socket_family)}.refuse(
        fmt::format("an interface with such an address{}; this host has {}",
                    environment.socket_ifname.empty() ? "" : " among HCCL_SOCKET_IFNAME=" + environment.socket_ifname,
                    names_of(all)),
        "Give the interface such an address, or unset HCCL_SOCKET_FAMILY");
  throw Error(
      result::kNotFound,
      "EI0001: this host has no network interface that is up ({}). Bring one up (lo is enough for one host), or "
      "name its address in HCCL_IF_IP",
      names_of(all));
}

}  // namespace updraft::collective
