// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Collective communication. Operations are enqueued on a stream and complete with it.
 */
#ifndef UPDRAFT_HCCL_HCCL_H_
#define UPDRAFT_HCCL_HCCL_H_

#include <string.h>
#include "acl/acl_rt.h"
#include "hccl/hccl_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Fills `config` with the defaults; call it before setting options. */
static inline void HcclCommConfigInit(HcclCommConfig* config) {
  const uint64_t size = sizeof(HcclCommConfig);
  const uint32_t magic = HCCL_COMM_CONFIG_MAGIC_WORD;
  const uint32_t version = HCCL_COMM_CONFIG_VERSION;
  memset(config, 0, sizeof(*config));
  memcpy(config->reserved, &size, sizeof(size));
  memcpy(config->reserved + 8, &magic, sizeof(magic));
  memcpy(config->reserved + 12, &version, sizeof(version));
  config->hcclBufferSize = HCCL_COMM_BUFFSIZE_CONFIG_NOT_SET;
  config->hcclDeterministic = HCCL_COMM_DETERMINISTIC_CONFIG_NOT_SET;
  config->hcclOpExpansionMode = HCCL_COMM_DEFAULT_OP_EXPANSION_MODE;
  config->hcclRdmaTrafficClass = HCCL_COMM_TRAFFIC_CLASS_CONFIG_NOT_SET;
  config->hcclRdmaServiceLevel = HCCL_COMM_SERVICE_LEVEL_CONFIG_NOT_SET;
  config->hcclExecTimeOut = -1;
  config->hcclQos = HCCL_COMM_QOS_CONFIG_NOT_SET;
  config->hcclSymWinMaxMemSizePerRank = HCCL_DEFAULT_SYMMETRIC_MEMORY_STRIDE;
}

