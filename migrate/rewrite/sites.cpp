#include "migrate/rewrite/sites.h"

#include <algorithm>
#include <set>
#include <utility>

#include "migrate/rewrite/passes.h"
#include "migrate/rewrite/strings.h"
#include "migrate/source/words.h"

namespace updraft::migrate::rewrite {

void Claims::take(NodeId node) {
  const auto now = static_cast<std::uint8_t>(names_.size());
  if (owners_[node] != 0 && owners_[node] != now) clashes_.push_back({node, owner(node), names_.back()});
  else owners_[node] = now;
}

Finding& Sites::add(const rules::Rule& rule, NodeId node, Confidence confidence, std::string api) {
  Finding f;
  f.rule = rule.id;
  f.category = rule.category;
  f.confidence = lower(rule.confidence, confidence);
  f.begin = tree()[node].begin;
  f.end = tree()[node].end;
  f.from = tree().position(f.begin);
  f.to = tree().position(f.end);
  f.api = std::move(api);
  f.suggestion = rule.suggestion;
  f.message = rule.message;
  findings.push_back(std::move(f));
  return findings.back();
}

Edit Sites::replace(NodeId node, std::string text) const {
  return {tree()[node].begin, tree()[node].end, std::move(text)};
}

Sites::Sites(const names::Module& m, const rules::RuleSet& r, std::string f)
    : module(m), rules(r), framework(std::move(f)), claims(m.tree().size()) {
  constexpr std::string_view kMark = "updraft: keep";
  const std::string_view text = tree().text();
  if (!source::says(text, kMark)) return;
  for (std::size_t at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at + kMark.size())) {
    const std::size_t begin = text.rfind('\n', at) + 1;  // npos + 1 is 0
    if (text.substr(begin, at - begin).find('#') == std::string_view::npos ||
        text.substr(at + kMark.size()).starts_with('['))
      continue;
    kept_lines_.push_back({begin, std::min(text.find('\n', at), text.size())});
  }
}

bool Sites::kept(NodeId node) const {
  const auto line = std::ranges::lower_bound(kept_lines_, std::size_t{tree()[node].begin}, {}, &Line::end);
  return line != kept_lines_.end() && line->begin <= tree()[node].end;
}

namespace {

/// Under `if TYPE_CHECKING:` nothing is imported.
bool for_types_only(const syntax::Tree& tree, NodeId statement) {
  for (NodeId up = tree.parent(statement); up != kNone; up = tree.parent(up))
    if (tree.kind(up) == Kind::If &&
        tree.text(tree.child(up, Field::Condition)).find("TYPE_CHECKING") != std::string_view::npos)
      return true;
  return false;
}

}  // namespace

bool imports(const syntax::Tree& tree, NodeId statement, std::string_view package) {
  const auto is = [&](NodeId dotted) { return rules::under(tree.text(dotted), package); };
  if (tree.kind(statement) == Kind::ImportFrom) return is(tree.child(statement, Field::ModuleName));
  if (tree.kind(statement) != Kind::Import) return false;
  for (NodeId c : tree.children(statement))
    if (is(tree.kind(c) == Kind::AliasedImport ? tree.child(c, Field::Name) : c)) return true;
  return false;
}

NodeId first_import(const Sites& s, std::string_view package) {
  const syntax::Tree& tree = s.tree();
  NodeId in_function = kNone;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (!imports(tree, id, package) || for_types_only(tree, id)) continue;
    if (s.module.scopes()[s.module.scopes().of(id)].kind == names::ScopeKind::Module) return id;
    if (in_function == kNone) in_function = id;
  }
  return in_function;
}

bool imported_by_module(const Sites& s, std::string_view package) {
  const NodeId found = first_import(s, package);
  return found != kNone && s.module.scopes()[s.module.scopes().of(found)].kind == names::ScopeKind::Module;
}

