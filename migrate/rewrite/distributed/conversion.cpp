#include "migrate/rewrite/distributed/conversion.h"

#include <algorithm>

#include "base/error.h"
#include "migrate/rewrite/distributed/layout.h"
#include "migrate/rewrite/distributed/steps.h"

namespace updraft::migrate::rewrite {
namespace {

using distributed::Source;

/// import os, import torch: before the file's first import that may stand first.
void import(Source& s) {
  if (s.imports.empty()) return;
  const syntax::Tree& tree = s.tree();
  distributed::Lines lines;
  for (const std::string& module : s.imports) lines.push_back("import " + module);
  NodeId first = kNone, future = kNone;
  for (NodeId statement : tree.children(0)) {
    const Kind kind = tree.kind(statement);
    if (kind == Kind::FutureImport) future = statement;
    if ((kind == Kind::Import || kind == Kind::ImportFrom) && first == kNone) first = statement;
  }
  Finding& f = s.add("PT351", Category::Change, 0, {"what the lines for several cards need", "多卡代码所需的模块"});
  if (first != kNone) f.edits.push_back(distributed::before(tree, first, lines));
  else if (future != kNone) f.edits.push_back(distributed::after(tree, future, lines));
  else f.edits.push_back(distributed::at_start(tree, 0, lines));
}

Finding note(Source& s, Text text, std::string api = {}) {
  Finding f;
  f.rule = "PT357";
  f.category = Category::Note;
  f.from = f.to = s.tree().position(0);
  f.api = std::move(api);
  f.message = std::move(text);
  return f;
}

}  // namespace

Conversion::Conversion(const names::Project& project, const names::Project::Reader& read, DistributedOptions options)
    : options_(std::move(options)) {
  if (options_.model.empty()) options_.model = "model";
  distributed::Program program(project, read, options_.main_file);
  Source& main = program.main();
  if (main.text.empty())
    throw Error(
        code::kAclInvalidParam,
        "-m {}: this entry file is empty, or cannot be read; wanted: the training script, relative to the input",
        options_.main_file);
  const auto refuse = [&](Text text, std::string api) {
    files_[main.path].findings.push_back(note(main, std::move(text), std::move(api)));
  };
  if (const auto already = distributed::distributed_already(program)) {
    const Source& s = *already->where.source;
    const std::string where =
        s.path + ":" + std::to_string(s.tree().position(s.tree()[already->where.node].begin).line);
    refuse({"the script runs on several cards already (" + already->api + " at " + where +
                "): its structure is left as it is; start it with run_distributed_npu.sh",
            "脚本已支持多卡（" + where + " 处调用 " + already->api +
                "）：不再改写其结构；请用 run_distributed_npu.sh 启动"},
           already->api);
    return;
  }
  const std::vector<distributed::Model> models = distributed::models(program, options_.model);
  if (models.empty()) {
    refuse({"no variable " + options_.model + " that holds a model is assigned in " + main.path +
                " or what it imports: nothing is converted; name the variable with -t",
            "在 " + main.path + " 及其导入的文件中未找到模型变量 " + options_.model +
                "：未做多卡改写；请用 -t 指定模型变量名"},
           {});
    return;
  }
  const distributed::Entry entry = distributed::entry(program, models);
  if (entry.block == kNone) {
    refuse({"the names torch or os mean something else in " + main.path + ": nothing is converted",
            "在 " + main.path + " 中 torch 或 os 被用作其他含义：未做多卡改写"},
           {});
    return;
  }
  for (const distributed::Model& m : models) distributed::wrap(program, m);
  distributed::loaders(program);
  distributed::outputs(program, models, entry.ready);
  converted_ = true;
  for (const auto& s : program.sources()) {
    File& file = files_[s->path];
    file.torch = s->name_of("torch", 0);
    s->imports.erase("");
    if (std::none_of(s->findings.begin(), s->findings.end(), [](const Finding& f) { return !f.edits.empty(); }))
      s->imports.clear();
    import(*s);
    if (s.get() == &main) {
      file.local_rank = entry.local_rank;
      file.ranked_at = entry.ready;
    }
    file.findings = std::move(s->findings);
  }
}

}  // namespace updraft::migrate::rewrite
