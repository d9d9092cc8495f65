#include "migrate/report/guide/pytorch.h"

#include <set>
#include <string_view>
#include <utility>

#include "migrate/report/guide/log.h"
#include "migrate/report/summary.h"
#include "migrate/report/table/csv.h"

namespace updraft::migrate::report {
namespace {

template <class Use>
void each(const ProjectResult& result, Category category, Use use) {
  for (const FileResult& file : result.files)
    for (const Finding& finding : file.findings)
      if (finding.category == category) use(file, finding);
}

const std::string& subject(const Finding& finding) noexcept { return finding.api.empty() ? finding.rule : finding.api; }

std::string tips(const Finding& finding, Language language) {
  std::string text = in(finding.message, language);
  if (!finding.suggestion.empty() && text.find(finding.suggestion) == std::string::npos)
    text += (text.empty() ? "" : " ") + std::string(language == Language::zh ? "可用：" : "Take instead: ") +
            finding.suggestion;
  return text;
}

void place(Csv& csv, const FileResult& file, const Finding& finding) {
  csv.row().path(file.path).number(finding.from.line).number(finding.to.line);
}

/// What the NPU's form is: an optimizer, another class, or a function.
std::string_view affinity_type(const Finding& finding) noexcept {
  const std::string_view api = finding.api, last = api.substr(api.rfind('.') + 1);
  if (api.find("optim") != std::string_view::npos) return "optimizer";
  return !last.empty() && last.front() >= 'A' && last.front() <= 'Z' ? "class" : "function";
}

/// a/b/__init__.py is the module a.b: whoever uses it is affected by what stands in it.
std::string module(std::string_view path) {
  if (!path.ends_with(".py")) return std::string(path);
  path.remove_suffix(3);
  if (path.ends_with("/__init__")) path.remove_suffix(9);
  std::string name(path);
  for (char& c : name)
    if (c == '/') c = '.';
  return name;
}

/// Each API with the module that it stands in, once.
std::string affected(const ProjectResult& result, Category category, std::string_view column) {
  Csv csv{column, "Affected 3rd-party API"};
  std::set<std::pair<std::string, std::string>> seen;
  each(result, category, [&](const FileResult& file, const Finding& finding) {
    if (category == Category::Change && finding.api.empty()) return;  // a changed string is about no API
    if (auto [it, fresh] = seen.emplace(subject(finding), module(file.path)); fresh)
      csv.row().text(it->first).text(it->second);
  });
  return std::move(csv).finish();
}

std::string full_unsupported(const ProjectResult& result, Language language) {
  Csv csv{"File", "3rd-party API", "Message"};
  for (const FileResult& file : result.files)
    for (const Finding& finding : file.findings)
      if (finding.category == Category::Unsupported || finding.category == Category::CudaSource ||
          finding.category == Category::ThirdParty)
        csv.row()
            .path(file.path)
            .text(module(file.path))
            .text(finding.api.empty() ? tips(finding, language) : finding.api + ": " + tips(finding, language));
  return std::move(csv).finish();
}

}  // namespace

std::string change_list(const ProjectResult& result, Language language) {
  Csv csv{"File", "Start Line", "End Line", "Operation Type", "Message"};
  for (const FileResult& file : result.files)
    for (const Finding& finding : file.findings) {
      if (!finding.applied || finding.edits.empty()) continue;
      place(csv, file, finding);
      csv.text(operation(finding)).text(in(finding.message, language));
    }
  return std::move(csv).finish();
}

std::string api_list(const ProjectResult& result, Category category, Language language) {
  Csv csv{"File", "Start Line", "End Line", "OP", "Tips"};
  each(result, category, [&](const FileResult& file, const Finding& finding) {
    place(csv, file, finding);
    csv.text(subject(finding)).text(tips(finding, language));
  });
  return std::move(csv).finish();
}

std::string affinity_api_call(const ProjectResult& result) {
  Csv csv{"File", "Start Line", "End Line", "Api Type", "Api Call Name", "Affinity Api Name"};
  each(result, Category::Affinity, [&](const FileResult& file, const Finding& finding) {
    place(csv, file, finding);
    csv.text(affinity_type(finding)).text(subject(finding)).text(finding.suggestion);
  });
  return std::move(csv).finish();
}

std::string cuda_op_list(const ProjectResult& result) {
  Csv csv{"File", "Api"};
  each(result, Category::CudaSource,
       [&](const FileResult& file, const Finding& finding) { csv.row().path(file.path).text(subject(finding)); });
  return std::move(csv).finish();
}

std::vector<ReportFile> pytorch_files(const ProjectResult& result, Language language) {
  return {{"change_list.csv", change_list(result, language)},
          {"unsupported_api.csv", api_list(result, Category::Unsupported, language)},
          {"unknown_api.csv", api_list(result, Category::Unknown, language)},
          {"api_precision_advice.csv", api_list(result, Category::Precision, language)},
          {"api_performance_advice.csv", api_list(result, Category::Performance, language)},
          {"affinity_api_call.csv", affinity_api_call(result)},
          {"cuda_op_list.csv", cuda_op_list(result)},
          {"msFmkTranspltlog.txt", log(result, language)}};
}

std::vector<ReportFile> analysis_files(const ProjectResult& result, Language language) {
  std::vector<ReportFile> files = pytorch_files(result, language);
  files.erase(files.begin());  // nothing was changed
  files.push_back({"full_unsupported_results.csv", full_unsupported(result, language)});
  files.push_back({"framework_unsupported_op.csv", affected(result, Category::Unsupported, "Torch API")});
  files.push_back({"unknown_op.csv", affected(result, Category::Unknown, "Torch API")});
  files.push_back({"migration_needed_op.csv", affected(result, Category::Change, "Torch API")});
  files.push_back({"cuda_op.csv", affected(result, Category::CudaSource, "OP Name")});
  return files;
}

}  // namespace updraft::migrate::report