Edit insert_line(const syntax::Tree& tree, NodeId statement, std::string_view line, bool before) {
  const std::string_view text = tree.text();
  const std::uint32_t begin = tree[statement].begin;
  const std::size_t last = begin == 0 ? std::string_view::npos : text.rfind('\n', begin - 1);
  const std::size_t start = last == std::string_view::npos ? 0 : last + 1;
  std::string_view indent = text.substr(start, begin - start);
  if (indent.starts_with("\xef\xbb\xbf")) indent.remove_prefix(3);
  const std::size_t behind = text.find_first_not_of(" \t", tree[statement].end);
  const bool shared = behind != std::string_view::npos && text[behind] == ';';
  const bool alone = !(shared && !before) && indent.find_first_not_of(" \t\f") == std::string_view::npos;
  const std::string newline = text.find("\r\n") != std::string_view::npos ? "\r\n" : "\n";
  std::string joined;
  for (const char c : line) {
    if (c != '\n') joined += c;
    else if (alone) joined += newline + std::string(indent);
    else joined += "; ";
  }
  if (before) return {begin, begin, joined + (alone ? newline + std::string(indent) : "; ")};
  const std::uint32_t end = tree[statement].end;
  if (!alone) return {end, end, "; " + joined};
  const std::size_t stop = text.find('\n', end);
  if (stop == std::string_view::npos) {
    const auto last_byte = static_cast<std::uint32_t>(text.size());
    return {last_byte, last_byte, newline + std::string(indent) + joined};
  }
  const auto next = static_cast<std::uint32_t>(stop + 1);
  return {next, next, std::string(indent) + joined + newline};
}

std::string on_path(std::string_view path) {
  std::string up;
  for (const char c : path)
    if (c == '/') up += ", \"..\"";
  if (up.empty()) return up;
  return "import os\nimport sys\nsys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__))" + up + "))\n";
}

NodeId first_statement(const syntax::Tree& tree) {
  bool first = true;
  for (NodeId id : tree.children(0)) {
    const bool docstring = first && is_literal_statement(tree, id);
    first = false;
    if (!docstring && tree.kind(id) != Kind::FutureImport) return id;
  }
  return kNone;
}

// `import torch_npu` beside the first import of torch. torch 2.5 and newer load it by themselves; older ones, and
// readers, need the line.

namespace {

void import_torch_npu_at(Sites& s, NodeId chosen, Confidence least) {
  const syntax::Tree& tree = s.tree();
  static const rules::Rule& rule = rules::coded("PT001");
  // before an import that itself becomes one of torch.npu
  const bool before = std::any_of(s.findings.begin(), s.findings.end(), [&](const Finding& f) {
    return f.applied && f.begin >= tree[chosen].begin && f.end <= tree[chosen].end &&
           std::any_of(f.edits.begin(), f.edits.end(), [](const Edit& e) { return e.begin < e.end; });
  });
  Finding& f = s.add(rule, chosen, Confidence::Certain, "torch_npu");
  f.edits.push_back(insert_line(tree, chosen, "import torch_npu", before));
  f.applied = f.confidence >= least;
}

}  // namespace

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
  std::vector<NodeId> places = {chosen};
  if (in_function) {
    // each function that imports torch for itself and has changes; none of them runs the others' imports
    std::set<names::ScopeId> seen;
    std::vector<NodeId> own;
    for (NodeId id = chosen; id < tree.size(); ++id) {
      if (!imports(tree, id, "torch") || for_types_only(tree, id)) continue;
      const names::ScopeId scope = s.module.scopes().of(id);
      if (!seen.insert(scope).second || s.kept(id)) continue;
      const syntax::Node& function = tree[s.module.scopes()[scope].node];
      const bool changes = std::any_of(s.findings.begin(), s.findings.end(), [&](const Finding& f) {
        return f.applied && f.api != "nvidia-smi" && f.begin >= function.begin && f.end <= function.end;
      });
      if (changes) own.push_back(id);
    }
    if (!own.empty()) places = own;
  }
  for (NodeId place : places) import_torch_npu_at(s, place, least);
}

// --auto: the script stays as it is; two imports make torch_npu exchange CUDA's interfaces when it runs.

bool is_entry(const syntax::Tree& tree) {
  for (NodeId id : tree.children(0)) {
    if (tree.kind(id) != Kind::If) continue;
    const std::string_view condition = tree.text(tree.child(id, Field::Condition));
    if (condition.find("__name__") != std::string_view::npos && condition.find("__main__") != std::string_view::npos)
      return true;
  }
  return false;
}

bool starts(const syntax::Tree& tree) {
  if (is_entry(tree)) return true;
  for (NodeId id : tree.children(0)) {
    const Kind kind = tree.kind(id);
    if (kind == Kind::For || kind == Kind::While || kind == Kind::With) return true;
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
  static const rules::Rule& rule = rules::coded("PT002");
  Finding& f = s.add(rule, chosen, Confidence::Certain, "torch_npu.contrib.transfer_to_npu");
  f.edits.push_back(
      insert_line(s.tree(), chosen, "import torch_npu\nfrom torch_npu.contrib import transfer_to_npu", torch == kNone));
  f.applied = f.confidence >= least;
  return std::move(s.findings);
}

}  // namespace updraft::migrate::rewrite
