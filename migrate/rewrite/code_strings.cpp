// Strings that Python evaluates: eval("torch.cuda.is_available()"), @pytest.mark.skipif("not
// torch.cuda.is_available()").
#include <algorithm>
#include <array>

#include "migrate/rewrite/sites.h"
#include "migrate/rewrite/strings.h"
#include "migrate/source/bytes.h"

namespace updraft::migrate::rewrite {
namespace {

/// Whether a call evaluates its first argument.
bool evaluates(const Sites& s, NodeId call) {
  const syntax::Tree& tree = s.tree();
  const NodeId callee = tree.child(call, Field::Function);
  if (tree.kind(callee) == Kind::Identifier) {
    const std::string_view name = tree.text(callee);
    if (name == "eval" || name == "exec") return !s.module.scopes().lookup(name, s.module.scopes().of(callee));
  }
  const Value v = s.module.value(callee);
  static constexpr std::array<std::string_view, 5> known = {"pytest.mark.skipif", "pytest.mark.xfail", "timeit.timeit",
                                                            "timeit.repeat", "timeit.Timer"};
  return v.what == What::Api && std::find(known.begin(), known.end(), v.name) != known.end();
}

/// [sys.executable, "-c", "import torch; print(torch.cuda.device_count())"]
bool behind_c(const syntax::Tree& tree, NodeId list, NodeId literal) {
  if (tree.kind(list) != Kind::List && tree.kind(list) != Kind::Tuple) return false;
  std::string_view before;
  for (NodeId item : tree.children(list)) {
    if (item == literal) return before == "\"-c\"" || before == "'-c'";
    before = tree.text(item);
  }
  return false;
}

using source::is_name_byte;

/// Every torch.cuda.NAME in a piece of code that a rule exchanges.
void names(Sites& s, NodeId content, std::vector<Edit>& edits) {
  const std::string_view text = s.tree().text(content);
  const std::uint32_t begin = s.tree()[content].begin;
  for (std::size_t at = 0; (at = text.find("torch.cuda", at)) != std::string_view::npos;) {
    std::size_t end = at;
    while (end < text.size() && (is_name_byte(text[end]) || text[end] == '.')) ++end;
    const std::string name(text.substr(at, end - at));
    const bool whole = at == 0 || !(is_name_byte(text[at - 1]) || text[at - 1] == '.');
    const rules::Rule* rule = whole ? s.rules.api(name) : nullptr;
    if (rule && s.applies(*rule) && rule->category == Category::Change) {
      const rules::Renaming r = rules::renaming(*rule, name);
      if (!r.to.empty()) {
        const auto from = static_cast<std::uint32_t>(begin + at);
        edits.push_back({from, from + static_cast<std::uint32_t>(r.from.size()), r.to});
      }
    }
    at = end;
  }
}

}  // namespace

void code_strings(Sites& s) {
  const syntax::Tree& tree = s.tree();
  const rules::Rule* rule = s.rules.string(rules::Value::Device, "code");
  if (!rule || !s.applies(*rule)) return;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::String || s.done[id] || tree.text(id).find("torch.cuda") == std::string_view::npos)
      continue;
    const NodeId list = tree.parent(id), call = tree.parent(list);
    const bool argument = tree.kind(list) == Kind::ArgumentList && tree.child(list, std::size_t{0}) == id &&
                          tree.kind(call) == Kind::Call && evaluates(s, call);
    if ((!argument && !behind_c(tree, list, id)) || s.kept(id)) continue;
    std::vector<Edit> edits;
    for (NodeId c : tree.children(id))
      if (tree.kind(c) == Kind::StringContent) names(s, c, edits);
    if (edits.empty()) continue;
    s.done[id] = true;
    s.add(*rule, id, npu_has_its_own(tree, id) ? Confidence::Review : Confidence::Likely).edits = std::move(edits);
  }
}

}  // namespace updraft::migrate::rewrite
