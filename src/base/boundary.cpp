#include "base/boundary.h"

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "base/api_call.h"
#include "base/fork.h"
#include "base/handle_pool.h"
#include "base/log.h"
#include "base/wall_clock.h"

namespace updraft {
namespace {

/// Handlers of exit() run in a thread whose texts are destroyed, and clients clean up there. This stays.
constinit thread_local bool t_texts_gone = false;
struct Texts {
  std::string error, taken;
  ~Texts() { t_texts_gone = true; }
};
thread_local Texts t_texts;
thread_local int t_runtime_error = 0;
std::mutex g_mutex;
std::atomic<bool> g_thread_only{false};
std::string* g_error = new std::string;  // outlives static destruction
[[maybe_unused]] const bool g_held = (hold_at_fork(HeldAtFork::Errors, g_mutex), true);

const char* title_of(int code) {
  switch (code) {
    case code::kRtMemoryAllocation: return "Memory_Allocation_Failure(EL0004)";
    case code::kRtInvalidDevice: return "Invalid_Argument_Device(EE1001)";
    case code::kAclApiNotSupport:
    case code::kRtFeatureNotSupport:
    case code::kAclnnNoKernel: return "Not_Supported(EZ3003)";
    case code::kRtInternal:
    case code::kAclInternal:
    case code::kAclnnInner: return "Inner_Error(EZ9999)";
    case code::kRtTaskTimeout:
    case code::kRtWaitTimeout: return "Execution_Timeout(EE4001)";
    case code::kRtAicoreException:
    case code::kRtVectorCoreException:
    case code::kRtAicpuException: return "Execution_Error(EZ9999)";
    default: return "Invalid_Argument(EZ1001)";
  }
}

}  // namespace

void report_error(const char* name, int code, std::string_view text) noexcept {
  if (std::strncmp(name, "aclrt", 5) == 0) t_runtime_error = code;
  try {
    UPDRAFT_LOG(kError, "ASCENDCL", "{} failed with {}: {}", name, code, text);
    const WallClock now = wall_clock("%Y-%m-%d-%H:%M:%S");
    std::string message = fmt::format(
        "[PID: {}] {}.{:03}.{:03} {}: {}\n        TraceBack (most recent call last):\n        {} returned {}\n",
        getpid(), now.text, now.milliseconds, now.microseconds, title_of(code), text, name, code);
    if (!t_texts_gone) t_texts.error = message;
    std::lock_guard lock(g_mutex);
    *g_error = std::move(message);
  } catch (...) {}
}

const char* take_error_text() noexcept {
  try {
    static auto* const late = new std::string;
    std::string& taken = t_texts_gone ? *late : t_texts.taken;
    taken.clear();
    if (!t_texts_gone) taken.swap(t_texts.error);
    std::lock_guard lock(g_mutex);
    if (taken.empty() && !g_thread_only) taken.swap(*g_error);
    g_error->clear();
    return taken.c_str();
  } catch (...) { return ""; }
}

void error_text_of_thread_only(bool on) noexcept { g_thread_only = on; }

int last_runtime_error(bool clear) noexcept { return clear ? std::exchange(t_runtime_error, 0) : t_runtime_error; }

int guard(const char* name, FunctionRef<void()> body, Forked forked) noexcept {
  ApiScope call(name);
  int code = 0;
  try {
    if (forked == Forked::Refused) check_not_forked();
    body();
  } catch (const Error& e) {
    code = e.code();
    report_error(name, code, e.text());
  } catch (const PoolFull&) {
    code = code::kAclBadAlloc;
    report_error(name, code, "every handle of this kind is in use: those that are done want their destroy call");
  } catch (const std::bad_alloc&) {
    code = code::kAclBadAlloc;
    report_error(name, code, "the host is out of memory");
  } catch (const std::exception& e) {
    code = code::kAclInternal;
    report_error(name, code, e.what());
  } catch (...) {
    code = code::kAclInternal;
    report_error(name, code, "unknown exception");
  }
  call.code(code);
  return code;
}

namespace {
// Each missing name is said once in the log, and each call leaves the text for aclGetRecentErrMsg.
void missing(const char* name, int code) noexcept try {
  ApiScope call(name);
  call.code(code);
  call.not_implemented();
  static auto* said = new std::set<std::string>;
  {
    std::lock_guard lock(g_mutex);
    if (said->insert(name).second) UPDRAFT_LOG(kWarning, "ASCENDCL", "{} is not implemented by Updraft yet", name);
  }
  report_error(name, code,
               fmt::format("{} is not implemented by Updraft yet (docs/reference/support.md lists what is)", name));
} catch (...) {}  // the code says it all the same
}  // namespace

}  // namespace updraft

using namespace updraft;
extern "C" {
int updraft_stub_int(const char* name) {
  missing(name, code::kAclApiNotSupport);
  return code::kAclApiNotSupport;
}
int updraft_stub_aclnn(const char* name) {
  missing(name, code::kAclnnNoKernel);
  return code::kAclnnNoKernel;
}
int updraft_stub_hccl(const char* name) {
  missing(name, 5);
  return 5;
}  // HCCL_E_NOT_SUPPORT
void* updraft_stub_pointer(const char* name) {
  missing(name, code::kAclApiNotSupport);
  return nullptr;
}
unsigned long updraft_stub_u64(const char* name) {
  missing(name, code::kAclApiNotSupport);
  return 0;
}
void updraft_stub_void(const char* name) { missing(name, code::kAclApiNotSupport); }
}
