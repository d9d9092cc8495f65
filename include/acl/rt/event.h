// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Events and notifications; part of acl/acl_rt.h.
 */
#ifndef UPDRAFT_ACL_RT_EVENT_H_
#define UPDRAFT_ACL_RT_EVENT_H_

#include "acl/rt/structs.h"

#ifdef __cplusplus
extern "C" {
#endif

// Bits of the flag of aclrtCreateEventWithFlag and aclrtCreateEventExWithFlag: streams wait for it, it tells how far a
// stream is, it is recorded and waited for on the device only, it has a time, it is replaced in a captured graph,
// another process opens it. The last two are used alone.
#define ACL_EVENT_SYNC 0x00000001U
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x00000002U
#define ACL_EVENT_TIME_LINE 0x00000008U
#define ACL_EVENT_DEVICE_USE_ONLY 0x00000010U
#define ACL_EVENT_EXTERNAL 0x00000020U
#define ACL_EVENT_IPC 0x00000040U

ACL_FUNC_VISIBILITY aclError aclrtCntNotifyCreate(aclrtCntNotify* notify, uint64_t flag);
ACL_FUNC_VISIBILITY aclError aclrtCntNotifyDestroy(aclrtCntNotify notify);
ACL_FUNC_VISIBILITY aclError aclrtCntNotifyGetId(aclrtCntNotify notify, uint32_t* id);
ACL_FUNC_VISIBILITY aclError aclrtCntNotifyRecord(aclrtCntNotify notify, aclrtStream stream,
                                                  aclrtCntNotifyRecordInfo* cntNotifyRecordInfo);
ACL_FUNC_VISIBILITY aclError aclrtCntNotifyReset(aclrtCntNotify notify, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtCntNotifyWaitWithTimeout(aclrtCntNotify notify, aclrtStream stream,
                                                           aclrtCntNotifyWaitInfo* cntNotifyWaitInfo);

/** An event for order, queries and time. */
ACL_FUNC_VISIBILITY aclError aclrtCreateEvent(aclrtEvent* event);
ACL_FUNC_VISIBILITY aclError aclrtCreateEventExWithFlag(aclrtEvent* event, uint32_t flag);
ACL_FUNC_VISIBILITY aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag);
ACL_FUNC_VISIBILITY aclError aclrtCreateNotify(aclrtNotify* notify, uint64_t flag);
ACL_FUNC_VISIBILITY aclError aclrtDestroyEvent(aclrtEvent event);
ACL_FUNC_VISIBILITY aclError aclrtDestroyNotify(aclrtNotify notify);

/** Milliseconds between two recorded and reached events. */
ACL_FUNC_VISIBILITY aclError aclrtEventElapsedTime(float* ms, aclrtEvent start, aclrtEvent end);

/** Microseconds at which the latest record was reached. */
ACL_FUNC_VISIBILITY aclError aclrtEventGetTimestamp(aclrtEvent event, uint64_t* timestamp);
ACL_FUNC_VISIBILITY aclError aclrtGetEventAvailNum(uint32_t* count);
ACL_FUNC_VISIBILITY aclError aclrtGetEventId(aclrtEvent event, uint32_t* id);
ACL_FUNC_VISIBILITY aclError aclrtGetNotifyId(aclrtNotify notify, uint32_t* id);
ACL_FUNC_VISIBILITY aclError aclrtIpcGetEventHandle(aclrtEvent event, aclrtIpcEventHandle* ipcEventHandle);
ACL_FUNC_VISIBILITY aclError aclrtIpcOpenEventHandle(aclrtIpcEventHandle ipcEventHandle, aclrtEvent* event);
ACL_FUNC_VISIBILITY aclError aclrtNotifyBatchReset(aclrtNotify* notifies, size_t count);
ACL_FUNC_VISIBILITY aclError aclrtNotifyGetExportKey(aclrtNotify notify, char* key, size_t length, uint64_t flags);
ACL_FUNC_VISIBILITY aclError aclrtNotifyImportByKey(aclrtNotify* notify, const char* key, uint64_t flags);
ACL_FUNC_VISIBILITY aclError aclrtNotifySetImportPid(aclrtNotify notify, int32_t* pids, size_t count);
ACL_FUNC_VISIBILITY aclError aclrtNotifySetImportPidInterServer(aclrtNotify notify, aclrtServerPid* pids, size_t count);
ACL_FUNC_VISIBILITY aclError aclrtQueryEvent(aclrtEvent event, aclrtEventStatus* eventStatus);

/** Whether the latest record is reached, without waiting. */
ACL_FUNC_VISIBILITY aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* eventRecordedStatus);
ACL_FUNC_VISIBILITY aclError aclrtQueryEventWaitStatus(aclrtEvent event, aclrtEventWaitStatus* eventWaitStatus);

/** Marks the point that `stream` has reached now. */
ACL_FUNC_VISIBILITY aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclrtRecordNotify(aclrtNotify notify, aclrtStream stream);

/** Makes `event` one that was never recorded when `stream` gets there, unless it is recorded again meanwhile.
 * While `stream` is captured: nothing, since a graph's events are order alone. */
ACL_FUNC_VISIBILITY aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);

/** Later tasks of `stream` wait until the latest record of `event` is reached. */
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);

/** The same for at most `timeout` seconds (0: for ever), whatever aclrtSetOpWaitTimeout says; then `stream` fails:
 * 107019. In a captured graph an event is order alone: the limit does not hold there. */
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEventWithTimeout(aclrtStream stream, aclrtEvent event, int32_t timeout);

/** Waits on the host until the latest record is reached. */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEvent(aclrtEvent event);
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);

/** Later tasks of `stream` wait for the notify and take it away; for at most `timeout` seconds (0: for ever), then
 * 107019. */
ACL_FUNC_VISIBILITY aclError aclrtWaitAndResetNotify(aclrtNotify notify, aclrtStream stream, uint32_t timeout);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // UPDRAFT_ACL_RT_EVENT_H_
