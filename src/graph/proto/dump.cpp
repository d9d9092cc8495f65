#include "graph/proto/dump.h"

#include <charconv>
#include <cmath>
#include <protozero/pbf_reader.hpp>

#include "base/error.h"
#include "base/json_text.h"

namespace updraft::graph {

using Json = nlohmann::ordered_json;
using protozero::pbf_reader;
using protozero::pbf_wire_type;

namespace {

/// Messages in each other: no deeper, whatever a damaged file says.
constexpr int kDeepest = 64;

[[noreturn]] void damaged(const Schema& schema, std::string_view why) {
  throw Error(code::kAclnnParamInvalid, "the message is no {}: {}", schema.name, why);
}

bool is_text(std::string_view bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const auto c = static_cast<unsigned char>(bytes[i]);
    const size_t more = c < 0x80 ? 0 : (c >> 5) == 6 ? 1 : (c >> 4) == 14 ? 2 : (c >> 3) == 30 ? 3 : 9;
    if (more == 9 || i + more >= bytes.size() || (c < 0x20 && c != '\n' && c != '\t' && c != '\r')) return false;
    for (size_t k = 1; k <= more; ++k)
      if ((static_cast<unsigned char>(bytes[i + k]) & 0xC0) != 0x80) return false;
    if ((more == 1 && c < 0xC2) || c > 0xF4) return false;
    i += more + 1;
  }
  return true;
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k) text += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

Json bytes_as_json(std::string_view bytes) { return is_text(bytes) ? std::string(bytes) : base64(bytes); }

Json integer_as_json(FieldKind kind, int64_t value) {
  if (kind == FieldKind::Bool) return value != 0;
  if (kind == FieldKind::Int) return value;
  const std::string_view name = enum_name(kind, value);
  return name.empty() ? Json(value) : Json(name);
}

Json real_as_json(float value) {
  if (std::isnan(value)) return "nan";  // JSON has no numbers for these
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

class MessageReader {
 public:
  Json read(pbf_reader from, const Schema& schema) {
    if (++depth_ > kDeepest) damaged(schema, "it is nested too deeply");
    Json made = Json::object();
    while (from.next()) {
      const SchemaField* field = schema.find(from.tag());
      if (!field) from.skip();
      else add(made, *field, from, schema);
    }
    --depth_;
    return made;
  }

 private:
  static void put(Json& to, const SchemaField& field, Json value) {
    if (field.repeated) to[field.name].push_back(std::move(value));
    else to[field.name] = std::move(value);
  }

  void add(Json& to, const SchemaField& field, pbf_reader& from, const Schema& schema) {
    const bool lengthy = from.wire_type() == pbf_wire_type::length_delimited;
    switch (field.kind) {
      case FieldKind::Message:
        if (!lengthy) damaged(schema, field.name);
        return put(to, field, read(from.get_message(), field.message()));
      case FieldKind::Text:
      case FieldKind::Bytes: {
        if (!lengthy) damaged(schema, field.name);
        const auto view = from.get_view();
        return put(to, field, bytes_as_json({view.data(), view.size()}));
      }
      case FieldKind::Float:
        if (lengthy) {
          for (const float v : from.get_packed_float()) put(to, field, real_as_json(v));
        } else {
          if (from.wire_type() != pbf_wire_type::fixed32) damaged(schema, field.name);
          put(to, field, real_as_json(from.get_float()));
        }
        return;
      default:
        if (lengthy) {
          for (const int64_t v : from.get_packed_int64()) put(to, field, integer_as_json(field.kind, v));
        } else {
          if (from.wire_type() != pbf_wire_type::varint) damaged(schema, field.name);
          put(to, field, integer_as_json(field.kind, from.get_int64()));
        }
    }
  }

  int depth_ = 0;
};

// --- text
// -------------------------------------------------------------------------------------------------------------

std::string in_quotes(std::string_view text, bool all_bytes = false) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\', made += c;
    else if (c == '\n') made += "\\n";
    else if (c == '\t') made += "\\t";
    else if (c == '\r') made += "\\r";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || (all_bytes && static_cast<unsigned char>(c) > 0x7f))
      made += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    else made += c;
  }
  return made + "\"";
}

void print(std::string& to, const Json& json, const Schema& schema, size_t indent);

void print_field(std::string& to, const SchemaField& field, const Json& value, size_t indent) {
  const std::string margin(indent, ' ');
  if (field.kind == FieldKind::Message) {
    to += fmt::format("{}{} {{\n", margin, field.name);
    print(to, value, field.message(), indent + 2);
    to += margin + "}\n";
    return;
  }
  const bool plain = field.kind != FieldKind::Text && field.kind != FieldKind::Bytes && value.is_string();
  to += fmt::format("{}{}: {}\n", margin, field.name,
                    plain               ? value.get<std::string>()
                    : value.is_string() ? in_quotes(value.get<std::string>())
                                        : json_text(value));
}

