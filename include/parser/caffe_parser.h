// Part of Updraft: a software implementation of the interfaces that Ascend programs use.
/** @file
 * Graphs from models of Caffe.
 */
#ifndef UPDRAFT_PARSER_CAFFE_PARSER_H_
#define UPDRAFT_PARSER_CAFFE_PARSER_H_

#include <map>

#include "graph/graph.h"

namespace ge {

/**
 * Reads a net (prototxt) and its weights (caffemodel).
 * parser_params: input_shape as aclgrphBuildModel has it.
 */
GE_FUNC_VISIBILITY graphStatus aclgrphParseCaffe(const char* model_file, const char* weights_file,
                                                 const std::map<AscendString, AscendString>& parser_params,
                                                 Graph& graph);
GE_FUNC_VISIBILITY graphStatus aclgrphParseCaffe(const char* model_file, const char* weights_file, Graph& graph);

}  // namespace ge

#endif  // UPDRAFT_PARSER_CAFFE_PARSER_H_
