// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Memory: allocation, copies, address ranges, sharing; part of acl/acl_rt.h.
 */
#ifndef UPDRAFT_ACL_RT_MEMORY_H_
#define UPDRAFT_ACL_RT_MEMORY_H_

#include "acl/rt/structs.h"

#ifdef __cplusplus
extern "C" {
#endif

ACL_FUNC_VISIBILITY aclError aclrtAllocBuf(aclrtMbuf* buf, size_t size);
ACL_FUNC_VISIBILITY aclrtAllocatorDesc aclrtAllocatorCreateDesc(void);
ACL_FUNC_VISIBILITY aclError aclrtAllocatorDestroyDesc(aclrtAllocatorDesc desc);
ACL_FUNC_VISIBILITY aclError
aclrtAllocatorGetByStream(aclrtStream stream, aclrtAllocatorDesc* desc, aclrtAllocator* allocator,
                          aclrtAllocatorAllocFunc* allocatorAllocFunc, aclrtAllocatorFreeFunc* allocatorFreeFunc,
                          aclrtAllocatorAllocAdviseFunc* allocatorAllocAdviseFunc,
                          aclrtAllocatorGetAddrFromBlockFunc* allocatorGetAddrFromBlockFunc);
ACL_FUNC_VISIBILITY aclError aclrtAllocatorRegister(aclrtStream stream, aclrtAllocatorDesc desc);
ACL_FUNC_VISIBILITY aclError
aclrtAllocatorSetAllocAdviseFuncToDesc(aclrtAllocatorDesc desc, aclrtAllocatorAllocAdviseFunc allocatorAllocAdviseFunc);
ACL_FUNC_VISIBILITY aclError aclrtAllocatorSetAllocFuncToDesc(aclrtAllocatorDesc desc,
                                                              aclrtAllocatorAllocFunc allocatorAllocFunc);
ACL_FUNC_VISIBILITY aclError aclrtAllocatorSetFreeFuncToDesc(aclrtAllocatorDesc desc,
                                                             aclrtAllocatorFreeFunc allocatorFreeFunc);
ACL_FUNC_VISIBILITY aclError aclrtAllocatorSetGetAddrFromBlockFuncToDesc(
    aclrtAllocatorDesc desc, aclrtAllocatorGetAddrFromBlockFunc allocatorGetAddrFromBlockFunc);
ACL_FUNC_VISIBILITY aclError aclrtAllocatorSetObjToDesc(aclrtAllocatorDesc desc, aclrtAllocator allocator);
ACL_FUNC_VISIBILITY aclError aclrtAllocatorUnregister(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtAppendBufChain(aclrtMbuf head, aclrtMbuf buf);
ACL_FUNC_VISIBILITY aclError aclrtCheckMemType(void** addrs, uint32_t count, uint32_t memType, uint32_t* result,
                                               uint32_t reserve);
ACL_FUNC_VISIBILITY aclError aclrtCmoAsync(void* src, size_t size, aclrtCmoType cmoType, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtCmoAsyncWithBarrier(void* src, size_t size, aclrtCmoType cmoType, uint32_t barrierId,
                                                      aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtCmoAsyncWithDesc(void* desc, aclrtCmoType cmoType, aclrtStream stream,
                                                   const void* reserve);
ACL_FUNC_VISIBILITY aclError aclrtCmoGetDescSize(size_t* size);
ACL_FUNC_VISIBILITY aclError aclrtCmoSetDesc(void* desc, void* src, size_t size);
ACL_FUNC_VISIBILITY aclError aclrtCmoWaitBarrier(aclrtBarrierTaskInfo* info, aclrtStream stream, uint32_t flag);
ACL_FUNC_VISIBILITY aclError aclrtCopyBufRef(const aclrtMbuf buf, aclrtMbuf* newBuf);

/** Releases device memory; waits for work that may use it. */
ACL_FUNC_VISIBILITY aclError aclrtFree(void* devPtr);
ACL_FUNC_VISIBILITY aclError aclrtFreeBuf(aclrtMbuf buf);

/** Releases memory of aclrtMallocHost. */
ACL_FUNC_VISIBILITY aclError aclrtFreeHost(void* hostPtr);
ACL_FUNC_VISIBILITY aclError aclrtFreeHostWithDevSync(void* hostPtr);
ACL_FUNC_VISIBILITY aclError aclrtFreePhysical(aclrtDrvMemHandle handle);
ACL_FUNC_VISIBILITY aclError aclrtFreeWithDevSync(void* devPtr);
ACL_FUNC_VISIBILITY aclError aclrtGetBufChainNum(aclrtMbuf head, uint32_t* count);
ACL_FUNC_VISIBILITY aclError aclrtGetBufData(const aclrtMbuf buf, void** data, size_t* size);
ACL_FUNC_VISIBILITY aclError aclrtGetBufDataLen(aclrtMbuf buf, size_t* length);
ACL_FUNC_VISIBILITY aclError aclrtGetBufFromChain(aclrtMbuf head, uint32_t index, aclrtMbuf* buf);
ACL_FUNC_VISIBILITY aclError aclrtGetBufUserData(const aclrtMbuf buf, void* data, size_t size, size_t offset);

/** Free and total bytes of one kind of memory of the current device. */
ACL_FUNC_VISIBILITY aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total);
ACL_FUNC_VISIBILITY aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo* infos, size_t maxCount,
                                                  size_t* count);
ACL_FUNC_VISIBILITY aclError aclrtGetMemcpyDescSize(aclrtMemcpyKind kind, size_t* size);
ACL_FUNC_VISIBILITY aclError aclrtHostGetDevicePointer(void* host, void** device, uint32_t flag);
ACL_FUNC_VISIBILITY aclError aclrtHostMemMapCapabilities(uint32_t deviceId, aclrtHacType hacType,
                                                         aclrtHostMemMapCapability* capability);
ACL_FUNC_VISIBILITY aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type, void** devPtr);
ACL_FUNC_VISIBILITY aclError aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t flag);
ACL_FUNC_VISIBILITY aclError aclrtHostUnregister(void* ptr);
ACL_FUNC_VISIBILITY aclError aclrtIpcMemClose(const char* key);
ACL_FUNC_VISIBILITY aclError aclrtIpcMemGetExportKey(void* devPtr, size_t size, char* key, size_t length,
                                                     uint64_t flags);
