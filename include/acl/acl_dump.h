// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Dump of tensors.
 */
#ifndef UPDRAFT_ACL_ACL_DUMP_H_
#define UPDRAFT_ACL_ACL_DUMP_H_

#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A piece of a dump file; `dataBuf` holds `bufLen` bytes. C++ has no flexible arrays: there it has no such member. */
typedef struct acldumpChunk {
  char fileName[4096];
  uint32_t bufLen;
  uint32_t isLastChunk;
  int64_t offset;
  int32_t flag;
  uint8_t dataBuf[0];
} acldumpChunk;

typedef enum acldumpType {
  AIC_ERR_BRIEF_DUMP = 1,
  AIC_ERR_NORM_DUMP = 2,
  AIC_ERR_DETAIL_DUMP = 3,
  DATA_DUMP = 4,
  OVERFLOW_DUMP = 5
} acldumpType;

ACL_FUNC_VISIBILITY const char* acldumpGetPath(acldumpType type);
ACL_FUNC_VISIBILITY aclError acldumpRegCallback(int32_t (*const callback)(const acldumpChunk*, int32_t), int32_t flag);
ACL_FUNC_VISIBILITY void acldumpUnregCallback(void);

/** Ends dump. */
ACL_FUNC_VISIBILITY aclError aclmdlFinalizeDump(void);

/** Allows aclmdlSetDump. */
ACL_FUNC_VISIBILITY aclError aclmdlInitDump(void);

/** Starts dump as the JSON file says. */
ACL_FUNC_VISIBILITY aclError aclmdlSetDump(const char* configPath);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // UPDRAFT_ACL_ACL_DUMP_H_
