#include "migrate/report/guide/guide.h"

#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "migrate/report/files.h"
#include "migrate/report/summary.h"
#include "migrate/report/table.h"
#include "migrate/support/torch_api.h"

namespace updraft::migrate::report {

std::optional<Products> products(std::string_view api, Category category, const Request& request) {
  Products marks{};
  if (request.framework == "pytorch" && api.starts_with("torch.")) {
    try {
      const std::size_t version = nearest_torch(request.facts.empty() ? request.version : request.facts);
      for (std::size_t i = 0; i < marks.size(); ++i)
        marks[i] = lookup_torch(api, version, static_cast<Product>(i)).support;
    } catch (const std::invalid_argument&) {  // no version: nothing to look up
    }
    const CudaTwin twin = cuda_twin(api);
    if (twin.known && twin.npu.empty()) marks.fill(Support::no);
  }
  if (category == Category::Unsupported) {
    try {
      marks[static_cast<std::size_t>(parse_product(request.product))] = Support::no;
    } catch (const std::invalid_argument&) {  // a product that the facts do not know
    }
  }
  if (std::all_of(marks.begin(), marks.end(), [](Support mark) { return mark == Support::unknown; }))
    return std::nullopt;
  return marks;
}
namespace {

std::string_view level(const Finding& finding) noexcept {
  if (finding.category == Category::Failure) return "ERROR";
  return weight(finding) == Weight::Nothing ? "INFO" : "WARNING";
}

/// What was done: the edit's kind, or for what is only told its category.
std::string_view action(const Finding& finding) noexcept {
  if (finding.applied) return operation(finding);
  return finding.category == Category::Change ? "not changed" : name(finding.category);
}

}  // namespace

std::string log(const ProjectResult& result, Language language) {
  std::string out;
  auto line = [&](std::string_view level, const std::string& text) {
    fmt::format_to(std::back_inserter(out), "[{}] {}\n", level, text);
  };
  const Request& request = result.request;
  const bool zh = language == Language::zh;
  line("INFO", one_line(request.command));
  line("INFO", fmt::format("{} {} -> {}", zh ? "迁移" : "migrating", one_line(request.input),
                           request.output.empty() ? (zh ? "（不写输出）" : "(no output)") : one_line(request.output)));
  line("INFO", fmt::format(fmt::runtime(zh ? "{} {}，依据 {} 的支持情况，产品 {}，改动的最低把握：{}"
                                           : "{} {}, support as of {}, product {}, changes at least {}"),
                           one_line(request.framework), one_line(request.version), one_line(request.facts),
                           one_line(request.product), name(request.least)));
  for (const FileResult& file : result.files) {
    const std::string path = one_line(file.path);
    for (const Finding& finding : file.findings) {
      std::string text = fmt::format("{}:{}: {} {} ({})", path, finding.from.line, action(finding),
                                     one_line(finding.rule), name(finding.confidence));
      if (!finding.api.empty()) text += " " + one_line(finding.api);
      if (!finding.suggestion.empty()) text += " -> " + one_line(finding.suggestion);
      line(level(finding), text + ": " + one_line(in(finding.message, language)));
    }
    if (file.failed) line("ERROR", path + (zh ? "：未能迁移，原样复制" : ": not migrated, copied as it is"));
    else if (file.changed) line("INFO", path + (zh ? "：已迁移" : ": migrated"));
  }
  const Summary summary = summarize(result);
  for (const Step& step : summary.steps) line("INFO", (zh ? "下一步：" : "next: ") + one_line(in(step.what, language)));
  line("INFO",
       fmt::format(
           fmt::runtime(zh ? "扫描 {} 个文件（Python {} 个），改动 {} 个文件共 {} 处，待确认 {} 处，失败 {} "
                             "个文件，用时 {:.2f} 秒"
                           : "{} files seen ({} Python), {} changed at {} places, {} places left, {} failed, {:.2f} s"),
           result.seen, result.python, summary.changed, summary.counts.changes_applied(), summary.counts.changes_left(),
           summary.failed, result.seconds));
  return out;
}
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
namespace {

constexpr Product kProducts[] = {Product::a2, Product::a3, Product::ascend950, Product::training_series};

std::string_view mark(Support support) noexcept {
  return support == Support::yes ? "yes" : support == Support::no ? "no" : "unknown";
}

std::size_t version_of(const ProjectResult& result) {
  return nearest_torch(result.request.facts.empty() ? std::string(kTorchVersions[std::size(kTorchVersions) - 1])
                                                    : result.request.facts);
}

/// The longest part of a name that the lists have: torch.nn.Linear of torch.nn.Linear.from_float.
std::string_view listed(std::string_view api, std::size_t version, Product product) {
  for (std::string_view p = api; p.find('.') != std::string_view::npos; p = p.substr(0, p.rfind('.')))
    if (!lookup_torch(p, version, product).api.empty()) return p;
  return api;
}

/// Types and constants, which run nowhere.
bool is_constant(std::string_view api) noexcept {
  constexpr std::string_view names[] = {"float32",
                                        "float",
                                        "float64",
                                        "double",
                                        "float16",
                                        "half",
                                        "bfloat16",
                                        "uint8",
                                        "int8",
                                        "int16",
                                        "short",
                                        "int32",
                                        "int",
                                        "int64",
                                        "long",
                                        "bool",
                                        "complex64",
                                        "complex128",
                                        "cfloat",
                                        "cdouble",
                                        "dtype",
                                        "layout",
                                        "strided",
                                        "preserve_format",
                                        "contiguous_format",
                                        "channels_last",
                                        "channels_last_3d",
                                        "memory_format",
                                        "Size",
                                        "inf",
                                        "nan",
                                        "pi",
                                        "e",
                                        "newaxis"};
  if (!api.starts_with("torch.")) return false;
  return std::find(std::begin(names), std::end(names), api.substr(6)) != std::end(names);
}

/// Inner names of torch, of which no list speaks.
bool is_private(std::string_view api) noexcept { return api.find("._") != std::string_view::npos; }

/// What is known of an API on a product: names under torch.cuda by their counterparts, operators that no list has by
/// the dispatcher.
Support support(std::string_view api, std::size_t version, Product product) {
  if (api.starts_with("torch.cuda.")) {
    const CudaTwin twin = cuda_twin(api);
    if (twin.known) return twin.npu.empty() ? Support::no : Support::yes;
  }
  if (is_constant(api)) return Support::yes;
  const TorchApi found = lookup_torch(api, version, product);
  if (!found.api.empty()) return found.support;
  const RunsOn where = runs_on(api);
  return where == RunsOn::npu || where == RunsOn::composite ? Support::yes : Support::unknown;
}

}  // namespace

std::string api_support(const ProjectResult& result, Language language) {
  const std::size_t version = version_of(result);
  const Product product = parse_product(result.request.product);
  struct Use {
    std::size_t uses = 0;
    std::set<const FileResult*> files;
  };
  std::map<std::string, Use> apis;
  for (const FileResult& file : result.files)
    for (const ApiUse& use : file.uses) {
      if (is_constant(use.api) || is_private(use.api)) continue;
      Use& u = apis[std::string(listed(use.api, version, product))];
      ++u.uses;
      u.files.insert(&file);
    }
  std::vector<const std::pair<const std::string, Use>*> order;
  for (const auto& entry : apis) order.push_back(&entry);
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->second.uses > b->second.uses; });
  Csv csv({"API", "Uses", "Files", "A2", "A3", "950DT", "Training Series", "torch 2.7.1", "torch 2.11.0",
           "torch 2.12.0", "torch 2.13.0", "Runs On", "Limits", "NPU Name"});
  static_assert(std::size(kTorchVersions) == 4, "the columns above name the versions");
  for (const auto* entry : order) {
    const std::string& api = entry->first;
    csv.row().text(api).number(entry->second.uses).number(entry->second.files.size());
    for (const Product p : kProducts) csv.text(mark(support(api, version, p)));
    for (std::size_t v = 0; v < std::size(kTorchVersions); ++v) csv.text(mark(support(api, v, product)));
    const TorchApi found = lookup_torch(api, version, product);
    const RunsOn where = runs_on(api);
    csv.text(where == RunsOn::unknown ? std::string_view{} : describe(where).in(language));
    csv.text(describe_limits(found.limits, language));
    csv.text(api.starts_with("torch.cuda") ? cuda_twin(api).npu : found.npu);
  }
  return std::move(csv).finish();
}

