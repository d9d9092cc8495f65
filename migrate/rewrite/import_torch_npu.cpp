// `import torch_npu` beside the first import of torch. torch 2.5 and newer load it by themselves; older ones, and
// readers, need the line.
#include <algorithm>

#include "migrate/rewrite/insert_import.h"
#include "migrate/rewrite/sites.h"

namespace updraft::migrate::rewrite {

void import_torch_npu(Sites& s, Confidence least) {
  const syntax::Tree& tree = s.tree();
  const bool needed = std::any_of(s.findings.begin(), s.findings.end(), [&](const Finding& f) {
    return f.applied && f.api != "nvidia-smi";  // a program of its own
  });
  if (!needed || imported_by_module(s, "torch_npu")) return;
  const NodeId chosen = first_import(s, "torch");
  if (chosen == kNone || s.kept(chosen)) return;
  const bool in_function = s.module.scopes()[s.module.scopes().of(chosen)].kind != names::ScopeKind::Module;
  if (in_function && first_import(s, "torch_npu") != kNone) return;
  static const rules::Rule rule = [] {
    rules::Rule r;
    r.id = "PT001";
    r.message = {"torch_npu registers the device npu with PyTorch", "torch_npu 向 PyTorch 注册 npu 设备"};
    return r;
  }();
  // before an import that itself becomes one of torch.npu
  const bool before = std::any_of(s.findings.begin(), s.findings.end(), [&](const Finding& f) {
    return f.applied && f.begin >= tree[chosen].begin && f.end <= tree[chosen].end &&
           std::any_of(f.edits.begin(), f.edits.end(), [](const Edit& e) { return e.begin < e.end; });
  });
  Finding& f = s.add(rule, chosen, Confidence::Certain, "torch_npu");
  f.edits.push_back(insert_line(tree, chosen, "import torch_npu", before));
  f.applied = f.confidence >= least;
}

}  // namespace updraft::migrate::rewrite
