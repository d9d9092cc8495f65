// A Python source as a flat tree: the named nodes of tree-sitter's tree in pre-order, with byte ranges. Flat because
// the rules look at every node once, by index, and a vector is much cheaper to walk than tree-sitter's own nodes.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <vector>

#include "migrate/finding.h"

namespace updraft::migrate::syntax {

/// The grammar's node names that the rules know; every other node is Other.
// clang-format off
#define UPDRAFT_MIGRATE_KINDS(X) \
  X(Module, "module") X(Identifier, "identifier") X(Attribute, "attribute") X(Call, "call") \
  X(ArgumentList, "argument_list") X(KeywordArgument, "keyword_argument") X(ListSplat, "list_splat") \
  X(DictionarySplat, "dictionary_splat") X(String, "string") X(StringStart, "string_start") \
  X(StringContent, "string_content") X(StringEnd, "string_end") X(Interpolation, "interpolation") \
  X(ConcatenatedString, "concatenated_string") X(Import, "import_statement") X(ImportFrom, "import_from_statement") \
  X(FutureImport, "future_import_statement") X(DottedName, "dotted_name") X(AliasedImport, "aliased_import") \
  X(WildcardImport, "wildcard_import") \
  X(Function, "function_definition") X(Class, "class_definition") X(Lambda, "lambda") X(Parameters, "parameters") \
  X(LambdaParameters, "lambda_parameters") X(DefaultParameter, "default_parameter") \
  X(TypedParameter, "typed_parameter") X(TypedDefaultParameter, "typed_default_parameter") \
  X(ListSplatPattern, "list_splat_pattern") X(DictionarySplatPattern, "dictionary_splat_pattern") \
  X(Assignment, "assignment") X(AugmentedAssignment, "augmented_assignment") X(NamedExpression, "named_expression") \
  X(For, "for_statement") X(ForInClause, "for_in_clause") X(While, "while_statement") X(With, "with_statement") \
  X(WithItem, "with_item") X(AsPattern, "as_pattern") X(AsPatternTarget, "as_pattern_target") \
  X(Except, "except_clause") X(Try, "try_statement") X(Global, "global_statement") \
  X(Nonlocal, "nonlocal_statement") X(Comparison, "comparison_operator") X(Boolean, "boolean_operator") \
  X(Not, "not_operator") X(Binary, "binary_operator") X(Conditional, "conditional_expression") \
  X(ListComprehension, "list_comprehension") X(SetComprehension, "set_comprehension") \
  X(DictComprehension, "dictionary_comprehension") X(Generator, "generator_expression") \
  X(Decorated, "decorated_definition") X(Decorator, "decorator") X(Block, "block") \
  X(ExpressionStatement, "expression_statement") X(Parenthesized, "parenthesized_expression") X(Tuple, "tuple") \
  X(List, "list") X(Set, "set") X(Dictionary, "dictionary") X(Pair, "pair") X(Subscript, "subscript") \
  X(PatternList, "pattern_list") X(TuplePattern, "tuple_pattern") X(ListPattern, "list_pattern") \
  X(ExpressionList, "expression_list") X(Return, "return_statement") X(If, "if_statement") X(Elif, "elif_clause") \
  X(Else, "else_clause") X(Assert, "assert_statement") X(Raise, "raise_statement") X(Delete, "delete_statement") \
  X(CasePattern, "case_pattern") X(Case, "case_clause") X(Comment, "comment") X(Await, "await") X(None, "none") \
  X(True, "true") X(False, "false") X(Integer, "integer") X(Type, "type") X(Error, "ERROR")
// clang-format on

enum class Kind : std::uint8_t {
  Other,
#define UPDRAFT_MIGRATE_KIND(id, name) id,
  UPDRAFT_MIGRATE_KINDS(UPDRAFT_MIGRATE_KIND)
#undef UPDRAFT_MIGRATE_KIND
};

/// What a node is to its parent.
enum class Field : std::uint8_t {
  None,
  Alias,
  Arguments,
  Attribute,
  Body,
  Condition,
  Consequence,
  Function,
  Key,
  Left,
  ModuleName,
  Name,
  Object,
  Parameters,
  ReturnType,
  Right,
  Subject,
  Subscript,
  Superclasses,
  Type,
  Value,
  Other
};

using NodeId = std::uint32_t;
inline constexpr NodeId kNone = ~NodeId{0};

struct Node {
  Kind kind = Kind::Other;
  Field field = Field::None;
  NodeId parent = kNone;
  NodeId first = kNone;  ///< first child
  NodeId next = kNone;   ///< next sibling
  NodeId last = 0;       ///< one past the last node of the subtree
  std::uint32_t begin = 0, end = 0;
};

class Tree {
 public:
  /// Never fails: what the grammar does not know becomes Error nodes. `text` must outlive the tree.
  explicit Tree(std::string_view text);

