#include "describe_graph.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "ops/ir_op.h"
#include "source_file.h"

namespace {

using updraft::Default;
using updraft::Kind;
using updraft::OpInfo;
using updraft::Parameter;

std::map<std::string, const OpInfo*> sorted() {
  std::map<std::string, const OpInfo*> ops;
  for (const OpInfo* op = updraft::first_ir_op(); op; op = op->next) ops[op->name] = op;
  return ops;
}

/// The operator whose summary this one has: it computes it.
std::string computed_by(const OpInfo& op) {
  for (const OpInfo* twin = updraft::first_op(); twin; twin = twin->next)
    if (twin->about && twin->about == op.about) return twin->name;
  return "";
}

std::string tensor_name(const Parameter& p) {
  return std::string(p.name) + (p.kind == Kind::Tensors ? "*" : "") +
         (p.optional && p.type != std::string("Ref") ? "?" : "");
}

std::string number(double n, Kind kind) {
  if (kind == Kind::Bool || kind == Kind::Bools) return n != 0 ? "true" : "false";
  return fmt::format("{:.9g}", n);
}

std::string join(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : between) + part;
  return text;
}

std::vector<std::string> names_of(const std::vector<const Parameter*>& parameters) {
  std::vector<std::string> names;
  for (const Parameter* p : parameters) names.push_back(tensor_name(*p));
  return names;
}

}  // namespace

std::string default_text(Kind kind, const Default& d) {
  switch (d.is) {
    case Default::Is::Required: return "";
    case Default::Is::Text: return fmt::format("\"{}\"", d.text);
    case Default::Is::Number: return number(d.numbers[0], kind);
    default: break;
  }
  std::string text = "{";
  for (int i = 0; i < d.count; ++i) text += (i ? ", " : "") + number(d.numbers[i], kind);
  return text + "}";
}

std::string graph_table(bool chinese) {
  const auto ops = sorted();
  std::string text = chinese ? fmt::format(
                                   "\n## 图算子\n\n图与 aclop 接口按类型使用的 {} 个算子。`名称?` 可省略，`名称*` "
                                   "为张量列表；属性后为默认值，`!` 表示必须给出。\n\n"
                                   "| 类型 | 功能 | 引擎 | 输入 | 输出 | 属性 | 由何计算 | 源文件 |\n",
                                   ops.size())
                             : fmt::format(
                                   "\n## Graph operators\n\nThe {} operators that graphs and the aclop interface "
                                   "use by their types. `name?` may be absent, `name*` is a list;\nan attribute "
                                   "has its default behind it, or `!` when it must be given.\n\n| type | summary | "
                                   "engine | inputs | outputs | attributes | computed by | source |\n",
                                   ops.size());
  text += "|---|---|---|---|---|---|---|---|\n";
  for (const auto& [type, op] : ops) {
    std::vector<std::string> attributes;
    for (size_t i = 0; i < op->parameters.size(); ++i) {
      const Parameter& p = op->parameters[i];
      if (is_tensor(p.kind)) continue;
      const std::string value = default_text(p.kind, op->defaults[i]);
      attributes.push_back(std::string(p.name) + (value.empty() ? "!" : "=" + value));
    }
    text += fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} |\n", type,
                        op->about ? (chinese ? op->about->summary_zh : op->about->summary) : "",
                        op->about ? updraft::name_of(op->about->unit) : "", join(names_of(ir_inputs(*op)), " "),
                        join(names_of(ir_outputs(*op)), " "), join(attributes, "; "), computed_by(*op),
                        "src/ops/" + file_in_ops(op->file));
  }
  return text;
}

std::string graph_json() {
  nlohmann::json all;
  for (const auto& [type, op] : sorted()) {
    nlohmann::json attributes = nlohmann::json::object();
    for (size_t i = 0; i < op->parameters.size(); ++i) {
      const Parameter& p = op->parameters[i];
      if (is_tensor(p.kind)) continue;
      const std::string value = default_text(p.kind, op->defaults[i]);
      attributes[p.name] = {p.type, value.empty() ? nlohmann::json() : nlohmann::json(value)};
    }
    all[type] = {
        {"inputs", names_of(ir_inputs(*op))}, {"outputs", names_of(ir_outputs(*op))}, {"attributes", attributes}};
  }
  return all.dump(1) + "\n";
}
