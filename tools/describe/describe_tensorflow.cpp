#include "describe_tensorflow.h"

#include <fmt/format.h>

#include <map>

#include "frontends/tensorflow/conversion.h"

std::string tensorflow_table(bool chinese) {
  std::map<std::string_view, const updraft::tensorflow::Row*> rows;
  for (const auto& family : updraft::tensorflow::families())
    for (const auto& row : family)
      if (*row.type != '_') rows[row.type] = &row;  // others are made by npu_device and TensorFlow themselves
  std::string text =
      chinese ? "<!-- 由 updraft_describe 生成，请勿手改 -->\n# TensorFlow 算子\n\nTensorFlow "
                "冻结图经转换器（`src/frontends/tensorflow/convert`）成为由图算子组成的图。函数会被展开；`·` "
                "表示不留节点。TensorFlow 1 的循环（Enter、NextIteration）、变量、文本与 TensorList 不受支持。\n"
              : "<!-- written by updraft_describe; do not edit -->\n# TensorFlow operators\n\nConverters "
                "(`src/frontends/tensorflow/convert`) make graphs of the Ascend IR from frozen graphs of TensorFlow. "
                "Functions are put in the place of their calls. `·`: no node is left. Loops of TensorFlow 1 (Enter, "
                "NextIteration), variables, texts and lists of tensors (TensorList) are refused.\n";
  text += fmt::format(
      "\n{}\n\n", chinese ? fmt::format("{} 个算子", rows.size() + 1) : fmt::format("{} operators", rows.size() + 1));
  text += chinese ? "| 算子 | 图算子 | 限制 |\n|---|---|---|\n"
                  : "| operator | graph operators | limits |\n|---|---|---|\n";
  auto cell = [](std::string_view words) { return words.empty() ? std::string_view("·") : words; };
  bool input = false;
  for (const auto& [type, row] : rows) {
    if (!input && type > "Placeholder") {
      text += "| Placeholder | Data | · |\n";
      input = true;
    }
    text += fmt::format("| {} | {} | {} |\n", type, cell(row->ascend), cell(chinese ? row->note_zh : row->note));
  }
  return text;
}
