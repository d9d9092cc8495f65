// Every use of a TensorFlow or Horovod API, for the guide's reports, which take its class from support/tf_api.h. A site
// that a rule changes or refuses has one finding, not two.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "migrate/rewrite/tensorflow/script.h"
#include "migrate/support/tf_api.h"

namespace updraft::migrate::rewrite::tensorflow {
namespace {

Category category_of(TfClass support) noexcept {
  switch (support) {
    case TfClass::no_avoid:
    case TfClass::deprecated: return Category::Unsupported;
    case TfClass::analysing: return Category::Unknown;
    default: return Category::Note;
  }
}

Text text_of(const TfApi& api) {
  const Bilingual what = describe(api.support);
  Text text{std::string(what.en), std::string(what.zh)};
  if (!api.note.en.empty()) text.en += ": " + std::string(api.note.en);
  if (!api.note.zh.empty()) text.zh += "：" + std::string(api.note.zh);
  return text;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> import_ranges(const syntax::Tree& tree) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
  for (NodeId id = 0; id < tree.size(); ++id)
    if (tree.kind(id) == Kind::Import || tree.kind(id) == Kind::ImportFrom)
      ranges.emplace_back(tree[id].begin, tree[id].end);
  return ranges;
}

}  // namespace

void api_uses(Script& s) {
  const syntax::Tree& tree = s.tree();
  const auto imports = import_ranges(tree);
  // what rules have said about APIs, by position
  std::multimap<std::uint32_t, std::size_t> said;
  for (std::size_t i = 0; i < s.sites.findings.size(); ++i) {
    Finding& f = s.sites.findings[i];
    if (f.api.empty()) continue;
    f.api = Script::shown(f.api);
    // an import is no use: where a rule says something about it, the API is not counted
    if (f.category != Category::Change && (rules::under(f.api, "tf") || rules::under(f.api, "hvd")) &&
        std::any_of(imports.begin(), imports.end(),
                    [&](const auto& range) { return f.begin >= range.first && f.begin < range.second; }))
      f.api.clear();
    if (f.api.empty()) continue;
    if (f.category != Category::Change && f.category != Category::Unsupported && f.category != Category::Unknown)
      continue;
    said.emplace(f.begin, i);
  }
  for (NodeId id = 0; id < tree.size(); ++id) {
    const Kind kind = tree.kind(id);
    if (kind != Kind::Attribute && kind != Kind::Identifier) continue;
    const NodeId up = tree.parent(id);
    if (tree.kind(up) == Kind::Attribute) continue;  // the whole chain is looked at
    if (kind == Kind::Identifier) {
      const Kind above = tree.kind(up);
      if (above == Kind::DottedName || above == Kind::AliasedImport || above == Kind::Parameters) continue;
      if ((above == Kind::KeywordArgument || above == Kind::DefaultParameter || above == Kind::TypedDefaultParameter ||
           above == Kind::Function || above == Kind::Class) &&
          tree[id].field == Field::Name)
        continue;
    }
    if (tree[id].field == Field::Left) continue;  // assigned to
    const Value v = s.value(id);
    if (v.what != What::Api) continue;
    const bool tensorflow = rules::under(v.name, "tensorflow");
    if (!tensorflow && s.horovod(v).empty()) continue;
    if (v.name == "tensorflow") continue;  // the module itself, passed on
    // an identifier that a plain assignment made a name for an API: it was counted there
    if (kind == Kind::Identifier) {
      const auto* bindings = s.sites.module.scopes().lookup(s.text(id), s.sites.module.scopes().of(id));
      bool imported = !bindings;
      if (bindings)
        for (const names::Binding& b : *bindings) imported = imported || b.how == names::Bind::Import;
      if (!imported) continue;
    }
    bool counted = false;
    const std::string shown = Script::shown(v.name);
    for (auto [at, end] = said.equal_range(tree[id].begin); at != end; ++at)
      counted = counted || s.sites.findings[at->second].api == shown;
    if (counted) continue;
    const TfApi api = lookup_tf(v.name, s.options.version);
    Finding& f = s.add("TF900", id, v.sure ? Confidence::Certain : Confidence::Likely, v.name);
    f.category = category_of(api.support);
    f.confidence = v.sure ? Confidence::Certain : Confidence::Likely;
    f.message = text_of(api);
  }
}

}  // namespace updraft::migrate::rewrite::tensorflow
