// What setup() asks for: install_requires, extras_require and the like, as the text reader reads requirements.txt.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "migrate/rewrite/sites.h"
#include "migrate/text/packages.h"
#include "migrate/text/sheet.h"

namespace updraft::migrate::rewrite {
namespace {

constexpr std::array<std::string_view, 4> kKeywords = {"install_requires", "setup_requires", "tests_require",
                                                       "extras_require"};

/// The requirements that stand in an expression: a list, a dictionary of lists, a name of one.
void collect(const Sites& s, NodeId expression, std::vector<NodeId>& strings, int depth = 0) {
  if (depth > 4) return;
  const syntax::Tree& tree = s.tree();
  std::vector<NodeId> found;
  s.module.sources(expression, found);
  for (NodeId id : found) {
    switch (tree.kind(id)) {
      case Kind::String: strings.push_back(id); break;
      case Kind::List:
      case Kind::Tuple:
        for (NodeId item : tree.children(id)) collect(s, item, strings, depth + 1);
        break;
      case Kind::Dictionary:
        for (NodeId pair : tree.children(id))
          if (tree.kind(pair) == Kind::Pair) collect(s, tree.child(pair, Field::Value), strings, depth + 1);
        break;
      default: break;
    }
  }
}

}  // namespace

void requirements(Sites& s) {
  const syntax::Tree& tree = s.tree();
  if (tree.text().find("_require") == std::string_view::npos) return;
  std::vector<NodeId> strings;
  for (NodeId id = 0; id < tree.size(); ++id) {
    if (tree.kind(id) != Kind::KeywordArgument) continue;
    const std::string_view name = tree.text(tree.child(id, Field::Name));
    if (std::find(kKeywords.begin(), kKeywords.end(), name) != kKeywords.end())
      collect(s, tree.child(id, Field::Value), strings);
  }
  std::sort(strings.begin(), strings.end());
  strings.erase(std::unique(strings.begin(), strings.end()), strings.end());
  text::Sheet sheet(tree.text());
  for (NodeId id : strings) {
    std::string spec;
    if (s.done[id] || s.kept(id) || !s.module.plain_string(id, spec)) continue;
    for (NodeId c : tree.children(id))
      if (tree.kind(c) == Kind::StringContent) text::requirement(sheet, tree.text(c), tree[c].begin);
  }
  std::vector<Finding> found = sheet.take();
  std::move(found.begin(), found.end(), std::back_inserter(s.findings));
}

}  // namespace updraft::migrate::rewrite
