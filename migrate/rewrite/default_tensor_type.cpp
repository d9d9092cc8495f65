// torch.set_default_tensor_type(torch.cuda.FloatTensor) says two things: the type and the device. torch_npu refuses its
// own tensor types there, so each is said by itself: set_default_dtype, set_default_device.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "migrate/rewrite/sites.h"
#include "migrate/rewrite/strings.h"

namespace updraft::migrate::rewrite {
namespace {

struct TensorType {
  std::string_view dtype;  ///< of torch; empty: no type that can be a default
  bool cuda = false;
};

TensorType read(std::string_view name) {
  TensorType t;
  if (name.starts_with("torch.cuda.")) t.cuda = true, name.remove_prefix(11);
  else if (name.starts_with("torch.")) name.remove_prefix(6);
  else return t;
  if (name == "FloatTensor") t.dtype = "float32";
  if (name == "DoubleTensor") t.dtype = "float64";
  if (name == "HalfTensor") t.dtype = "float16";
  if (name == "BFloat16Tensor") t.dtype = "bfloat16";
  return t;
}

/// The types between which an argument chooses: A if condition else B.
bool leaves(const Sites& s, NodeId argument, std::vector<std::pair<NodeId, TensorType>>& found) {
  const syntax::Tree& tree = s.tree();
  switch (tree.kind(argument)) {
    case Kind::Parenthesized: return leaves(s, tree.child(argument, std::size_t{0}), found);
    case Kind::Conditional:
      return leaves(s, tree.child(argument, std::size_t{0}), found) &&
             leaves(s, tree.child(argument, std::size_t{2}), found);
    case Kind::String:
    case Kind::Attribute: {
      std::string name;
      if (!s.module.plain_string(argument, name)) {
        const Value v = s.module.value(argument);
        if (v.what == What::Api) name = v.name;
      }
      found.emplace_back(argument, read(name));
      return !found.back().second.dtype.empty();
    }
    default: return false;
  }
}

const rules::Rule& rule() {
  static const rules::Rule made = [] {
    rules::Rule r;
    r.id = "PT116";
    r.message = {
        "torch_npu refuses its tensor types as the default type: set_default_device and set_default_dtype say the same",
        "torch_npu 不接受将 NPU 张量类型设为默认类型：改用 set_default_device 与 set_default_dtype，含义相同"};
    return r;
  }();
  return made;
}

void convert(Sites& s, NodeId call, bool other_types) {
  const syntax::Tree& tree = s.tree();
  const NodeId callee = tree.child(call, Field::Function), statement = tree.parent(call);
  const NodeId argument = tree.child(tree.child(call, Field::Arguments), std::size_t{0});
  std::vector<std::pair<NodeId, TensorType>> types;
  if (tree.kind(statement) != Kind::ExpressionStatement || argument == kNone || tree[argument].next != kNone ||
      tree.kind(argument) == Kind::KeywordArgument || !leaves(s, argument, types) || s.kept(call) ||
      npu_has_its_own(tree, call))
    return;
  for (const auto& [node, type] : types)
    if (type.dtype != types.front().second.dtype) return;
  Finding& f = s.add(rule(), call, Confidence::Certain, "torch.set_default_tensor_type");
  if (const std::string_view dtype = types.front().second.dtype; other_types || dtype != "float32") {
    const std::string object(tree.text(tree.child(callee, Field::Object)));
    const std::string_view text = tree.text();
    const std::size_t start = text.rfind('\n', tree[statement].begin) + 1;  // npos + 1 is 0
    const std::string_view indent = text.substr(start, tree[statement].begin - start);
    const bool alone = indent.find_first_not_of(" \t") == std::string_view::npos;
    const std::string next =
        alone ? (text.find("\r\n") != std::string_view::npos ? "\r\n" : "\n") + std::string(indent) : "; ";
    f.edits.push_back({tree[statement].begin, tree[statement].begin,
                       fmt::format("{0}.set_default_dtype({0}.{1}){2}", object, dtype, next)});
  }
  f.edits.push_back(s.replace(tree.child(callee, Field::Attribute), "set_default_device"));
  for (const auto& [node, type] : types) {
    f.edits.push_back(s.replace(node, type.cuda ? "\"npu\"" : "\"cpu\""));
    for (NodeId n = node; n < tree[node].last; ++n) s.done[n] = true;
  }
  s.done[callee] = true;
}

}  // namespace

void default_tensor_type(Sites& s) {
  const syntax::Tree& tree = s.tree();
  const std::string_view text = tree.text();
  if (text.find("set_default_tensor_type") == std::string_view::npos) return;
  std::vector<NodeId> calls, plain;
  bool cuda = false;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::Call) continue;
    const NodeId callee = tree.child(id, Field::Function);
    if (tree.kind(callee) != Kind::Attribute || !s.module.value(callee).is_api("torch.set_default_tensor_type"))
      continue;
    calls.push_back(id);
    std::vector<std::pair<NodeId, TensorType>> types;
    if (leaves(s, tree.child(tree.child(id, Field::Arguments), std::size_t{0}), types)) plain.push_back(callee);
    for (const auto& [node, type] : types) cuda = cuda || type.cuda;
  }
  if (!cuda) {  // types of the CPU may stay
    for (NodeId callee : plain) s.done[callee] = true;
    return;
  }
  const bool other_types =
      text.find("set_default_dtype") != std::string_view::npos || text.find("DoubleTensor") != std::string_view::npos ||
      text.find("HalfTensor") != std::string_view::npos || text.find("BFloat16Tensor") != std::string_view::npos;
  for (NodeId call : calls) convert(s, call, other_types);
}

}  // namespace updraft::migrate::rewrite
