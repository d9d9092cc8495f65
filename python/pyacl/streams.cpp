// acl.rt: streams, events, notifies. What puts a task on a stream may wait until the stream has room.
#include "binding.h"

namespace pyacl {
namespace {

constexpr Row kRows[] = {
    CALL("create_stream", aclrtCreateStream, "-> stream"),
    CALL("create_stream_with_config", aclrtCreateStreamWithConfig, "priority, flag -> stream"),
    WAIT("destroy_stream", aclrtDestroyStream, "stream"),
    WAIT("destroy_stream_force", aclrtDestroyStreamForce, "stream"),
    WAIT("synchronize_stream", aclrtSynchronizeStream, "stream"),
    WAIT("synchronize_stream_with_timeout", aclrtSynchronizeStreamWithTimeout, "stream, timeout"),
    CALL("stream_query", aclrtStreamQuery, "stream -> status"),
    CALL("stream_get_id", aclrtStreamGetId, "stream -> stream_id"),
    CALL("stream_get_priority", aclrtStreamGetPriority, "stream -> priority"),
    CALL("stream_get_flags", aclrtStreamGetFlags, "stream -> flags"),
    CALL("get_stream_available_num", aclrtGetStreamAvailableNum, "-> count"),
    WAIT("stream_abort", aclrtStreamAbort, "stream"),
    CALL("set_stream_failure_mode", aclrtSetStreamFailureMode, "stream, mode"),
    CALL("set_stream_overflow_switch", aclrtSetStreamOverflowSwitch, "stream, flag"),
    CALL("get_stream_overflow_switch", aclrtGetStreamOverflowSwitch, "stream -> flag"),
    WAIT("get_overflow_status", aclrtGetOverflowStatus, "output, size, stream"),
    WAIT("reset_overflow_status", aclrtResetOverflowStatus, "stream"),
    CALL("get_stream_res_limit", aclrtGetStreamResLimit, "stream, type -> value"),
    CALL("set_stream_res_limit", aclrtSetStreamResLimit, "stream, type, value"),
    CALL("reset_stream_res_limit", aclrtResetStreamResLimit, "stream"),
    CALL("set_op_wait_timeout", aclrtSetOpWaitTimeout, "timeout"),
    CALL("set_op_execute_timeout", aclrtSetOpExecuteTimeOut, "timeout"),
    WAIT("value_wait", aclrtValueWait, "address, value, flag, stream"),
    WAIT("value_write", aclrtValueWrite, "address, value, flag, stream"),

    CALL("create_event", aclrtCreateEvent, "-> event"),
    CALL("create_event_with_flag", aclrtCreateEventWithFlag, "flag -> event"),
    CALL("create_event_ex_with_flag", aclrtCreateEventExWithFlag, "flag -> event"),
    WAIT("destroy_event", aclrtDestroyEvent, "event"),
    WAIT("record_event", aclrtRecordEvent, "event, stream"),
    WAIT("reset_event", aclrtResetEvent, "event, stream"),
    CALL("query_event", aclrtQueryEvent, "event -> status"),
    CALL("query_event_status", aclrtQueryEventStatus, "event -> status"),
    CALL("query_event_wait_status", aclrtQueryEventWaitStatus, "event -> status"),
    WAIT("synchronize_event", aclrtSynchronizeEvent, "event"),
    WAIT("synchronize_event_with_timeout", aclrtSynchronizeEventWithTimeout, "event, timeout"),
    CALL("event_elapsed_time", aclrtEventElapsedTime, "start, end -> ms"),
    CALL("event_get_timestamp", aclrtEventGetTimestamp, "event -> timestamp"),
    WAIT("stream_wait_event", aclrtStreamWaitEvent, "stream, event"),
    WAIT("stream_wait_event_with_timeout", aclrtStreamWaitEventWithTimeout, "stream, event, timeout"),
    CALL("get_event_id", aclrtGetEventId, "event -> event_id"),
    CALL("get_event_avail_num", aclrtGetEventAvailNum, "-> count"),

    CALL("create_notify", aclrtCreateNotify, "flag -> notify"),
    WAIT("destroy_notify", aclrtDestroyNotify, "notify"),
    WAIT("record_notify", aclrtRecordNotify, "notify, stream"),
    WAIT("wait_and_reset_notify", aclrtWaitAndResetNotify, "notify, stream, timeout"),
    CALL("get_notify_id", aclrtGetNotifyId, "notify -> notify_id"),
};

}  // namespace
const Table kStreams{"rt", kRows};
}  // namespace pyacl
