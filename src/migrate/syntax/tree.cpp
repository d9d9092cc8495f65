#include "migrate/syntax/tree.h"

#include <tree_sitter/api.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "migrate/syntax/pool.h"

extern "C" const TSLanguage* tree_sitter_python(void);

namespace updraft::migrate::syntax {
namespace {

/// The grammar's numbers as ours, looked up once.
struct Grammar {
  const TSLanguage* language = tree_sitter_python();
  std::vector<Kind> kinds;
  std::vector<Field> fields;

  Grammar() {
    const std::unordered_map<std::string_view, Kind> by_name = {
#define UPDRAFT_MIGRATE_KIND(id, name) {name, Kind::id},
        UPDRAFT_MIGRATE_KINDS(UPDRAFT_MIGRATE_KIND)
#undef UPDRAFT_MIGRATE_KIND
    };
    kinds.resize(ts_language_symbol_count(language), Kind::Other);
    for (std::uint32_t symbol = 0; symbol < kinds.size(); ++symbol) {
      const auto id = static_cast<TSSymbol>(symbol);
      if (ts_language_symbol_type(language, id) != TSSymbolTypeRegular) continue;
      if (auto found = by_name.find(ts_language_symbol_name(language, id)); found != by_name.end())
        kinds[symbol] = found->second;
    }
    constexpr std::array<std::string_view, 27> names = {
        "",          "alias",    "alternative", "argument",     "arguments",
        "attribute", "body",     "condition",   "consequence",  "definition",
        "function",  "key",      "left",        "module_name",  "name",
        "object",    "operator", "operators",   "parameters",   "return_type",
        "right",     "subject",  "subscript",   "superclasses", "type",
        "value",     "?"};
    fields.resize(ts_language_field_count(language) + 1, Field::Other);
    fields[0] = Field::None;
    for (std::size_t i = 1; i < fields.size(); ++i) {
      const std::string_view name = ts_language_field_name_for_id(language, static_cast<TSFieldId>(i));
      const auto found = std::find(names.begin() + 1, names.end(), name);
      if (found != names.end()) fields[i] = static_cast<Field>(found - names.begin());
    }
  }
};

const Grammar& grammar() {
  static const Grammar instance = [] {
    use_pool();
    return Grammar();
  }();
  return instance;
}

/// Length of the well-formed UTF-8 sequence at `at`, or 0.
std::size_t sequence(std::string_view text, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const unsigned lead = byte(0);
  const std::size_t length = lead < 0x80 ? 1 : lead >> 5 == 6 ? 2 : lead >> 4 == 14 ? 3 : lead >> 3 == 30 ? 4 : 0;
  if (length == 0 || at + length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (byte(i) >> 6 != 2) return 0;
  return length;
}

/// Whether the source declares an encoding whose second bytes look like ASCII (PEP 263): a quote or a backslash there
/// is none.
bool two_byte_encoding(std::string_view text) noexcept {
  const std::size_t second = text.find('\n');
  const std::string_view head = text.substr(0, second == std::string_view::npos ? second : text.find('\n', second + 1));
  const std::size_t coding = head.find("coding");
  if (coding == std::string_view::npos || head.find('#') > coding) return false;
  for (std::string_view name : {"gb", "GB", "cp936", "big5", "Big5", "shift", "Shift", "sjis", "cp932", "cp949", "euc"})
    if (head.find(name, coding) != std::string_view::npos) return true;
  return false;
}

/// The text with every byte that is no UTF-8, and every NUL, made a letter: old encodings keep their offsets. Empty
/// where nothing had to change.
std::string readable(std::string_view text) {
  std::string copy;
  const bool pairs = two_byte_encoding(text);
  for (std::size_t i = 0; i < text.size();) {
    // most sources are ASCII: eight bytes at a time
    if (std::uint64_t word; i + 8 <= text.size()) {
      std::memcpy(&word, text.data() + i, 8);
      constexpr std::uint64_t high = 0x8080808080808080, low = 0x0101010101010101;
      if (((word & high) | ((word - low) & ~word & high)) == 0) {
        i += 8;
        continue;
      }
    }
    const bool ascii = static_cast<unsigned char>(text[i]) < 0x80 && text[i] != '\0';
    const std::size_t length = ascii ? 1 : text[i] == '\0' || pairs ? 0 : sequence(text, i);
    if (length == 0) {
      if (copy.empty()) copy = text;
      copy[i] = 'x';
      if (pairs && text[i] != '\0' && i + 1 < text.size() && text[i + 1] != '\n' && text[i + 1] != '\r')
        copy[++i] = 'x';
    }
    i += std::max<std::size_t>(length, 1);
  }
  return copy;
}

}  // namespace

Tree::Tree(std::string_view text) : text_(text) {
  if (text.size() > 0x7fffffff)
    throw Error(code::kAclInvalidParam, "a source of {} bytes is too long: 2 GiB at most", text.size());
  const Grammar& g = grammar();
  thread_local const std::unique_ptr<TSParser, decltype(&ts_parser_delete)> parser = [&] {
    std::unique_ptr<TSParser, decltype(&ts_parser_delete)> p(ts_parser_new(), ts_parser_delete);
    ts_parser_set_language(p.get(), g.language);
    return p;
  }();
  const std::string mended = readable(text);
  const std::string_view source = mended.empty() ? text : mended;
  const std::unique_ptr<TSTree, decltype(&ts_tree_delete)> tree(
      ts_parser_parse_string(parser.get(), nullptr, source.data(), static_cast<std::uint32_t>(source.size())),
      ts_tree_delete);
  if (!tree) throw Error(code::kAclInternal, "the parser gave no tree");

  nodes_.reserve(text.size() / 6 + 16);
  std::vector<NodeId> open;      // the path of named nodes
  std::vector<NodeId> previous;  // last child that each of them has so far
  std::vector<bool> entered;     // whether a level of the cursor is a named node
  TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree.get()));
  for (bool more = true; more;) {
    const TSNode node = ts_tree_cursor_current_node(&cursor);
    const bool keep = ts_node_is_named(node);
    if (keep) {
      Node n;
      const TSSymbol symbol = ts_node_symbol(node);
      n.kind = symbol < g.kinds.size() ? g.kinds[symbol] : Kind::Error;  // ERROR has the number 65535
      n.field = g.fields[ts_tree_cursor_current_field_id(&cursor)];
      n.begin = ts_node_start_byte(node);
      n.end = ts_node_end_byte(node);
      const auto id = static_cast<NodeId>(nodes_.size());
      if (!open.empty()) {
        n.parent = open.back();
        (previous.back() == kNone ? nodes_[n.parent].first : nodes_[previous.back()].next) = id;
        previous.back() = id;
      }
      if (n.kind == Kind::Error) errors_.push_back(id);
      nodes_.push_back(n);
    }
    // a token that the parser made up: def f(:
    if (ts_node_is_missing(node) && !nodes_.empty())
      errors_.push_back(keep || open.empty() ? static_cast<NodeId>(nodes_.size() - 1) : open.back());
    if (ts_tree_cursor_goto_first_child(&cursor)) {
      entered.push_back(keep);
      if (keep) {
        open.push_back(static_cast<NodeId>(nodes_.size() - 1));
        previous.push_back(kNone);
      }
      continue;
    }
    if (keep) nodes_.back().last = static_cast<NodeId>(nodes_.size());
    while (more && !ts_tree_cursor_goto_next_sibling(&cursor)) {
      more = ts_tree_cursor_goto_parent(&cursor);
      if (!more) break;
      if (entered.back()) {
        nodes_[open.back()].last = static_cast<NodeId>(nodes_.size());
        open.pop_back();
        previous.pop_back();
      }
      entered.pop_back();
    }
  }
  ts_tree_cursor_delete(&cursor);
  lines_.push_back(0);
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string_view::npos;)
    lines_.push_back(static_cast<std::uint32_t>(++at));
}

