// What atc reads beside models: the input is a text dump, an AIPP file, an option file in JSON, and a graph's message.
// What is read from a text is read again from what is printed of it.
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "graph/compile/compile.h"
#include "graph/compile/option_file.h"
#include "graph/proto/dump.h"
#include "input.h"

using namespace updraft;

namespace {

template <class F>
void refused_or_done(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    if (e.code() != code::kAclnnParamInvalid && e.code() != code::kAclInvalidParam) fuzz::wrong(e.what(), e.code());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  refused_or_done([&] {
    const auto json = graph::text_to_json(text);
    try {
      graph::text_to_json(graph::json_to_text(json));
    } catch (const Error& e) { fuzz::wrong(e.what(), e.code()); }
  });
  refused_or_done([&] { graph::parse_text_format(text); });
  refused_or_done([&] { graph::parse_relaxed_json("option", "file", text); });
  refused_or_done([&] { graph::json_to_text(graph::message_to_json(text)); });
  refused_or_done([&] { graph::parse_input_shapes(text); });
  refused_or_done([&] { graph::parse_gears({{"dynamic_dims", text}}); });
  return 0;
}
