// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Marks and ranges of a program, which profiles show (libms_tools_ext.so). Without a profile they do nothing. And what
 * a program says of its own pools of memory, which is checked and which no tool here reads.
 */
#ifndef UPDRAFT_MSTX_MS_TOOLS_EXT_H_
#define UPDRAFT_MSTX_MS_TOOLS_EXT_H_

#include <stddef.h>
#include <stdint.h>
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t mstxRangeId;
typedef struct mstxDomainRegistration_st* mstxDomainHandle_t;

/** A moment; with a stream also the one at which the stream reaches it. */
ACL_FUNC_VISIBILITY void mstxMarkA(const char* message, aclrtStream stream);
/** Begins a range; its number is never 0. Ranges may overlap, and end in another thread. */
ACL_FUNC_VISIBILITY mstxRangeId mstxRangeStartA(const char* message, aclrtStream stream);
ACL_FUNC_VISIBILITY void mstxRangeEnd(mstxRangeId id);

/** A name for marks that belong together; the same name gives the same domain. */
ACL_FUNC_VISIBILITY mstxDomainHandle_t mstxDomainCreateA(const char* name);
ACL_FUNC_VISIBILITY void mstxDomainDestroy(mstxDomainHandle_t domain);
ACL_FUNC_VISIBILITY void mstxDomainMarkA(mstxDomainHandle_t domain, const char* message, aclrtStream stream);
ACL_FUNC_VISIBILITY mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char* message,
                                                      aclrtStream stream);
ACL_FUNC_VISIBILITY void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id);

// --- Memory: heaps, which a program has from the device, and regions, which are in use in them

typedef struct mstxMemHeap_st* mstxMemHeapHandle_t;
typedef struct mstxMemRegion_st* mstxMemRegionHandle_t;
typedef enum { MSTX_MEM_TYPE_VIRTUAL_ADDRESS = 0 } mstxMemType;
typedef enum { MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR = 0 } mstxMemHeapUsageType;
typedef enum { MSTX_MEM_REGION_REF_TYPE_POINTER = 0, MSTX_MEM_REGION_REF_TYPE_HANDLE } mstxMemRegionRefType;

typedef struct {
  uint32_t deviceId;
  const void* ptr;
  int64_t size; /**< bytes */
} mstxMemVirtualRangeDesc_t;
typedef struct {
  mstxMemHeapUsageType usage;
  mstxMemType type;
  const void* typeSpecificDesc; /**< a mstxMemVirtualRangeDesc_t */
} mstxMemHeapDesc_t;
typedef struct {
  mstxMemHeapHandle_t heap;
  mstxMemType regionType;
  size_t regionCount;
  const void* regionDescArray; /**< regionCount mstxMemVirtualRangeDesc_t */
  mstxMemRegionHandle_t* regionHandleArrayOut;
} mstxMemRegionsRegisterBatch_t;
typedef struct {
  mstxMemRegionRefType refType;
  union {
    const void* pointer; /**< where the region begins */
    mstxMemRegionHandle_t handle;
  };
} mstxMemRegionRef_t;
typedef struct {
  size_t refCount;
  const mstxMemRegionRef_t* refArray;
} mstxMemRegionsUnregisterBatch_t;

/** Null, and a text for aclGetRecentErrMsg, when the description is wrong. */
ACL_FUNC_VISIBILITY mstxMemHeapHandle_t mstxMemHeapRegister(mstxDomainHandle_t domain, const mstxMemHeapDesc_t* heap);
/** With all its regions. */
ACL_FUNC_VISIBILITY void mstxMemHeapUnregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap);
/** All of the regions or, when one is wrong, none. */
ACL_FUNC_VISIBILITY void mstxMemRegionsRegister(mstxDomainHandle_t domain, const mstxMemRegionsRegisterBatch_t* batch);
ACL_FUNC_VISIBILITY void mstxMemRegionsUnregister(mstxDomainHandle_t domain,
                                                  const mstxMemRegionsUnregisterBatch_t* batch);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // UPDRAFT_MSTX_MS_TOOLS_EXT_H_
