#include "migrate/rewrite/passes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "migrate/source/words.h"
#include "migrate/support/table.h"
#include "migrate/support/third_party.h"
#include "migrate/support/torch_api.h"

namespace updraft::migrate::rewrite {
namespace {

using source::is_name_byte;

struct Verdict {
  bool said = false;  ///< something is to be reported
  TorchApi api;
  std::string name;  ///< the part of the name that the lists have
  RunsOn where = RunsOn::unknown;
};

/// The lists' word on a name under torch: of its longest part that they have.
Verdict verdict(std::string_view name, const Facts& f, bool called) {
  Verdict v;
  for (std::string_view p = name; p.find('.') != std::string_view::npos; p = p.substr(0, p.rfind('.'))) {
    const TorchApi found = lookup_torch(p, f.version, f.product);
    if (found.api.empty()) continue;
    v.api = found;
    v.name = p;
    v.said = found.support == Support::no && !rules::under(p, "torch.cuda") && !rules::under(p, "torch.backends.cuda");
    return v;
  }
  v.name = name;
  // torch_npu's own dispatcher knows operators that the lists forget
  v.where = runs_on(name);
  if (v.where == RunsOn::npu || v.where == RunsOn::composite) return v;
  v.said = called && !outside_lists(name) && std::islower(static_cast<unsigned char>(name[name.rfind('.') + 1]));
  return v;
}

/// What a name bound by an import stands for, read off the text: {"F", "torch.nn.functional"}.
using Aliases = std::unordered_map<std::string_view, std::string>;

std::string_view word(std::string_view line, std::size_t& at, bool dotted) {
  while (at < line.size() && (line[at] == ' ' || line[at] == '\t' || line[at] == '(' || line[at] == '\n' ||
                              line[at] == '\r' || line[at] == '\\'))
    ++at;
  const std::size_t start = at;
  while (at < line.size() && (is_name_byte(line[at]) || (dotted && line[at] == '.'))) ++at;
  return line.substr(start, at - start);
}

/// One import statement that begins with `text`; true where it imports something that is to be reported by itself.
bool read_import(std::string_view text, Aliases& aliases, const Facts& f) {
  std::size_t at = 0;
  const bool from = word(text, at, false) == "from";
  std::string module;
  if (from) {
    module = word(text, at, true);
    if (!rules::under(module, "torch") || word(text, at, false) != "import") return false;
  }
  const std::size_t open = text.find_first_not_of(" \t", at);
  const bool wrapped = from && open != std::string_view::npos && text[open] == '(';
  bool reported = false;
  while (true) {
    const std::string_view name = word(text, at, !from);
    if (name.empty()) break;
    std::string_view bound = name;
    std::size_t ahead = at;
    if (word(text, ahead, false) == "as") {
      at = ahead;
      bound = word(text, at, false);
    } else if (!from) {
      bound = name.substr(0, name.find('.'));
    }
    std::string whole = from                                                       ? module + "." + std::string(name)
                        : bound == name.substr(0, name.find('.')) && bound != name ? std::string(bound)
                                                                                   : std::string(name);
    if (rules::under(whole, "torch")) {
      reported = reported || (from && verdict(whole, f, false).said);
      aliases.emplace(bound, std::move(whole));
    }
    while (at < text.size() &&
           (text[at] == ' ' || text[at] == '\t' || (wrapped && (text[at] == '\n' || text[at] == '\r'))))
      ++at;
    if (at >= text.size() || text[at] != ',') break;
    ++at;
    if (wrapped)  // comments between names
      while (at < text.size() && (std::isspace(static_cast<unsigned char>(text[at])) || text[at] == '#')) {
        if (text[at] == '#')
          while (at < text.size() && text[at] != '\n') ++at;
        else ++at;
      }
  }
  return reported;
}

}  // namespace

bool facts_may_apply(std::string_view text, const Facts& f) {
  Aliases aliases;
  // third-party packages and torch's, from the import lines
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) end = text.size();
    std::size_t start = at;
    while (start < end && (text[start] == ' ' || text[start] == '\t')) ++start;
    const std::string_view line = text.substr(start, end - start);
    at = end + 1;
    const bool from = line.starts_with("from "), plain = line.starts_with("import ");
    if (!from && !plain) continue;
    std::size_t pos = from ? 5 : 7;
    const std::string_view module = word(line, pos, true);
    if (rules::under(module, "torch") || (plain && line.find("torch") != std::string_view::npos)) {
      if (read_import(text.substr(start), aliases, f)) return true;
    } else if (const ThirdParty known = lookup_third_party(module); worth_saying(known)) {
      return true;
    }
  }
  std::unordered_set<std::string> seen;
  for (const auto& [alias, module] : aliases) {
    if (module.find('.') != std::string::npos && verdict(module, f, true).said &&
        text.find(std::string(alias) + "(") != std::string_view::npos)
      return true;
    const std::string needle = std::string(alias) + ".";
    for (std::size_t at = 0; (at = text.find(needle, at)) != std::string_view::npos;) {
      const std::size_t start = at;
      at += needle.size();
      if (start > 0 && (is_name_byte(text[start - 1]) || text[start - 1] == '.')) continue;
      std::size_t end = at;
      while (end < text.size() && (is_name_byte(text[end]) || text[end] == '.')) ++end;
      std::string name = module + text[start + alias.size()] + std::string(text.substr(at, end - at));
      const bool called = end < text.size() && text[end] == '(';
      while (name.ends_with('.')) name.pop_back();
      if (!seen.insert(name + (called ? "(" : "")).second) continue;
      if (verdict(name, f, called).said) return true;
      at = end;
    }
  }
  return false;
}

