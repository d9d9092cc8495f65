// acl.rt: memory and copies.
#include "binding.h"

namespace pyacl {
namespace {

constexpr size_t kKey = 65;  // as IPC keys are: 64 characters and the end

aclError export_key(void* address, size_t size, size_t length, uint64_t flags, Text* key) {
  std::string text(length < kKey ? kKey : length, '\0');
  const aclError code = aclrtIpcMemGetExportKey(address, size, text.data(), length, flags);
  *key = Text(to_python(code ? "" : text.c_str()));
  return code;
}

aclError malloc_physical(size_t size, const aclrtPhysicalMemProp& prop, uint64_t flags, aclrtDrvMemHandle* handle) {
  return aclrtMallocPhysical(handle, size, &prop, flags);
}

constexpr Row kRows[] = {
    WAIT("malloc", aclrtMalloc, "size, policy -> address"),
    WAIT("malloc_align32", aclrtMallocAlign32, "size, policy -> address"),
    WAIT("malloc_cached", aclrtMallocCached, "size, policy -> address"),
    WAIT("free", aclrtFree, "address"),
    WAIT("malloc_host", aclrtMallocHost, "size -> address"),
    WAIT("free_host", aclrtFreeHost, "address"),
    CALL("mem_flush", aclrtMemFlush, "address, size"),
    CALL("mem_invalidate", aclrtMemInvalidate, "address, size"),
    WAIT("memcpy", aclrtMemcpy, "dst, dest_max, src, count, kind"),
    WAIT("memcpy_async", aclrtMemcpyAsync, "dst, dest_max, src, count, kind, stream"),
    WAIT("memcpy_2d", aclrtMemcpy2d, "dst, dpitch, src, spitch, width, height, kind"),
    WAIT("memcpy_2d_async", aclrtMemcpy2dAsync, "dst, dpitch, src, spitch, width, height, kind, stream"),
    WAIT("memset", aclrtMemset, "address, max_count, value, count"),
    WAIT("memset_async", aclrtMemsetAsync, "address, max_count, value, count, stream"),
    CALL("get_mem_info", aclrtGetMemInfo, "attr -> free, total"),
    CALL("pointer_get_attributes", aclrtPointerGetAttributes, "address -> attributes"),
    CALL("host_register", aclrtHostRegister, "address, size, type -> device_address"),
    CALL("host_unregister", aclrtHostUnregister, "address"),
    CALL("reserve_mem_address", aclrtReserveMemAddress, "size, alignment, expected, flags -> address"),
    CALL("release_mem_address", aclrtReleaseMemAddress, "address"),
    WAIT("map_mem", aclrtMapMem, "address, size, offset, handle, flags"),
    WAIT("unmap_mem", aclrtUnmapMem, "address"),
    WAIT_AS("malloc_physical", "aclrtMallocPhysical", malloc_physical, "size, prop, flags -> handle"),
    WAIT("free_physical", aclrtFreePhysical, "handle"),
    CALL("mem_export_to_shareable_handle", aclrtMemExportToShareableHandle, "handle, type, flags -> shareable_handle"),
    CALL("mem_import_from_shareable_handle", aclrtMemImportFromShareableHandle,
         "shareable_handle, device_id -> handle"),
    CALL_AS("ipc_mem_get_export_key", "aclrtIpcMemGetExportKey", export_key, "address, size, length, flags -> key"),
    WAIT("ipc_mem_import_by_key", aclrtIpcMemImportByKey, "key, flags -> address"),
    WAIT("ipc_mem_close", aclrtIpcMemClose, "key"),
    WAIT("cmo_async", aclrtCmoAsync, "src, size, cmo_type, stream"),
};

}  // namespace
const Table kMemory{"rt", kRows};
}  // namespace pyacl
