// om_of_caffe IN.prototxt IN.caffemodel OUT [input_shape]: an offline model by the interface that C++ programs use
// (aclgrphBuildModel).
#include <cstdio>
#include <map>

#include "ge/ge_ir_build.h"
#include "parser/caffe_parser.h"

int main(int count, char** texts) {
  if (count < 4) return 2;
  std::map<ge::AscendString, ge::AscendString> options, none;
  if (count > 4) options["input_shape"] = texts[4];
  ge::Graph graph;
  ge::ModelBufferData model;
  const bool good = ge::aclgrphBuildInitialize(none) == 0 && ge::aclgrphParseCaffe(texts[1], texts[2], graph) == 0 &&
                    ge::aclgrphBuildModel(graph, options, model) == 0 && ge::aclgrphSaveModel(texts[3], model) == 0;
  if (!good) std::fprintf(stderr, "%s failed\n", texts[1]);
  ge::aclgrphBuildFinalize();
  return good ? 0 : 1;
}
