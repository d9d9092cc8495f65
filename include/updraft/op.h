// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Operators by their names: what there is, what a call would give, and the call. For tools and tests; libupdraft.so
 * offers these functions itself, no library of CANN has them.
 *
 * @code
 *   updraftOpCall* call;
 *   updraftOpCreate("aclnnAdd", &call);
 *   updraftOpSetTensor(call, "self", ACL_FLOAT, 2, dims, NULL, self, 0);
 *   updraftOpSetTensor(call, "other", ACL_FLOAT, 2, dims, NULL, other, 0);
 *   updraftOpSetInteger(call, "alpha", 1);
 *   updraftOpAsk(call, "out");
 *   updraftOpInfer(call);                                      // gives out its shape and type
 *   updraftOpGetTensor(call, "out", 0, &dtype, &rank, low, high);
 *   updraftOpPlace(call, "out", 0, out);                       // memory for it
 *   updraftOpRun(call, stream);
 *   updraftOpDestroy(call);
 * @endcode
 *
 * Every function returns 0, or an error of aclnn (161001 a null pointer, 161002 a wrong parameter, 561003 no rule for a
 * shape) whose text aclGetRecentErrMsg() gives. A call belongs to one thread at a time. Sizes are in elements.
 */
#ifndef UPDRAFT_UPDRAFT_OP_H_
#define UPDRAFT_UPDRAFT_OP_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The most dimensions of a tensor. */
#define UPDRAFT_MAX_DIMS 16

typedef struct updraftOpCall updraftOpCall;

/** The number of operators: of aclnn, or with `graph` those that graphs and aclops name. */
int updraftOpCount(int graph, uint64_t* count);
/** The name of operator `index`, in alphabetical order. It stays valid. */
int updraftOpName(int graph, uint64_t index, const char** name);
/** What an operator is, as JSON: name, summary, summary_zh, unit, graph and parameters (name, type, kind, direction,
 *  optional; of attributes with a default that, too). The text is valid until the thread's next call. */
int updraftOpDescribe(const char* name, const char** json);

int updraftOpCreate(const char* name, updraftOpCall** call);
int updraftOpDestroy(updraftOpCall* call);

/** A tensor, or the next one of a list. `dims`: -1 where the size is not known (for updraftOpInfer() only); `strides`:
 *  null where it is contiguous; `data`: memory of the device, null while only shapes are asked for. With `onHost` it is
 *  memory of the host, whose values the plan may read (graph operators only). */
int updraftOpSetTensor(updraftOpCall* call, const char* parameter, int32_t dtype, uint64_t rank, const int64_t* dims,
                       const int64_t* strides, void* data, int onHost);
/** The next place of a list of tensors stays empty. */
int updraftOpSetAbsent(updraftOpCall* call, const char* parameter);
/** A list without tensors. */
int updraftOpSetEmpty(updraftOpCall* call, const char* parameter);
/** An output, or the next one of a list, whose shape and type updraftOpInfer() is to find. */
int updraftOpAsk(updraftOpCall* call, const char* parameter);
/** A number, a scalar or a data type. */
int updraftOpSetInteger(updraftOpCall* call, const char* parameter, int64_t value);
int updraftOpSetNumber(updraftOpCall* call, const char* parameter, double value);
int updraftOpSetBool(updraftOpCall* call, const char* parameter, int value);
int updraftOpSetText(updraftOpCall* call, const char* parameter, const char* value);
/** Arrays of integers, bools or floats, and lists of scalars. */
int updraftOpSetIntegers(updraftOpCall* call, const char* parameter, const int64_t* values, uint64_t count);
int updraftOpSetNumbers(updraftOpCall* call, const char* parameter, const double* values, uint64_t count);
/** Lists of texts, of graph operators. */
int updraftOpSetTexts(updraftOpCall* call, const char* parameter, const char* const* values, uint64_t count);

/** Shapes and types of what was asked for. */
int updraftOpInfer(updraftOpCall* call);
/** How many tensors a parameter has. */
int updraftOpTensorCount(updraftOpCall* call, const char* parameter, uint64_t* count);
/** A tensor of a parameter. `low` and `high` have UPDRAFT_MAX_DIMS places: a size lies between the two, and is known
 *  where they are equal; high is -1 where there is no bound. Where values decide a size (aclnnNonzero), it is known
 *  once the stream has run the call. */
int updraftOpGetTensor(updraftOpCall* call, const char* parameter, uint64_t index, int32_t* dtype, uint64_t* rank,
                       int64_t* low, int64_t* high);
/** Gives a tensor memory of the device: as many elements as the product of its largest sizes. */
int updraftOpPlace(updraftOpCall* call, const char* parameter, uint64_t index, void* data);
/** Puts the call on a stream (null: the default one of the context). The memory must stay until the stream is done; the
 *  call may be destroyed before, unless its sizes are still of interest. */
int updraftOpRun(updraftOpCall* call, void* stream);

#ifdef __cplusplus
}
#endif

#endif  // UPDRAFT_UPDRAFT_OP_H_
