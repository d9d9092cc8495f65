// What the options say about types: modes, and the files beside them.
#include <algorithm>
#include <cstring>
#include <sstream>

#include "base/json_text.h"
#include "graph/compile/option_error.h"
#include "graph/compile/option_file.h"
#include "graph/passes/precision.h"

namespace updraft::graph {
namespace {

using Options = std::map<std::string, std::string>;

const std::string* option(const Options& options, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto found = options.find(name); found != options.end() && !found->second.empty()) return &found->second;
  return nullptr;
}

struct Row {
  const char* name;
  PrecisionMode mode;
  DType low = DType::Float16;
};
constexpr Row kModes[] = {{"force_fp16", PrecisionMode::Low},
                          {"force_fp32", PrecisionMode::CubeLowInput},
                          {"cube_fp16in_fp32out", PrecisionMode::CubeLowInput},
                          {"allow_fp32_to_fp16", PrecisionMode::CubeLow},
                          {"must_keep_origin_dtype", PrecisionMode::Origin},
                          {"allow_mix_precision", PrecisionMode::Mixed},
                          {"allow_mix_precision_fp16", PrecisionMode::Mixed},
                          {"allow_mix_precision_bf16", PrecisionMode::Mixed, DType::BFloat16},
                          {"allow_fp32_to_bf16", PrecisionMode::CubeLow, DType::BFloat16}};
constexpr Row kModesV2[] = {{"fp16", PrecisionMode::Low},
                            {"origin", PrecisionMode::Origin},
                            {"cube_fp16in_fp32out", PrecisionMode::CubeLowInput},
                            {"mixed_float16", PrecisionMode::Mixed},
                            {"mixed_bfloat16", PrecisionMode::Mixed, DType::BFloat16}};

void set_mode(Precision& to, const char* name, const std::string& value, std::span<const Row> rows) {
  const auto found = std::ranges::find(rows, value, [](const Row& r) { return std::string(r.name); });
  if (found == rows.end()) {
    std::vector<std::string> names;
    for (const Row& r : rows) names.emplace_back(r.name);
    throw OptionError(name, value, fmt::format("want one of {}", fmt::join(names, ", ")));
  }
  to.mode = found->mode;
  to.low = found->low;
}

/// Matrix operators gain most from a low type; sums, powers and what divides by them lose most.
void set_lists(Precision& to) {
  to.white = {"Conv2D", "Conv3D",   "Conv2DTranspose",     "Conv3DTranspose",
              "MatMul", "MatMulV2", "BatchMatMul",         "BatchMatMulV2",
              "GEMM",   "Dot",      "TransposeBatchMatMul"};
  to.black = {"Exp",
              "Expm1",
              "Log",
              "Log1p",
              "Pow",
              "ReduceSum",
              "ReduceMean",
              "ReduceProd",
              "ReduceLogSumExp",
              "SoftmaxV2",
              "LogSoftmaxV2",
              "LayerNorm",
              "LayerNormV3",
              "LayerNormV4",
              "BatchNorm",
              "BatchNormV3",
              "BNInfer",
              "InstanceNorm",
              "GroupNorm",
              "GroupNormV2",
              "RmsNorm",
              "Xlogy",
              "Xlog1py",
              "Cumsum",
              "Cumprod",
              "Reciprocal",
              "Rsqrt",
              "Lgamma",
              "Digamma",
              "Erfinv",
              "CumulativeLogsumexp"};
}

void modify_lists(Precision& to, const std::string& path) {
  const std::string name = "modify_mixlist";
  const auto json = parse_relaxed_json(name, path, option_file_text(name, path));
  std::set<std::string> added;
  auto types = [&](const char* list, const char* key) {
    std::vector<std::string> found;
    const auto at = json.find(list);
    if (at == json.end() || !at->contains(key)) return found;
    for (const auto& type : (*at)[key]) {
      if (!type.is_string())
        throw OptionError(name, path,
                          fmt::format("{} {} has {}, want names of operator types", list, key, json_text(type)));
      found.push_back(type.get<std::string>());
    }
    return found;
  };
  if (!json.is_object() || (!json.contains("black-list") && !json.contains("white-list")))
    throw OptionError(name, path, R"(want {"black-list":{"to-add":[],"to-remove":[]},"white-list":{…}})");
  for (const std::string& type : types("black-list", "to-remove")) to.black.erase(type);
  for (const std::string& type : types("white-list", "to-remove")) to.white.erase(type);
  for (const std::string& type : types("black-list", "to-add")) {
    to.white.erase(type);
    to.black.insert(type);
    added.insert(type);
  }
  for (const std::string& type : types("white-list", "to-add")) {
    if (added.contains(type)) throw OptionError(name, path, fmt::format("{} is added to both lists", type));
    to.black.erase(type);
    to.white.insert(type);
  }
}

/// Calls f(line, number) for lines of the option's file that say something.
template <class F>
void for_lines(const std::string& option, const std::string& path, F&& f) {
  std::istringstream lines{option_file_text(option, path)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line.resize(std::min(line.find('#'), line.size()));
    std::erase_if(line, [](unsigned char c) { return std::isspace(c); });
    if (!line.empty()) f(line, number);
  }
}

DType type_named(const std::string& path, int line, const std::string& text) {
  static constexpr std::pair<std::string_view, DType> kNames[] = {
      {"float32", DType::Float}, {"float", DType::Float}, {"float16", DType::Float16}, {"bfloat16", DType::BFloat16},
      {"", DType::Undefined},    {"int8", DType::Int8},   {"int32", DType::Int32},     {"int64", DType::Int64},
      {"uint8", DType::UInt8},   {"bool", DType::Bool},   {"double", DType::Double}};
  const auto* found = std::ranges::find(kNames, std::string_view(text), &std::pair<std::string_view, DType>::first);
  if (found == std::end(kNames))
    throw OptionError("customize_dtypes", path, fmt::format("line {}: there is no type {}", line, text));
  if (found->second != DType::Undefined && found->second != DType::Float && found->second != DType::Float16 &&
      found->second != DType::BFloat16)
    throw OptionError("customize_dtypes", path,
                      fmt::format("line {}: {} cannot be asked for, want float32, float16 or bfloat16", line, text));
  return found->second;
}

/// node::InputDtype:float16,float32,OutputDtype:float32 or OpType::Type:InputDtype:…
void read_custom(Precision& to, const std::string& path) {
  for_lines("customize_dtypes", path, [&](const std::string& line, int number) {
    const size_t colons = line.find("::");
    if (colons == std::string::npos)
      throw OptionError(
          "customize_dtypes", path,
          fmt::format("line {}: want NODE::InputDtype:…,OutputDtype:… or OpType::TYPE:InputDtype:…", number));
    const std::string head = line.substr(0, colons);
    std::string name = head, rest = line.substr(colons + 2);
    if (head == "OpType") {
      const size_t colon = rest.find(':');
      name = rest.substr(0, colon);
      rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
    }
    CustomTypes types;
    std::vector<DType>* list = nullptr;
    for (size_t begin = 0; begin < rest.size();) {
      for (const auto& [word, which] : {std::pair{"InputDtype:", &types.inputs}, {"OutputDtype:", &types.outputs}})
        if (rest.compare(begin, std::strlen(word), word) == 0) {
          list = which;
          begin += std::strlen(word);
        }
      // the two parts may stand beside each other without a comma
      const size_t end = std::min({rest.find(',', begin), rest.find("OutputDtype:", begin), rest.size()});
      if (!list)
        throw OptionError("customize_dtypes", path, fmt::format("line {}: want InputDtype: or OutputDtype:", number));
      list->push_back(type_named(path, number, rest.substr(begin, end - begin)));
      begin = end + (end < rest.size() && rest[end] == ',');
    }
    if (types.inputs.empty() && types.outputs.empty())
      throw OptionError("customize_dtypes", path, fmt::format("line {} says no type", number));
    (head == "OpType" ? to.custom_types : to.custom_nodes)[name] = std::move(types);
  });
}

}  // namespace

