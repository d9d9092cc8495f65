// Mode 0 with --singleop: om files of single operators, as a JSON list describes them.
#include <filesystem>

#include "atc/modes.h"
#include "atc/refusal.h"
#include "base/json_text.h"
#include "graph/compile/compile.h"
#include "graph/compile/option_error.h"
#include "graph/compile/option_file.h"
#include "graph/node_call.h"
#include "om/om_file.h"
#include "ops/ir_op.h"

namespace updraft::atc {
namespace {

using Json = nlohmann::json;

class OperatorFile {
 public:
  OperatorFile(std::string path, const Json& json, size_t index) : path_(std::move(path)), json_(json), index_(index) {}

  [[noreturn]] void refuse(const std::string& why) const {
    throw invalid(
        "singleop", path_, fmt::format("operator {}: {}", index_, why),
        R"(Write [{"op":"Add","input_desc":[{"format":"ND","shape":[3],"type":"float16"},…],"output_desc":[…],"attr":[{"name":"…","type":"int","value":1}]}].)");
  }

  graph::Model model() {
    if (!json_.is_object() || !json_.contains("op") || !json_["op"].is_string()) refuse("it has no \"op\"");
    const std::string type = json_["op"];
    const OpInfo* info = find_ir_op(type);
    if (!info)
      throw Refusal(
          "EZ3003",
          fmt::format("No supported kernel is found: operator {} of {} is a {}, which the virtual NPU has not.", index_,
                      path_, type),
          "docs/reference/operators.md lists the graph operators.");
    graph::Model made;
    made.name = file_name();
    made.graph = std::make_shared<graph::Graph>(made.name);
    graph::Node& node = made.graph->add(type, json_.value("name", type));
    const auto inputs = descs("input_desc");
    const auto names = names_of(ir_inputs(*info), inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      graph::Node& data = made.graph->add_data(names[i], static_cast<int64_t>(i), inputs[i]);
      made.graph->add_input(node, names[i], data.out());
    }
    const auto outputs = descs("output_desc");
    const auto out_names = names_of(ir_outputs(*info), outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) made.graph->add_output(node, out_names[i], outputs[i]);
    set_attributes(node);
    graph::Node& end = made.graph->make_net_output();
    for (size_t i = 0; i < outputs.size(); ++i)
      made.graph->add_input(end, "x" + std::to_string(i), node.out(static_cast<int>(i)));
    made.graph->attributes["output_names"] = out_names;
    return made;
  }

  /// Number, type, and of each tensor its type, format and sizes.
  std::string file_name() const {
    std::string name = fmt::format("{}_{}", index_, json_.value("op", ""));
    for (const char* side : {"input_desc", "output_desc"})
      for (const graph::TensorDesc& desc : descs(side)) {
        name += fmt::format("_{}_{}", static_cast<int>(desc.dtype), static_cast<int>(desc.format));
        for (const int64_t d : desc.dims) name += fmt::format("_{}", d);
      }
    return name.substr(0, 200);
  }

 private:
  std::vector<graph::TensorDesc> descs(const char* side) const {
    static constexpr std::pair<std::string_view, DType> kTypes[] = {
        {"float", DType::Float}, {"float32", DType::Float}, {"float16", DType::Float16}, {"bfloat16", DType::BFloat16},
        {"int8", DType::Int8},   {"int16", DType::Int16},   {"int32", DType::Int32},     {"int64", DType::Int64},
        {"uint8", DType::UInt8}, {"uint16", DType::UInt16}, {"uint32", DType::UInt32},   {"uint64", DType::UInt64},
        {"bool", DType::Bool},   {"double", DType::Double}};
    std::vector<graph::TensorDesc> all;
    if (!json_.contains(side)) return all;
    for (const Json& one : json_[side]) {
      if (!one.is_object()) refuse(fmt::format("{} is no list of descriptions", side));
      const std::string type = one.value("type", ""), format = one.value("format", "ND");
      const auto* found = std::ranges::find(kTypes, std::string_view(type), &std::pair<std::string_view, DType>::first);
      if (found == std::end(kTypes)) refuse(fmt::format("{} has the type '{}'", side, type));
      graph::Dims dims;
      for (const Json& d : one.value("shape", Json::array())) {
        if (!d.is_number_integer() || d < -1) refuse(fmt::format("{} has the shape {}", side, json_text(one["shape"])));
        dims.push_back(d);
      }
      const graph::Format known = graph::format_named(format);
      if (known == graph::Format::Undefined) refuse(fmt::format("{} has the format '{}'", side, format));
      all.emplace_back(found->second, dims, known);
    }
    return all;
  }

