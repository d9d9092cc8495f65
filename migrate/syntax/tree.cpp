#include "migrate/syntax/tree.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "migrate/syntax/grammar/parse.h"

namespace updraft::migrate::syntax {
namespace {

/// The grammar's numbers as ours, looked up once.
struct Grammar {
  std::vector<Kind> kinds;
  std::vector<Field> fields;

  Grammar() {
    const std::unordered_map<std::string_view, Kind> by_name = {
#define UPDRAFT_MIGRATE_KIND(id, name) {name, Kind::id},
        UPDRAFT_MIGRATE_KINDS(UPDRAFT_MIGRATE_KIND)
#undef UPDRAFT_MIGRATE_KIND
    };
    kinds.resize(updraft_symbol_count(), Kind::Other);
    for (std::size_t symbol = 0; symbol < kinds.size(); ++symbol) {
      const char* name = updraft_symbol_name(static_cast<std::uint16_t>(symbol));
      if (!name) continue;
      if (auto found = by_name.find(name); found != by_name.end()) kinds[symbol] = found->second;
    }
    constexpr std::array<std::string_view, 22> names = {
        "",        "alias",     "arguments",    "attribute", "body",   "condition",  "consequence", "function",
        "key",     "left",      "module_name",  "name",      "object", "parameters", "return_type", "right",
        "subject", "subscript", "superclasses", "type",      "value",  "?"};
    fields.resize(updraft_field_count() + 1, Field::Other);
    fields[0] = Field::None;
    for (std::size_t i = 1; i < fields.size(); ++i) {
      const std::string_view name = updraft_field_name(static_cast<std::uint16_t>(i));
      const auto found = std::find(names.begin() + 1, names.end(), name);
      if (found != names.end()) fields[i] = static_cast<Field>(found - names.begin());
    }
  }
};

/// Gives the parser's memory back where a thread ends.
struct Memory {
  ~Memory() { updraft_parse_done(); }
};

const Grammar& grammar() {
  static const Grammar instance;
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

Tree::Tree(std::string_view text)
    : text_(text), says_npu_(text.find("npu") != std::string_view::npos || text.find("NPU") != std::string_view::npos) {
  if (text.size() > 0x7fffffff)
    throw Error(code::kAclInvalidParam, "a source of {} bytes is too long: 2 GiB at most", text.size());
  const Grammar& g = grammar();
  thread_local const Memory memory;
  const std::string mended = readable(text);
  const std::string_view source = mended.empty() ? text : mended;
  if (!updraft_parse(source.data(), static_cast<std::uint32_t>(source.size())))
    throw Error(code::kAclInternal, "the parser gave no tree");

  nodes_.reserve(text.size() / 6 + 16);
  std::vector<NodeId> open;      // the path of nodes
  std::vector<NodeId> previous;  // last child that each of them has so far
  for (updraft_parsed_node node; updraft_parsed_next(&node);) {
    for (; open.size() > node.level; open.pop_back(), previous.pop_back())
      nodes_[open.back()].last = static_cast<NodeId>(nodes_.size());
    const auto id = static_cast<NodeId>(nodes_.size());
    // a token that the parser made up: def f(:
    if (node.missing && (node.named || id > 0))
      errors_.push_back(node.named ? id : open.empty() ? id - 1 : open.back());
    if (!node.named) continue;
    Node n;
    n.kind = node.symbol < g.kinds.size() ? g.kinds[node.symbol] : Kind::Error;  // ERROR has the number 65535
    n.field = g.fields[node.field];
    n.begin = node.begin;
    n.end = node.end;
    if (!open.empty()) {
      n.parent = open.back();
      (previous.back() == kNone ? nodes_[n.parent].first : nodes_[previous.back()].next) = id;
      previous.back() = id;
    }
    if (n.kind == Kind::Error) errors_.push_back(id);
    nodes_.push_back(n);
    open.push_back(id);
    previous.push_back(kNone);
  }
  for (const NodeId id : open) nodes_[id].last = static_cast<NodeId>(nodes_.size());
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