void print(std::string& to, const Json& json, const Schema& schema, size_t indent) {
  for (const auto& [name, value] : json.items()) {
    const SchemaField* field = schema.find(std::string_view(name));
    if (!field) continue;
    if (!value.is_array()) print_field(to, *field, value, indent);
    else
      for (const Json& item : value) print_field(to, *field, item, indent);
  }
}

/// From the message at once: as JSON all weights would be in memory several times.
class TextWriter {
 public:
  explicit TextWriter(bool edges_only) : edges_only_(edges_only) {}

  void write(pbf_reader from, const Schema& schema) {
    if (++depth_ > kDeepest) damaged(schema, "it is nested too deeply");
    while (from.next()) {
      const SchemaField* field = schema.find(from.tag());
      if (!field || !wanted(schema, *field)) from.skip();
      else add(*field, from, schema);
    }
    --depth_;
  }

  std::string text;

 private:
  bool wanted(const Schema& schema, const SchemaField& field) const {
    if (!edges_only_) return true;
    const std::string_view name = field.name;
    if (&schema == &op_schema()) return name == "name" || name == "type" || name == "input" || name == "subgraph_name";
    return name != "attr";
  }

  void margin() { text.append(2 * static_cast<size_t>(depth_ - 1), ' '); }

  void line(const SchemaField& field, std::string_view value) {
    margin();
    text += fmt::format("{}: {}\n", field.name, value);
  }

  void number(const SchemaField& field, int64_t value) {
    const Json json = integer_as_json(field.kind, value);
    line(field, json.is_string() ? json.get<std::string>() : json_text(json));
  }
  void number(const SchemaField& field, float value) {
    const Json json = real_as_json(value);
    line(field, json.is_string() ? json.get<std::string>() : json_text(json));
  }

  void add(const SchemaField& field, pbf_reader& from, const Schema& schema) {
    const bool lengthy = from.wire_type() == pbf_wire_type::length_delimited;
    switch (field.kind) {
      case FieldKind::Message:
        if (!lengthy) damaged(schema, field.name);
        margin();
        text += fmt::format("{} {{\n", field.name);
        write(from.get_message(), field.message());
        margin();
        text += "}\n";
        return;
      case FieldKind::Text:
      case FieldKind::Bytes: {
        if (!lengthy) damaged(schema, field.name);
        const auto view = from.get_view();
        const std::string_view bytes(view.data(), view.size());
        return line(field, in_quotes(bytes, !is_text(bytes)));
      }
      case FieldKind::Float:
        if (lengthy) {
          for (const float v : from.get_packed_float()) number(field, v);
          return;
        }
        if (from.wire_type() != pbf_wire_type::fixed32) damaged(schema, field.name);
        return number(field, from.get_float());
      default:
        if (lengthy) {
          for (const int64_t v : from.get_packed_int64()) number(field, v);
          return;
        }
        if (from.wire_type() != pbf_wire_type::varint) damaged(schema, field.name);
        return number(field, from.get_int64());
    }
  }

  bool edges_only_;
  int depth_ = 0;
};

/// Tokens of protobuf's text format.
class TextReader {
 public:
  /// `what` the text is, for errors.
  explicit TextReader(std::string_view text, const char* what = "text dump") : text_(text), what_(what) {}

  /// Until the end, or until `close`.
  Json message(const Schema* schema, char close) {
    if (++depth_ > kDeepest) fail("it is nested too deeply");
    Json made = Json::object();
    for (;;) {
      space();
      if (at_ == text_.size()) {
        if (close) fail(fmt::format("it ends before a {}", close));
        break;
      }
      if (close && text_[at_] == close) {
        ++at_;
        break;
      }
      if (text_[at_] == ',' || text_[at_] == ';') {
        ++at_;
        continue;
      }
      field(made, schema);
    }
    --depth_;
    return made;
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    const auto line = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n') + 1;
    throw Error(code::kAclnnParamInvalid, "line {} of the {}: {}", line, what_, why);
  }

