// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Streams and their tasks; part of acl/acl_rt.h.
 */
#ifndef UPDRAFT_ACL_RT_STREAM_H_
#define UPDRAFT_ACL_RT_STREAM_H_

#include "acl/rt/structs.h"

#ifdef __cplusplus
extern "C" {
#endif

// Bits of the flag of aclrtCreateStreamWithConfig; aclrtStreamGetFlags gives them back.
#define ACL_STREAM_FAST_LAUNCH 0x00000001U
#define ACL_STREAM_FAST_SYNC 0x00000002U
#define ACL_STREAM_PERSISTENT 0x00000004U
#define ACL_STREAM_HUGE 0x00000008U
#define ACL_STREAM_CPU_SCHEDULE 0x00000010U
#define ACL_STREAM_DEVICE_USE_ONLY 0x00000020U

ACL_FUNC_VISIBILITY aclError aclrtActiveStream(aclrtStream active, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtCacheLastTaskExtendInfo(const char* const info, const size_t size);
ACL_FUNC_VISIBILITY aclError aclrtCacheLastTaskOpInfo(const void* const info, const size_t size);
ACL_FUNC_VISIBILITY aclError aclrtCreateLabel(aclrtLabel* label);
ACL_FUNC_VISIBILITY aclError aclrtCreateLabelList(aclrtLabel* labels, size_t count, aclrtLabelList* list);

/** A stream of default priority in the current context. Tasks of a stream run in order. */
ACL_FUNC_VISIBILITY aclError aclrtCreateStream(aclrtStream* stream);
ACL_FUNC_VISIBILITY aclrtStreamConfigHandle* aclrtCreateStreamConfigHandle(void);
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamV2(aclrtStream* stream,
                                                 const aclrtStreamConfigHandle* streamConfigHandle);

/** A stream with a priority (0 is the highest, 7 the lowest) and flags. */
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamWithConfig(aclrtStream* stream, uint32_t priority, uint32_t flag);
ACL_FUNC_VISIBILITY aclError aclrtDestroyLabel(aclrtLabel label);
ACL_FUNC_VISIBILITY aclError aclrtDestroyLabelList(aclrtLabelList list);

/** Waits for the stream and releases it. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStream(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle* streamConfigHandle);

/** Drops what has not run, also a task that waits, and releases the stream; a task that runs is waited for. */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamForce(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtGetFloatOverflowStatus(void* output, uint64_t outputSize, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtGetOpExecuteTimeout(uint32_t* const seconds);
ACL_FUNC_VISIBILITY aclError aclrtGetOpTimeOutInterval(uint64_t* us);
ACL_FUNC_VISIBILITY aclError aclrtGetOverflowStatus(void* output, size_t outputSize, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr streamAttr,
                                                     aclrtStreamAttrValue* streamAttrValue);
ACL_FUNC_VISIBILITY aclError aclrtGetStreamAvailableNum(uint32_t* count);
ACL_FUNC_VISIBILITY aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* flag);
ACL_FUNC_VISIBILITY aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t* value);
ACL_FUNC_VISIBILITY aclError aclrtGetThreadLastTaskId(uint32_t* taskId);

/** Enqueues a host function that runs on the thread which serves the stream's reports (aclrtSubscribeReport). */
ACL_FUNC_VISIBILITY aclError aclrtLaunchCallback(aclrtCallback func, void* userData, aclrtCallbackBlockType blockType,
                                                 aclrtStream stream);

/** Enqueues a host function; later tasks of the stream wait for it. */
ACL_FUNC_VISIBILITY aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc func, void* args);
ACL_FUNC_VISIBILITY aclError aclrtNpuClearFloatOverFlowStatus(uint32_t checkMode, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtNpuGetFloatOverFlowStatus(void* output, uint64_t outputSize, uint32_t checkMode,
                                                            aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtPersistentTaskClean(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtProcessHostFunc(int32_t timeout);

/** Runs the calling thread's next callback, waiting at most `timeout` milliseconds; -1 waits without limit. */
ACL_FUNC_VISIBILITY aclError aclrtProcessReport(int32_t timeout);
ACL_FUNC_VISIBILITY aclError aclrtProfTrace(void* userData, int32_t length, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtRandomNumAsync(const aclrtRandomNumTaskInfo* info, const aclrtStream stream,
                                                 void* reserve);
ACL_FUNC_VISIBILITY aclError aclrtReduceAsync(void* dst, const void* src, uint64_t count, aclrtReduceKind kind,
                                              aclDataType type, aclrtStream stream, void* reserve);
ACL_FUNC_VISIBILITY aclError aclrtRegStreamStateCallback(const char* name, aclrtStreamStateCallback callback,
                                                         void* args);
ACL_FUNC_VISIBILITY aclError aclrtResetFloatOverflowStatus(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtResetOverflowStatus(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtResetStreamResLimit(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtSetLabel(aclrtLabel label, aclrtStream stream);

/**
 * Limit of one operator's execution, in seconds; 0: the longest, which is none. An operator that ran for longer fails
 * with 507014 when it ends: it cannot be stopped on a CPU.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOut(uint32_t seconds);

/** As aclrtSetOpExecuteTimeOut, in microseconds; writes what holds now (0 asks for the longest: UINT64_MAX, none). */
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOutV2(uint64_t us, uint64_t* actualUs);
/** As aclrtSetOpExecuteTimeOut, in milliseconds. */
ACL_FUNC_VISIBILITY aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t ms);

/**
 * Limit of waits for events that are put on streams from now on, in seconds; 0 waits without limit. A stream whose wait
 * takes longer fails with 107019.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetOpWaitTimeout(uint32_t seconds);
/**
 * Failure mode (1), overflow switch (2) or priority (5) of a stream. The tag of overflow reports (3) and the switch of
 * the operators' caches (4) are accepted and have no effect: no report carries a tag, and no code is fetched.
 * Others: 107000.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr streamAttr,
                                                     aclrtStreamAttrValue* streamAttrValue);
ACL_FUNC_VISIBILITY aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle* handle, aclrtStreamConfigAttr attr,
                                                     const void* value, size_t valueSize);

/** What follows a task that failed: 0 (as streams are made) later tasks run, 1 they are skipped until a
 * synchronisation. */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);

/** Whether overflows of the stream's tasks are noted in saturation mode: 0 (as streams are made) no, 1 yes. */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag);
ACL_FUNC_VISIBILITY aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type, uint32_t value);

/**
 * Drops what has not run, also a task that waits; a task that runs ends. Who synchronises with the stream at this time
 * gets 107022. A collective that is dropped ends its communicator.
 */
ACL_FUNC_VISIBILITY aclError aclrtStreamAbort(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t* flags);
ACL_FUNC_VISIBILITY aclError aclrtStreamGetId(aclrtStream stream, int32_t* id);
ACL_FUNC_VISIBILITY aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t* priority);

/** Whether all tasks of the stream are done, without waiting. */
ACL_FUNC_VISIBILITY aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* streamStatus);
ACL_FUNC_VISIBILITY aclError aclrtStreamStop(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtSubscribeHostFunc(uint64_t threadId, aclrtStream stream);

/** Callbacks of `stream` run in the thread `threadId` while it is in aclrtProcessReport. */
ACL_FUNC_VISIBILITY aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtSwitchLabelByIndex(void* index, uint32_t maxIndex, aclrtLabelList labels,
                                                     aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtSwitchStream(void* left, aclrtCondition condition, void* right,
                                               aclrtCompareDataType type, aclrtStream trueStream,
                                               aclrtStream falseStream, aclrtStream stream);

/**
 * Waits for the stream (NULL: the default stream).
 * @return the failure of the first task that failed
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStream(aclrtStream stream);

/** As aclrtSynchronizeStream, for at most `timeout` milliseconds; -1 waits without limit. */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);
ACL_FUNC_VISIBILITY aclError aclrtTaskUpdateAsync(aclrtStream taskStream, uint32_t taskId, aclrtTaskUpdateInfo* info,
                                                  aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtUnSubscribeHostFunc(uint64_t threadId, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtUseStreamResInCurrentThread(aclrtStream stream);

/**
 * Later tasks of the stream wait until 8 bytes of memory pass a test.
 * @param flag 0: memory - value >= 0 (signed, 64 bits), 1: equal, 2: memory & value != 0, 3: ~(memory | value) != 0
 */
ACL_FUNC_VISIBILITY aclError aclrtValueWait(void* devPtr, uint64_t value, uint32_t flag, aclrtStream stream);

/** Writes 8 bytes when the stream's tasks before are done. */
ACL_FUNC_VISIBILITY aclError aclrtValueWrite(void* devPtr, uint64_t value, uint32_t flag, aclrtStream stream);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // UPDRAFT_ACL_RT_STREAM_H_