Precision Precision::parse(const std::map<std::string, std::string>& options) {
  Precision made;
  const auto* mode = option(options, {"ge.exec.precision_mode", "precision_mode"});
  const auto* mode_v2 = option(options, {"ge.exec.precision_mode_v2", "precision_mode_v2"});
  if (mode && mode_v2)
    throw OptionError("precision_mode_v2", *mode_v2,
                      fmt::format("precision_mode is given, too ({}): give one of them", *mode));
  if (mode) set_mode(made, "precision_mode", *mode, kModes);
  if (mode_v2) set_mode(made, "precision_mode_v2", *mode_v2, kModesV2);
  set_lists(made);
  if (const auto* path = option(options, {"ge.exec.modify_mixlist", "modify_mixlist"})) modify_lists(made, *path);
  if (const auto* path = option(options, {"ge.exec.keep_dtype", "keep_dtype"}))
    for_lines("keep_dtype", *path, [&](const std::string& line, int) {
      if (line.starts_with("OpType::")) made.keep_types.insert(line.substr(8));
      else made.keep_nodes.insert(line);
    });
  if (const auto* path = option(options, {"ge.customizeDtypes", "customize_dtypes"})) {
    read_custom(made, *path);
    if (made.mode == PrecisionMode::Origin && (mode || mode_v2)) {  // as the guide has it: checked, and of no effect
      made.custom_nodes.clear();
      made.custom_types.clear();
    }
  }
  return made;
}

}  // namespace updraft::graph
