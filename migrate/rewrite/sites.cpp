#include "migrate/rewrite/sites.h"

#include <algorithm>
#include <utility>

namespace updraft::migrate::rewrite {

void Claims::take(NodeId node) {
  const auto now = static_cast<std::uint8_t>(names_.size());
  if (owners_[node] != 0 && owners_[node] != now) clashes_.push_back({node, owner(node), names_.back()});
  else owners_[node] = now;
}

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
    : module(m), rules(r), framework(std::move(f)), claims(m.tree().size()) {
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

}  // namespace updraft::migrate::rewrite
