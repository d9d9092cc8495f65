// Every place where a framework's API is named.
#include <unordered_map>

#include "migrate/rewrite/facts.h"

namespace updraft::migrate::rewrite {

std::vector<ApiUse> uses_of(const names::Module& module, std::string_view framework) {
  const syntax::Tree& tree = module.tree();
  const std::string_view root = framework == "tensorflow" ? "tensorflow" : "torch";
  std::unordered_map<std::string_view, bool> bound;
  for (names::ScopeId scope = 0; scope < module.scopes().size(); ++scope)
    for (const auto& [name, bindings] : module.scopes()[scope].names)
      for (const names::Binding& b : bindings)
        if (b.how == names::Bind::Import && rules::under(b.module, root)) bound[name] = true;
  std::vector<ApiUse> uses;
  if (bound.empty()) return uses;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::Identifier || !bound.contains(tree.text(id)) || !tree.is_reference(id)) continue;
    const NodeId whole = tree.with_attributes(id);
    const Value v = module.value(whole);
    if (v.what != What::Api || v.name.find('.') == std::string::npos) continue;
    uses.push_back({v.name, tree.position(tree[whole].begin).line, tree.call_of(whole) != kNone});
  }
  return uses;
}

}  // namespace updraft::migrate::rewrite