namespace {

/// Once for each row of the table and file: where the package is imported, or the listed name is used.
void third_party(Sites& s, NodeId node, const std::string& name, std::unordered_set<std::string_view>& said) {
  const ThirdParty known = lookup_third_party(name);
  if (!worth_saying(known) || !said.insert(known.name).second) return;
  Finding& f = s.add(rules::coded("PT603"), node, Confidence::Certain, name);
  f.suggestion = known.alternative;
  f.message = sentence(known, known.name);
}

void torch_api(Sites& s, NodeId node, const std::string& name, bool sure, bool called, const Facts& facts) {
  const Verdict v = verdict(name, facts, called);
  if (!v.said) return;
  const std::string_view version = kTorchVersions[facts.version];
  const bool unknown = v.api.api.empty();
  Finding& f =
      s.add(rules::coded(unknown ? "PT602" : "PT601"), node, sure ? Confidence::Certain : Confidence::Likely, v.name);
  if (v.where == RunsOn::cpu) {
    f.category = Category::Performance;
    f.rule = "PT604";
    f.message = rules::told("PT604", {v.name});
  } else if (unknown) {
    f.message = rules::told("PT602", {version, v.name});
  } else {
    const Text product{std::string(name_of(facts.product, Language::en)),
                       std::string(name_of(facts.product, Language::zh))};
    f.suggestion = v.api.npu;
    f.message = rules::told("PT601", {v.name, product, version, source_url(v.api, facts.version)});
  }
}

}  // namespace

/// The last parts of the names of methods that the lists deny.
const std::unordered_set<std::string_view>& denied_methods() {
  static const std::unordered_set<std::string_view> all = [] {
    std::unordered_set<std::string_view> names;
    static const support::Table table = support::Table::of("torch_api.tsv");
    for (support::Row row = table.first(); row; row = row.next()) {
      const std::string_view name = row.key();
      const std::size_t last = name.rfind('.');
      if (row.cell(3).find('n') != std::string_view::npos && last != std::string_view::npos)
        names.insert(name.substr(last + 1));
    }
    return names;
  }();
  return all;
}

/// Methods of instances: prof.key_averages(), x.frexp() of a tensor. Only what the lists deny by that very name.
void member_api(Sites& s, NodeId node, const Facts& facts) {
  if (!denied_methods().contains(s.tree().text(s.tree().child(node, Field::Attribute)))) return;
  const Value v = s.module.local(node);
  if (v.what != What::Member || v.own || !rules::under(v.name, "torch")) return;
  // of tensors on the host, which DataLoaders share
  if (v.name == "torch.Tensor.share_memory_" || v.name == "torch.Tensor.is_shared") return;
  std::string name = v.name;
  if (const std::string_view profile = "torch.profiler.profile."; name.starts_with(profile))
    name = "torch.profiler._KinetoProfile." + name.substr(profile.size());
  const TorchApi found = lookup_torch(name, facts.version, facts.product);
  if (found.api.empty() || found.support != Support::no) return;
  torch_api(s, node, name, v.sure, true, facts);
}

void facts(Sites& s, const Facts& known) {
  const syntax::Tree& tree = s.tree();
  std::unordered_set<std::string_view> framework, packages, said;
  std::vector<std::pair<NodeId, std::string>> parties;
  for (names::ScopeId scope = 0; scope < s.module.scopes().size(); ++scope)
    for (const auto& [name, bindings] : s.module.scopes()[scope].names)
      for (const names::Binding& b : bindings) {
        if (b.how != names::Bind::Import) continue;
        const names::Project* project = s.module.project();
        if (b.module.starts_with('.') || (project && !project->file_of(b.module, s.module.path()).empty())) continue;
        const Value v = s.module.imported(b);
        if (v.what != What::Api) continue;
        if (rules::under(v.name, "torch")) {
          framework.insert(name);
        } else if (const ThirdParty party = lookup_third_party(v.name); worth_saying(party)) {
          packages.insert(name);
          parties.emplace_back(b.node, v.name);
        }
      }
  std::sort(parties.begin(), parties.end());  // said where it is imported first
  for (const auto& [node, name] : parties) third_party(s, node, name, said);
  if (framework.empty() && packages.empty()) return;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) == Kind::Attribute && !framework.empty() && !s.claims.taken(id) && tree.call_of(id) != kNone &&
        !s.kept(id))
      member_api(s, id, known);
    if (tree.kind(id) != Kind::Identifier) continue;
    const std::string_view text = tree.text(id);
    const bool torch = framework.contains(text);
    if (!torch && !packages.contains(text)) continue;
    if (!tree.is_reference(id)) continue;
    const NodeId whole = tree.with_attributes(id);
    const bool called = tree.call_of(whole) != kNone;
    if (!torch && whole == id && !called) continue;
    const Value v = s.module.value(whole);
    if (v.what != What::Api || s.kept(whole)) continue;
    if (torch) {
      if (!s.claims.taken(whole)) torch_api(s, whole, v.name, v.sure, called, known);
    } else {
      third_party(s, whole, v.name, said);  // where more is known than the import said
    }
  }
}

// Every place where a framework's API is named.

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
