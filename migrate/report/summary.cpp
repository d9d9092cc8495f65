#include "migrate/report/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace updraft::migrate::report {
namespace {

bool has_subject(Category category) noexcept {
  return category == Category::Unsupported || category == Category::Unknown || category == Category::ThirdParty ||
         category == Category::CudaSource || category == Category::Affinity;
}

std::vector<Subject> subjects(const ProjectResult& result) {
  std::map<std::pair<Category, std::string>, Subject> found;
  for (const FileResult& file : result.files) {
    std::set<const Subject*> here;
    for (const Finding& finding : file.findings) {
      if (!has_subject(finding.category)) continue;
      const std::string& name = finding.api.empty() ? finding.rule : finding.api;
      Subject& subject = found[{finding.category, name}];
      if (subject.sites++ == 0) {
        subject.name = name;
        subject.category = finding.category;
        subject.message = finding.message;
      }
      if (subject.suggestion.empty()) subject.suggestion = finding.suggestion;
      if (here.insert(&subject).second) ++subject.files;
    }
  }
  std::vector<Subject> list;
  list.reserve(found.size());
  for (auto& entry : found) list.push_back(std::move(entry.second));
  std::stable_sort(list.begin(), list.end(), [](const Subject& a, const Subject& b) { return a.sites > b.sites; });
  return list;
}

/// The names of the first three subjects of a category, and … where there are more.
std::string names(const Summary& summary, Category category) {
  std::string list;
  int count = 0;
  for (const Subject& subject : summary.subjects) {
    if (subject.category != category) continue;
    if (count == 3) return list + ", …";
    if (count++) list += ", ";
    list += subject.name;
    if (!subject.suggestion.empty()) list += " → " + subject.suggestion;
  }
  return list;
}

Text sites(std::size_t count, std::string_view one, std::string_view many, std::string_view zh) {
  return {fmt::format("{} {}", count, count == 1 ? one : many), fmt::format("{} {}", count, zh)};
}

std::vector<Step> steps(const ProjectResult& result, const Summary& summary) {
  std::vector<Step> list;
  const Counts& counts = summary.counts;
  auto add = [&](Category category, std::size_t count, const Text& what, std::string_view en, std::string_view zh) {
    if (count)
      list.push_back(
          {{fmt::format(fmt::runtime(en), what.en), fmt::format(fmt::runtime(zh), what.zh)}, category, count});
  };
  auto listed = [&](Category category, std::string_view one, std::string_view many, std::string_view zh) {
    Text text = sites(counts[category], one, many, zh);
    const std::string which = names(summary, category);
    if (!which.empty()) text = {text.en + " (" + which + ")", text.zh + "（" + which + "）"};
    return text;
  };
  std::size_t ready = 0, held = 0;  // changes that wait: confident enough, and below --min-confidence
  for (std::size_t i = 0; i < kConfidenceCount; ++i)
    (i >= static_cast<std::size_t>(result.request.least) ? ready : held) += counts.left[i];

  auto places = [&](Category category) { return sites(counts[category], "place", "places", "处"); };
  add(Category::Failure, counts[Category::Failure], places(Category::Failure),
      "Repair what could not be read or understood, {}: nothing was changed there.",
      "修复无法读取或理解的 {}：这些地方未作任何改动。");
  add(Category::ThirdParty, counts[Category::ThirdParty], listed(Category::ThirdParty, "use", "uses", "处"),
      "Replace third-party packages that need a GPU: {}.", "替换依赖 GPU 的第三方库：{}。");
  add(Category::CudaSource, counts[Category::CudaSource], listed(Category::CudaSource, "place", "places", "处"),
      "Port custom CUDA operators to Ascend C, or use their PyTorch form: {}.",
      "将自定义 CUDA 算子移植到 Ascend C，或改用其 PyTorch 实现：{}。");
  add(Category::Unsupported, counts[Category::Unsupported], listed(Category::Unsupported, "use", "uses", "处"),
      "Do without APIs that the NPU does not have: {}.", "改写 NPU 不支持的 API：{}。");
  add(Category::Change, ready, sites(ready, "change", "changes", "处改动"),
      "Apply {} that this run only listed: run it again without --check or --diff.",
      "应用本次仅列出的 {}：去掉 --check 或 --diff 后重新运行。");
  add(Category::Change, held, sites(held, "place", "places", "处"),
      "Decide on changes that the tool is not sure enough of, {}: edit by hand, or run it again with a lower "
      "--min-confidence.",
      "确认工具把握不足的 {}：手工修改，或降低 --min-confidence 后重新运行。");
  add(Category::Unknown, counts[Category::Unknown], listed(Category::Unknown, "use", "uses", "处"),
      "Try APIs about which nothing is known: {}.", "试运行支持情况未知的 API：{}。");
  add(Category::Precision, counts[Category::Precision], places(Category::Precision),
      "Compare results where numbers may differ from the GPU's: {}.", "比对数值可能与 GPU 不同之处：{}。");
  add(Category::Performance, counts[Category::Performance], places(Category::Performance),
      "Speed up what is slow on an NPU: {}.", "优化在 NPU 上较慢之处：{}。");
  add(Category::Affinity, counts[Category::Affinity], listed(Category::Affinity, "place", "places", "处"),
      "Consider NPU APIs that do the same faster: {}.", "可改用更快的 NPU 亲和 API：{}。");
  if (result.request.partial)
    list.push_back({{"Ask for advice on all files: in a project of this size it was looked for only in files that hold "
                     "something to migrate. updraft analyse SRC -o DIR looks through all.",
                     "获取全部文件的建议：项目较大，本次仅在含迁移内容的文件中查找建议。updraft analyse SRC -o DIR "
                     "会检查全部文件。"},
                    Category::Performance,
                    0});
  list.push_back({{"Run the migrated training and compare its losses: updraft migrate --verify CMD.",
                   "运行迁移后的训练并比对损失：updraft migrate --verify CMD。"},
                  Category::Note,
                  0});
  return list;
}

}  // namespace