ACL_FUNC_VISIBILITY aclError aclrtIpcMemImportByKey(void** devPtr, const char* key, uint64_t flags);
ACL_FUNC_VISIBILITY aclError aclrtIpcMemImportPidInterServer(const char* key, aclrtServerPid* pids, size_t count);
ACL_FUNC_VISIBILITY aclError aclrtIpcMemSetAttr(const char* key, aclrtIpcMemAttrType type, uint64_t value);
ACL_FUNC_VISIBILITY aclError aclrtIpcMemSetImportPid(const char* key, int32_t* pids, size_t count);
ACL_FUNC_VISIBILITY aclError aclrtKernelArgsGetPlaceHolderBuffer(aclrtArgsHandle args, aclrtParamHandle param,
                                                                 size_t size, void** buffer);

/**
 * Allocates `size` bytes of device memory, 512-byte aligned.
 * @return ACL_ERROR_RT_MEMORY_ALLOCATION when the device is full; it stays usable
 */
ACL_FUNC_VISIBILITY aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy);

/** As aclrtMalloc for callers that pad sizes to 32 bytes themselves. */
ACL_FUNC_VISIBILITY aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy);
ACL_FUNC_VISIBILITY aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy);
ACL_FUNC_VISIBILITY aclError aclrtMallocForTaskScheduler(void** devPtr, size_t size, aclrtMemMallocPolicy policy,
                                                         aclrtMallocConfig* config);

/** Allocates page-locked host memory. */
ACL_FUNC_VISIBILITY aclError aclrtMallocHost(void** hostPtr, size_t size);
ACL_FUNC_VISIBILITY aclError aclrtMallocHostWithCfg(void** hostPtr, uint64_t size, aclrtMallocConfig* config);

/** Allocates device memory without an address; aclrtMapMem gives it one. */
ACL_FUNC_VISIBILITY aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size,
                                                 const aclrtPhysicalMemProp* prop, uint64_t flags);
ACL_FUNC_VISIBILITY aclError aclrtMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy policy,
                                                aclrtMallocConfig* config);

/** Puts memory of a handle behind reserved addresses. */
ACL_FUNC_VISIBILITY aclError aclrtMapMem(void* virtPtr, size_t size, size_t offset, aclrtDrvMemHandle handle,
                                         uint64_t flags);
