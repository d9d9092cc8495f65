#include "describe_onnx.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "frontends/onnx/conversion.h"

namespace {

using updraft::onnx::Row;

std::string cell(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts)
    if (!part.empty() && text.find(part) == std::string::npos) text += (text.empty() ? "" : ", ") + part;
  return text.empty() ? "·" : text;
}

std::string section(std::string_view domain, bool chinese) {
  std::map<std::string, std::vector<const Row*>> types;
  for (const auto& family : updraft::onnx::families()) {
    if (family.domain != domain) continue;
    for (const Row& row : family.rows) types[row.type].push_back(&row);
  }
  std::string text =
      fmt::format("\n## {}\n\n{}\n\n", domain.empty() ? "ai.onnx" : domain,
                  chinese ? fmt::format("{} 个算子", types.size()) : fmt::format("{} operators", types.size()));
  text += chinese ? "| 算子 | 起始版本 | 图算子 | 限制 |\n|---|---|---|---|\n"
                  : "| operator | since version | graph operators | what is refused |\n|---|---|---|---|\n";
  for (const auto& [type, rows] : types) {
    int since = rows[0]->since;
    std::vector<std::string> ascend, notes;
    for (const Row* row : rows) {
      since = std::min(since, row->since);
      ascend.emplace_back(row->ascend);
      notes.emplace_back(chinese ? row->note_zh : row->note);
    }
    text += fmt::format("| {} | {} | {} | {} |\n", type, since, cell(ascend), cell(notes));
  }
  return text;
}

}  // namespace

std::string onnx_table(bool chinese) {
  std::string text = chinese ? "<!-- 由 updraft_describe 生成，请勿手改 -->\n# ONNX 算子\n\nONNX "
                               "模型经转换器（`src/frontends/onnx/convert`）成为由图算子组成的图。"
                               "模型内的函数会被展开；`·` 表示导入时即已求出，不留节点。文本、8 位浮点与低于 8 "
                               "位的输入不受支持，4 位与 2 位的常量按字节保存。\n"
                             : "<!-- written by updraft_describe; do not edit -->\n# ONNX operators\n\nConverters "
                               "(`src/frontends/onnx/convert`) make graphs of the Ascend "
                               "IR from ONNX models. Functions of the model are put in the place of their calls. `·`: "
                               "known while importing, no node is left. "
                               "Inputs of texts, of floats of eight bits and of less than eight bits are refused; "
                               "constants of four and two bits are kept as bytes.\n";
  return text + section("", chinese) + section("com.microsoft", chinese);
}