  NodeId size() const noexcept { return static_cast<NodeId>(nodes_.size()); }
  /// kNone gives an empty node of kind Other: broken sources lack parts everywhere.
  const Node& operator[](NodeId id) const noexcept {
    static constexpr Node none{};
    return id < nodes_.size() ? nodes_[id] : none;
  }
  Kind kind(NodeId id) const noexcept { return id == kNone ? Kind::Other : nodes_[id].kind; }
  std::string_view text() const noexcept { return text_; }
  std::string_view text(NodeId id) const noexcept {
    return id == kNone ? std::string_view{} : text_.substr(nodes_[id].begin, nodes_[id].end - nodes_[id].begin);
  }
  NodeId parent(NodeId id) const noexcept { return (*this)[id].parent; }
  /// The child in a field; kNone where there is none.
  NodeId child(NodeId id, Field field) const noexcept;
  /// The n-th child that is no comment.
  NodeId child(NodeId id, std::size_t n) const noexcept;
  /// Nearest ancestor of a kind; kNone where there is none.
  NodeId ancestor(NodeId id, Kind kind) const noexcept;
  /// A statement of the module, a block or a clause that holds the node.
  NodeId statement(NodeId id) const noexcept;
  /// Whether an identifier stands for what its scope binds: not for an attribute, a keyword or a name being imported.
  bool is_reference(NodeId identifier) const noexcept;
  /// The node with all attributes that follow it: a.b.c for the a in a.b.c().
  NodeId with_attributes(NodeId id) const noexcept;
  /// The call whose callee a node is; kNone where it is none's.
  NodeId call_of(NodeId callee) const noexcept;
  bool inside(NodeId id, NodeId ancestor) const noexcept { return id >= ancestor && id < nodes_[ancestor].last; }
  const std::vector<NodeId>& errors() const noexcept { return errors_; }
  /// Whether "npu" stands anywhere in the text.
  bool says_npu() const noexcept { return says_npu_; }
  Position position(std::uint32_t offset) const noexcept;

  /// Children without comments: for (NodeId child : tree.children(id))
  class Children;
  Children children(NodeId id) const noexcept;

 private:
  std::string_view text_;
  std::vector<Node> nodes_;
  std::vector<NodeId> errors_;
  std::vector<std::uint32_t> lines_;  // offset at which each line begins
  bool says_npu_;
};

class Tree::Children {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = NodeId;
    using difference_type = std::ptrdiff_t;
    using pointer = const NodeId*;
    using reference = NodeId;
    Iterator(const Tree* tree, NodeId id) noexcept : tree_(tree), id_(id) { skip(); }
    NodeId operator*() const noexcept { return id_; }
    Iterator& operator++() noexcept {
      id_ = (*tree_)[id_].next;
      skip();
      return *this;
    }
    bool operator==(const Iterator& other) const noexcept { return id_ == other.id_; }

   private:
    void skip() noexcept {
      while (id_ != kNone && (*tree_)[id_].kind == Kind::Comment) id_ = (*tree_)[id_].next;
    }
    const Tree* tree_;
    NodeId id_;
  };
  Children(const Tree* tree, NodeId first) noexcept : tree_(tree), first_(first) {}
  Iterator begin() const noexcept { return {tree_, first_}; }
  Iterator end() const noexcept { return {tree_, kNone}; }

 private:
  const Tree* tree_;
  NodeId first_;
};

inline Tree::Children Tree::children(NodeId id) const noexcept {
  return {this, id == kNone ? kNone : nodes_[id].first};
}

}  // namespace updraft::migrate::syntax
