// Offline models: the input is the file. What is refused is refused with 100013; what is taken is the same again when
// it is written and read. The same of bundles, which are several of them in a row.
#include "om/om_file.h"

#include "base/error.h"
#include "graph/compile/variables.h"
#include "graph/proto/model_proto.h"
#include "input.h"

using namespace updraft;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const graph::Bytes file(nullptr, data, size);
  try {
    const graph::Model model = om::read(file);
    const graph::Model again = om::read(om::write(model));
    if (again.graph->size() != model.graph->size()) fuzz::wrong("nodes", static_cast<int64_t>(again.graph->size()));
  } catch (const Error& e) {
    if (e.code() != 100013 && e.code() != code::kAclnnParamInvalid) fuzz::wrong(e.what(), e.code());
  }
  try {
    for (const graph::Bytes& member : om::bundle_members(file)) graph::noted_variables(*om::read_member(member).graph);
  } catch (const Error& e) {
    if (e.code() != 100013) fuzz::wrong(e.what(), e.code());
  }
  return 0;
}
