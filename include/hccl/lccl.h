// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Collectives within one host. Results are HcclResult values.
 */
#ifndef UPDRAFT_HCCL_LCCL_H_
#define UPDRAFT_HCCL_LCCL_H_

#include "acl/acl_rt.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void* LcalCommPtr;

ACL_FUNC_VISIBILITY int LcalCommInit(int rank, int rankSize, LcalCommPtr* comm);
ACL_FUNC_VISIBILITY int LcalCommInitAll(uint32_t deviceCount, int32_t* devices, LcalCommPtr* comms);
ACL_FUNC_VISIBILITY int LcalCommInitRankLocal(int rank, int rankSize, LcalCommPtr* comm);
ACL_FUNC_VISIBILITY int LcclAllGather(void* sendBuf, void* recvBuf, int64_t sendCount, HcclDataType dataType,
                                      LcalCommPtr comm, aclrtStream stream);
ACL_FUNC_VISIBILITY int LcclAllReduce(void* sendBuf, void* recvBuf, int64_t count, HcclDataType dataType,
                                      HcclReduceOp op, LcalCommPtr comm, aclrtStream stream);
ACL_FUNC_VISIBILITY int LcclBroadcast(void* buf, int64_t count, HcclDataType dataType, int root, LcalCommPtr comm,
                                      aclrtStream stream);
ACL_FUNC_VISIBILITY int LcclCommDestroy(LcalCommPtr comm);
ACL_FUNC_VISIBILITY int LcclReduceScatter(void* sendBuf, void* recvBuf, int64_t recvCount, HcclDataType dataType,
                                          HcclReduceOp op, LcalCommPtr comm, aclrtStream stream);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // UPDRAFT_HCCL_LCCL_H_
