// Graphs of the Ascend IR as protobuf messages: the input is the message. What is taken is the same again when it is
// written and read, and compiles or is refused.
#include "base/error.h"
#include "graph/compile/compile.h"
#include "graph/proto/model_proto.h"
#include "input.h"

using namespace updraft;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool ready = (fuzz::environment(), true);
  (void)ready;
  try {
    const graph::Model model = graph::read_model(graph::Bytes::copy_of(data, size));
    const std::string text = graph::write_model(model);
    const graph::Model again = graph::read_model(graph::Bytes::copy_of(text.data(), text.size()));
    if (again.graph->size() != model.graph->size()) fuzz::wrong("nodes", static_cast<int64_t>(again.graph->size()));
    if (again.subgraphs.size() != model.subgraphs.size())
      fuzz::wrong("graphs", static_cast<int64_t>(again.subgraphs.size()));
    graph::compile(again, {});
  } catch (const Error& e) { fuzz::documented(e.what(), e.code()); }
  return 0;
}
