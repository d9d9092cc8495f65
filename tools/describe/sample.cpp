#include "sample.h"

#include <cstring>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "sample_classes.h"

namespace {

/// What a parameter of that name is everywhere, unless it is a tensor.
const std::map<std::string, const char*> kNumbers = {
    {"alpha", "2"},      {"beta", "0.5"},      {"value", "0.5"},
    {"other", "1.5"},    {"exponent", "2"},    {"min", "0.3"},
    {"max", "0.7"},      {"threshold", "0.4"}, {"negativeSlope", "0.1"},
    {"lambd", "0.4"},    {"eps", "0.00001"},   {"epsilon", "0.00001"},
    {"momentum", "0.1"}, {"scalar", "1.5"},    {"scalars", "1.5,0.5"},
    {"weight", "0.3"},   {"ord", "2"},         {"p", "2"},
    {"pScalar", "2"},    {"dim", "1"},         {"dims", "1"},
    {"dtype", "f32"},    {"reduction", "0"},   {"cubeMathType", "0"},
    {"seed", "7"},       {"offset", "0"},      {"correction", "1"},
    {"mode", "0"},       {"posinf", "1"},      {"neginf", "-1"},
    {"nan", "0"},        {"training", "true"}, {"outputMask", "true,true,true"}};

using updraft::Kind;
using updraft::Parameter;

/// Whether the text is a value of that type.
bool fits(const Parameter& p, const std::string& text) {
  static const std::string size = "(\\d*[NM]|\\d+)",
                           number = "-?\\d+(\\.\\d*)?(e-?\\d+)?|-?\\.\\d+|true|false|-?inf|nan",
                           integer = "-?(\\d*[NM]|\\d+)",
                           tensor = "(f16|bf16|f32|f64|i8|i16|i32|i64|u8|bool|c64|c128)\\[(" + size + "(," + size +
                                    ")*)?\\](:(" + number + ")\\.\\.(" + number + "))?!?";
  auto matches = [&text](const std::string& pattern) { return std::regex_match(text, std::regex(pattern)); };
  if (text == "null") return p.optional;
  switch (p.kind) {
    case Kind::Tensor: return matches(tensor);
    case Kind::Tensors: return text == "[]" || matches("(" + tensor + "|null)(;(" + tensor + "|null))*");
    case Kind::Scalar:
    case Kind::Float:
    case Kind::Double: return matches(number);
    case Kind::Scalars:
    case Kind::Floats: return matches("(" + number + ")(,(" + number + "))*");
    case Kind::Ints: return text == "[]" || matches(integer + "(," + integer + ")*");
    case Kind::Bools: return matches("(true|false)(,(true|false))*");
    case Kind::Bool: return matches("true|false");
    case Kind::Type: return matches("f16|bf16|f32|f64|i8|i16|i32|i64|u8|bool|c64|c128");
    case Kind::Text: return true;
    default: return matches(integer);
  }
}

/// What nobody says: a matrix, its class's number, or what does least.
std::string usual(const Parameter& p) {
  if (p.kind == Kind::Tensor) return p.optional && !p.written() ? "null" : "f32[N,M]";
  if (p.kind == Kind::Tensors) return p.optional ? "null" : "f32[N,M];f32[M]";
  if (auto known = kNumbers.find(p.name); known != kNumbers.end() && fits(p, known->second)) return known->second;
  if (p.optional) return "null";
  switch (p.kind) {
    case Kind::Bool:
    case Kind::Bools: return "false";
    case Kind::Type: return "f32";
    case Kind::Text: return "none";
    default: return "1";
  }
}

std::vector<std::pair<std::string, std::string>> pairs(const std::string& text, const std::string& op) {
  std::vector<std::pair<std::string, std::string>> all;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) throw std::runtime_error("SAMPLE of " + op + ": " + word + " is not name=value");
    all.emplace_back(word.substr(0, equals), word.substr(equals + 1));
  }
  return all;
}

/// True when the list has the operator's name without "aclnn".
bool lists(const char* names, const updraft::OpInfo& op) {
  std::istringstream words(names);
  const std::string wanted = std::string(op.name).substr(std::strlen("aclnn"));
  for (std::string word; words >> word;)
    if (word == wanted) return true;
  return false;
}

const SampleClass* class_of(const updraft::OpInfo& op) {
  for (const SampleClass& c : kSampleClasses)
    if (lists(c.names, op)) return &c;
  return nullptr;
}

}  // namespace

std::optional<Sample> sample_of(const updraft::OpInfo& op) {
  const SampleClass* known = class_of(op);
  if (!op.sample && lists(kUnsampled, op)) return {};
  Sample sample;
  sample.own = op.sample != nullptr;
  const auto parameters = op.parameters;
  for (const Parameter& p : parameters) {
    std::string value = usual(p);
    if (known)
      for (const auto& [name, text] : pairs(known->text, op.name))
        if (name == p.name && fits(p, text)) value = text;
    sample.values.emplace_back(p.name, value);
  }
  if (op.sample)
    for (const auto& [name, text] : pairs(op.sample->text, op.name)) {
      size_t i = 0;
      while (i < parameters.size() && name != parameters[i].name) ++i;
      if (i == parameters.size()) throw std::runtime_error(std::string("SAMPLE of ") + op.name + " names " + name);
      if (!fits(parameters[i], text))
        throw std::runtime_error(std::string("SAMPLE of ") + op.name + ": " + text + " is no value of " + name + " (" +
                                 parameters[i].type + ")");
      sample.values[i].second = text;
    }
  return sample;
}
