#include "migrate/names/asks_for_npu.h"

#include <string_view>

namespace updraft::migrate::names {
namespace {

using syntax::Field;
using syntax::Kind;
using syntax::kNone;
using syntax::NodeId;
using syntax::Tree;

/// npu as a word of a name: is_npu_available, IS_NPU, torch_npu; not input.
bool says_npu(std::string_view name) noexcept {
  if (name.find("NPU") != std::string_view::npos || name.find("Npu") != std::string_view::npos) return true;
  for (std::size_t at = 0; at < name.size();) {
    std::size_t end = name.find('_', at);
    if (end == std::string_view::npos) end = name.size();
    const std::string_view word = name.substr(at, end - at);
    if (word == "npu") return true;
    at = end + 1;
  }
  return false;
}

bool names_npu(std::string_view text) noexcept {
  return text == "npu" || text.starts_with("npu:") || text == "hccl" || text == "torch_npu" || text == "privateuseone";
}

/// Whether a string decides something: compared, a key, a pattern, what a function answers.
bool decides(const Tree& tree, NodeId literal) {
  for (NodeId mine = literal, up = tree.parent(mine); up != kNone; mine = up, up = tree.parent(up)) {
    switch (tree.kind(up)) {
      case Kind::Comparison:
      case Kind::CasePattern:
      case Kind::Return: return true;
      case Kind::Pair: return tree.child(up, Field::Key) == mine;
      case Kind::ArgumentList: {
        // hasattr(torch, "npu"), find_spec("torch_npu"), device.startswith("npu")
        const NodeId callee = tree.child(tree.parent(up), Field::Function);
        const std::string_view name =
            tree.text(tree.kind(callee) == Kind::Attribute ? tree.child(callee, Field::Attribute) : callee);
        return name == "hasattr" || name == "getattr" || name == "find_spec" || name == "import_module" ||
               name == "startswith";
      }
      case Kind::Parenthesized:
      case Kind::Tuple:
      case Kind::List:
      case Kind::Set: continue;
      default: return false;
    }
  }
  return false;
}

/// def npu(self) and npu = cuda in a class only answer to the name.
bool defines(const Tree& tree, NodeId identifier) {
  const NodeId up = tree.parent(identifier);
  if (tree.kind(up) == Kind::Function) return tree[identifier].field == Field::Name;
  return tree.kind(up) == Kind::Assignment && tree[identifier].field == Field::Left &&
         tree.kind(tree.child(up, Field::Right)) == Kind::Identifier;
}

/// import torch_npu that always runs, or the tool's own ascend_function.
bool for_npu_alone(const Tree& tree) {
  for (NodeId statement : tree.children(0)) {
    const Kind kind = tree.kind(statement);
    if (kind == Kind::Import) {
      for (NodeId item : tree.children(statement)) {
        const std::string_view name =
            tree.text(tree.kind(item) == Kind::AliasedImport ? tree.child(item, Field::Name) : item);
        if (name == "torch_npu" || name.starts_with("torch_npu.") || name.starts_with("ascend_function")) return true;
      }
    } else if (kind == Kind::ImportFrom) {
      const std::string_view name = tree.text(tree.child(statement, Field::ModuleName));
      if (name == "torch_npu" || name.starts_with("torch_npu.") || name.starts_with("ascend_function")) return true;
    }
  }
  return false;
}

}  // namespace

bool asks_for_npu(const Tree& tree) {
  if (!tree.says_npu()) return false;
  for (NodeId id = 0; id < tree.size(); ++id) {
    const Kind kind = tree.kind(id);
    const bool asks = (kind == Kind::Identifier && says_npu(tree.text(id)) && !defines(tree, id)) ||
                      (kind == Kind::StringContent && names_npu(tree.text(id)) && decides(tree, tree.parent(id)));
    if (asks) return !for_npu_alone(tree);
  }
  return false;
}

}  // namespace updraft::migrate::names
