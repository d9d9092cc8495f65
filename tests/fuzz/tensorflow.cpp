// TensorFlow graphs from whoever made them: a graph that compiles, or a refusal that says where.
#include "base/error.h"
#include "frontends/tensorflow/import.h"
#include "graph/compile/compile.h"
#include "input.h"

using namespace updraft;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool ready = (fuzz::environment(), true);
  (void)ready;
  const auto bytes = graph::Bytes::copy_of(data, size);
  tensorflow::looks_like_graph(bytes.span());
  try {
    graph::compile(tensorflow::import(bytes), {});
  } catch (const Error& e) { fuzz::documented(e.what(), e.code()); }
  return 0;
}
