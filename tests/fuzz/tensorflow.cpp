// TensorFlow graphs from whoever made them: a graph that compiles, or a refusal that says where.
#include "base/error.h"
#include "frontends/tensorflow/graph_def.h"
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
  // what a context hands over piece by piece
  auto read = [](auto&& f) {
    try {
      f();
    } catch (const Error& e) { fuzz::documented(e.what(), e.code()); }
  };
  read([&] { tensorflow::read_function(bytes); });
  read([&] { tensorflow::read_operators(bytes); });
  read([&] { tensorflow::read_attributes(bytes); });
  return 0;
}