ACL_FUNC_VISIBILITY aclError aclrtMemAllocManaged(void** ptr, uint64_t size, uint32_t flags);
ACL_FUNC_VISIBILITY aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle, aclrtMemHandleType type,
                                                             uint64_t flags, uint64_t* shareable);
ACL_FUNC_VISIBILITY aclError aclrtMemExportToShareableHandleV2(aclrtDrvMemHandle handle, uint64_t flags,
                                                               aclrtMemSharedHandleType type, void* shareable);
ACL_FUNC_VISIBILITY aclError aclrtMemFlush(void* devPtr, size_t size);
ACL_FUNC_VISIBILITY aclError aclrtMemGetAccess(void* virtPtr, aclrtMemLocation* location, uint64_t* flags);
ACL_FUNC_VISIBILITY aclError aclrtMemGetAddressRange(void* ptr, void** base, size_t* size);
ACL_FUNC_VISIBILITY aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp* prop,
                                                              aclrtMemGranularityOptions option, size_t* granularity);
ACL_FUNC_VISIBILITY aclError aclrtMemGetAllocationPropertiesFromHandle(aclrtDrvMemHandle handle,
                                                                       aclrtPhysicalMemProp* physicalMemProp);
ACL_FUNC_VISIBILITY aclError aclrtMemImportFromShareableHandle(uint64_t shareable, int32_t deviceId,
                                                               aclrtDrvMemHandle* handle);
ACL_FUNC_VISIBILITY aclError aclrtMemImportFromShareableHandleV2(void* shareable, aclrtMemSharedHandleType type,
                                                                 uint64_t flags, aclrtDrvMemHandle* handle);
ACL_FUNC_VISIBILITY aclError aclrtMemInvalidate(void* devPtr, size_t size);
ACL_FUNC_VISIBILITY aclError aclrtMemManagedAdvise(const void* const ptr, uint64_t size,
                                                   aclrtMemManagedAdviseType advise, aclrtMemManagedLocation location);
ACL_FUNC_VISIBILITY aclError aclrtMemManagedGetAttr(aclrtMemManagedRangeAttribute attr, const void* ptr, size_t size,
                                                    void* value, size_t valueSize);
ACL_FUNC_VISIBILITY aclError aclrtMemManagedGetAttrs(aclrtMemManagedRangeAttribute* attrs, size_t attrCount,
                                                     const void* ptr, size_t size, void** values, size_t* valueSizes);
