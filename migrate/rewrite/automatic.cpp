// --auto: the script stays as it is; two imports make torch_npu exchange CUDA's interfaces when it runs.
#include "migrate/rewrite/insert_import.h"
#include "migrate/rewrite/sites.h"

namespace updraft::migrate::rewrite {

bool is_entry(const syntax::Tree& tree) {
  for (NodeId id : tree.children(0)) {
    if (tree.kind(id) != Kind::If) continue;
    const std::string_view condition = tree.text(tree.child(id, Field::Condition));
    if (condition.find("__name__") != std::string_view::npos && condition.find("__main__") != std::string_view::npos)
      return true;
  }
  return false;
}

std::vector<Finding> automatic(const names::Module& module, const rules::RuleSet& rules, Confidence least) {
  Sites s(module, rules, "pytorch");
  for (NodeId id = 0; id < s.tree().size(); ++id)
    if ((s.tree().kind(id) == Kind::Import || s.tree().kind(id) == Kind::ImportFrom) &&
        s.tree().text(id).find("transfer_to_npu") != std::string_view::npos)
      return {};
  const NodeId torch = first_import(s, "torch");
  const NodeId chosen = torch != kNone ? torch : first_statement(s.tree());
  if (chosen == kNone) return {};
  static const rules::Rule rule = [] {
    rules::Rule r;
    r.id = "PT002";
    r.message = {
        "transfer_to_npu exchanges torch.cuda, .cuda(), nccl and the like for their NPU counterparts as the script "
        "runs",
        "transfer_to_npu 在脚本运行时自动将 torch.cuda、.cuda()、nccl 等接口替换为 NPU 接口"};
    return r;
  }();
  Finding& f = s.add(rule, chosen, Confidence::Certain, "torch_npu.contrib.transfer_to_npu");
  f.edits.push_back(
      insert_line(s.tree(), chosen, "import torch_npu\nfrom torch_npu.contrib import transfer_to_npu", torch == kNone));
  f.applied = f.confidence >= least;
  return std::move(s.findings);
}

}  // namespace updraft::migrate::rewrite
