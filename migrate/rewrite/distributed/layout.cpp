#include "migrate/rewrite/distributed/layout.h"

#include <algorithm>

#include "migrate/rewrite/strings.h"

namespace updraft::migrate::rewrite::distributed {
namespace {

std::size_t line_start(std::string_view text, std::size_t at) {
  const std::size_t found = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return found == std::string_view::npos ? 0 : found + 1;
}

std::string joined(const Lines& lines, const std::string& separator) {
  std::string all;
  for (const std::string& line : lines) all += (all.empty() ? "" : separator) + line;
  return all;
}

/// Lines as statements on one line: without comments.
std::string flat(const Lines& lines) {
  std::string all;
  for (const std::string& line : lines)
    if (!line.starts_with('#')) all += (all.empty() ? "" : "; ") + line;
  return all;
}

std::uint32_t u32(std::size_t n) { return static_cast<std::uint32_t>(n); }

}  // namespace

std::string newline(std::string_view text) { return text.find("\r\n") != std::string_view::npos ? "\r\n" : "\n"; }

std::string indent(const syntax::Tree& tree, NodeId node) {
  const std::string_view text = tree.text();
  const std::size_t start = line_start(text, tree[node].begin);
  std::size_t stop = start;
  while (stop < tree[node].begin && (text[stop] == ' ' || text[stop] == '\t')) ++stop;
  return std::string(text.substr(start, stop - start));
}

std::string unit(const syntax::Tree& tree) {
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::Block || tree[id].first == kNone) continue;
    const NodeId first = tree.child(id, std::size_t{0});
    if (first == kNone || !alone(tree, first)) continue;
    const std::string inner = indent(tree, first), outer = indent(tree, tree.parent(id));
    if (inner.size() > outer.size() && inner.starts_with(outer)) return inner.substr(outer.size());
  }
  return "    ";
}

bool alone(const syntax::Tree& tree, NodeId statement) {
  const std::string_view text = tree.text();
  for (std::size_t at = tree[statement].begin; at > 0 && text[at - 1] != '\n'; --at)
    if (text[at - 1] != ' ' && text[at - 1] != '\t' && static_cast<unsigned char>(text[at - 1]) < 0x80) return false;
  std::size_t at = tree[statement].end;
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r')) ++at;
  return at >= text.size() || text[at] == '\n' || text[at] == '#';
}

Edit before(const syntax::Tree& tree, NodeId statement, const Lines& lines) {
  const std::uint32_t at = tree[statement].begin;
  if (!alone(tree, statement)) return {at, at, flat(lines) + "; "};
  const std::string next = newline(tree.text()) + indent(tree, statement);
  return {at, at, joined(lines, next) + next};
}

Edit after(const syntax::Tree& tree, NodeId statement, const Lines& lines) {
  const std::string_view text = tree.text();
  std::size_t at = tree[statement].end;
  if (!alone(tree, statement)) {
    // a; b: the line's other statements follow ours
    return {u32(at), u32(at), "; " + flat(lines)};
  }
  const std::string margin = indent(tree, statement), next = newline(text) + margin;
  const std::size_t stop = text.find('\n', at);
  if (stop == std::string_view::npos) return {u32(text.size()), u32(text.size()), next + joined(lines, next)};
  return {u32(stop + 1), u32(stop + 1), margin + joined(lines, next) + newline(text)};
}

Edit at_start(const syntax::Tree& tree, NodeId block, const Lines& lines) {
  NodeId chosen = kNone;
  for (NodeId s : tree.children(block)) {
    chosen = s;
    if (!is_literal_statement(tree, s)) return before(tree, s, lines);
  }
  if (chosen == kNone) return {tree[block].end, tree[block].end, ""};  // broken syntax: an empty block
  return after(tree, chosen, lines);
}

NodeId last_of(const syntax::Tree& tree, NodeId block) {
  NodeId last = kNone;
  for (NodeId s : tree.children(block)) last = s;
  return last;
}

std::vector<Edit> under(const syntax::Tree& tree, const std::vector<NodeId>& statements, const std::string& condition) {
  std::vector<Edit> edits;
  const NodeId first = statements.front();
  const std::uint32_t at = tree[first].begin;
  if (!alone(tree, first)) {
    // if best: torch.save(…)
    for (NodeId s : statements) edits.push_back({tree[s].begin, tree[s].begin, condition + " and "});
    return edits;
  }
  const std::string step = unit(tree);
  edits.push_back({at, at, "if " + condition + ":" + newline(tree.text()) + indent(tree, first) + step});
  for (std::size_t n = 1; n < statements.size(); ++n)
    edits.push_back({tree[statements[n]].begin, tree[statements[n]].begin, step});
  // the lines of a block stand deeper; those of a string stay as they are
  for (NodeId s : statements) {
    if (tree.kind(s) == Kind::ExpressionStatement) continue;
    const std::string_view text = tree.text();
    std::vector<NodeId> strings;
    for (NodeId n = s; n < tree[s].last; ++n)
      if (tree.kind(n) == Kind::String) strings.push_back(n);
    for (std::size_t line = text.find('\n', tree[s].begin); line != std::string_view::npos && line < tree[s].end;
         line = text.find('\n', line + 1)) {
      const auto start = u32(line + 1);
      const bool blank = start >= text.size() || text[start] == '\n' || text[start] == '\r';
      const bool within = std::any_of(strings.begin(), strings.end(),
                                      [&](NodeId n) { return tree[n].begin < start && start <= tree[n].end; });
      if (!blank && !within && start < tree[s].end) edits.push_back({start, start, step});
    }
  }
  return edits;
}

Edit remove(const syntax::Tree& tree, NodeId statement) {
  std::size_t n = 0;
  for ([[maybe_unused]] NodeId s : tree.children(tree.parent(statement))) ++n;
  if (n == 1 || !alone(tree, statement)) return {tree[statement].begin, tree[statement].end, "pass"};
  const std::string_view text = tree.text();
  const std::size_t stop = text.find('\n', tree[statement].end);
  return {u32(line_start(text, tree[statement].begin)), u32(stop == std::string_view::npos ? text.size() : stop + 1),
          ""};
}

Edit keyword(const syntax::Tree& tree, NodeId call, const std::string& text) {
  const NodeId list = tree.child(call, Field::Arguments);
  const NodeId last = last_of(tree, list);
  if (last == kNone) return {tree[list].end - 1, tree[list].end - 1, text};
  return {tree[last].end, tree[last].end, ", " + text};
}

Argument argument(const syntax::Tree& tree, NodeId call, std::string_view name, int position) {
  Argument a;
  int n = 0;
  for (NodeId c : tree.children(tree.child(call, Field::Arguments))) {
    switch (tree.kind(c)) {
      case Kind::ListSplat:
        a.hidden = a.hidden || position >= n;
        n = -1000;
        break;
      case Kind::DictionarySplat: a.hidden = true; break;
      case Kind::KeywordArgument:
        if (tree.text(tree.child(c, Field::Name)) == name) return {c, tree.child(c, Field::Value), false};
        break;
      default:
        if (n++ == position && position >= 0) return {c, c, false};
    }
  }
  return a;
}

}  // namespace updraft::migrate::rewrite::distributed