ACL_FUNC_VISIBILITY aclError aclrtMemManagedPrefetchAsync(const void* ptr, size_t size,
                                                          aclrtMemManagedLocation location, uint32_t flags,
                                                          aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtMemManagedPrefetchBatchAsync(const void** ptrs, size_t* sizes, size_t count,
                                                               aclrtMemManagedLocation* locations,
                                                               size_t* locationIndexes, size_t locationCount,
                                                               uint64_t flags, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtMemMapSelectedLink(void* virtPtr, size_t size, void* remote, uint32_t link);
ACL_FUNC_VISIBILITY aclError aclrtMemP2PMap(void* devPtr, size_t size, int32_t dstDeviceId, uint64_t flags);
ACL_FUNC_VISIBILITY aclError aclrtMemPoolCreate(aclrtMemPool* pool, const aclrtMemPoolProps* memPoolProps);
ACL_FUNC_VISIBILITY aclError aclrtMemPoolDestroy(const aclrtMemPool pool);
ACL_FUNC_VISIBILITY aclError aclrtMemPoolFreeAsync(void* ptr, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtMemPoolGetAttr(aclrtMemPool pool, aclrtMemPoolAttr attr, void* value);
ACL_FUNC_VISIBILITY aclError aclrtMemPoolMallocAsync(void** devPtr, size_t size, aclrtMemPool pool, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtMemPoolSetAttr(aclrtMemPool pool, aclrtMemPoolAttr attr, void* value);
ACL_FUNC_VISIBILITY aclError aclrtMemPoolTrimTo(aclrtMemPool pool, size_t minBytesToKeep);
ACL_FUNC_VISIBILITY aclError aclrtMemRetainAllocationHandle(void* virtPtr, aclrtDrvMemHandle* handle);
ACL_FUNC_VISIBILITY aclError aclrtMemSetAccess(void* virtPtr, size_t size, aclrtMemAccessDesc* descs, size_t count);
ACL_FUNC_VISIBILITY aclError aclrtMemSetPidToShareableHandle(uint64_t shareable, int32_t* pids, size_t count);
ACL_FUNC_VISIBILITY aclError aclrtMemSetPidToShareableHandleV2(void* shareable, aclrtMemSharedHandleType type,
                                                               int32_t* pids, size_t count);

/**
 * Copies `count` bytes and waits. `destMax` is the room at `dst` in bytes.
 * @return ACL_ERROR_RT_PARAM_INVALID when count > destMax
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count,
                                         aclrtMemcpyKind kind);
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                                           size_t height, aclrtMemcpyKind kind);
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                                                size_t height, aclrtMemcpyKind kind, aclrtStream stream);

/** Enqueues a copy of `count` bytes; pageable host memory may be read before the call returns. */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count,
                                              aclrtMemcpyKind kind, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsyncWithCondition(void* dst, size_t destMax, const void* src, size_t count,
                                                           aclrtMemcpyKind kind, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsyncWithDesc(void* desc, aclrtMemcpyKind kind, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsyncWithOffset(void** dst, size_t destMax, size_t dstOffset, const void** src,
                                                        size_t count, size_t srcOffset, aclrtMemcpyKind kind,
                                                        aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatch(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes, size_t count,
                                              aclrtMemcpyBatchAttr* attrs, size_t* attrIndexes, size_t attrCount,
                                              size_t* failIndex);
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatchAsync(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes,
                                                   size_t count, aclrtMemcpyBatchAttr* attrs, size_t* attrIndexes,
                                                   size_t attrCount, size_t* failIndex, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatchAsyncV2(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes,
                                                     size_t count, aclrtMemcpyBatchAttr* attrs, size_t* attrIndexes,
                                                     size_t attrCount, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatchV2(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes, size_t count,
                                                aclrtMemcpyBatchAttr* attrs, size_t* attrIndexes, size_t attrCount);
ACL_FUNC_VISIBILITY aclError aclrtMemcpyFromSymbol(void* dst, size_t destMax, const void* symbol, size_t count,
                                                   size_t offset, aclrtMemcpyKind kind);
ACL_FUNC_VISIBILITY aclError aclrtMemcpyFromSymbolAsync(void* dst, size_t destMax, const void* symbol, size_t count,
                                                        size_t offset, aclrtMemcpyKind kind, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtMemcpyToSymbol(const void* symbol, const void* src, size_t count, size_t offset,
                                                 aclrtMemcpyKind kind);
ACL_FUNC_VISIBILITY aclError aclrtMemcpyToSymbolAsync(const void* symbol, const void* src, size_t count, size_t offset,
                                                      aclrtMemcpyKind kind, aclrtStream stream);

/** Sets `count` bytes to the low byte of `value` and waits. `maxCount` is the room in bytes. */
ACL_FUNC_VISIBILITY aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count);
ACL_FUNC_VISIBILITY aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count,
                                              aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtMemsetD32(void* devPtr, size_t destMax, uint32_t value, size_t count);
ACL_FUNC_VISIBILITY aclError aclrtMemsetD32Async(void* devPtr, size_t destMax, uint32_t value, size_t count,
                                                 aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtPointerGetAttributes(const void*, aclrtPtrAttributes* ptrAttributes);
ACL_FUNC_VISIBILITY aclError aclrtReleaseMemAddress(void* virtPtr);

/** Reserves `size` bytes of device address space without memory behind it. */
ACL_FUNC_VISIBILITY aclError aclrtReserveMemAddress(void** virtPtr, size_t size, size_t alignment, void* expected,
                                                    uint64_t flags);
ACL_FUNC_VISIBILITY aclError aclrtReserveMemAddressNoUCMemory(void** virtPtr, size_t size, size_t alignment,
                                                              void* expected, uint64_t flags);
ACL_FUNC_VISIBILITY aclError aclrtSetBufDataLen(aclrtMbuf buf, size_t length);
ACL_FUNC_VISIBILITY aclError aclrtSetBufUserData(aclrtMbuf buf, const void* data, size_t size, size_t offset);
ACL_FUNC_VISIBILITY aclError aclrtSetMemcpyDesc(void* desc, aclrtMemcpyKind kind, void* src, void* dst, size_t count,
                                                void* config);
ACL_FUNC_VISIBILITY aclError aclrtUnmapMem(void* virtPtr);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // UPDRAFT_ACL_RT_MEMORY_H_
