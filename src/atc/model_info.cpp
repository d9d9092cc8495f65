// Mode 6: what an om holds.
#include <cstdio>

#include "atc/modes.h"
#include "atc/refusal.h"
#include "graph/shape/gears.h"
#include "om/external_weight.h"
#include "om/om_file.h"

namespace updraft::atc {
namespace {

std::string text_of(const graph::Model& model, const char* name) {
  if (const auto* text = graph::find<std::string>(model.attributes, name)) return *text;
  if (const auto* number = graph::find<int64_t>(model.attributes, name)) return std::to_string(*number);
  return "";
}

}  // namespace

void print_model(const std::string& path) {
  const graph::Bytes file = graph::Bytes::of_file(path);
  std::vector<om::Part> parts;
  graph::Model model;
  try {
    parts = om::parts(file);
    model = om::read(file);
  } catch (const Error& e) { throw invalid("om", path, e.text(), "Give an om file that atc made."); }
  const auto text = [&](const char* name) { return text_of(model, name); };
  std::string out = "============ Display Model Info start ============\n";
  out += fmt::format("Original Atc command line: {}\n", text("atc_cmdline"));
  out += fmt::format("system   info: atc_version[{}], soc_version[{}], framework_type[{}].\n", text("atc_version"),
                     text("soc_version"), text("framework_type"));
  out += fmt::format("resource info: memory_size[{} B], weight_size[{} B], stream_num[{}], event_num[{}].\n",
                     text("memory_size"), text("weight_size"), text("stream_num"), text("event_num"));
  out += "om       info:";
  for (const om::Part& part : parts)
    out += fmt::format(" {}[{} B]{}", part.name, part.bytes, &part == &parts.back() ? ".\n" : ",");
  const auto inputs = model.graph->inputs();
  for (size_t i = 0; i < inputs.size(); ++i)
    out += fmt::format("input  {}: {}, {}, {}\n", i, inputs[i]->name(), graph::describe(inputs[i]->output().desc),
                       graph::name_of(inputs[i]->output().desc.format));
  const auto names = graph::find_or(model.graph->attributes, "output_names", std::vector<std::string>());
  if (const graph::Node* end = model.graph->net_output())
    for (size_t i = 0; i < end->inputs().size(); ++i)
      out += fmt::format("output {}: {}, {}\n", i, i < names.size() ? names[i] : "",
                         graph::describe(end->inputs()[i].from.node->output(end->inputs()[i].from.index).desc));
  if (const auto gears = graph::gears_of(*model.graph)) out += fmt::format("gears: {}\n", gears->text());
  size_t constants = 0, files = 0;
  for (const auto& node : model.graph->nodes()) {
    constants += node->type() == "Const" || node->type() == "Constant";
    files += node->type() == "FileConstant";
  }
  out +=
      fmt::format("nodes: {}, of them {} constants and {} constants in files\n", model.graph->size(), constants, files);
  out += "============ Display Model Info end   ============\n";
  std::fputs(out.c_str(), stdout);
}

}  // namespace updraft::atc
