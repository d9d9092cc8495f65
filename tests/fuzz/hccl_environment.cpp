// The variables HCCL_*, RANK_* and CM_*: one line of the input each, in the order below.
#include <sys/socket.h>

#include <sstream>

#include "base/error.h"
#include "collective/error.h"
#include "collective/topology/environment.h"
#include "collective/topology/rank_table.h"
#include "input.h"

using namespace updraft::collective;

namespace {

template <class Call>
void refusing(Call call) {
  try {
    call();
  } catch (const updraft::Error& e) {
    const bool known = e.code() == result::kPara || e.code() == result::kNotFound;
    if (!known || !e.text().starts_with("EI0001: ")) fuzz::wrong(e.what(), e.code());
  }
}

void check(const Environment& e) {
  if (!(e.connect_timeout > 0 && e.connect_timeout <= 1e9))
    fuzz::wrong("connect", static_cast<int64_t>(e.connect_timeout));
  if (!(e.exec_timeout >= 0 && e.exec_timeout <= 2147483647.0))
    fuzz::wrong("exec", static_cast<int64_t>(e.exec_timeout));
  if (e.buffer_bytes < 1 << 20 || e.buffer_bytes > int64_t{2048} << 20) fuzz::wrong("buffer", e.buffer_bytes);
  if (e.base_port > 65520) fuzz::wrong("port", e.base_port);
  for (auto [first, last] : e.ports)
    if (first == 0 || first > last) fuzz::wrong("ports", first);
  const std::vector<Interface> host = {{"docker0", "172.17.0.1", AF_INET, true},
                                       {"eth0", "10.1.0.1", AF_INET, true},
                                       {"eth0", "fd00::1", AF_INET6, true},
                                       {"lo", "127.0.0.1", AF_INET, true}};
  refusing([&] {
    const Interface i = choose_interface(e, host);
    if (e.if_ip.empty() && e.socket_family && i.family != e.socket_family) fuzz::wrong("family", i.family);
  });
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::environment();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const names[] = {"HCCL_IF_IP",
                                      "HCCL_SOCKET_IFNAME",
                                      "HCCL_SOCKET_FAMILY",
                                      "HCCL_IF_BASE_PORT",
                                      "HCCL_HOST_SOCKET_PORT_RANGE",
                                      "HCCL_CONNECT_TIMEOUT",
                                      "HCCL_EXEC_TIMEOUT",
                                      "UPDRAFT_HCCL_CONNECT_TIMEOUT",
                                      "UPDRAFT_HCCL_EXEC_TIMEOUT",
                                      "HCCL_ALGO",
                                      "HCCL_DETERMINISTIC",
                                      "HCCL_BUFFSIZE",
                                      "HCCL_RDMA_TC",
                                      "HCCL_OP_RETRY_ENABLE",
                                      "HCCL_OP_RETRY_PARAMS",
                                      "HCCL_DFS_CONFIG",
                                      "RANK_ID",
                                      "RANK_SIZE",
                                      "RANK_TABLE_FILE",
                                      "ASCEND_DEVICE_ID",
                                      "CM_CHIEF_IP",
                                      "CM_CHIEF_PORT",
                                      "CM_CHIEF_DEVICE",
                                      "CM_WORKER_SIZE",
                                      "CM_WORKER_IP"};
  std::istringstream lines(std::string(reinterpret_cast<const char*>(data), size));
  for (const char* name : names) {
    std::string line;
    if (std::getline(lines, line)) setenv(name, line.c_str(), 1);
    else unsetenv(name);
  }
  for (const char* product : {"Ascend910A", "Ascend910B2"})
    refusing([&] { check(Environment::read(*updraft::find_soc(product))); });
  refusing([] { read_launch(); });
  refusing([] { read_chief_settings(); });
  return 0;
}
