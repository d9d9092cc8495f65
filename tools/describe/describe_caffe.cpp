#include "describe_caffe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "frontends/caffe/conversion.h"

std::string caffe_table(bool chinese) {
  std::map<std::string_view, const updraft::caffe::Row*> rows;
  for (const auto& family : updraft::caffe::families())
    for (const auto& row : family) rows[row.type] = &row;
  std::string text =
      chinese
          ? "<!-- 由 updraft_describe 生成，请勿手改 -->\n# Caffe 的层\n\nCaffe "
            "网络（prototxt 与 caffemodel）经转换器（`src/frontends/caffe/convert`）成为由图算子组成的图。`·` "
            "表示不留节点。除 BVLC Caffe 的层外，还有若干分支（SSD、DeepLab、SENet、ShuffleNet、MobileNet）的层。\n"
          : "<!-- written by updraft_describe; do not edit -->\n# Layers of Caffe\n\nConverters "
            "(`src/frontends/caffe/convert`) make graphs of the Ascend IR from nets of Caffe (prototxt and "
            "caffemodel). `·`: no node is left. Beside the layers of BVLC's Caffe there are some of its forks (SSD, "
            "DeepLab, SENet, ShuffleNet, MobileNet).\n";
  text += fmt::format("\n{}\n\n",
                      chinese ? fmt::format("{} 种层", rows.size() + 1) : fmt::format("{} layers", rows.size() + 1));
  text += chinese ? "| 层 | 图算子 | 限制 |\n|---|---|---|\n" : "| layer | graph operators | limits |\n|---|---|---|\n";
  auto cell = [](std::string_view words) { return words.empty() ? std::string_view("·") : words; };
  bool input = false;
  for (const auto& [type, row] : rows) {
    if (!input && type > "Input") {
      text += "| Input | Data | · |\n";
      input = true;
    }
    text += fmt::format("| {} | {} | {} |\n", type, cell(row->ascend), cell(chinese ? row->note_zh : row->note));
  }
  std::set<std::string_view> refused;
  for (const updraft::caffe::Remedy& remedy : updraft::caffe::remedies()) refused.insert(remedy.type);
  text += chinese ? fmt::format("\n以下的层会被拒绝，并说明应如何处理：{}。\n", fmt::join(refused, ", "))
                  : fmt::format("\nRefused with what to do: {}.\n", fmt::join(refused, ", "));
  return text;
}
