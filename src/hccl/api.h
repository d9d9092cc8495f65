// Shared by the HCCL entry points: handles, checks, codes.
#pragma once
#include <cstdint>
#include <memory>

#include "base/boundary.h"
#include "base/handle_pool.h"
#include "collective/communicator.h"
#include "collective/error.h"

#define HCCL_API extern "C" UPDRAFT_API int

namespace updraft {

using CommunicatorPointer = std::shared_ptr<collective::Communicator>;

/// Runs `body`; returns 0 or an HcclResult after remembering the text. Failures of other parts become HCCL_E_RUNTIME,
/// HCCL_E_PARA or HCCL_E_MEMORY.
int hccl_guard(const char* name, FunctionRef<void()> body) noexcept;

HandlePool<CommunicatorPointer>& communicator_pool();
/// A handle for a new communicator, which its name finds from now on.
void* keep_communicator(CommunicatorPointer communicator);
/// The handle of the communicator of that name on the device, the latest where several had it; null where there is
/// none.
void* communicator_named(const std::string& name, const Device& device);
/// Removes the handle; null for what is no communicator.
CommunicatorPointer take_communicator(const void* handle);
/// Null for what is no communicator.
CommunicatorPointer find_communicator(const void* handle);
/// Throws HCCL_E_PARA for what is no communicator.
CommunicatorPointer communicator_of(const void* handle);

/// Throws HCCL_E_PTR that names the argument when it is null.
inline void need_pointer(const void* p, const char* name) {
  if (!p) throw Error(collective::result::kPtr, "EI0003: {} is null", name);
}

/// A buffer must be memory of the communicator's device, all of it. Throws HCCL_E_PARA that names the argument.
void check_buffer(const collective::Communicator& comm, const void* p, size_t bytes, const char* name);

}  // namespace updraft
