#include "migrate/rewrite/options/options.h"

#include <algorithm>
#include <unordered_set>

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