  std::vector<std::string> names_of(const std::vector<const Parameter*>& parameters, size_t count) const {
    std::vector<std::string> names;
    for (const Parameter* p : parameters) {
      if (names.size() == count) break;
      if (p->kind == ::updraft::Kind::Tensor) names.emplace_back(p->name);
      else
        for (size_t n = 0; names.size() < count; ++n) names.push_back(p->name + std::to_string(n));
    }
    if (names.size() < count) refuse(fmt::format("{} tensors, the operator has {}", count, names.size()));
    return names;
  }

  void set_attributes(graph::Node& node) const {
    if (!json_.contains("attr")) return;
    for (const Json& one : json_["attr"]) {
      const std::string name = one.value("name", ""), type = one.value("type", "");
      if (name.empty() || !one.contains("value"))
        refuse(fmt::format("attribute {} has no name or no value", json_text(one)));
      const Json& value = one["value"];
      try {
        if (type == "bool") node.attributes[name] = value.get<bool>();
        else if (type == "int" || type == "data_type") node.attributes[name] = value.get<int64_t>();
        else if (type == "float") node.attributes[name] = value.get<float>();
        else if (type == "string") node.attributes[name] = value.get<std::string>();
        else if (type == "list_int") node.attributes[name] = value.get<std::vector<int64_t>>();
        else if (type == "list_float") node.attributes[name] = value.get<std::vector<float>>();
        else if (type == "list_string") node.attributes[name] = value.get<std::vector<std::string>>();
        else if (type == "list_list_int") node.attributes[name] = value.get<graph::Attribute::IntegerLists>();
        else if (type == "list_bool")
          node.attributes[name] = graph::Attribute(graph::Attribute::Value(value.get<std::vector<bool>>()));
        else refuse(fmt::format("attribute {} has the type '{}'", name, type));
      } catch (const Json::exception&) {
        refuse(fmt::format("attribute {} is {}, which is no {}", name, json_text(value), type));
      }
    }
  }

  const std::string path_;
  const Json& json_;
  const size_t index_;
};

}  // namespace

void compile_operators(const Arguments& arguments, Progress& progress) {
  const std::string& path = arguments.need("singleop", "the path of a JSON file");
  const std::string& folder = arguments.need("output", "the folder for the om files");
  const std::string& product = arguments.need("soc_version", "a product such as Ascend910B2");
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw invalid("output", folder, error.message(), "Give a folder that you may write to.");
  progress.stage("compiling operators");
  Json json;
  try {
    json = graph::parse_relaxed_json("singleop", path, graph::option_file_text("singleop", path));
  } catch (const graph::OptionError& e) {
    throw invalid("singleop", path, e.reason, "Write a JSON list of operators.");
  }
  if (!json.is_array() || json.empty())
    throw invalid("singleop", path, "it is no list of operators", "Write a JSON list of operators.");
  for (size_t i = 0; i < json.size(); ++i) {
    OperatorFile op(path, json[i], i);
    const graph::Model model = op.model();
    try {
      write_file(fmt::format("{}/{}.om", folder, op.file_name()),
                 om::write(graph::compile(model, {{"soc_version", product}})).text());
    } catch (const Refusal&) { throw; } catch (const Error& e) {
      op.refuse(e.text());
    }
  }
}

}  // namespace updraft::atc
