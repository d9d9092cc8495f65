// `import torch_npu` beside the first import of torch. torch 2.5 and newer load it by themselves; older ones, and
// readers, need the line.
#include <algorithm>

#include "migrate/rewrite/sites.h"

namespace updraft::migrate::rewrite {
namespace {

bool imports(const syntax::Tree& tree, NodeId statement, std::string_view package) {
  const auto is = [&](NodeId dotted) { return rules::under(tree.text(dotted), package); };
  if (tree.kind(statement) == Kind::ImportFrom) return is(tree.child(statement, Field::ModuleName));
  if (tree.kind(statement) != Kind::Import) return false;
  for (NodeId c : tree.children(statement))
    if (is(tree.kind(c) == Kind::AliasedImport ? tree.child(c, Field::Name) : c)) return true;
  return false;
}

/// Under `if TYPE_CHECKING:` nothing is imported.
bool for_types_only(const syntax::Tree& tree, NodeId statement) {
  for (NodeId up = tree.parent(statement); up != kNone; up = tree.parent(up))
    if (tree.kind(up) == Kind::If &&
        tree.text(tree.child(up, Field::Condition)).find("TYPE_CHECKING") != std::string_view::npos)
      return true;
  return false;
}

}  // namespace

void import_torch_npu(Sites& s, Confidence least) {
  const syntax::Tree& tree = s.tree();
  const bool needed = std::any_of(s.findings.begin(), s.findings.end(), [&](const Finding& f) { return f.applied; });
  if (!needed) return;
  NodeId chosen = kNone, in_function = kNone;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::Import && tree.kind(id) != Kind::ImportFrom) continue;
    if (imports(tree, id, "torch_npu")) return;
    if (!imports(tree, id, "torch") || for_types_only(tree, id)) continue;
    NodeId& slot = s.module.scopes()[s.module.scopes().of(id)].kind == names::ScopeKind::Module ? chosen : in_function;
    if (slot == kNone) slot = id;
  }
  if (chosen == kNone) chosen = in_function;
  if (chosen == kNone || s.kept(chosen)) return;

  static const rules::Rule rule = [] {
    rules::Rule r;
    r.id = "PT001";
    r.message = {"torch_npu registers the device npu with PyTorch", "torch_npu 向 PyTorch 注册 npu 设备"};
    return r;
  }();
  const std::string_view text = tree.text();
  const std::uint32_t begin = tree[chosen].begin;
  const std::size_t line = text.rfind('\n', begin == 0 ? std::string_view::npos : begin - 1);
  const std::size_t start = begin == 0 || line == std::string_view::npos ? 0 : line + 1;
  std::string_view indent = text.substr(start, begin - start);
  if (indent.starts_with("\xef\xbb\xbf")) indent.remove_prefix(3);
  const bool alone = indent.find_first_not_of(" \t") == std::string_view::npos;
  const std::string newline = text.find("\r\n") != std::string_view::npos ? "\r\n" : "\n";
  // before an import that itself becomes one of torch.npu
  const bool before = std::any_of(s.findings.begin(), s.findings.end(), [&](const Finding& f) {
    return f.applied && f.begin >= begin && f.end <= tree[chosen].end;
  });
  Edit edit{begin, begin, {}};
  if (before) {
    edit.text = alone ? "import torch_npu" + newline + std::string(indent) : "import torch_npu; ";
  } else if (!alone) {
    edit.begin = edit.end = tree[chosen].end;
    edit.text = "; import torch_npu";
  } else {
    const std::size_t stop = text.find('\n', tree[chosen].end);
    if (stop == std::string_view::npos) {
      edit.begin = edit.end = static_cast<std::uint32_t>(text.size());
      edit.text = newline + std::string(indent) + "import torch_npu";
    } else {
      edit.begin = edit.end = static_cast<std::uint32_t>(stop + 1);
      edit.text = std::string(indent) + "import torch_npu" + newline;
    }
  }
  Finding& f = s.add(rule, chosen, Confidence::Certain, "torch_npu");
  f.edits.push_back(std::move(edit));
  f.applied = f.confidence >= least;
}

}  // namespace updraft::migrate::rewrite
