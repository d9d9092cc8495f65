#include "observe/compare/graph_rule.h"

#include <algorithm>
#include <charconv>
#include <fstream>

#include "base/error.h"
#include "base/json_text.h"
#include "observe/compare/array.h"

namespace updraft::compare {
namespace {

using Json = nlohmann::json;

/// The value of an attribute in a list of {"key": …, "value": {…}}; null: it is not there.
const Json* attribute(const Json& of, const char* key) {
  const auto list = of.find("attr");
  if (list == of.end() || !list->is_array()) return nullptr;
  for (const Json& entry : *list)
    if (entry.is_object() && entry.value("key", Json()) == key && entry.contains("value")) return &entry.at("value");
  return nullptr;
}
std::string text_of(const Json& of, const char* key) {
  const Json* value = attribute(of, key);
  return value && value->contains("s") && value->at("s").is_string() ? value->at("s").get<std::string>() : "";
}
template <class T>
std::vector<T> list_of(const Json& of, const char* key, const char* kind) {
  std::vector<T> all;
  const Json* value = attribute(of, key);
  if (!value || !value->contains("list")) return all;
  const Json& list = value->at("list");
  if (!list.is_object() || !list.contains(kind) || !list.at(kind).is_array()) return all;
  for (const Json& one : list.at(kind))
    if constexpr (std::is_same_v<T, std::string>) {
      if (one.is_string()) all.push_back(one.get<std::string>());
    } else if (one.is_number_integer()) {
      all.push_back(one.get<T>());
    }
  return all;
}

std::pair<std::string, int> endpoint(const std::string& text) {
  const size_t colon = text.rfind(':');
  int index = 0;
  if (colon != std::string::npos) std::from_chars(text.data() + colon + 1, text.data() + text.size(), index);
  return {text.substr(0, colon), index};
}

RuleOperator read_operator(const Json& op) {
  RuleOperator made;
  made.name = op.at("name").get<std::string>();
  made.type = op.at("type").get<std::string>();
  if (op.contains("id") && op.at("id").is_number_integer()) made.sequence = op.at("id").get<int>();
  if (op.contains("input") && op.at("input").is_array())
    for (const Json& input : op.at("input")) {
      if (!input.is_string()) continue;
      const auto from = endpoint(input.get<std::string>());
      if (!from.first.empty() && from.second >= 0) made.inputs.push_back(from);
    }
  const bool named = attribute(op, "_datadump_original_op_names") != nullptr;
  made.originals =
      named ? list_of<std::string>(op, "_datadump_original_op_names", "s") : list_of<std::string>(op, "OriginOp", "s");
  if (made.originals.empty() && !named) made.originals = {made.name};
  if (op.contains("output_desc") && op.at("output_desc").is_array()) {
    int index = 0;
    for (const Json& desc : op.at("output_desc")) {
      RuleOutput& output = made.outputs.emplace_back();
      output.origin = text_of(desc, "_datadump_origin_name");
      const Json* origin_index = attribute(desc, "_datadump_origin_output_index");
      output.origin_index = origin_index && origin_index->contains("i") && origin_index->at("i").is_number_integer()
                                ? origin_index->at("i").get<int>()
                                : index;
      output.format = text_of(desc, "_datadump_origin_format");
      if (output.format.empty()) output.format = text_of(desc, "origin_format");
      output.shape = list_of<int64_t>(desc, "origin_shape", "i");
      // What does not say it stands for itself, or for the last of the operators that were fused into it.
      if (output.origin.empty() && !made.originals.empty()) output.origin = made.originals.back();
      ++index;
    }
  }
  return made;
}

}  // namespace

GraphRule::GraphRule(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw Error(code::kAclInvalidFile, "{}: it cannot be read", path);
  const Json json = try_json(in);
  if (json.is_discarded() || !json.is_object() || !json.contains("graph") || !json.at("graph").is_array())
    damaged(path,
            "it is no graph in JSON: want an object with an array \"graph\", as atc --mode=5 or --mode=1 writes it");
  std::map<std::string, int> groups;
  try {
    for (const Json& graph : json.at("graph")) {
      if (graph_.empty()) graph_ = graph.value("name", std::string());
      if (!graph.contains("op")) continue;
      for (const Json& op : graph.at("op")) {
        RuleOperator made = read_operator(op);
        if (by_name_.contains(made.name)) continue;
        if (made.type == "Data") data_.push_back(made.name);
        std::string key;
        const std::string fused = text_of(op, "_L1_fusion_sub_graph_no");
        if (!fused.empty()) key = "L1 " + fused;
        else if (made.originals.empty() || made.originals[0].empty()) key = "op " + made.name;
        else
          for (const std::string& one : made.originals) key += "from " + one + "\n";
        made.group = groups.try_emplace(key, static_cast<int>(groups.size())).first->second;
        by_name_[made.name] = operators_.size();
        operators_.push_back(std::move(made));
      }
    }
  } catch (const Json::exception& e) { damaged(path, e.what()); }
  groups_ = static_cast<int>(groups.size());
  for (const RuleOperator& op : operators_)
    for (size_t i = 0; i < op.outputs.size(); ++i)
      if (!op.outputs[i].origin.empty())
        by_origin_[{op.outputs[i].origin, op.outputs[i].origin_index}] = {op.name, static_cast<int>(i)};
}

const RuleOperator* GraphRule::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &operators_[found->second];
}

std::vector<const RuleOperator*> GraphRule::group(int group) const {
  std::vector<const RuleOperator*> all;
  for (const RuleOperator& op : operators_)
    if (op.group == group) all.push_back(&op);
  return all;
}

std::pair<std::string, int> GraphRule::standing_for(const std::string& origin, int index) const {
  const auto found = by_origin_.find({origin, index});
  if (found != by_origin_.end()) return found->second;
  return by_name_.contains(origin) ? std::pair{origin, index} : std::pair<std::string, int>{"", 0};
}

}  // namespace updraft::compare
