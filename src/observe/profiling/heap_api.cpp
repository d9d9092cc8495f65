// A client's own pools of memory, as it tells tools of them by mstx: heaps, and what is in use in them.
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "acl/api.h"
#include "base/accepted.h"
#include "mstx/ms_tools_ext.h"

using namespace updraft;

namespace {

struct Range {
  uint32_t device;
  const char* begin;
  int64_t size;
};
struct Heap {
  Range range;
  std::map<const void*, std::unique_ptr<Range>> regions;  ///< by handle
};
struct Heaps {
  std::mutex mutex;
  std::map<const void*, std::unique_ptr<Heap>> all;  ///< by handle
};
Heaps& heaps() {
  static auto* h = new Heaps;
  return *h;
}

Range range_of(const mstxMemVirtualRangeDesc_t& given, const char* what) {
  if (!given.ptr || given.size <= 0)
    throw Error(code::kAclInvalidParam, "{} is {} bytes at {}, want some at an address", what, given.size, given.ptr);
  return {given.deviceId, static_cast<const char*>(given.ptr), given.size};
}

Heap& heap_of(const void* handle) {
  const auto found = heaps().all.find(handle);
  if (found == heaps().all.end())
    throw Error(code::kAclInvalidParam, "the heap {} is none that mstxMemHeapRegister has made, or it was unregistered",
                handle);
  return *found->second;
}

}  // namespace

ACCEPTED(mstxMemHeapRegister, "checked and numbered; no tool here reads the parts of a client's own pool",
         "校验并编号；此处没有工具读取用户内存池的内部划分")
ACCEPTED(mstxMemHeapUnregister, "as mstxMemHeapRegister", "同 mstxMemHeapRegister")
ACCEPTED(mstxMemRegionsRegister, "as mstxMemHeapRegister", "同 mstxMemHeapRegister")
ACCEPTED(mstxMemRegionsUnregister, "as mstxMemHeapRegister", "同 mstxMemHeapRegister")

extern "C" {
UPDRAFT_API mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t, const mstxMemHeapDesc_t* heap) {
  mstxMemHeapHandle_t made = nullptr;
  guard("mstxMemHeapRegister", [&] {
    need(heap, "heap");
    need(heap->typeSpecificDesc, "heap->typeSpecificDesc");
    if (heap->usage != MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR || heap->type != MSTX_MEM_TYPE_VIRTUAL_ADDRESS)
      throw Error(code::kAclInvalidParam, "the heap's usage is {} and its type {}, want 0 (a pool) and 0 (addresses)",
                  static_cast<int>(heap->usage), static_cast<int>(heap->type));
    auto kept = std::make_unique<Heap>();
    kept->range = range_of(*static_cast<const mstxMemVirtualRangeDesc_t*>(heap->typeSpecificDesc), "the heap");
    std::lock_guard lock(heaps().mutex);
    made = reinterpret_cast<mstxMemHeapHandle_t>(kept.get());
    heaps().all[made] = std::move(kept);
  });
  return made;
}
UPDRAFT_API void mstxMemHeapUnregister(mstxDomainHandle_t, mstxMemHeapHandle_t heap) {
  guard("mstxMemHeapUnregister", [&] {
    std::lock_guard lock(heaps().mutex);
    heap_of(heap);
    heaps().all.erase(heap);
  });
}
UPDRAFT_API void mstxMemRegionsRegister(mstxDomainHandle_t, const mstxMemRegionsRegisterBatch_t* batch) {
  guard("mstxMemRegionsRegister", [&] {
    need(batch, "batch");
    if (!batch->regionCount) return;
    need(batch->regionDescArray, "batch->regionDescArray");
    need(batch->regionHandleArrayOut, "batch->regionHandleArrayOut");
    if (batch->regionType != MSTX_MEM_TYPE_VIRTUAL_ADDRESS)
      throw Error(code::kAclInvalidParam, "the regions' type is {}, want 0 (addresses)",
                  static_cast<int>(batch->regionType));
    std::lock_guard lock(heaps().mutex);
    Heap& heap = heap_of(batch->heap);
    const auto* given = static_cast<const mstxMemVirtualRangeDesc_t*>(batch->regionDescArray);
    for (size_t i = 0; i < batch->regionCount; ++i) {  // all or none
      const Range r = range_of(given[i], "a region");
      if (r.device != heap.range.device || r.begin < heap.range.begin ||
          r.begin - heap.range.begin > heap.range.size - r.size)
        throw Error(code::kAclInvalidParam,
                    "region {} is {} bytes at {} of device {}, outside its heap: {} bytes at {} of {}", i, r.size,
                    static_cast<const void*>(r.begin), r.device, heap.range.size,
                    static_cast<const void*>(heap.range.begin), heap.range.device);
    }
    for (size_t i = 0; i < batch->regionCount; ++i) {
      auto kept = std::make_unique<Range>(range_of(given[i], "a region"));
      batch->regionHandleArrayOut[i] = reinterpret_cast<mstxMemRegionHandle_t>(kept.get());
      heap.regions[kept.get()] = std::move(kept);
    }
  });
}
UPDRAFT_API void mstxMemRegionsUnregister(mstxDomainHandle_t, const mstxMemRegionsUnregisterBatch_t* batch) {
  guard("mstxMemRegionsUnregister", [&] {
    need(batch, "batch");
    if (!batch->refCount) return;
    need(batch->refArray, "batch->refArray");
    std::lock_guard lock(heaps().mutex);
    for (size_t i = 0; i < batch->refCount; ++i) {
      const mstxMemRegionRef_t& ref = batch->refArray[i];
      bool gone = false;
      for (auto& [handle, heap] : heaps().all)
        gone = gone ||
               (ref.refType == MSTX_MEM_REGION_REF_TYPE_HANDLE
                    ? heap->regions.erase(ref.handle) > 0
                    : std::erase_if(heap->regions, [&](const auto& r) { return r.second->begin == ref.pointer; }) > 0);
      if (!gone) throw Error(code::kAclInvalidParam, "reference {} is to no region that is registered", i);
    }
  });
}
}
