// Modes 1 and 5: graphs as JSON.

#include "atc/modes.h"
#include "atc/refusal.h"
#include "base/json_text.h"
#include "graph/compile/compile.h"
#include "graph/proto/dump.h"
#include "graph/proto/model_proto.h"
#include "om/om_file.h"

namespace updraft::atc {
namespace {

using Json = nlohmann::ordered_json;

/// An om, a text dump, or the message of a graph.
Json read_graph(const std::string& path, bool text_alone) {
  const graph::Bytes file = graph::Bytes::of_file(path);
  try {
    if (!text_alone && om::looks_like_om(file.span())) {
      for (const om::Part& part : om::parts(file))
        if (part.type == 0) return graph::message_to_json(file.text().substr(part.offset, part.bytes));
      throw Error(code::kAclnnParamInvalid, "it has no graph");
    }
    return graph::text_to_json(file.text());
  } catch (const Error& e) {
    throw invalid("om", path, e.text(),
                  text_alone
                      ? "Give a text dump of a graph, such as ge_proto_00005_Build.txt."
                      : "Give an om file that atc made, or a text dump of a graph; with --framework also a model.");
  }
}

/// The graph of a model of another framework, with the shapes that can be inferred.
Json of_model(const Arguments& arguments, const char* option) {
  return graph::message_to_json(graph::write_model(graph::compile(read_source(arguments, true, option), {})));
}

/// Neither an om nor a text dump: scripts for cards give a model with its framework to --om, too.
bool is_model(const std::string& path) {
  const graph::Bytes file = graph::Bytes::of_file(path);
  if (om::looks_like_om(file.span())) return false;
  try {
    (void)graph::text_to_json(file.text());
    return false;
  } catch (const Error&) { return true; }
}

}  // namespace

void write_json(const Arguments& arguments, Progress& progress) {
  const std::string mode = arguments.get("mode");
  const std::string& to = arguments.need("json", "the path of the JSON file");
  Json json;
  if (mode == "1" && !arguments.has("om") && arguments.has("model")) {
    if (arguments.get("framework") != "1" && !arguments.flag("dump_mode"))
      throw missing("om", "the path of an om file (or add --dump_mode=1 for the graph of --model)");
    progress.stage("reading the model");
    json = of_model(arguments, "model");
  } else if (mode == "1" && arguments.has("framework") && is_model(arguments.need("om", "the path of a model"))) {
    progress.stage("reading the model");
    json = of_model(arguments, "om");
  } else {
    json = read_graph(arguments.need("om", mode == "5" ? "the path of a text dump" : "the path of an om file"),
                      mode == "5");
  }
  progress.stage("writing");
  write_file(to, json_text(json, 1) + "\n", "json");
}

}  // namespace updraft::atc