std::string file_readiness(const ProjectResult& result) {
  const std::size_t version = version_of(result);
  const Product product = parse_product(result.request.product);
  Csv csv({"File", "API Uses", "Supported", "Unsupported", "Unknown", "Changes", "Readiness"});
  std::size_t total[5] = {}, ready = 0;
  for (const FileResult& file : result.files) {
    std::size_t counts[5] = {};
    for (const ApiUse& use : file.uses) {
      if (is_private(use.api)) continue;
      const Support s = support(listed(use.api, version, product), version, product);
      ++counts[0];
      ++counts[s == Support::yes ? 1 : s == Support::no ? 2 : 3];
    }
    for (const Finding& f : file.findings) counts[4] += f.category == Category::Change;
    csv.row().path(file.path);
    for (std::size_t i = 0; i < 5; ++i) {
      csv.number(counts[i]);
      total[i] += counts[i];
    }
    csv.text(name(readiness(file)));
    ready += readiness(file) == Readiness::Ready;
  }
  csv.row().text("TOTAL");
  for (const std::size_t n : total) csv.number(n);
  csv.text(std::to_string(ready) + " of " + std::to_string(result.files.size()) + " ready");
  return std::move(csv).finish();
}

std::vector<ReportFile> analysis(const ProjectResult& result, Language language) {
  std::vector<ReportFile> files = analysis_files(result, language);
  if (result.request.framework != "tensorflow") {
    files.push_back({"api_support.csv", api_support(result, language)});
    files.push_back({"file_readiness.csv", file_readiness(result)});
  }
  return files;
}

}  // namespace updraft::migrate::report
