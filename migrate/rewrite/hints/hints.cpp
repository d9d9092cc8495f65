#include "migrate/rewrite/hints/hints.h"

#include <algorithm>

#include "migrate/support/affinity.h"

namespace updraft::migrate::rewrite {
namespace hint {

void Walk::report(const char* id, Category category, NodeId node, Confidence confidence, std::string_view name,
                  std::string_view suggestion, Text text) {
  if (s.kept(node)) return;
  rules::Rule rule;
  rule.id = id;
  rule.category = category;
  rule.suggestion = suggestion;
  rule.message = std::move(text);
  s.add(rule, node, confidence, name.starts_with("pattern:") ? std::string() : std::string(name));
}

void Walk::affinity(std::string_view name, NodeId node, Confidence confidence) {
  const Affinity known = lookup_affinity(name);
  if (known.npu.empty()) return;
  const std::string npu(known.npu);
  report(known.kind == "optimizer" ? "PT701"
         : known.kind == "pattern" ? "PT703"
                                   : "PT702",
         Category::Affinity, node, confidence, name, known.npu,
         {npu + (known.note.en.empty() ? "" : ": " + std::string(known.note.en)),
          npu + (known.note.zh.empty() ? "" : "：" + std::string(known.note.zh))});
}

void Walk::advise(std::string_view name, NodeId node, Confidence confidence) {
  for (const Advice& a : lookup_advice(name, facts_.product)) {
    const bool precise = a.kind == AdviceKind::precision || a.kind == AdviceKind::dtype;
    const char* id = a.kind == AdviceKind::dynamic_shape ? "PT710"
                     : a.kind == AdviceKind::performance ? "PT711"
                     : a.kind == AdviceKind::precision   ? "PT712"
                                                         : "PT713";
    report(id, precise ? Category::Precision : Category::Performance, node, confidence, name, "",
           {std::string(a.note.en), std::string(a.note.zh)});
  }
}

void Walk::once(std::string_view name, NodeId node, Confidence confidence) {
  if (!said_.emplace(name).second) return;
  affinity(name, node, confidence);
  if (!advised_by_case(name)) advise(name, node, confidence);
}

std::string_view Walk::callee(NodeId call) const {
  const NodeId f = tree.child(call, Field::Function);
  if (tree.kind(f) == Kind::Attribute) return tree.text(tree.child(f, Field::Attribute));
  if (tree.kind(f) != Kind::Identifier) return {};
  // from torch.optim import SGD as S
  if (const auto* bindings = s.module.scopes().lookup(tree.text(f), s.module.scopes().of(f)))
    for (const names::Binding& b : *bindings)
      if (b.how == names::Bind::Import && !b.name.empty()) return b.name;
  return tree.text(f);
}

std::string Walk::resolved(NodeId call) const {
  const Value v = s.module.local(tree.child(call, Field::Function));
  if (v.what == What::Api || (v.what == What::Instance && !v.own)) return v.name;
  if (v.what == What::Member && !v.own && v.name.starts_with("torch.Tensor.")) return v.name;
  return {};
}

bool Walk::tensor(NodeId expression) const {
  const Value v = s.module.local(expression);
  if (v.what == What::Instance) return names::is_module_or_tensor(v.name) && v.name.ends_with("Tensor");
  if (v.what != What::Unknown) return false;
  // inside forward() of a module everything that is asked for its nonzero() is a tensor
  const NodeId function = tree.ancestor(expression, Kind::Function);
  if (function == kNone || tree.text(tree.child(function, Field::Name)) != "forward") return false;
  const names::Scope& scope = s.module.scopes()[s.module.scopes().of(function)];
  return scope.kind == names::ScopeKind::Class;
}

NodeId Walk::argument(NodeId call, std::string_view keyword, int position) const {
  int n = 0;
  for (NodeId a : tree.children(tree.child(call, Field::Arguments))) {
    if (tree.kind(a) == Kind::KeywordArgument) {
      if (tree.text(tree.child(a, Field::Name)) == keyword) return tree.child(a, Field::Value);
    } else if (n++ == position) {
      return a;
    }
  }
  return kNone;
}

bool Walk::has_stars(NodeId call) const {
  for (NodeId a : tree.children(tree.child(call, Field::Arguments)))
    if (tree.kind(a) == Kind::ListSplat || tree.kind(a) == Kind::DictionarySplat) return true;
  return false;
}

std::string_view Walk::operator_of(NodeId binary) const {
  const NodeId left = tree.child(binary, Field::Left), right = tree.child(binary, Field::Right);
  if (left == kNone || right == kNone) return {};
  std::string_view between = tree.text().substr(tree[left].end, tree[right].begin - tree[left].end);
  while (!between.empty() && (between.front() == ' ' || between.front() == '\n' || between.front() == '\r' ||
                              between.front() == '\t' || between.front() == '\\'))
    between.remove_prefix(1);
  return between.substr(0, between.find_first_of(" \n\t\r\\#"));
}

void Walk::run() {
  Waits waits;
  for (NodeId id = 0; id < tree.size(); ++id) {
    switch (tree.kind(id)) {
      case Kind::Call:
        fused_call(*this, id);
        shape_call(*this, id);
        window(*this, id);
        loader(*this, id);
        waits.call(*this, id);
        break;
      case Kind::Binary: fused_product(*this, id); break;
      case Kind::Function:
      case Kind::Class: fused_definition(*this, id); break;
      case Kind::Subscript: shape_subscript(*this, id); break;
      case Kind::Attribute:
        dtype(*this, id);
        setting(*this, id);
        break;
      case Kind::If:
      case Kind::Elif:
      case Kind::While: tensor_condition(*this, id); break;
      default: break;
    }
  }
  waits.tell(*this);
}

}  // namespace hint

void hints(Sites& s, const Facts& facts) {
  if (s.about_torch) hint::Walk(s, facts).run();
}

}  // namespace updraft::migrate::rewrite