/** Every rank gets all blocks of `sendCount` elements, in order of rank. */
ACL_FUNC_VISIBILITY HcclResult HcclAllGather(void* sendBuf, void* recvBuf, uint64_t sendCount, HcclDataType dataType,
                                             HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclAllGatherV(void* sendBuf, uint64_t sendCount, void* recvBuf, const void* recvCounts,
                                              const void* recvDispls, HcclDataType dataType, HcclComm comm,
                                              aclrtStream stream);

/** Reduces `count` elements over all ranks; every rank gets the result. In place when both buffers are the same. */
ACL_FUNC_VISIBILITY HcclResult HcclAllReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType,
                                             HcclReduceOp op, HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclAlltoAll(const void* sendBuf, uint64_t sendCount, HcclDataType sendType,
                                            const void* recvBuf, uint64_t recvCount, HcclDataType recvType,
                                            HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclAlltoAllV(const void* sendBuf, const void* sendCounts, const void* sendDispls,
                                             HcclDataType sendType, const void* recvBuf, const void* recvCounts,
                                             const void* recvDispls, HcclDataType recvType, HcclComm comm,
                                             aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclAlltoAllVC(const void* sendBuf, const void* sendCountMatrix, HcclDataType sendType,
                                              const void* recvBuf, HcclDataType recvType, HcclComm comm,
                                              aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclBarrier(HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclBatchSendRecv(HcclSendRecvItem* items, uint32_t count, HcclComm comm,
                                                 aclrtStream stream);

/** Every rank gets `root`'s `count` elements. */
ACL_FUNC_VISIBILITY HcclResult HcclBroadcast(void* buf, uint64_t count, HcclDataType dataType, uint32_t root,
                                             HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclCommActivateCommMemory(HcclComm comm, void* virtPtr, size_t size, size_t offset,
                                                          aclrtDrvMemHandle handle, uint64_t flags);
ACL_FUNC_VISIBILITY HcclResult HcclCommDeactivateCommMemory(HcclComm comm, void* virtPtr);
ACL_FUNC_VISIBILITY HcclResult HcclCommDeregister(HcclComm comm, void* handle);

/** Leaves a communicator. Not collective; operations still running are given up. */
ACL_FUNC_VISIBILITY HcclResult HcclCommDestroy(HcclComm comm);
ACL_FUNC_VISIBILITY HcclResult HcclCommExchangeMem(HcclComm comm, void* handle, uint32_t* peers, uint32_t peerCount);
ACL_FUNC_VISIBILITY HcclResult HcclCommInitAll(uint32_t deviceCount, int32_t* devices, HcclComm* comms);

/** Joins the communicator that a rank table describes. */
ACL_FUNC_VISIBILITY HcclResult HcclCommInitClusterInfo(const char* rankTablePath, uint32_t rank, HcclComm* comm);
ACL_FUNC_VISIBILITY HcclResult HcclCommInitClusterInfoConfig(const char* rankTablePath, uint32_t rank,
                                                             HcclCommConfig* config, HcclComm* comm);

/** Joins a communicator of `nRanks` ranks; returns when all have come. */
ACL_FUNC_VISIBILITY HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                                    HcclComm* comm);

/** As HcclCommInitRootInfo, with options. */
ACL_FUNC_VISIBILITY HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo* rootInfo, uint32_t rank,
                                                          const HcclCommConfig* config, HcclComm* comm);
ACL_FUNC_VISIBILITY HcclResult HcclCommInitRootInfoScalable(uint32_t nRanks, uint32_t rootCount,
                                                            const HcclRootInfo* rootInfos, uint32_t rank,
                                                            uint32_t extraRoots, const HcclCommConfig* config,
                                                            HcclComm* comm);
ACL_FUNC_VISIBILITY HcclResult HcclCommRegister(HcclComm comm, void* addr, uint64_t size, void** handle, uint32_t flag);
ACL_FUNC_VISIBILITY HcclResult HcclCommResume(HcclComm comm);
ACL_FUNC_VISIBILITY HcclResult HcclCommSetMemoryRange(HcclComm comm, void* base, size_t size, size_t alignment,
                                                      uint64_t flags);
ACL_FUNC_VISIBILITY HcclResult HcclCommSuspend(HcclComm comm);
ACL_FUNC_VISIBILITY HcclResult HcclCommSymWinDeregister(void* window);
ACL_FUNC_VISIBILITY HcclResult HcclCommSymWinRegister(HcclComm comm, void* addr, uint64_t size, void** window,
                                                      uint32_t flag);
ACL_FUNC_VISIBILITY HcclResult HcclCommUnsetMemoryRange(HcclComm comm, void* base);
ACL_FUNC_VISIBILITY HcclResult HcclCommWorkingDevNicSet(HcclComm comm, uint32_t* ranks, bool* useBackup,
                                                        uint32_t rankCount);
ACL_FUNC_VISIBILITY HcclResult HcclCreateSubCommConfig(HcclComm* comm, uint32_t rankCount, uint32_t* rankIds,
                                                       uint64_t subCommId, uint32_t subCommRank, HcclCommConfig* config,
                                                       HcclComm* subComm);

/** The failure of an operation that was enqueued earlier, HCCL_SUCCESS when there is none. */
ACL_FUNC_VISIBILITY HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult* error);
ACL_FUNC_VISIBILITY HcclResult HcclGetCommConfig(HcclComm comm, HcclConfig config, HcclConfigValue* value);

/** Number of options of HcclCommConfig that this library knows. */
ACL_FUNC_VISIBILITY uint32_t HcclGetCommConfigCapability(void);
ACL_FUNC_VISIBILITY HcclResult HcclGetCommName(HcclComm comm, char* name);
ACL_FUNC_VISIBILITY HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue* value);

/** Text of a result; static storage. */
ACL_FUNC_VISIBILITY const char* HcclGetErrorString(HcclResult result);
ACL_FUNC_VISIBILITY HcclResult HcclGetRankId(HcclComm comm, uint32_t* rank);
ACL_FUNC_VISIBILITY HcclResult HcclGetRankSize(HcclComm comm, uint32_t* rankSize);

/** Makes the address under which rank 0 collects the ranks; hand it to the others by your own means. */
ACL_FUNC_VISIBILITY HcclResult HcclGetRootInfo(HcclRootInfo* rootInfo);
ACL_FUNC_VISIBILITY HcclResult HcclGetRootInfoScalable(HcclRootInfo* rootInfo);
ACL_FUNC_VISIBILITY HcclResult HcclGroupEnd(void);

/** Operations up to HcclGroupEnd start together. */
ACL_FUNC_VISIBILITY HcclResult HcclGroupStart(void);

/** Receives `count` elements from one rank. */
ACL_FUNC_VISIBILITY HcclResult HcclRecv(void* recvBuf, uint64_t count, HcclDataType dataType, uint32_t srcRank,
                                        HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclReduce(void* sendBuf, void* recvBuf, uint64_t count, HcclDataType dataType,
                                          HcclReduceOp op, uint32_t root, HcclComm comm, aclrtStream stream);

/** Reduces over all ranks; each gets its block of `recvCount` elements. */
ACL_FUNC_VISIBILITY HcclResult HcclReduceScatter(void* sendBuf, void* recvBuf, uint64_t recvCount,
                                                 HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                                 aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclReduceScatterV(void* sendBuf, const void* sendCounts, const void* sendDispls,
                                                  void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                                                  HcclReduceOp op, HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclScatter(void* sendBuf, void* recvBuf, uint64_t recvCount, HcclDataType dataType,
                                           uint32_t root, HcclComm comm, aclrtStream stream);

/** Sends `count` elements to one rank. */
ACL_FUNC_VISIBILITY HcclResult HcclSend(void* sendBuf, uint64_t count, HcclDataType dataType, uint32_t destRank,
                                        HcclComm comm, aclrtStream stream);
ACL_FUNC_VISIBILITY HcclResult HcclSetCommConfig(HcclComm comm, HcclConfig config, HcclConfigValue value);
ACL_FUNC_VISIBILITY HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue value);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // UPDRAFT_HCCL_HCCL_H_
