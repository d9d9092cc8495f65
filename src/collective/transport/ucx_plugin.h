// Between libupdraft.so and libupdraft_net_ucx.so, which are built together.
#pragma once
#include "collective/transport/transport.h"

namespace updraft::collective {

inline constexpr char kUcxPlugin[] = "libupdraft_net_ucx.so";
inline constexpr char kUcxFactory[] = "updraft_net_ucx_make";

/// What the plugin uses of the library.
struct UcxHost {
  void (*log)(int level, const char* file, int line, const char* text);
  std::unique_ptr<Transport> (*make_tcp)(const TransportOptions& options);
};
/// Null and a reason when UCX does not work here.
using UcxFactory = Transport* (*)(const TransportOptions* options, const UcxHost* host, std::string* why);

}  // namespace updraft::collective
