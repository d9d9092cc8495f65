#include "hccl/root_info.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "collective/bootstrap/protocol.h"
#include "collective/bootstrap/root.h"
#include "collective/error.h"
#include "collective/topology/environment.h"

namespace updraft {

using namespace collective;

namespace {
constexpr char kMagic[] = "updraft root 1";

// The roots that this process opened, by key.
std::mutex g_mutex;
std::map<std::string, std::weak_ptr<Root>>& roots() {
  static auto* all = new std::map<std::string, std::weak_ptr<Root>>;
  return *all;
}
}  // namespace

RootInfo RootInfo::open(uint32_t ranks) {
  const Environment& environment = Environment::get();
  static std::atomic<uint32_t> count{0};
  RootInfo info;
  info.ip = choose_interface(environment, interfaces()).ip;
  info.key = random_bytes(32);
  RootOptions options;
  options.ip = info.ip;
  options.key = info.key;
  options.timeout = environment.connect_timeout;
  options.ranks = ranks;
  options.whitelist = environment.whitelist;
  options.allowed = environment.host_ips;
  const bool asked = std::getenv("HCCL_IF_BASE_PORT") || std::getenv("HCCL_HOST_SOCKET_PORT_RANGE");
  std::shared_ptr<Root> root;
  if (asked) {
    // Several communicators share the reserved ports: take the first that is free.
    std::optional<Error> last;
    for (auto [first, end] : environment.ports)
      for (uint32_t port = first; port <= end && !root; ++port) try {
          options.port = static_cast<uint16_t>(port);
          root = Root::open(options);
        } catch (const Error& e) { last = e; }
    if (!root && last) throw *last;
  }
  if (!root) {
    options.port = 0;
    root = Root::open(options);
  }
  {
    std::lock_guard lock(g_mutex);
    std::erase_if(roots(), [](const auto& entry) { return entry.second.expired(); });
    roots()[info.key] = root;
  }
  info.port = root->port();
  info.name = fmt::format("{}_{}_{}_{}", info.ip, info.port, getpid(), count++);
  return info;
}

void RootInfo::close() const {
  std::lock_guard lock(g_mutex);
  if (auto it = roots().find(key); it != roots().end())
    if (auto root = it->second.lock()) root->close();
}

std::string RootInfo::text() const { return Writer().sized(kMagic).sized(ip).u32(port).sized(key).sized(name).text(); }

RootInfo RootInfo::from_text(const std::string& text) {
  RootInfo info;
  try {
    Reader reader(text);
    if (reader.sized() != kMagic) throw Error(result::kPara, "magic");
    info.ip = reader.sized();
    info.port = static_cast<uint16_t>(reader.u32());
    info.key = reader.sized();
    info.name = reader.sized();
  } catch (const Error&) {
    throw Error(
        result::kPara,
        "EI0003: rootInfo is not what HcclGetRootInfo of this version gave: hand its {} bytes unchanged from rank "
        "0 to all ranks",
        kRootInfoBytes);
  }
  return info;
}

void RootInfo::write(void* bytes) const {
  const std::string all = text();
  std::memset(bytes, 0, kRootInfoBytes);
  std::memcpy(bytes, all.data(), all.size());
}

RootInfo RootInfo::read(const void* bytes) {
  return from_text(std::string(static_cast<const char*>(bytes), kRootInfoBytes));
}

}  // namespace updraft
