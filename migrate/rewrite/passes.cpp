#include "migrate/rewrite/passes.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "migrate/rewrite/distributed/conversion.h"
#include "migrate/rewrite/hints.h"
#include "migrate/rewrite/options/options.h"
#include "migrate/rewrite/tensorflow/options.h"
#include "migrate/support/torch_api.h"

namespace updraft::migrate::rewrite {

bool Pass::makes(std::string_view rule) const noexcept {
  return std::ranges::any_of(rules, [&](std::string_view r) { return rule.starts_with(r); });
}

bool Pass::may_claim(Kind kind) const noexcept { return std::ranges::find(nodes, kind) != nodes.end(); }

const std::vector<Pass>& passes() {
  constexpr std::string_view kTorch = "pytorch", kTensorFlow = "tensorflow";
  using E = const Extras&;
  using C = Confidence;
  static const std::vector<Pass> all = {
      {"apis",
       {"PT101", "PT102", "PT103", "PT104", "PT105", "PT106", "PT107", "PT108", "PT109", "PT112", "PT113",
        "PT114", "PT115", "PT116", "PT121", "PT303", "PT304", "PT307", "PT308", "PT321", "PT325", "PT326",
        "PT401", "PT402", "PT403", "PT404", "PT405", "PT408", "TF1",   "TF2",   "TF301", "TF302", "TF5"},
       {Kind::Attribute, Kind::Identifier, Kind::String, Kind::StringStart, Kind::StringContent, Kind::StringEnd},
       "",
       [](Sites& s, E, C) { default_tensor_type(s), apis(s); }},
      {"members",
       {"PT110", "PT111", "PT118", "PT119"},
       {Kind::Attribute, Kind::String},
       "",
       [](Sites& s, E, C) { members(s); }},
      {"code_strings", {"PT219"}, {Kind::String}, "", [](Sites& s, E, C) { code_strings(s); }},
      {"commands", {"PT51"}, {Kind::String}, "", [](Sites& s, E, C) { commands(s); }},
      {"command_lines", {"TX3"}, {Kind::String}, kTorch, [](Sites& s, E, C) { command_lines(s); }},
      {"requirements", {"TX23"}, {}, kTorch, [](Sites& s, E, C) { requirements(s); }},
      {"lightning",
       {"PT33"},
       {Kind::String, Kind::None, Kind::Identifier, Kind::Attribute},
       kTorch,
       [](Sites& s, E, C) { lightning(s); }},
      {"values",
       {"PT120", "PT201", "PT202", "PT203", "PT204", "PT205", "PT206", "PT207", "PT208", "PT209",
        "PT210", "PT211", "PT212", "PT213", "PT214", "PT215", "PT216", "PT217", "PT218", "PT220",
        "PT221", "PT222", "PT223", "PT301", "PT302", "PT305", "PT306", "PT31",  "PT322", "PT323",
        "PT324", "PT327", "PT328", "PT329", "PT407", "TF303", "TF304"},
       {Kind::String, Kind::True},
       "",
       [](Sites& s, E, C) { values(s); }},
      {"settings", {"TX20", "TX21", "TX22"}, {Kind::String, Kind::True}, kTorch, [](Sites& s, E, C) { settings(s); }},
      {"environment",
       {"PT50", "TF4"},
       {Kind::String, Kind::KeywordArgument},
       "",
       [](Sites& s, E, C) { environment(s); }},
      {"hold_back", {"PT117", "PT406"}, {Kind::Attribute}, kTorch, [](Sites& s, E, C) { hold_back(s); }},
      {"data_parallel",
       {"PT320"},
       {Kind::Attribute, Kind::Identifier},
       kTorch,
       [](Sites& s, E extras, C) {
         if (!extras.conversion) data_parallel(s);
       }},
      {"options",
       {"PT8"},
       {Kind::Attribute, Kind::Identifier},
       "",
       [](Sites& s, E extras, C) {
         if (extras.facts && extras.chosen) options(s, *extras.chosen, *extras.facts);
       }},
      {"facts",
       {"PT60"},
       {},
       "",
       [](Sites& s, E extras, C) {
         if (extras.facts) facts(s, *extras.facts);
       }},
      {"hints",
       {"PT7"},
       {},
       kTorch,
       [](Sites& s, E extras, C) {
         if (extras.facts) hints(s, *extras.facts);
       }},
      {"distributed",
       {"PT35"},
       {Kind::Attribute, Kind::Identifier},
       "",
       [](Sites& s, E extras, C) {
         if (extras.conversion) extras.conversion->add(s);
       }},
      {"tensorflow",
       {"TF0", "TF9"},
       {},
       kTensorFlow,
       [](Sites& s, E extras, C least) {
         tensorflow_script(s, extras.tensorflow ? *extras.tensorflow : TensorFlowOptions{}, least);
       }},
      {"imports", {"PT00"}, {}, kTorch, [](Sites& s, E, C least) { import_torch_npu(s, least); }, true},
  };
  return all;
}

namespace {

bool about_torch(const Sites& s) {
  if (s.module.project() && s.module.project()->beside_torch(s.module.path())) return true;
  for (names::ScopeId scope = 0; scope < s.module.scopes().size(); ++scope)
    for (const auto& [name, bindings] : s.module.scopes()[scope].names)
      for (const names::Binding& b : bindings)
        if ((b.how == names::Bind::Import && of_torch(b.module)) ||
            (name == "torch" && s.module.value_of(b).name == "torch"))  // torch, nn = try_import_torch()
          return true;
  for (const std::string& m : s.module.scopes().wildcards())
    if (of_torch(m)) return true;
  return false;
}

/// What is said of code that a change of this run takes away holds no longer: DataParallel that became
/// DistributedDataParallel, an optimizer that became the fused one. And nothing is said twice.
void settled(std::vector<Finding>& findings) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> gone;
  for (const Finding& f : findings)
    if (f.applied)
      for (const Edit& e : f.edits)
        if (e.begin < e.end) gone.emplace_back(e.begin, e.end);
  std::sort(gone.begin(), gone.end());
  for (std::size_t i = 1; i < gone.size(); ++i) gone[i].second = std::max(gone[i].second, gone[i - 1].second);
  std::set<std::tuple<std::string_view, std::uint32_t, std::uint32_t>> made;
  for (const Finding& f : findings)
    if (f.applied) made.emplace(f.rule, f.begin, f.end);
  std::set<std::uint32_t> fused;
  for (const Finding& f : findings)
    if (f.applied && f.rule == "PT831") fused.insert(f.begin);
  std::vector<Finding> left;
  left.reserve(findings.size());
  for (Finding& f : findings) {
    bool drop = false;
    if (!f.applied && f.category != Category::Failure && f.category != Category::Note) {
      const auto at = std::upper_bound(gone.begin(), gone.end(), std::make_pair(f.begin, ~std::uint32_t{0}));
      drop = at != gone.begin() && std::prev(at)->second >= f.end && f.end > f.begin;
      drop = drop || made.contains({f.rule, f.begin, f.end});
      if (f.category == Category::Affinity) drop = drop || fused.contains(f.begin);
    }
    if (!drop) left.push_back(std::move(f));
  }
  findings = std::move(left);
}

}  // namespace

