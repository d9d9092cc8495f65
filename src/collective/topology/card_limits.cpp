#include "collective/topology/card_limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "collective/error.h"
#include "collective/topology/product.h"

namespace updraft::collective {
namespace {

constexpr const char* kWay = "UPDRAFT_SOC chooses the product, without UPDRAFT_FIDELITY=card nothing is refused";

std::string names_of(uint32_t types) {
  std::string all;
  for (int t = 0; t < kTypes; ++t)
    if (types & 1u << t) all += fmt::format("{}{}", all.empty() ? "" : ", ", name_of(static_cast<Type>(t)));
  return all;
}

void check_type(const std::string& what, Type type, uint32_t types, const char* family) {
  if (types & 1u << static_cast<int>(type)) return;
  throw Error(result::kPara, "EI0003: {} of {}: {} takes {}. {}", what, name_of(type), family, names_of(types), kWay);
}

}  // namespace

void check_operation(const Request& request, int rank, int ranks, const SocProfile& product) {
  const ProductLimits limits = limits_of(product);
  for (const Message& m : request.messages) check_type(name_of(request.kind), m.type, limits.moved, limits.family);
  if (!request.messages.empty() || request.kind == Kind::Barrier) return;
  if (!reduces(request.kind)) {
    check_type(name_of(request.kind), request.type, limits.moved, limits.family);
    return;
  }
  check_type(fmt::format("{}, {},", name_of(request.kind), name_of(request.op)), request.type,
             limits.reduced[static_cast<size_t>(request.op)], limits.family);
  if (const uint64_t bytes = request.send_bytes(rank, ranks); bytes > limits.most_bytes)
    throw Error(result::kPara, "EI0003: {} of {} bytes: {} takes {} bytes (8 GB) at most. {}", name_of(request.kind),
                bytes, limits.family, limits.most_bytes, kWay);
}

void check_servers(const std::string& communicator, const std::vector<ServerShare>& servers,
                   const SocProfile& product) {
  const ProductLimits limits = limits_of(product);
  const auto refuse = [&](const std::string& asked, const std::string& taken) {
    throw Error(result::kPara, "EI0003: communicator {} has {}: {} takes {}. {}", communicator, asked, limits.family,
                taken, kWay);
  };
  if (servers.size() > static_cast<size_t>(limits.servers))
    refuse(fmt::format("{} servers", servers.size()), fmt::format("{} at most", limits.servers));
  for (const ServerShare& server : servers) {
    const size_t n = server.devices.size(), each = servers.front().devices.size();
    const std::string here = fmt::format("{} ranks on the server of rank {}", n, server.first_rank);
    if (limits.two_nets && n != 1 && n != 2 && n != 4 && n != 8) refuse(here, "1, 2, 4 or 8");
    if (n > static_cast<size_t>(limits.cards)) refuse(here, fmt::format("{} at most", limits.cards));
    if (n != each)
      refuse(fmt::format("{} and {} on that of rank {}", here, each, servers.front().first_rank),
             "as many on every server");
    if (const int last = *std::ranges::max_element(server.devices); last >= limits.cards)
      refuse(fmt::format("device {}", last), fmt::format("devices 0 to {}", limits.cards - 1));
    if (limits.two_nets && n < 8 &&
        std::ranges::any_of(server.devices, [&](int d) { return d / 4 != server.devices.front() / 4; }))
      refuse(fmt::format("the devices {} of a server", fmt::join(server.devices, ", ")),
             "devices of one net, 0 to 3 or 4 to 7");
  }
}

}  // namespace updraft::collective
