// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Marks and ranges of a program, which profiles show (libms_tools_ext.so). Without a profile they do nothing.
 */
#ifndef UPDRAFT_MSTX_MS_TOOLS_EXT_H_
#define UPDRAFT_MSTX_MS_TOOLS_EXT_H_

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

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // UPDRAFT_MSTX_MS_TOOLS_EXT_H_
