// Finds the UCX transport, a library of its own: UCX is not everywhere, and the rest must load without it.
#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include "base/log.h"
#include "collective/transport/ucx_plugin.h"

namespace updraft::collective {
namespace {

/// Beside the library that this code is in; else in the tree that UPDRAFT_CANN_HOME names.
void* open_plugin(std::string* why) {
  // UCX reads these when it is loaded: no handlers for signals (Python has its own), no hooks of malloc and mmap (only
  // needed for its shared memory and caches of registrations), nothing printed.
  setenv("UCX_HANDLE_ERRORS", "none", 0);
  setenv("UCX_MEM_EVENTS", "no", 0);
  setenv("UCX_LOG_LEVEL", "fatal", 0);
  // TCP in larger pieces than 8 KiB; a setting of the transport's, which ucp_config_modify() does not take.
  setenv("UCX_TCP_TX_SEG_SIZE", "512k", 0);
  setenv("UCX_TCP_RX_SEG_SIZE", "512k", 0);
  std::string folders[2];
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&make_ucx_transport), &info) && info.dli_fname) {
    const std::string path = info.dli_fname;
    folders[0] = path.substr(0, path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1);
  }
  if (const char* home = std::getenv("UPDRAFT_CANN_HOME")) folders[1] = std::string(home) + "/lib64/";
  why->clear();
  for (const std::string& folder : folders) {
    if (folder.empty()) continue;
    if (void* library = dlopen((folder + kUcxPlugin).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    const char* error = dlerror();
    *why += (why->empty() ? "" : "; ") + std::string(error ? error : "not loaded");
  }
  return nullptr;
}

void log_line(int level, const char* file, int line, const char* text) {
  const auto at = static_cast<log::Level>(level);
  if (log::enabled(at, "HCCL")) log::write(at, "HCCL", file, line, text);
}

}  // namespace

std::unique_ptr<Transport> make_ucx_transport(const TransportOptions& options, std::string* why) {
  static std::string reason;
  static const UcxFactory factory = []() -> UcxFactory {
    void* const library = open_plugin(&reason);
    if (!library) return nullptr;
    void* const symbol = dlsym(library, kUcxFactory);
    if (!symbol) reason = std::string(kUcxPlugin) + " is of another version";
    return reinterpret_cast<UcxFactory>(symbol);
  }();
  if (!factory) {
    if (why) *why = "UCX is not used: " + reason;
    return nullptr;
  }
  std::string error;
  const UcxHost host{&log_line, &make_tcp_transport};
  std::unique_ptr<Transport> made(factory(&options, &host, &error));
  if (!made && why) *why = "UCX is not used: " + error;
  return made;
}

}  // namespace updraft::collective