  void space() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
      else if (text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
      else break;
    }
  }

  static bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-' || c == '+';
  }
  std::string word() {
    const size_t begin = at_;
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    if (begin == at_) {
      const auto c = static_cast<unsigned char>(text_[at_]);
      const bool shown = c >= 0x20 && c < 0x7F;
      fail("a name or a value is wanted, there is " +
           (shown ? fmt::format("'{}'", text_[at_]) : fmt::format("the byte {:#04x}", c)));
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  void field(Json& made, const Schema* schema) {
    const std::string name = word();
    const SchemaField* known = schema ? schema->find(std::string_view(name)) : nullptr;
    space();
    if (at_ < text_.size() && text_[at_] == ':') ++at_, space();
    if (at_ == text_.size()) fail(fmt::format("{} has no value", name));
    if (text_[at_] == '[') {
      ++at_;
      Json& list = made[name];
      if (!list.is_array()) list = list.is_null() ? Json::array() : Json::array({std::move(list)});
      for (space(); at_ < text_.size() && text_[at_] != ']'; space()) {
        if (text_[at_] == ',') ++at_;
        else list.push_back(value(known));
      }
      if (at_ == text_.size()) fail(fmt::format("the list {} has no end", name));
      ++at_;
      return;
    }
    Json item = value(known);
    if (known ? known->repeated : made.contains(name)) {
      Json& list = made[name];
      if (!list.is_array()) list = list.is_null() ? Json::array() : Json::array({std::move(list)});
      list.push_back(std::move(item));
    } else {
      made[name] = std::move(item);
    }
  }

  Json value(const SchemaField* known) {
    if (at_ == text_.size()) fail("a value is wanted");
    const char c = text_[at_];
    if (c == '{' || c == '<') {
      ++at_;
      return message(known && known->kind == FieldKind::Message ? &known->message() : nullptr, c == '{' ? '}' : '>');
    }
    if (known && known->kind == FieldKind::Message) fail(fmt::format("{} wants {{", known->name));
    const bool quoted = c == '"' || c == '\'';
    const bool text = !known || known->kind == FieldKind::Text || known->kind == FieldKind::Bytes;
    if (known && quoted != text) fail(fmt::format("{} wants {}", known->name, text ? "a text in quotes" : "a number"));
    if (quoted) return bytes_as_json(string());
    return number(word(), known);
  }

  std::string string() {
    std::string made;
    for (space(); at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\''); space()) {
      const char quote = text_[at_++];
      while (at_ < text_.size() && text_[at_] != quote) made += text_[at_] == '\\' ? escaped() : text_[at_++];
      if (at_ == text_.size()) fail("a text has no end");
      ++at_;
    }
    return made;
  }

  char escaped() {
    if (++at_ == text_.size()) fail("a text has no end");
    const char c = text_[at_++];
    switch (c) {
      case 'n': return '\n';
      case 't': return '\t';
      case 'r': return '\r';
      default: break;
    }
    if (c == 'x' || (c >= '0' && c <= '7')) {
      const int base = c == 'x' ? 16 : 8;
      const size_t begin = c == 'x' ? at_ : at_ - 1, most = std::min(begin + (c == 'x' ? 2 : 3), text_.size());
      int code = 0;
      const auto [end, error] = std::from_chars(text_.data() + begin, text_.data() + most, code, base);
      if (error != std::errc()) fail("a number is wanted behind \\x");
      at_ = static_cast<size_t>(end - text_.data());
      return static_cast<char>(code);
    }
    return c;
  }

  Json number(const std::string& text, const SchemaField* known) const {
    if (text == "true" || text == "false") return text == "true";
    const bool real = known && known->kind == FieldKind::Float;
    const char *begin = text.data(), *end = begin + text.size();
    if (!real) {
      int64_t whole = 0;
      if (const auto [at, error] = std::from_chars(begin, end, whole); error == std::errc() && at == end)
        return known ? integer_as_json(known->kind, whole) : Json(whole);
    }
    if (known && (known->kind == FieldKind::DataType || known->kind == FieldKind::ListKind)) {
      if (enum_number(known->kind, text) < 0) fail(fmt::format("{} is no value of {}", text, known->name));
      return text;
    }
    double value = 0;
    if (const auto [at, error] = std::from_chars(begin, end, value); error == std::errc() && (at == end || *at == 'f'))
      return real ? real_as_json(static_cast<float>(value)) : Json(value);
    if (known && (real || known->kind == FieldKind::Int || known->kind == FieldKind::Bool))
      fail(fmt::format("{} is no value of {}", text, known->name));
    return text;
  }

  std::string_view text_;
  const char* what_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Json message_to_json(std::string_view message, const Schema& schema) {
  try {
    return MessageReader().read(pbf_reader(message.data(), message.size()), schema);
  } catch (const protozero::exception&) { damaged(schema, "it is cut off, or something else"); }
}

std::string json_to_text(const Json& json, const Schema& schema) {
  std::string text;
  print(text, json, schema, 0);
  return text;
}

std::string message_to_text(std::string_view message, bool edges_only) {
  TextWriter writer(edges_only);
  try {
    writer.write(pbf_reader(message.data(), message.size()), model_schema());
  } catch (const protozero::exception&) { damaged(model_schema(), "it is cut off, or something else"); }
  return std::move(writer.text);
}

std::string quoted_text(std::string_view text) { return in_quotes(text, !is_text(text)); }

Json parse_text_format(std::string_view text, const char* what) { return TextReader(text, what).message(nullptr, 0); }

Json text_to_json(std::string_view text) {
  // a graph's own fields, where there is no model around it
  Json made = TextReader(text).message(&model_schema(), 0);
  if (!made.contains("graph") && made.contains("op"))
    made =
        Json{{"name", made.value("name", "")}, {"graph", Json::array({TextReader(text).message(&graph_schema(), 0)})}};
  if (!made.contains("graph"))
    throw Error(code::kAclnnParamInvalid, "the text has no graph: it is no dump of one (ge_proto_…_Build.txt)");
  return made;
}

}  // namespace updraft::graph
