// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Graphs from ONNX models.
 */
#ifndef UPDRAFT_PARSER_ONNX_PARSER_H_
#define UPDRAFT_PARSER_ONNX_PARSER_H_

#include <cstddef>
#include <map>

#include "graph/graph.h"

namespace ge {

/**
 * Reads an ONNX model from a file; weights in files beside it are found there.
 * parser_params: input_shape as aclgrphBuildModel has it.
 */
GE_FUNC_VISIBILITY graphStatus aclgrphParseONNX(const char* model_file,
                                                const std::map<AscendString, AscendString>& parser_params,
                                                Graph& graph);
/** The same from memory, which may be freed afterwards. */
GE_FUNC_VISIBILITY graphStatus aclgrphParseONNXFromMem(const char* buffer, size_t size,
                                                       const std::map<AscendString, AscendString>& parser_params,
                                                       Graph& graph);

}  // namespace ge

#endif  // UPDRAFT_PARSER_ONNX_PARSER_H_
