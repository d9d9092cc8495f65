// Environment variables by name: os.environ["CUDA_VISIBLE_DEVICES"], os.getenv, dict(os.environ, NCCL_DEBUG="INFO").
#include "migrate/rewrite/sites.h"
#include "migrate/rewrite/strings.h"

namespace updraft::migrate::rewrite {
namespace {

bool of_environ(const Sites& s, NodeId literal) {
  const syntax::Tree& tree = s.tree();
  NodeId up = tree.parent(literal);
  if (tree.kind(up) == Kind::Subscript) return s.module.value(tree.child(up, Field::Value)).is_api("os.environ");
  if (tree.kind(up) != Kind::ArgumentList) return false;
  const Value callee = s.module.value(tree.child(tree.parent(up), Field::Function));
  return callee.what == What::Api && (callee.name == "os.getenv" || callee.name == "os.putenv" ||
                                      callee.name == "os.unsetenv" || callee.name.starts_with("os.environ."));
}

}  // namespace

void environment(Sites& s) {
  const syntax::Tree& tree = s.tree();
  for (NodeId id = 0; id < tree.size(); ++id) {
    std::string name;
    NodeId target = kNone;
    if (tree.kind(id) == Kind::String && !s.done[id] && s.module.plain_string(id, name)) {
      for (NodeId c : tree.children(id))
        if (tree.kind(c) == Kind::StringContent) target = c;
    } else if (tree.kind(id) == Kind::KeywordArgument) {
      target = tree.child(id, Field::Name);
      name = tree.text(target);
    }
    if (target == kNone) continue;
    for (const rules::Rule* rule : s.rules.environment(name)) {
      if (!s.applies(*rule) || is_docstring(tree, id) || s.kept(id)) continue;
      const Confidence confidence = !rule->to.empty() && npu_has_its_own(tree, id) ? Confidence::Review
                                    : of_environ(s, id)                            ? Confidence::Certain
                                                                                   : Confidence::Likely;
      Finding& f = s.add(*rule, id, confidence, name);
      if (!rule->to.empty()) f.edits.push_back(s.replace(target, rule->to));
      s.done[id] = true;
      break;
    }
  }
}

}  // namespace updraft::migrate::rewrite