std::string_view name(Readiness readiness) noexcept {
  return readiness == Readiness::Ready ? "ready" : readiness == Readiness::Attention ? "attention" : "blocked";
}

Weight weight(const Finding& finding) noexcept {
  if (finding.applied) return Weight::Nothing;
  switch (finding.category) {
    case Category::Failure: return Weight::Blocking;
    case Category::Unsupported:
    case Category::ThirdParty:
    case Category::CudaSource: return finding.confidence == Confidence::Review ? Weight::Attention : Weight::Blocking;
    case Category::Change:
    case Category::Unknown:
    case Category::Precision: return Weight::Attention;
    case Category::Affinity:
    case Category::Performance:
    case Category::Note: break;
  }
  return Weight::Nothing;
}

Readiness readiness(const FileResult& file) noexcept {
  Weight most = file.failed ? Weight::Blocking : Weight::Nothing;
  for (const Finding& finding : file.findings) most = std::max(most, weight(finding));
  return static_cast<Readiness>(most);
}

std::string_view operation(const Finding& finding) noexcept {
  const auto& edits = finding.edits;
  if (std::all_of(edits.begin(), edits.end(), [](const Edit& e) { return e.begin == e.end; })) return "INSERT";
  if (std::all_of(edits.begin(), edits.end(), [](const Edit& e) { return e.text.empty(); })) return "DELETE";
  return "MODIFY";
}

void Counts::add(const Finding& finding) noexcept {
  ++category[static_cast<std::size_t>(finding.category)];
  const auto sure = static_cast<std::size_t>(finding.confidence);
  if (finding.applied) ++applied[sure];
  else if (finding.category == Category::Change) ++left[sure];
}

Summary summarize(const ProjectResult& result) {
  Summary summary;
  for (const FileResult& file : result.files) {
    for (const Finding& finding : file.findings) summary.counts.add(finding);
    ++summary.files[static_cast<std::size_t>(readiness(file))];
    summary.changed += file.changed;
    summary.failed += file.failed;
  }
  summary.subjects = subjects(result);
  summary.steps = steps(result, summary);
  return summary;
}

}  // namespace updraft::migrate::report
