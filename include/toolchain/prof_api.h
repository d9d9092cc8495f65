// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Records that components report to the profiler.
 */
#ifndef UPDRAFT_TOOLCHAIN_PROF_API_H_
#define UPDRAFT_TOOLCHAIN_PROF_API_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "acl/acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void* VOID_PTR;

/** Called when profiling starts, stops or ends: `type` is a ProfCtrlType, `data` an MsprofCommandHandle. */
typedef int32_t (*ProfCommandHandle)(uint32_t type, VOID_PTR data, uint32_t length);

typedef enum MsprofErrorCode { MSPROF_ERROR_NONE = 0 } MsprofErrorCode;

typedef enum MsprofCommandHandleType {
  PROF_COMMANDHANDLE_TYPE_INIT = 0,
  PROF_COMMANDHANDLE_TYPE_START = 1,
  PROF_COMMANDHANDLE_TYPE_STOP = 2,
  PROF_COMMANDHANDLE_TYPE_FINALIZE = 3,
  PROF_COMMANDHANDLE_TYPE_MODEL_SUBSCRIBE = 4,
  PROF_COMMANDHANDLE_TYPE_MODEL_UNSUBSCRIBE = 5,
  PROF_COMMANDHANDLE_TYPE_MAX = 6
} MsprofCommandHandleType;

typedef enum MsprofGeTaskType { MSPROF_GE_TASK_TYPE_AI_CORE = 0 } MsprofGeTaskType;

typedef enum MsprofGeTensorType {
  MSPROF_GE_TENSOR_TYPE_INPUT = 0,
  MSPROF_GE_TENSOR_TYPE_OUTPUT = 1
} MsprofGeTensorType;

typedef enum ProfCtrlType { PROF_CTRL_INVALID = 0, PROF_CTRL_SWITCH = 1 } ProfCtrlType;

struct MsprofCommandHandleParams {
  uint32_t pathLen;
  uint32_t storageLimit;
  uint32_t profDataLen;
  char path[1024];
  char profData[4096];
};

struct MsprofCommandHandle {
  uint64_t profSwitch;
  uint64_t profSwitchHi;
  uint32_t devNums;
  uint32_t devIdList[64];
  uint32_t modelId;
  uint32_t type;
  uint32_t cacheFlag;
  struct MsprofCommandHandleParams params;
};

// Records; 4-byte packing is part of their layout.
#pragma pack(4)
struct MsprofNodeBasicInfo {
  uint64_t opName;
  uint32_t taskType;
  uint64_t opType;
  uint32_t blockDim;
  uint32_t opFlag;
};

struct MsrofTensorData {
  uint32_t tensorType;
  uint32_t format;
  uint32_t dataType;
  uint32_t shape[8];
};

struct MsprofTensorInfo {
  uint64_t opName;
  uint32_t tensorNum;
  struct MsrofTensorData tensorData[5];
};

struct MsprofContextIdInfo {
  uint64_t opName;
  uint32_t ctxIdNum;
  uint32_t ctxIds[55];
};

#pragma pack()

/** A call on the host. */
struct MsprofApi {
  uint16_t magicNumber;
  uint16_t level;
  uint32_t type;
  uint32_t threadId;
  uint32_t reserve;
  uint64_t beginTime;
  uint64_t endTime;
  uint64_t itemId;
};

/** A record of at most 40 bytes. */
struct MsprofCompactInfo {
  uint16_t magicNumber;
  uint16_t level;
  uint32_t type;
  uint32_t threadId;
  uint32_t dataLen;
  uint64_t timeStamp;
  union {
    uint8_t info[40];
    struct MsprofNodeBasicInfo nodeBasicInfo;
  } data;
};

/** A record of at most 232 bytes. */
struct MsprofAdditionalInfo {
  uint16_t magicNumber;
  uint16_t level;
  uint32_t type;
  uint32_t threadId;
  uint32_t dataLen;
  uint64_t timeStamp;
  uint8_t data[232];
};

/** Number that stands for a text in records; the text is kept. */
ACL_FUNC_VISIBILITY uint64_t MsprofGetHashId(const char* text, size_t length);
ACL_FUNC_VISIBILITY int32_t MsprofRegisterCallback(uint32_t moduleId, ProfCommandHandle handle);
ACL_FUNC_VISIBILITY int32_t MsprofReportAdditionalInfo(uint32_t nonPersistent, const VOID_PTR data, uint32_t length);
ACL_FUNC_VISIBILITY int32_t MsprofReportApi(uint32_t nonPersistent, const struct MsprofApi* api);
ACL_FUNC_VISIBILITY int32_t MsprofReportCompactInfo(uint32_t nonPersistent, const VOID_PTR data, uint32_t length);

/** The clock of all records, in nanoseconds. */
ACL_FUNC_VISIBILITY uint64_t MsprofSysCycleTime(void);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // UPDRAFT_TOOLCHAIN_PROF_API_H_
