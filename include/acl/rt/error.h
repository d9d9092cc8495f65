// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Codes of the runtime; part of acl/acl_rt.h.
 */
#ifndef UPDRAFT_ACL_RT_ERROR_H_
#define UPDRAFT_ACL_RT_ERROR_H_

// Codes of the runtime; they come beside the ACL_ERROR_ codes of acl_base.h.
#define ACL_ERROR_RT_PARAM_INVALID 107000             // an argument is wrong
#define ACL_ERROR_RT_INVALID_DEVICEID 107001          // no such device
#define ACL_ERROR_RT_CONTEXT_NULL 107002              // the thread has no context
#define ACL_ERROR_RT_STREAM_CONTEXT 107003            // the stream belongs to another context
#define ACL_ERROR_RT_MODEL_CONTEXT 107004             // the model belongs to another context
#define ACL_ERROR_RT_STREAM_MODEL 107005              // the stream is not bound to the model
#define ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID 107006   // the event has no time
#define ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL 107007  // the end lies before the start
#define ACL_ERROR_RT_ADDR_UNALIGNED 107008            // the address is not aligned
#define ACL_ERROR_RT_FILE_OPEN 107009                 // a file cannot be opened
#define ACL_ERROR_RT_FILE_WRITE 107010                // a file cannot be written
#define ACL_ERROR_RT_STREAM_SUBSCRIBE 107011          // the stream is not subscribed, or twice
#define ACL_ERROR_RT_THREAD_SUBSCRIBE 107012          // the thread is not subscribed, or twice
#define ACL_ERROR_RT_GROUP_NOT_SET 107013             // no group is set
#define ACL_ERROR_RT_GROUP_NOT_CREATE 107014          // no such group
#define ACL_ERROR_RT_STREAM_NO_CB_REG 107015          // no thread serves the callbacks of the stream
#define ACL_ERROR_RT_INVALID_MEMORY_TYPE 107016       // wrong kind of memory
#define ACL_ERROR_RT_INVALID_HANDLE 107017            // not a live handle
#define ACL_ERROR_RT_INVALID_MALLOC_TYPE 107018       // wrong kind of allocation
#define ACL_ERROR_RT_WAIT_TIMEOUT 107019              // a wait ran out of time
#define ACL_ERROR_RT_DEVICE_TASK_ABORT 107022         // the tasks of the device were aborted
#define ACL_ERROR_RT_FEATURE_NOT_SUPPORT 207000       // not supported
#define ACL_ERROR_RT_MEMORY_ALLOCATION 207001         // out of memory
#define ACL_ERROR_RT_MEMORY_FREE 207002               // memory cannot be released
#define ACL_ERROR_RT_AICORE_OVER_FLOW 207003          // an operator overflowed
#define ACL_ERROR_RT_NO_DEVICE 207004                 // the device is not available
#define ACL_ERROR_RT_RESOURCE_ALLOC_FAIL 207005       // a resource cannot be allocated
#define ACL_ERROR_RT_NO_PERMISSION 207006             // no permission
#define ACL_ERROR_RT_NO_EVENT_RESOURCE 207007         // out of events
#define ACL_ERROR_RT_NO_STREAM_RESOURCE 207008        // out of streams
#define ACL_ERROR_RT_NO_NOTIFY_RESOURCE 207009        // out of notifies
#define ACL_ERROR_RT_NO_MODEL_RESOURCE 207010         // out of models
#define ACL_ERROR_RT_NO_CDQ_RESOURCE 207011           // out of internal queues
#define ACL_ERROR_RT_OVER_LIMIT 207012                // too many queues
#define ACL_ERROR_RT_QUEUE_EMPTY 207013               // the queue is empty
#define ACL_ERROR_RT_QUEUE_FULL 207014                // the queue is full
#define ACL_ERROR_RT_INTERNAL_ERROR 507000            // internal failure on the host
#define ACL_ERROR_RT_TS_ERROR 507001                  // internal failure of the scheduler
#define ACL_ERROR_RT_END_OF_SEQUENCE 507005           // the data has ended
#define ACL_ERROR_RT_MODEL_EXECUTE 507011             // a model failed
#define ACL_ERROR_RT_REPORT_TIMEOUT 507012            // no report of a callback in time
#define ACL_ERROR_RT_AICORE_TIMEOUT 507014            // a matrix operator ran out of time
#define ACL_ERROR_RT_AICORE_EXCEPTION 507015          // a matrix operator failed
#define ACL_ERROR_RT_AICPU_EXCEPTION 507018           // a CPU operator failed
#define ACL_ERROR_RT_VECTOR_CORE_EXCEPTION 507035     // a vector operator failed
#define ACL_ERROR_RT_DEVICE_MEM_ERROR 507053          // memory of the device failed
#define ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR 507054   // memory cannot be corrected
#define ACL_ERROR_RT_SUSPECT_DEVICE_MEM_ERROR 507055  // memory of the device is suspect
#define ACL_ERROR_RT_LINK_ERROR 507056                // a link failed
#define ACL_ERROR_RT_SUSPECT_REMOTE_ERROR 507057      // another rank is suspect
#define ACL_ERROR_RT_DRV_INTERNAL_ERROR 507899        // internal failure of the driver
#define ACL_ERROR_RT_AICPU_INTERNAL_ERROR 507900      // internal failure of CPU operators
#define ACL_ERROR_RT_SOCKET_CLOSE 507901              // the connection to the device is closed
#define ACL_ERROR_RT_COMM_OP_RETRY_FAIL 507904        // a collective failed after its retries

#endif  // UPDRAFT_ACL_RT_ERROR_H_
