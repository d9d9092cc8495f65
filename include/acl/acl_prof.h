// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Profiling.
 */
#ifndef UPDRAFT_ACL_ACL_PROF_H_
#define UPDRAFT_ACL_ACL_PROF_H_

#include "acl/acl_base.h"
#include "acl/acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

// Bits of the data types of aclprofCreateConfig.
#define ACL_PROF_ACL_API 0x0001ULL
#define ACL_PROF_TASK_TIME 0x0002ULL
#define ACL_PROF_AICORE_METRICS 0x0004ULL
#define ACL_PROF_AICPU 0x0008ULL
#define ACL_PROF_L2CACHE 0x0010ULL
#define ACL_PROF_HCCL_TRACE 0x0020ULL
#define ACL_PROF_TRAINING_TRACE 0x0040ULL
#define ACL_PROF_MSPROFTX 0x0080ULL
#define ACL_PROF_RUNTIME_API 0x0100ULL
#define ACL_PROF_TASK_TIME_L0 0x0800ULL
#define ACL_PROF_TASK_MEMORY 0x1000ULL
#define ACL_PROF_TASK_TIME_L2 0x2000ULL
#define ACL_PROF_OP_ATTR 0x4000ULL
#define ACL_PROF_AICORE_SHAPE 0x800000000ULL

typedef struct aclprofConfig aclprofConfig;
typedef struct aclprofStepInfo aclprofStepInfo;
typedef struct aclprofSubscribeConfig aclprofSubscribeConfig;
typedef struct aclprofAicoreEvents aclprofAicoreEvents;

/** Groups of hardware counters. */
typedef enum aclprofAicoreMetrics {
  ACL_AICORE_ARITHMETIC_UTILIZATION = 0,
  ACL_AICORE_PIPE_UTILIZATION = 1,
  ACL_AICORE_MEMORY_BANDWIDTH = 2,
  ACL_AICORE_L0B_AND_WIDTH = 3,
  ACL_AICORE_RESOURCE_CONFLICT_RATIO = 4,
  ACL_AICORE_MEMORY_UB = 5,
  ACL_AICORE_L2_CACHE = 6,
  ACL_AICORE_PIPE_EXECUTE_UTILIZATION = 7,
  ACL_AICORE_MEMORY_ACCESS = 8,
  ACL_AICORE_NONE = 255
} aclprofAicoreMetrics;

typedef enum aclprofStepTag { ACL_STEP_START = 0, ACL_STEP_END = 1 } aclprofStepTag;

typedef enum aclprofSubscribeOpFlag {
  ACL_SUBSCRIBE_OP = 0,
  ACL_SUBSCRIBE_SUBGRAPH = 1,
  ACL_SUBSCRIBE_OP_THREAD = 2,
  ACL_SUBSCRIBE_NONE = 255
} aclprofSubscribeOpFlag;

typedef enum aclprofSubscribeOpAttri {
  ACL_SUBSCRIBE_ATTRI_THREADID = 0,
  ACL_SUBSCRIBE_ATTRI_NONE = 1
} aclprofSubscribeOpAttri;

typedef enum aclprofConfigType {
  ACL_PROF_ARGS_MIN = 0,
  ACL_PROF_STORAGE_LIMIT = 1,
  ACL_PROF_SYS_HARDWARE_MEM_FREQ = 3,
  ACL_PROF_LLC_MODE = 4,
  ACL_PROF_SYS_IO_FREQ = 5,
  ACL_PROF_SYS_INTERCONNECTION_FREQ = 6,
  ACL_PROF_DVPP_FREQ = 7,
  ACL_PROF_HOST_SYS = 8,
  ACL_PROF_HOST_SYS_USAGE = 9,
  ACL_PROF_HOST_SYS_USAGE_FREQ = 10,
  ACL_PROF_LOW_POWER_FREQ = 11,
  ACL_PROF_SYS_MEM_SERVICEFLOW = 12,
  ACL_PROF_SYS_CPU_FREQ = 13,
  ACL_PROF_OPTYPE = 14,
  ACL_PROF_NTS_METRICS = 15,
  ACL_PROF_PATH = 16,
  ACL_PROF_ARGS_MAX = 17
} aclprofConfigType;

typedef enum aclprofMessageType { ACL_PROF_MESSAGE_TYPE_TENSOR_INFO = 0 } aclprofMessageType;

typedef struct aclprofTensor {
  uint32_t type;
  uint32_t format;
  uint32_t dataType;
  uint32_t shapeDim;
  uint32_t shape[8];
} aclprofTensor;

typedef struct aclprofTensorInfo {
  uint64_t opNameId;
  uint64_t opTypeId;
  uint32_t resv;
  uint32_t tensorNum;
  uint32_t kernelType;
  uint32_t blockNums;
  void* stream;
  aclprofTensor* tensors;
} aclprofTensorInfo;

/** What an aclprofEventAttributes carries. */
union Message {
  aclprofTensorInfo* tensorInfo;
  uint64_t reserve;
};

typedef struct aclprofEventAttributes {
  uint16_t version;
  uint16_t size;
  uint32_t messageType;
  union Message message;
} aclprofEventAttributes;

/** What to record, on which devices. */
ACL_FUNC_VISIBILITY aclprofConfig* aclprofCreateConfig(uint32_t* deviceIds, uint32_t count,
                                                       aclprofAicoreMetrics metrics, const aclprofAicoreEvents* events,
                                                       uint64_t dataTypes);
