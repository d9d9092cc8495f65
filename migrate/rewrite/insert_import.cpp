#include "migrate/rewrite/insert_import.h"

#include "migrate/rewrite/strings.h"

namespace updraft::migrate::rewrite {
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

}  // namespace updraft::migrate::rewrite
