// Allocators that a client registers for its streams. Operators here take what they need beside their arguments from
// the workspace that the client gives them, or from memory of the engine: nobody asks a registered allocator. It is
// kept and can be read back.
#include <map>
#include <mutex>

#include "acl/acl_rt.h"
#include "acl/api.h"

using namespace updraft;

namespace {

struct AllocatorDesc {
  aclrtAllocator object = nullptr;
  aclrtAllocatorAllocFunc alloc = nullptr;
  aclrtAllocatorFreeFunc free = nullptr;
  aclrtAllocatorAllocAdviseFunc alloc_advise = nullptr;
  aclrtAllocatorGetAddrFromBlockFunc address = nullptr;
};

struct Registered {
  aclrtAllocatorDesc desc;
  AllocatorDesc values;  // as they were when it was registered
};

HandlePool<AllocatorDesc>& descs() {
  static auto* pool = new HandlePool<AllocatorDesc>(size_t{1} << 16);
  return *pool;
}

std::mutex g_mutex;
std::map<int32_t, Registered>& registered() {  // by the stream's number, which no other stream ever gets
  static auto* all = new std::map<int32_t, Registered>;
  return *all;
}

AllocatorDesc& checked(aclrtAllocatorDesc handle) {
  need(handle, "allocatorDesc");
  AllocatorDesc* desc = descs().get(handle);
  if (!desc)
    throw Error(code::kRtInvalidHandle, "{} is not an allocator's description (destroyed, or never created)", handle);
  return *desc;
}

template <class F>
int set(const char* name, aclrtAllocatorDesc desc, F&& field) {
  return guard(name, [&] {
    AllocatorDesc& live = checked(desc);
    std::lock_guard lock(g_mutex);
    field(live);
  });
}

}  // namespace

extern "C" UPDRAFT_API aclrtAllocatorDesc aclrtAllocatorCreateDesc() {
  void* made = nullptr;
  guard("aclrtAllocatorCreateDesc", [&] { made = descs().create(); });
  return made;
}
ACL_API aclrtAllocatorDestroyDesc(aclrtAllocatorDesc desc) {
  return guard("aclrtAllocatorDestroyDesc", [&] {
    checked(desc);
    descs().destroy(desc);
  });
}
ACL_API aclrtAllocatorSetObjToDesc(aclrtAllocatorDesc desc, aclrtAllocator object) {
  return set("aclrtAllocatorSetObjToDesc", desc, [&](AllocatorDesc& d) { d.object = object; });
}
ACL_API aclrtAllocatorSetAllocFuncToDesc(aclrtAllocatorDesc desc, aclrtAllocatorAllocFunc f) {
  return set("aclrtAllocatorSetAllocFuncToDesc", desc, [&](AllocatorDesc& d) { d.alloc = f; });
}
ACL_API aclrtAllocatorSetFreeFuncToDesc(aclrtAllocatorDesc desc, aclrtAllocatorFreeFunc f) {
  return set("aclrtAllocatorSetFreeFuncToDesc", desc, [&](AllocatorDesc& d) { d.free = f; });
}
ACL_API aclrtAllocatorSetAllocAdviseFuncToDesc(aclrtAllocatorDesc desc, aclrtAllocatorAllocAdviseFunc f) {
  return set("aclrtAllocatorSetAllocAdviseFuncToDesc", desc, [&](AllocatorDesc& d) { d.alloc_advise = f; });
}
ACL_API aclrtAllocatorSetGetAddrFromBlockFuncToDesc(aclrtAllocatorDesc desc, aclrtAllocatorGetAddrFromBlockFunc f) {
  return set("aclrtAllocatorSetGetAddrFromBlockFuncToDesc", desc, [&](AllocatorDesc& d) { d.address = f; });
}

ACL_API aclrtAllocatorRegister(void* stream, aclrtAllocatorDesc desc) {
  return guard("aclrtAllocatorRegister", [&] {
    const AllocatorDesc& live = checked(desc);
    if (!live.object || !live.alloc || !live.free || !live.address)
      throw Error(code::kRtParamInvalid,
                  "the allocator's description lacks its object or one of the functions that allocate, free and give "
                  "the address of a block");
    const int32_t id = stream_of(stream).id();
    std::lock_guard lock(g_mutex);
    registered()[id] = {desc, live};
  });
}
ACL_API aclrtAllocatorUnregister(void* stream) {
  return guard("aclrtAllocatorUnregister", [&] {
    const int32_t id = stream_of(stream).id();
    std::lock_guard lock(g_mutex);
    registered().erase(id);
  });
}
ACL_API aclrtAllocatorGetByStream(void* stream, aclrtAllocatorDesc* desc, aclrtAllocator* object,
                                  aclrtAllocatorAllocFunc* alloc, aclrtAllocatorFreeFunc* free,
                                  aclrtAllocatorAllocAdviseFunc* alloc_advise,
                                  aclrtAllocatorGetAddrFromBlockFunc* address) {
  return guard("aclrtAllocatorGetByStream", [&] {
    need(desc, "allocatorDesc");
    need(object, "allocator");
    const int32_t id = stream_of(stream).id();
    std::lock_guard lock(g_mutex);
    const auto found = registered().find(id);
    if (found == registered().end()) throw Error(code::kRtParamInvalid, "no allocator is registered for stream {}", id);
    const Registered& r = found->second;
    *desc = r.desc;
    *object = r.values.object;
    if (alloc) *alloc = r.values.alloc;
    if (free) *free = r.values.free;
    if (alloc_advise) *alloc_advise = r.values.alloc_advise;
    if (address) *address = r.values.address;
  });
}