ACL_FUNC_VISIBILITY void* aclprofCreateStamp(void);
ACL_FUNC_VISIBILITY aclprofStepInfo* aclprofCreateStepInfo(void);
ACL_FUNC_VISIBILITY aclprofSubscribeConfig* aclprofCreateSubscribeConfig(int8_t timeInfoSwitch,
                                                                         aclprofAicoreMetrics metrics, void* fd);
ACL_FUNC_VISIBILITY aclError aclprofDestroyConfig(const aclprofConfig* config);
ACL_FUNC_VISIBILITY void aclprofDestroyStamp(void* stamp);
ACL_FUNC_VISIBILITY void aclprofDestroyStepInfo(aclprofStepInfo* stepInfo);
ACL_FUNC_VISIBILITY aclError aclprofDestroySubscribeConfig(const aclprofSubscribeConfig* subscribeConfig);
ACL_FUNC_VISIBILITY aclError aclprofFinalize(void);
ACL_FUNC_VISIBILITY size_t aclprofGetModelId(const void* info, size_t infoLength, uint32_t index);
ACL_FUNC_VISIBILITY const char* aclprofGetOpAttriValue(const void* info, size_t infoLength, uint32_t index,
                                                       aclprofSubscribeOpAttri attri);
ACL_FUNC_VISIBILITY aclError aclprofGetOpDescSize(size_t* size);
ACL_FUNC_VISIBILITY uint64_t aclprofGetOpDuration(const void* info, size_t infoLength, uint32_t index);
ACL_FUNC_VISIBILITY uint64_t aclprofGetOpEnd(const void* info, size_t infoLength, uint32_t index);
ACL_FUNC_VISIBILITY aclprofSubscribeOpFlag aclprofGetOpFlag(const void* info, size_t infoLength, uint32_t index);
ACL_FUNC_VISIBILITY aclError aclprofGetOpName(const void* info, size_t infoLength, uint32_t index, char* name,
                                              size_t nameLength);
ACL_FUNC_VISIBILITY aclError aclprofGetOpNameLen(const void* info, size_t infoLength, uint32_t index,
                                                 size_t* nameLength);
ACL_FUNC_VISIBILITY aclError aclprofGetOpNum(const void* info, size_t infoLength, uint32_t* count);
ACL_FUNC_VISIBILITY uint64_t aclprofGetOpStart(const void* info, size_t infoLength, uint32_t index);
ACL_FUNC_VISIBILITY aclError aclprofGetOpType(const void* info, size_t infoLength, uint32_t index, char* type,
                                              size_t typeLength);
ACL_FUNC_VISIBILITY aclError aclprofGetOpTypeLen(const void* info, size_t infoLength, uint32_t index,
                                                 size_t* typeLength);
ACL_FUNC_VISIBILITY aclError aclprofGetStepTimestamp(aclprofStepInfo* stepInfo, aclprofStepTag stepTag,
                                                     aclrtStream stream);

/** Starts profiling; records go below `path` (`length` bytes, without a terminator). */
ACL_FUNC_VISIBILITY aclError aclprofInit(const char* path, size_t length);
ACL_FUNC_VISIBILITY aclError aclprofMark(void* stamp);
ACL_FUNC_VISIBILITY aclError aclprofMarkEx(const char* message, size_t length, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclprofModelSubscribe(uint32_t modelId, const aclprofSubscribeConfig* config);
ACL_FUNC_VISIBILITY aclError aclprofModelUnSubscribe(uint32_t modelId);
ACL_FUNC_VISIBILITY aclError aclprofPop(void);
ACL_FUNC_VISIBILITY aclError aclprofPush(void* stamp);
ACL_FUNC_VISIBILITY aclError aclprofRangePop(void);
ACL_FUNC_VISIBILITY aclError aclprofRangePushEx(aclprofEventAttributes* attributes);
ACL_FUNC_VISIBILITY aclError aclprofRangeStart(void* stamp, uint32_t* rangeId);
ACL_FUNC_VISIBILITY aclError aclprofRangeStop(uint32_t rangeId);
ACL_FUNC_VISIBILITY aclError aclprofSetConfig(aclprofConfigType type, const char* value, size_t length);
ACL_FUNC_VISIBILITY aclError aclprofSetStampTraceMessage(void* stamp, const char* message, uint32_t length);
ACL_FUNC_VISIBILITY aclError aclprofStart(const aclprofConfig* config);
ACL_FUNC_VISIBILITY aclError aclprofStop(const aclprofConfig* config);
ACL_FUNC_VISIBILITY uint64_t aclprofStr2Id(const char* message);

/** What clients ask before they ask for more: `*features` is an array of `*count` records, which the library keeps. */
ACL_FUNC_VISIBILITY aclError aclprofGetSupportedFeatures(size_t* count, void** features);
ACL_FUNC_VISIBILITY aclError aclprofGetSupportedFeaturesV2(size_t* count, void** features);
ACL_FUNC_VISIBILITY aclError aclprofRegisterDeviceCallback(void);
/** Checks what aclprofStart will take, before it is to be fast. */
ACL_FUNC_VISIBILITY aclError aclprofWarmup(const aclprofConfig* config);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // UPDRAFT_ACL_ACL_PROF_H_
