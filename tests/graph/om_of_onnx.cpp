// om_of_onnx IN.onnx OUT [input_shape]: an offline model by the interface that C++ programs use (aclgrphBuildModel).
#include <cstdio>
#include <map>

#include "ge/ge_ir_build.h"
#include "parser/onnx_parser.h"

int main(int count, char** texts) {
  if (count < 3) return 2;
  std::map<ge::AscendString, ge::AscendString> options, none;
  if (count > 3) options["input_shape"] = texts[3];
  ge::Graph graph;
  ge::ModelBufferData model;
  const bool good = ge::aclgrphBuildInitialize(none) == 0 && ge::aclgrphParseONNX(texts[1], options, graph) == 0 &&
                    ge::aclgrphBuildModel(graph, options, model) == 0 && ge::aclgrphSaveModel(texts[2], model) == 0;
  if (!good) std::fprintf(stderr, "%s failed\n", texts[1]);
  ge::aclgrphBuildFinalize();
  return good ? 0 : 1;
}
