// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * AscendCL: start, end, versions; includes the runtime, operators and models.
 */
#ifndef UPDRAFT_ACL_ACL_H_
#define UPDRAFT_ACL_ACL_H_

#include "acl/acl_base.h"
#include "acl/acl_mdl.h"
#include "acl/acl_op.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum aclCANNPackageName {
  ACL_PKG_NAME_CANN = 0,
  ACL_PKG_NAME_RUNTIME = 1,
  ACL_PKG_NAME_COMPILER = 2,
  ACL_PKG_NAME_HCCL = 3,
  ACL_PKG_NAME_TOOLKIT = 4,
  ACL_PKG_NAME_OPP = 5,
  ACL_PKG_NAME_OPP_KERNEL = 6,
  ACL_PKG_NAME_DRIVER = 7
} aclCANNPackageName;

typedef enum aclRegisterCallbackType {
  ACL_REG_TYPE_ACL_MODEL = 0,
  ACL_REG_TYPE_ACL_OP_EXECUTOR = 1,
  ACL_REG_TYPE_ACL_OP_CBLAS = 2,
  ACL_REG_TYPE_ACL_OP_COMPILER = 3,
  ACL_REG_TYPE_ACL_TDT_CHANNEL = 4,
  ACL_REG_TYPE_ACL_TDT_QUEUE = 5,
  ACL_REG_TYPE_ACL_DVPP = 6,
  ACL_REG_TYPE_ACL_RETR = 7,
  ACL_REG_TYPE_OTHER = 65535
} aclRegisterCallbackType;

typedef struct aclCANNPackageVersion {
  char version[128];
  char majorVersion[64];
  char minorVersion[64];
  char releaseVersion[64];
  char patchVersion[64];
  char reserved[128];
} aclCANNPackageVersion;

/** Called within aclInit with the configuration and within aclFinalize. */
typedef aclError (*aclInitCallbackFunc)(const char* config, size_t length, void* userData);
typedef aclError (*aclFinalizeCallbackFunc)(void* userData);

/** Ends AscendCL: waits for the work of all devices. What was not released stays until the process ends. */
ACL_FUNC_VISIBILITY aclError aclFinalize(void);
ACL_FUNC_VISIBILITY aclError aclFinalizeCallbackRegister(aclRegisterCallbackType registerCallbackType,
                                                         aclFinalizeCallbackFunc finalizeCallbackFunc, void*);
ACL_FUNC_VISIBILITY aclError aclFinalizeCallbackUnRegister(aclRegisterCallbackType registerCallbackType,
                                                           aclFinalizeCallbackFunc finalizeCallbackFunc);
ACL_FUNC_VISIBILITY aclError aclFinalizeReference(uint64_t* refCount);

/** Writes 1 when the installation has the attribute, else 0. */
ACL_FUNC_VISIBILITY aclError aclGetCannAttribute(aclCannAttr attr, int32_t* value);
ACL_FUNC_VISIBILITY aclError aclGetCannAttributeList(const aclCannAttr** attrs, size_t* count);

/** Writes a count of the device: AI cores, vector cores or bytes of L2. */
ACL_FUNC_VISIBILITY aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo info, int64_t* value);

/**
 * Text of the calling thread's latest failure, NULL when there is none. Reading clears it; the text lives until the
 * thread's next failure.
 */
ACL_FUNC_VISIBILITY const char* aclGetRecentErrMsg(void);

/**
 * Starts AscendCL. `configPath` names a JSON file or is NULL. Its keys: defaultDevice.default_device (the device of
 * threads that set none), err_msg_mode (1: aclGetRecentErrMsg tells a thread its own failures only), dump and profiler,
 * which may not ask for anything yet.
 * @return ACL_SUCCESS; ACL_ERROR_REPEAT_INITIALIZE when it was started before; ACL_ERROR_INVALID_FILE and
 * ACL_ERROR_PARSE_FILE for the file; ACL_ERROR_API_NOT_SUPPORT when it asks for dump or profiling
 */
ACL_FUNC_VISIBILITY aclError aclInit(const char* configPath);
ACL_FUNC_VISIBILITY aclError aclInitCallbackRegister(aclRegisterCallbackType registerCallbackType,
                                                     aclInitCallbackFunc initCallbackFunc, void*);
ACL_FUNC_VISIBILITY aclError aclInitCallbackUnRegister(aclRegisterCallbackType registerCallbackType,
                                                       aclInitCallbackFunc initCallbackFunc);
ACL_FUNC_VISIBILITY aclError aclRecoverAllHcclTasks(int32_t);

/** Version of one package of the installation. */
ACL_FUNC_VISIBILITY aclError aclsysGetCANNVersion(aclCANNPackageName name, aclCANNPackageVersion* version);
ACL_FUNC_VISIBILITY aclError aclsysGetVersionNum(char* package, int32_t* version);
ACL_FUNC_VISIBILITY aclError aclsysGetVersionStr(char* package, char* version);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // UPDRAFT_ACL_ACL_H_
