#include "migrate/text/notebook/json.h"
#include "migrate/text/config/reader.h"

namespace updraft::migrate::text {

std::optional<ConfigError> read_json(std::string_view text, bool comments, ConfigHandler& handler) {
  using Kind = JsonReader::Kind;
  JsonReader json(text, comments);
  KeyPath path;  // one level for each open bracket
  for (;;) {
    const JsonReader::Token token = json.next();
    const Scalar scalar{token.begin, token.end, json.raw(token),
                        token.kind == Kind::Plain ? Scalar::Style::Plain : Scalar::Style::Json, !token.escaped};
    switch (token.kind) {
      case Kind::ObjectBegin: path.push(""); break;
      case Kind::ArrayBegin: path.push("[]"); break;
      case Kind::ObjectEnd:
      case Kind::ArrayEnd: path.pop(); break;
      case Kind::Key:
        path.replace(scalar.raw.substr(0, 200));
        handler.key(path, scalar);
        break;
      case Kind::String:
      case Kind::Plain: handler.value(path, scalar); break;
      case Kind::End: return std::nullopt;
      case Kind::Error: return ConfigError{token.begin, json.error()};
    }
  }
}

}  // namespace updraft::migrate::text
