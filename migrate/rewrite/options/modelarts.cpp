// -m: scripts that are started take --data_url and --train_url of a ModelArts job; the package that does so, and the
// table of the project's paths, are written beside them.
#include <algorithm>
#include <array>

#include "migrate/rewrite/insert_import.h"
#include "migrate/rewrite/options/options.h"
#include "migrate/source/among.h"

namespace updraft::migrate::modelarts {
std::string_view embedded(std::string_view name);
}  // namespace updraft::migrate::modelarts

namespace updraft::migrate::rewrite {
namespace {

using source::among;

constexpr std::string_view kPackage = "ascend_modelarts_function";

/// The text of `add_argument("--data-dir", default="./data")`: option and default.
struct Option {
  std::string name, value;
};

std::vector<Option> path_options(const names::Module& module) {
  const syntax::Tree& tree = module.tree();
  std::vector<Option> found;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::Call) continue;
    const std::string_view callee = tree.text(tree.child(id, Field::Function));
    const bool argparse = callee.ends_with(".add_argument"), click = callee.ends_with(".option") || callee == "option";
    const bool flags = callee.ends_with("DEFINE_string");
    if (!argparse && !click && !flags) continue;
    Option option;
    std::size_t place = 0;
    for (NodeId a : tree.children(tree.child(id, Field::Arguments))) {
      std::string text;
      if (tree.kind(a) == Kind::KeywordArgument) {
        if (tree.text(tree.child(a, Field::Name)) == "default")
          module.plain_string(tree.child(a, Field::Value), option.value);
        continue;
      }
      if (module.plain_string(a, text)) {
        if (flags && place == 1) option.value = text;
        else if (text.size() > option.name.size() && (!flags || place == 0)) option.name = text;
      }
      ++place;
    }
    if (!option.name.empty()) found.push_back(std::move(option));
  }
  return found;
}

std::string plain(std::string name) {
  name.erase(0, name.find_first_not_of('-'));
  for (char& c : name) c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

/// data, output, or empty where the option's name says neither.
std::string_view direction(const std::string& name) {
  static constexpr std::array<std::string_view, 14> data = {
      "data", "data_dir",     "data_path", "dataset",    "dataset_dir", "data_root", "dataroot",
      "root", "dataset_path", "train_dir", "train_data", "input_dir",   "datadir",   "image_dir"};
  static constexpr std::array<std::string_view, 18> output = {
      "output",      "output_dir", "save_dir", "save_path",   "checkpoint_dir", "ckpt_dir",
      "out_dir",     "outdir",     "savedir",  "work_dir",    "log_dir",        "checkpoint_path",
      "output_path", "model_dir",  "save",     "results_dir", "result_dir",     "logdir"};
  return among(data, name) ? "data" : among(output, name) ? "output" : "";
}

}  // namespace

std::string_view modelarts_module() { return modelarts::embedded("modelarts.py"); }

std::vector<std::pair<std::string, std::string>> modelarts_paths(const std::string& source) {
  const names::Module module("", source, nullptr);
  std::vector<std::pair<std::string, std::string>> paths;
  for (const Option& option : path_options(module)) {
    const std::string_view way = direction(plain(option.name));
    if (!way.empty() && !option.value.empty() && option.value.find("://") == std::string::npos)
      paths.emplace_back(way, option.value);
  }
  return paths;
}

void modelarts_job(Sites& s) {
  if (!s.about_torch || !starts(s.tree()) || s.tree().text().find(kPackage) != std::string_view::npos) return;
  const NodeId first = first_statement(s.tree());
  if (first == kNone || s.kept(first)) return;
  static const rules::Rule rule = [] {
    rules::Rule r;
    r.id = "PT841";
    r.message = {
        "-m: --data_url and --train_url of a ModelArts job bring the data and take the results "
        "(ascend_modelarts_function, whose paths.json lists them)",
        "-m：由 ModelArts 作业的 --data_url 与 --train_url 下载数据、上传结果（见 ascend_modelarts_function 及其 "
        "paths.json）"};
    return r;
  }();
  for (const Option& option : path_options(s.module)) {
    const std::string name = plain(option.name);
    if (name != "data_url" && name != "train_url") continue;
    Finding& f = s.add(rule, first, Confidence::Review, "");
    f.message = {"-m: the script takes --" + name + " itself: nothing is put in here",
                 "-m：脚本自身已处理 --" + name + "，此处不作修改"};
    return;
  }
  Finding& f = s.add(rule, first, Confidence::Certain, std::string(kPackage));
  f.edits.push_back(insert_line(s.tree(), first, on_path(s.module.path()) + "import " + std::string(kPackage), true));
}

}  // namespace updraft::migrate::rewrite
