// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Operators by name: compilation and its options.
 */
#ifndef UPDRAFT_ACL_ACL_OP_COMPILER_H_
#define UPDRAFT_ACL_ACL_OP_COMPILER_H_

#include "acl/acl_op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aclGraphDumpOption aclGraphDumpOption;

typedef enum aclopCompileType { ACL_COMPILE_SYS = 0, ACL_COMPILE_UNREGISTERED = 1 } aclopCompileType;

/** Options of the operator compiler (aclSetCompileopt). */
typedef enum aclCompileOpt {
  ACL_PRECISION_MODE = 0,
  ACL_AICORE_NUM = 1,
  ACL_AUTO_TUNE_MODE = 2,
  ACL_OP_SELECT_IMPL_MODE = 3,
  ACL_OPTYPELIST_FOR_IMPLMODE = 4,
  ACL_OP_DEBUG_LEVEL = 5,
  ACL_DEBUG_DIR = 6,
  ACL_OP_COMPILER_CACHE_MODE = 7,
  ACL_OP_COMPILER_CACHE_DIR = 8,
  ACL_OP_PERFORMANCE_MODE = 9,
  ACL_OP_JIT_COMPILE = 10,
  ACL_OP_DETERMINISTIC = 11,
  ACL_CUSTOMIZE_DTYPES = 12,
  ACL_OP_PRECISION_MODE = 13,
  ACL_ALLOW_HF32 = 14,
  ACL_PRECISION_MODE_V2 = 15,
  ACL_OP_DEBUG_OPTION = 16
} aclCompileOpt;

typedef enum aclOpCompileFlag { ACL_OP_COMPILE_DEFAULT = 0, ACL_OP_COMPILE_FUZZ = 1 } aclOpCompileFlag;

ACL_FUNC_VISIBILITY aclGraphDumpOption* aclCreateGraphDumpOpt(void);
ACL_FUNC_VISIBILITY aclError aclDestroyGraphDumpOpt(const aclGraphDumpOption* graphDumpOption);
ACL_FUNC_VISIBILITY aclError aclGenGraphAndDumpForOp(
    const char* opType, int numInputs, const aclTensorDesc* const inputDesc[], const aclDataBuffer* const inputs[],
    int numOutputs, const aclTensorDesc* const outputDesc[], aclDataBuffer* const outputs[], const aclopAttr* attr,
    aclopEngineType engineType, const char* graphDumpPath, const aclGraphDumpOption* option);
ACL_FUNC_VISIBILITY aclError aclGetCompileopt(aclCompileOpt option, char* value, size_t length);

/** Bytes that aclGetCompileopt needs for the option. */
ACL_FUNC_VISIBILITY size_t aclGetCompileoptSize(aclCompileOpt option);

/** Sets an option of the operator compiler for the process. Kept for aclGetCompileopt alone: operators are compiled. */
ACL_FUNC_VISIBILITY aclError aclSetCompileopt(aclCompileOpt option, const char* value);
ACL_FUNC_VISIBILITY aclError aclopCompile(const char* opType, int numInputs, const aclTensorDesc* const inputDesc[],
                                          int numOutputs, const aclTensorDesc* const outputDesc[],
                                          const aclopAttr* attr, aclopEngineType engineType,
                                          aclopCompileType compileType, const char* opPath);

/** Enqueues one operator by name with described tensors. */
ACL_FUNC_VISIBILITY aclError aclopCompileAndExecute(
    const char* opType, int numInputs, const aclTensorDesc* const inputDesc[], const aclDataBuffer* const inputs[],
    int numOutputs, const aclTensorDesc* const outputDesc[], aclDataBuffer* const outputs[], const aclopAttr* attr,
    aclopEngineType engineType, aclopCompileType compileType, const char* opPath, aclrtStream stream);

/** As aclopCompileAndExecute. No operator of this interface has outputs whose shapes depend on the data. */
ACL_FUNC_VISIBILITY aclError aclopCompileAndExecuteV2(const char* opType, int numInputs, aclTensorDesc* inputDesc[],
                                                      aclDataBuffer* inputs[], int numOutputs,
                                                      aclTensorDesc* outputDesc[], aclDataBuffer* outputs[],
                                                      aclopAttr* attr, aclopEngineType engineType,
                                                      aclopCompileType compileType, const char* opPath,
                                                      aclrtStream stream);
ACL_FUNC_VISIBILITY aclError aclopSetCompileFlag(aclOpCompileFlag opCompileFlag);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // UPDRAFT_ACL_ACL_OP_COMPILER_H_
