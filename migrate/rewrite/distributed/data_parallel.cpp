// DataParallel where nobody asked for the conversion to several processes: what would take its place, for review. It
// needs a process group, samplers and a launcher besides, so it is never done alone.
#include <algorithm>

#include "migrate/rewrite/distributed/data_parallel.h"

namespace updraft::migrate::rewrite {
namespace {

const rules::Rule& the_rule() {
  static const rules::Rule rule = [] {
    rules::Rule r;
    r.id = "PT320";
    r.confidence = Confidence::Review;
    r.suggestion = "torch.nn.parallel.DistributedDataParallel";
    r.message = {
        "DataParallel does not work on NPU; DistributedDataParallel takes its place, with one process for each card: "
        "it needs "
        "init_process_group, a DistributedSampler and torchrun as well, which `distributed -t MODEL -m MAIN` writes",
        "NPU 不支持 DataParallel，需改为每卡一个进程的 DistributedDataParallel：还需要 "
        "init_process_group、DistributedSampler 与 "
        "torchrun，可用 `distributed -t 模型变量 -m 入口文件` 自动改写"};
    return r;
  }();
  return rule;
}

bool is_data_parallel(std::string_view name) noexcept {
  return name == "torch.nn.DataParallel" || name == "torch.nn.parallel.DataParallel" ||
         name == "torch.nn.parallel.data_parallel.DataParallel";
}

}  // namespace

void data_parallel(Sites& s) {
  const syntax::Tree& tree = s.tree();
  // resolving every name that is called would read most of the project's files
  if (tree.text().find("DataParallel") == std::string_view::npos) return;
  for (NodeId call = 0; call < tree.size(); ++call) {
    if (tree.kind(call) != Kind::Call) continue;
    const NodeId callee = tree.child(call, Field::Function);
    const bool attribute = tree.kind(callee) == Kind::Attribute;
    if (!attribute && tree.kind(callee) != Kind::Identifier) continue;
    if (attribute && tree.text(tree.child(callee, Field::Attribute)) != "DataParallel") continue;
    if (!attribute && !s.module.scopes().lookup(tree.text(callee), s.module.scopes().of(callee))) continue;
    const Value v = s.module.local(callee);
    if (v.what != What::Api || !is_data_parallel(v.name) || s.kept(call)) continue;
    s.done[callee] = true;
    Finding& f = s.add(the_rule(), call, Confidence::Review, v.name);
    NodeId module = kNone, last = kNone;
    bool stars = false;
    for (NodeId a : tree.children(tree.child(call, Field::Arguments))) {
      const Kind kind = tree.kind(a);
      stars = stars || kind == Kind::ListSplat || kind == Kind::DictionarySplat;
      const bool keyword = kind == Kind::KeywordArgument;
      if (module == kNone && (!keyword || tree.text(tree.child(a, Field::Name)) == "module")) module = a;
      last = a;
    }
    if (module == kNone || stars) continue;
    if (attribute) {  // nn.DataParallel becomes nn.parallel.DistributedDataParallel
      f.edits.push_back(s.replace(tree.child(callee, Field::Attribute), v.name == "torch.nn.DataParallel"
                                                                            ? "parallel.DistributedDataParallel"
                                                                            : "DistributedDataParallel"));
    } else {  // an imported name becomes the whole path
      const auto* torch = s.module.scopes().lookup("torch", s.module.scopes().of(call));
      if (!torch || torch->front().module != "torch") continue;
      f.edits.push_back(s.replace(callee, "torch.nn.parallel.DistributedDataParallel"));
    }
    const bool first = module == tree.child(tree.child(call, Field::Arguments), std::size_t{0});
    if (!first) {  // DataParallel(device_ids=…, module=m)
      f.edits.clear();
      continue;
    }
    f.edits.push_back({tree[module].end, tree[last].end, ", device_ids=[torch_npu.npu.current_device()]"});
  }
}

}  // namespace updraft::migrate::rewrite
