// Nets of Caffe from whoever made them: a graph that compiles, or a refusal that says where. The input is a prototxt, a
// byte 0 and a caffemodel.
#include "base/error.h"
#include "frontends/caffe/import.h"
#include "graph/compile/compile.h"
#include "input.h"

using namespace updraft;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool ready = (fuzz::environment(), true);
  (void)ready;
  const auto whole = graph::Bytes::copy_of(data, size);
  const size_t end = std::min(whole.text().find('\0'), size), rest = std::min(end + 1, size);
  try {
    graph::compile(caffe::import(whole.part(0, end), whole.part(rest, size - rest)), {});
  } catch (const Error& e) { fuzz::documented(e.what(), e.code()); }
  return 0;
}
