// Models as people and tools read them: ge.proto messages as JSON and as text (ge_proto_….txt), and back from text.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "graph/proto/schema.h"

namespace updraft::graph {

/// A message as JSON: fields by their names, maps as lists of {key, value}, enumerations by name; bytes that are no
/// text in base64. Throws 161002 where the message is damaged.
nlohmann::ordered_json message_to_json(std::string_view message, const Schema& schema = model_schema());

/// The text form of such JSON.
std::string json_to_text(const nlohmann::ordered_json& json, const Schema& schema = model_schema());

/// A model's message in protobuf's text form, with bytes as they are (in escapes). With `edges_only` nodes have their
/// name, type and inputs alone. Throws 161002 where the message is damaged.
std::string message_to_text(std::string_view message, bool edges_only = false);

/// A text in quotes as the text form has it.
std::string quoted_text(std::string_view text);

/// A text dump as JSON. A dump of a graph alone becomes a model with that graph. Fields that the schema has not are
/// kept as they stand. Throws 161002 with the line.
nlohmann::ordered_json text_to_json(std::string_view text);

/// Any message in protobuf's text form, without a schema: fields that come again become lists. `what` the text is, for
/// errors, which begin with the line. Throws 161002.
nlohmann::ordered_json parse_text_format(std::string_view text, const char* what = "text");

}  // namespace updraft::graph
