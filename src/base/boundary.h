// The border to C: one guard turns exceptions into codes, keeps the text for aclGetRecentErrMsg and tells observers.
#pragma once
#include <new>
#include <string>

#include "base/error.h"
#include "base/parallel.h"

#define UPDRAFT_API __attribute__((visibility("default")))

namespace updraft {

/// Runs `body`; returns 0, or the code of what it threw after remembering the text. Never throws.
int guard(const char* name, FunctionRef<void()> body) noexcept;

/// Remembers a failure of the calling thread (for functions that cannot return a code).
void report_error(const char* name, int code, const std::string& text) noexcept;

/// The text of the thread's latest failure (or, when it has none, of the process'), in CANN's layout; "" when there
/// is none. Reading clears it; the pointer lives until the thread's next call.
const char* take_error_text() noexcept;

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
