// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * What all operators of the aclnn interface share.
 *
 * Operator X has two functions. aclnnXGetWorkspaceSize(arguments..., &workspaceSize, &executor) checks the arguments
 * and reads no device data; aclnnX(workspace, workspaceSize, executor, stream) enqueues the work. The two may be called
 * in different threads. aclGetRecentErrMsg() has the text of a failure.
 */
#ifndef UPDRAFT_ACLNN_ACLNN_BASE_H_
#define UPDRAFT_ACLNN_ACLNN_BASE_H_

#include "acl/acl_rt.h"
#include "aclnn/acl_meta.h"

#define ACLNN_SUCCESS 0
#define ACLNN_ERR_PARAM_NULLPTR 161001  // an argument that must be given is NULL
#define ACLNN_ERR_PARAM_INVALID 161002  // wrong type, shape or value
#define ACLNN_ERR_RUNTIME_ERROR 361001  // the runtime failed
#define ACLNN_ERR_INNER 561000          // internal failure; 561xxx all are

#ifdef __cplusplus
extern "C" {
#endif

/** Starts the operators; the first operator does it as well. `configPath` may be NULL. */
ACL_FUNC_VISIBILITY aclnnStatus aclnnInit(const char* configPath);
ACL_FUNC_VISIBILITY aclnnStatus aclnnFinalize(void);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // UPDRAFT_ACLNN_ACLNN_BASE_H_
