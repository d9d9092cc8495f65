#include "migrate/rewrite/sites.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "migrate/rewrite/distributed/conversion.h"
#include "migrate/rewrite/facts.h"
#include "migrate/rewrite/hints/hints.h"
#include "migrate/rewrite/lightning/lightning.h"
#include "migrate/rewrite/options/options.h"
#include "migrate/rewrite/tensorflow/options.h"

namespace updraft::migrate::rewrite {

Finding& Sites::add(const rules::Rule& rule, NodeId node, Confidence confidence, std::string api) {
  Finding f;
  f.rule = rule.id;
  f.category = rule.category;
  f.confidence = lower(rule.confidence, confidence);
  f.begin = tree()[node].begin;
  f.end = tree()[node].end;
  f.from = tree().position(f.begin);
  f.to = tree().position(f.end);
  f.api = std::move(api);
  f.suggestion = rule.suggestion;
  f.message = rule.message;
  findings.push_back(std::move(f));
  return findings.back();
}

Edit Sites::replace(NodeId node, std::string text) const {
  return {tree()[node].begin, tree()[node].end, std::move(text)};
}

Sites::Sites(const names::Module& m, const rules::RuleSet& r, std::string f)
    : module(m), rules(r), framework(std::move(f)), done(m.tree().size()) {
  constexpr std::string_view kMark = "updraft: keep";
  const std::string_view text = tree().text();
  for (std::size_t at = text.find(kMark); at != std::string_view::npos; at = text.find(kMark, at + kMark.size())) {
    const std::size_t begin = text.rfind('\n', at) + 1;  // npos + 1 is 0
    if (text.substr(begin, at - begin).find('#') == std::string_view::npos ||
        text.substr(at + kMark.size()).starts_with('['))
      continue;
    kept_lines_.push_back({begin, std::min(text.find('\n', at), text.size())});
  }
}

bool Sites::kept(NodeId node) const {
  const auto line = std::ranges::lower_bound(kept_lines_, std::size_t{tree()[node].begin}, {}, &Line::end);
  return line != kept_lines_.end() && line->begin <= tree()[node].end;
}

bool of_torch(std::string_view module) noexcept {
  for (std::string_view p : {"torch",     "torchvision",  "torchaudio",
                             "torchtext", "transformers", "accelerate",
                             "timm",      "diffusers",    "pytorch_lightning",
                             "lightning", "apex",         "fairseq",
                             "mmcv",      "mmengine",     "detectron2",
                             "deepspeed", "ignite",       "torchmetrics",
                             "fastai",    "peft",         "trl",
                             "monai",     "kornia",       "torch_geometric",
                             "megatron",  "colossalai"})
    if (rules::under(module, p)) return true;
  return false;
}

namespace {

bool about_torch(const Sites& s) {
  if (s.module.project() && s.module.project()->beside_torch(s.module.path())) return true;
  for (names::ScopeId scope = 0; scope < s.module.scopes().size(); ++scope)
    for (const auto& [name, bindings] : s.module.scopes()[scope].names)
      for (const names::Binding& b : bindings)
        if (b.how == names::Bind::Import && of_torch(b.module)) return true;
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
  default_tensor_type(s);
  apis(s);
  members(s);
  code_strings(s);
  commands(s);
  if (framework == "pytorch") {
    command_lines(s);
    requirements(s);
  }
  if (framework == "pytorch") lightning(s);
  values(s);
  if (framework == "pytorch") settings(s);
  environment(s);
  if (framework == "pytorch") hold_back(s);
  if (framework == "pytorch" && !extras.conversion) data_parallel(s);
  if (extras.facts && extras.chosen) options(s, *extras.chosen, *extras.facts);
  if (extras.facts) facts(s, *extras.facts);
  if (extras.facts && framework == "pytorch") hints(s, *extras.facts);
  if (extras.conversion) extras.conversion->add(s);
  if (framework == "tensorflow")
    tensorflow_script(s, extras.tensorflow ? *extras.tensorflow : TensorFlowOptions{}, least);
  if (cython)
    for (Finding& f : s.findings) f.confidence = lower(f.confidence, Confidence::Likely);
  if (extras.selection) rules::select(s.findings, s.tree().text(), *extras.selection);
  for (Finding& f : s.findings) f.applied = !f.edits.empty() && f.confidence >= least;
  if (framework == "pytorch") import_torch_npu(s, least);
  settled(s.findings);
  for (NodeId error : s.tree().errors()) {
    if (cython) break;
    static const rules::Rule rule = [] {
      rules::Rule r;
      r.id = "PY001";
      r.category = Category::Failure;
      r.message = {
          "the grammar does not know what stands here (syntax newer than Python 3.12, or an error): edited around",
          "语法解析器无法识别此处（高于 Python 3.12 的语法或语法错误）：已跳过，其余部分照常处理"};
      return r;
    }();
    s.add(rule, error, Confidence::Certain);
  }
  std::stable_sort(s.findings.begin(), s.findings.end(),
                   [](const Finding& a, const Finding& b) { return a.begin < b.begin; });
  return std::move(s.findings);
}

}  // namespace updraft::migrate::rewrite
