// `atc --help` and the page of the options.
#include <fmt/format.h>

#include <algorithm>

#include "atc/option_table.h"

namespace updraft::atc {
namespace {

constexpr struct {
  const char *group, *zh;
} kGroups[] = {{"general", "通用"},   {"input", "输入"},  {"output", "输出"},   {"target", "目标"},
               {"precision", "精度"}, {"tuning", "优化"}, {"debugging", "调试"}};

const char* effect_of(Effect effect) {
  switch (effect) {
    case Effect::Accepted: return "[no effect] ";
    case Effect::Refused: return "[refused] ";
    default: return "";
  }
}

std::string values_of(const Option& option) {
  if (option.kind == Kind::Boolean) return option.name == std::string_view("help") ? "" : "true|false";
  return option.values;
}

/// | would end the cell.
std::string cell(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.replace(at, 1, "\\|");
  return text.empty() ? "·" : text;
}

}  // namespace

std::string help() {
  std::string text =
      "usage: atc --framework=5 --model=net.onnx --output=net --soc_version=Ascend910B2 [--option=value …]\n"
      "       atc --mode=1|5|6 --om=FILE [--json=FILE]\n"
      "Makes an offline model (om) for aclmdlLoadFromFile and its kin. --name=value and --name value are the same.\n";
  for (const auto& [group, zh] : kGroups) {
    text += fmt::format("\n{}\n", group);
    for (const Option& option : options()) {
      if (option.group != std::string_view(group)) continue;
      const std::string values = values_of(option);
      text += fmt::format("  --{}{}{}\n      {}{}{}\n", option.name, values.empty() ? "" : "=", values,
                          effect_of(option.effect), option.about,
                          *option.standard ? fmt::format(" (default: {})", option.standard) : "");
    }
  }
  return text;
}

std::string options_page(bool chinese) {
  std::string text =
      chinese
          ? "<!-- 由 updraft_describe 生成，请勿手改 -->\n# atc 的参数\n\n"
            "“不起作用”的参数会被接受，atc 打印原因；“拒绝”的参数以错误码结束。用法见 [atc](../use/atc.zh.md)。\n"
          : "<!-- written by updraft_describe; do not edit -->\n# Options of atc\n\n"
            "Options without effect are accepted and atc prints why; refused ones end it with a code. How it is used: "
            "[atc](../use/atc.md).\n";
  for (const auto& [group, zh] : kGroups) {
    text += fmt::format(
        "\n## {}\n\n{}", chinese ? zh : group,
        chinese ? "| 参数 | 取值 | 默认 | 作用 | 说明 |\n|---|---|---|---|---|\n"
                : "| option | value | default | effect | what it does, or why not |\n|---|---|---|---|---|\n");
    for (const Option& option : options()) {
      if (option.group != std::string_view(group)) continue;
      const char* effect = option.effect == Effect::Works      ? (chinese ? "有效" : "works")
                           : option.effect == Effect::Accepted ? (chinese ? "不起作用" : "no effect")
                                                               : (chinese ? "拒绝" : "refused");
      text += fmt::format("| --{} | {} | {} | {} | {} |\n", option.name, cell(values_of(option)), cell(option.standard),
                          effect, cell(chinese ? option.about_zh : option.about));
    }
  }
  return text;
}

}  // namespace updraft::atc