NodeId Tree::child(NodeId id, Field field) const noexcept {
  if (id == kNone) return kNone;
  for (NodeId c : children(id))
    if (nodes_[c].field == field) return c;
  return kNone;
}

NodeId Tree::child(NodeId id, std::size_t n) const noexcept {
  if (id == kNone) return kNone;
  for (NodeId c : children(id))
    if (n-- == 0) return c;
  return kNone;
}

NodeId Tree::ancestor(NodeId id, Kind kind) const noexcept {
  for (id = id == kNone ? kNone : nodes_[id].parent; id != kNone; id = nodes_[id].parent)
    if (nodes_[id].kind == kind) return id;
  return kNone;
}

NodeId Tree::statement(NodeId id) const noexcept {
  for (NodeId up; (up = nodes_[id].parent) != kNone; id = up)
    if (nodes_[up].kind == Kind::Module || nodes_[up].kind == Kind::Block) return id;
  return id;
}

bool Tree::is_reference(NodeId id) const noexcept {
  const Kind above = kind(parent(id));
  return nodes_[id].field != Field::Attribute && above != Kind::DottedName && above != Kind::AliasedImport &&
         !(above == Kind::KeywordArgument && nodes_[id].field == Field::Name);
}

NodeId Tree::with_attributes(NodeId id) const noexcept {
  for (NodeId up; kind(up = parent(id)) == Kind::Attribute && child(up, Field::Object) == id;) id = up;
  return id;
}

NodeId Tree::call_of(NodeId callee) const noexcept {
  const NodeId up = parent(callee);
  return kind(up) == Kind::Call && child(up, Field::Function) == callee ? up : kNone;
}

Position Tree::position(std::uint32_t offset) const noexcept {
  const auto line = std::upper_bound(lines_.begin(), lines_.end(), offset) - 1;
  return {static_cast<std::uint32_t>(line - lines_.begin()) + 1, offset - *line};
}

}  // namespace updraft::migrate::syntax