std::vector<Finding> python(const names::Module& module, const rules::RuleSet& rules, const std::string& framework,
                            Confidence least, const Extras& extras) {
  const bool cython = module.path().ends_with(".pyx") || module.path().ends_with(".pxd");  // a language of its own
  Sites s(module, rules, framework);
  s.about_torch = about_torch(s);
  const auto run = [&](bool last) {
    for (const Pass& pass : passes()) {
      if (pass.last != last || (!pass.framework.empty() && pass.framework != framework)) continue;
      s.claims.begin(pass.name);
      pass.run(s, extras, least);
      if (extras.watch) extras.watch(pass, s);
    }
  };
  run(false);
  if (cython)
    for (Finding& f : s.findings) f.confidence = lower(f.confidence, Confidence::Likely);
  if (extras.selection) rules::select(s.findings, s.tree().text(), *extras.selection);
  for (Finding& f : s.findings) f.applied = !f.edits.empty() && f.confidence >= least;
  run(true);
  settled(s.findings);
  for (NodeId error : s.tree().errors()) {
    if (cython) break;
    static const rules::Rule& rule = rules::coded("PY001");
    s.add(rule, error, Confidence::Certain);
  }
  std::stable_sort(s.findings.begin(), s.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.begin < b.begin; });
  return std::move(s.findings);
}

}  // namespace updraft::migrate::rewrite
