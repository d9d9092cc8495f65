// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Numbers of the graph engine: data types, formats, placements.
 */
#ifndef UPDRAFT_GRAPH_TYPES_H_
#define UPDRAFT_GRAPH_TYPES_H_

#include <cstdint>

#include "graph/ascend_string.h"

namespace ge {

/** Types of elements, with the numbers of aclDataType. */
enum DataType : int {
  DT_FLOAT = 0,
  DT_FLOAT16 = 1,
  DT_INT8 = 2,
  DT_INT32 = 3,
  DT_UINT8 = 4,
  DT_INT16 = 6,
  DT_UINT16 = 7,
  DT_UINT32 = 8,
  DT_INT64 = 9,
  DT_UINT64 = 10,
  DT_DOUBLE = 11,
  DT_BOOL = 12,
  DT_STRING = 13,
  DT_COMPLEX64 = 16,
  DT_COMPLEX128 = 17,
  DT_BF16 = 27,
  DT_UNDEFINED = 28,
  DT_INT4 = 29,
  DT_COMPLEX32 = 33,
};

/** Orders of dimensions and layouts, with the numbers of aclFormat. */
enum Format : int {
  FORMAT_NCHW = 0,
  FORMAT_NHWC = 1,
  FORMAT_ND = 2,
  FORMAT_NC1HWC0 = 3,
  FORMAT_FRACTAL_Z = 4,
  FORMAT_HWCN = 16,
  FORMAT_NDHWC = 27,
  FORMAT_FRACTAL_NZ = 29,
  FORMAT_NCDHW = 30,
  FORMAT_NDC1HWC0 = 32,
  FORMAT_FRACTAL_Z_3D = 33,
  FORMAT_RESERVED = -1,
};

/** Where the elements of a tensor lie. */
enum Placement : int {
  kPlacementHost = 0,
  kPlacementDevice = 1,
};

/** 0 is success. */
using Status = uint32_t;
using graphStatus = uint32_t;
constexpr Status SUCCESS = 0;
constexpr Status FAILED = 0xFFFFFFFF;
constexpr graphStatus GRAPH_SUCCESS = 0;
constexpr graphStatus GRAPH_FAILED = 0xFFFFFFFF;
constexpr graphStatus GRAPH_PARAM_INVALID = 0x03000001;

/** "NCHW"; the number of a format that has no name. */
GE_FUNC_VISIBILITY AscendString GetFormatName(Format format);

}  // namespace ge

#endif  // UPDRAFT_GRAPH_TYPES_H_
