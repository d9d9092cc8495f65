#include "migrate/rewrite/options/options.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "migrate/rewrite/sites.h"
#include "migrate/source/words.h"
#include "migrate/support/torch_api.h"

namespace updraft::migrate::rewrite {

void options(Sites& s, const Chosen& chosen, const Facts& facts) {
  if (chosen.similar) similar(s, facts);
  if (!chosen.affine_model.empty()) affine(s, chosen.affine_model);
  if (chosen.mixed_precision) mixed_precision(s);
  if (!chosen.amp_model.empty()) apex_amp(s, chosen.amp_model);
  if (chosen.modelarts) modelarts_job(s);
  if (chosen.specify_device) specify_device(s);
}

bool options_may_apply(std::string_view text, const Chosen& chosen) {
  return chosen.any() && text.find("torch") != std::string_view::npos;
}

std::vector<Use> uses_under(const Sites& s, const std::vector<std::string_view>& roots) {
  const syntax::Tree& tree = s.tree();
  const auto wanted = [&](std::string_view name) {
    return std::any_of(roots.begin(), roots.end(), [&](std::string_view root) { return rules::under(name, root); });
  };
  std::unordered_set<std::string_view> names;
  for (names::ScopeId scope = 0; scope < s.module.scopes().size(); ++scope)
    for (const auto& [name, bindings] : s.module.scopes()[scope].names)
      for (const names::Binding& b : bindings)
        if (b.how == names::Bind::Import && wanted(b.module)) names.insert(name);
  std::vector<Use> uses;
  if (names.empty()) return uses;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::Identifier || !names.contains(tree.text(id)) || !tree.is_reference(id)) continue;
    const NodeId whole = tree.with_attributes(id);
    Value value = s.module.value(whole);
    if (value.what != What::Api) continue;
    uses.push_back({whole, std::move(value), tree.call_of(whole)});
  }
  return uses;
}

}  // namespace updraft::migrate::rewrite

// -sim: what the product lacks becomes a function of ascend_function/, which stands in the output.
namespace updraft::migrate::options {
std::string_view embedded(std::string_view name);
std::span<const std::string_view> embedded_names();
}  // namespace updraft::migrate::options

namespace updraft::migrate::rewrite {
namespace {

/// The files say themselves what they replace: "# replaces torch.var_mean" above a def or class.
std::unordered_map<std::string_view, std::string_view> read_names() {
  std::unordered_map<std::string_view, std::string_view> names;
  constexpr std::string_view mark = "\n# replaces ";
  for (std::string_view file : options::embedded_names()) {
    const std::string_view text = options::embedded(file);
    for (std::size_t at = 0; (at = text.find(mark, at)) != std::string_view::npos;) {
      at += mark.size();
      const std::string_view api = text.substr(at, text.find('\n', at) - at);
      const std::size_t word = text.find(' ', at + api.size()) + 1;
      names.emplace(api, text.substr(word, text.find_first_of("(:", word) - word));
    }
  }
  return names;
}

const rules::Rule& replaced() { return rules::coded("PT811"); }

const rules::Rule& imported() { return rules::coded("PT812"); }

}  // namespace

std::vector<NewFile> equivalents() {
  std::vector<NewFile> files;
  for (std::string_view name : options::embedded_names())
    files.push_back({"ascend_function/" + std::string(name), options::embedded(name)});
  return files;
}

std::string_view equivalent(std::string_view api) {
  static const auto names = read_names();
  const auto found = names.find(api);
  return found == names.end() ? std::string_view{} : found->second;
}

void similar(Sites& s, const Facts& facts) {
  const syntax::Tree& tree = s.tree();
  if (s.module.path().starts_with("ascend_function/")) return;
  const Text product{std::string(name_of(facts.product, Language::en)),
                     std::string(name_of(facts.product, Language::zh))};
  bool any = false;
  for (const Use& use : uses_under(s, {"torch"})) {
    const std::string_view name = equivalent(use.value.name);
    if (name.empty() || s.claims.taken(use.node) || s.kept(use.node)) continue;
    const bool missing = lookup_torch(use.value.name, facts.version, facts.product).support == Support::no;
    if (!missing && runs_on(use.value.name) != RunsOn::cpu) continue;
    const std::string to = "ascend_function." + std::string(name);
    // a base of a class, an isinstance: the type itself is meant
    const bool type = use.call == kNone && std::isupper(static_cast<unsigned char>(name[0]));
    Finding& f =
        s.add(replaced(), use.node, type || !use.value.sure ? Confidence::Review : Confidence::Certain, use.value.name);
    f.suggestion = to;
    f.message = rules::told("PT811.equivalent", {use.value.name, product, to});
    f.edits.push_back(s.replace(use.node, to));
    if (f.confidence != Confidence::Review) any = true, s.claims.take(use.node);
  }
  if (!any || first_import(s, "ascend_function") != kNone) return;
  const NodeId torch = first_import(s, "torch");
  const NodeId chosen = torch != kNone ? torch : first_statement(tree);
  if (chosen == kNone) return;
  const std::string line = (is_entry(tree) ? on_path(s.module.path()) : "") + "import ascend_function";
  Finding& f = s.add(imported(), chosen, Confidence::Certain, "ascend_function");
  f.edits.push_back(insert_line(tree, chosen, line, torch == kNone));
}

// -s: which card a script runs on is said by the environment, as `DEVICE_ID=3 python train.py`. The runtime then shows
// the process that card alone, as card 0, so that whatever the script says ("npu", "npu:0") is right.

void specify_device(Sites& s) {
  const syntax::Tree& tree = s.tree();
  if (!s.about_torch || tree.text().find("DEVICE_ID") != std::string_view::npos || !starts(tree)) return;
  const NodeId torch = first_import(s, "torch");
  const NodeId chosen = torch != kNone ? torch : first_statement(tree);
  if (chosen == kNone || s.kept(chosen)) return;
  static const rules::Rule& rule = rules::coded("PT801");
  // a torch import in a function comes too late to be the place, unless it is the only one
  Finding& f = s.add(rule, chosen, Confidence::Certain, "DEVICE_ID");
  f.edits.push_back(insert_line(tree, chosen,
                                "import os\nos.environ.setdefault(\"ASCEND_RT_VISIBLE_DEVICES\", "
                                "os.environ.get(\"DEVICE_ID\", \"0\"))",
                                true));
}

}  // namespace updraft::migrate::rewrite

namespace updraft::migrate::modelarts {
std::string_view embedded(std::string_view name);
}  // namespace updraft::migrate::modelarts

namespace updraft::migrate::rewrite {

// -m: scripts that are started take --data_url and --train_url of a ModelArts job; the package that does so, and the
// table of the project's paths, are written beside them.
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
  static const rules::Rule& rule = rules::coded("PT841");
  for (const Option& option : path_options(s.module)) {
    const std::string name = plain(option.name);
    if (name != "data_url" && name != "train_url") continue;
    Finding& f = s.add(rule, first, Confidence::Review, "");
    f.message = rules::told("PT841.own", {name});
    return;
  }
  Finding& f = s.add(rule, first, Confidence::Certain, std::string(kPackage));
  f.edits.push_back(insert_line(s.tree(), first, on_path(s.module.path()) + "import " + std::string(kPackage), true));
}

}  // namespace updraft::migrate::rewrite
