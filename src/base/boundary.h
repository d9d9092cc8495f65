// The border to C: one guard turns exceptions into codes, keeps the text for aclGetRecentErrMsg and tells observers.
#pragma once
#include <new>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/parallel.h"

#define UPDRAFT_API __attribute__((visibility("default")))

namespace updraft {

/// Whether a call is refused in a process that was forked from one that uses devices.
enum class Forked : bool { Refused, Allowed };

/// Runs `body`; returns 0, or the code of what it threw after remembering the text. Never throws.
int guard(const char* name, FunctionRef<void()> body, Forked forked = Forked::Refused) noexcept;

/// Remembers a failure of the calling thread (for functions that cannot return a code).
void report_error(const char* name, int code, std::string_view text) noexcept;

/// The text of the thread's latest failure (or, when it has none, of the process'), in CANN's layout; "" when there
/// is none. Reading clears it; the pointer lives until the thread's next call.
const char* take_error_text() noexcept;
/// True: take_error_text() gives the thread's own failures only (aclInit's err_msg_mode 1).
void error_text_of_thread_only(bool on) noexcept;

/// The code of the thread's latest runtime call (aclrt…) that failed, 0 when none has; `clear` forgets it.
int last_runtime_error(bool clear) noexcept;

}  // namespace updraft

/// Answers for names that are part of the contract and not implemented yet (abi/generate.py makes the stubs).
extern "C" {
int updraft_stub_int(const char* name);
int updraft_stub_aclnn(const char* name);
int updraft_stub_hccl(const char* name);
void* updraft_stub_pointer(const char* name);
unsigned long updraft_stub_u64(const char* name);
void updraft_stub_void(const char* name);
}
