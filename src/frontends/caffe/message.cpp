#include <fmt/ranges.h>

#include "base/error.h"
#include "base/json_text.h"
#include "frontends/caffe/net.h"

namespace updraft::caffe {

/// Values of the document by their addresses.
struct Message::Read {
  std::set<const Json*> fields;
  std::set<const Json*> whole;  ///< with all that is in them
};

namespace {

/// A repeated field that comes once is no list.
template <class F>
void each(const nlohmann::ordered_json* value, F&& f) {
  if (!value) return;
  if (!value->is_array()) return f(*value);
  for (const auto& item : *value) f(item);
}

bool whole_number(const nlohmann::ordered_json& value) {
  if (!value.is_number_integer()) return false;
  const auto number = value.get<int64_t>();
  return number >= INT32_MIN && number <= UINT32_MAX;
}

constexpr const char* kWhole = "a whole number of 32 bits";

}  // namespace

Message::Message(std::shared_ptr<const Json> document)
    : document_(std::move(document)), read_(std::make_shared<Read>()), json_(document_.get()) {}

Message::Message(const Message& parent, const Json* json, std::string path)
    : document_(parent.document_), read_(parent.read_), json_(json), path_(std::move(path)) {}

void Message::refuse(std::string_view field, const Json& value, const char* wanted) const {
  std::string said = json_text(value);
  if (said.size() > 100) said = said.substr(0, 100) + "…";
  throw Error(code::kAclnnParamInvalid, "{}{} is {}, want {}", path_, field, said, wanted);
}

const Message::Json* Message::find(std::string_view field) const {
  if (!json_) return nullptr;
  const auto found = json_->find(std::string(field));
  if (found == json_->end()) return nullptr;
  read_->fields.insert(&*found);
  return &*found;
}

const Message::Json& Message::single(std::string_view field) const {
  const Json* found = find(field);
  if (!found) throw Error(code::kAclnnParamInvalid, "{}{} is missing", path_, field);
  if (found->is_array()) refuse(field, *found, "one value");
  return *found;
}

int64_t Message::integer(std::string_view field, std::optional<int64_t> other) const {
  if (other && !find(field)) return *other;
  const Json& value = single(field);
  if (!whole_number(value)) refuse(field, value, kWhole);
  return value.get<int64_t>();
}

double Message::real(std::string_view field, std::optional<double> other) const {
  if (other && !find(field)) return *other;
  const Json& value = single(field);
  if (!value.is_number()) refuse(field, value, "a number");
  return value.get<float>();  // the format's numbers are such
}

bool Message::flag(std::string_view field, bool other) const {
  if (!find(field)) return other;
  const Json& value = single(field);
  if (value.is_boolean()) return value.get<bool>();
  if (!value.is_number_integer() || (value != 0 && value != 1)) refuse(field, value, "true or false");
  return value == 1;
}

std::string Message::text(std::string_view field, std::optional<std::string> other) const {
  if (other && !find(field)) return *other;
  const Json& value = single(field);
  if (!value.is_string()) refuse(field, value, "a text");
  return value.get<std::string>();
}

size_t Message::choice(std::string_view field, std::span<const std::string_view> words, size_t other) const {
  if (!find(field)) return other;
  const std::string word = text(field);
  for (size_t i = 0; i < words.size(); ++i)
    if (words[i] == word) return i;
  refuse(field, single(field), fmt::format("{}", fmt::join(words, ", ")).c_str());
}

std::vector<int64_t> Message::integers(std::string_view field) const {
  std::vector<int64_t> all;
  each(find(field), [&](const Json& value) {
    if (!whole_number(value)) refuse(field, value, kWhole);
    all.push_back(value.get<int64_t>());
  });
  return all;
}

std::vector<double> Message::reals(std::string_view field) const {
  std::vector<double> all;
  each(find(field), [&](const Json& value) {
    if (!value.is_number()) refuse(field, value, "a number");
    all.push_back(value.get<float>());
  });
  return all;
}

std::vector<std::string> Message::texts(std::string_view field) const {
  std::vector<std::string> all;
  each(find(field), [&](const Json& value) {
    if (!value.is_string()) refuse(field, value, "a text");
    all.push_back(value.get<std::string>());
  });
  return all;
}

std::vector<Message> Message::messages(std::string_view field, bool apart) const {
  std::vector<Message> all;
  each(find(field), [&](const Json& value) {
    if (!value.is_object()) refuse(field, value, "a message, { … }");
    all.push_back({*this, &value, apart ? std::string() : fmt::format("{}{}.", path_, field)});
  });
  return all;
}

Message Message::message(std::string_view field) const {
  if (!find(field)) return {*this, nullptr, fmt::format("{}{}.", path_, field)};
  const Json& value = single(field);
  if (!value.is_object()) refuse(field, value, "a message, { … }");
  return {*this, &value, fmt::format("{}{}.", path_, field)};
}

void Message::ignore(std::string_view field) const {
  if (const Json* found = find(field)) read_->whole.insert(found);
}

void Message::check() const {
  if (!json_) return;
  for (const auto& [field, value] : json_->items()) {
    if (!read_->fields.contains(&value))
      throw Error(code::kAclnnParamInvalid, "{}{} is not known here, or not implemented", path_, field);
    if (read_->whole.contains(&value)) continue;
    each(&value, [&](const Json& item) {
      if (item.is_object()) Message(*this, &item, fmt::format("{}{}.", path_, field)).check();
    });
  }
}

}  // namespace updraft::caffe
