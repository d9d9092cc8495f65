#include "migrate/report/guide/analysis.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "migrate/report/guide/pytorch.h"
#include "migrate/report/summary.h"
#include "migrate/report/table/csv.h"
#include "migrate/support/torch_api.h"
#include "migrate/support/torch_cuda.h"
#include "migrate/support/torch_dispatch.h"

namespace updraft::migrate::report {
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
