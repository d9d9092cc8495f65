// updraft-migrate: see docs/use/migrate.md.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include "arguments.h"
#include "base/error.h"
#include "explain.h"
#include "guide.h"
#include "migrate/report/diff.h"
#include "migrate/report/files.h"
#include "migrate/report/guide/guide.h"
#include "migrate/report/json.h"
#include "migrate/report/page/page.h"
#include "migrate/run/pipeline.h"
#include "verify.h"

namespace updraft::migrate {
namespace {

namespace fs = std::filesystem;

/// One line on a terminal that is written over; nothing elsewhere.
class Progress {
 public:
  explicit Progress(bool on) : on_(on && ::isatty(STDERR_FILENO)) {}
  ~Progress() {
    if (on_) std::fputs("\r\033[K", stderr);
  }
  void operator()(std::size_t done, std::size_t all) {
    if (!on_) return;
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (done != all && now - last_ < std::chrono::milliseconds(50)) return;
    last_ = now;
    constexpr std::size_t width = 30;
    const std::size_t full = all ? done * width / all : width;
    std::fprintf(stderr, "\r[%s%s] %zu/%zu", std::string(full, '#').c_str(), std::string(width - full, '.').c_str(),
                 done, all);
  }

 private:
  bool on_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point last_{};
};

void summary(const ProjectResult& result, const Arguments& a) {
  std::size_t changed = 0, applied = 0, review = 0, failed = 0;
  std::map<Category, std::size_t> others;
  for (const FileResult& f : result.files) {
    changed += f.changed;
    failed += f.failed;
    for (const Finding& finding : f.findings) {
      if (finding.category == Category::Change) ++(finding.applied ? applied : review);
      else ++others[finding.category];
    }
  }
  if (a.chinese)
    fmt::print(
        stderr,
        "共 {} 个文件（{} 个 Python，解析 {} 个），修改 {} 个文件 {} 处；{} 处待确认；{} 个文件失败；用时 {:.2f} 秒\n",
        result.seen, result.python, result.parsed, changed, applied, review, failed, result.seconds);
  else
    fmt::print(stderr,
               "{} files ({} Python, {} parsed): {} changed in {} places; {} places to look at; {} failed; {:.2f} s\n",
               result.seen, result.python, result.parsed, changed, applied, review, failed, result.seconds);
  for (const auto& [category, n] : others) fmt::print(stderr, "  {}: {}\n", name(category), n);
  if (!a.reports.empty()) fmt::print(stderr, "{}\n", a.reports.string());
}

/// Every use of TensorFlow is a finding, for the spreadsheet; those of which there is nothing to say would drown the
/// rest on a page.
void leave_out_inventory(ProjectResult& result) {
  for (FileResult& f : result.files)
    std::erase_if(f.findings,
                  [](const Finding& finding) { return finding.rule == "TF900" && finding.category == Category::Note; });
}

/// What users of convert_tf2npu see.
std::string guide_words(const ProjectResult& result, const Arguments& a) {
  std::string text;
  for (const FileResult& f : result.files)
    if (f.kind == FileKind::Python) text += tensorflow_begin(f.path) + "\n" + tensorflow_end(f.path) + "\n";
  text += report::api_brief_report(result);
  for (const Text& advice : tensorflow_advice(result, a.options.tensorflow, true))
    text += (a.chinese ? advice.zh : advice.en) + "\n";
  return text + a.last_line + "\n";
}

int from_stdin(const Arguments& a) {
  std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  ProjectResult result;
  result.request.framework = a.options.framework;
  result.request.least = a.options.least;
  result.seen = result.python = 1;
  const std::string before = text;
  result.files.push_back(run::migrate_text("stdin.py", std::move(text), a.options));
  const FileResult& f = result.files.front();
  if (f.failed)
    for (const Finding& finding : f.findings)
      fmt::print(stderr, "updraft migrate: {}\n", a.chinese ? finding.message.zh : finding.message.en);
  if (a.check) return f.changed ? 1 : 0;
  if (a.diff) std::cout << report::unified_diff(result);
  else if (a.json) std::cout << report::json(result);
  else std::cout << (f.changed ? f.after : before);
  return f.failed ? 1 : 0;
}

void refuse_used_folder(const Arguments& a) {
  std::error_code error;
  const fs::path& folder = a.options.mode == run::Mode::Copy ? a.options.output : a.reports;
  if (!folder.empty() && !a.force && fs::exists(folder, error) && !fs::is_empty(folder, error))
    throw Error(code::kAclInvalidFile,
                "{} is not empty: choose another folder with -o, remove it, or write over it with --force",
                folder.string());
}

/// Whether pytorch_analyse's mode asks for a table.
bool of_mode(std::string_view mode, std::string_view file) {
  if (mode.empty() || !file.ends_with(".csv")) return true;
  static constexpr std::array<std::string_view, 5> third = {"full_unsupported_results.csv",
                                                            "framework_unsupported_op.csv", "unknown_op.csv",
                                                            "migration_needed_op.csv", "cuda_op.csv"};
  const bool of_third = std::find(third.begin(), third.end(), file) != third.end();
  const bool affinity = file == "affinity_api_call.csv", shapes = file == "api_performance_advice.csv";
  if (mode == "third_party") return of_third;
  if (mode == "affinity_apis") return affinity;
  if (mode == "dynamic_shape") return shapes;
  return !of_third && !affinity && !shapes;
}

/// Whether a source is TensorFlow's alone: programs of a mixed project that import nothing of it, or torch as well,
/// open no NPU by npu_device.
bool of_tensorflow_alone(std::string_view text) {
  const auto says = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
  return (says("import tensorflow") || says("from tensorflow") || says("import horovod.tensorflow") ||
          run::brings(text, "tensorflow")) &&
         !says("import torch") && !says("from torch") && !run::brings(text, "torch");
}

/// A project of both frameworks: sources about which the first run had nothing to say are looked at as the other's.
void other_framework(ProjectResult& result, const Arguments& a) {
  run::Options other = a.options;
  other.framework = a.options.framework == "tensorflow" ? "pytorch" : "tensorflow";
  other.mode = run::Mode::Report;
  other.tensorflow.beside_torch = true;
  other.rules.clear();
  std::set<std::string> known;
  for (const FileResult& f : result.files)
    if (f.changed || std::any_of(f.findings.begin(), f.findings.end(),
                                 [](const Finding& finding) { return finding.rule != "IO006"; }))
      known.insert(f.path);
  other.others = &known;
  ProjectResult second = run::migrate(other);
  std::erase_if(result.files, [&](const FileResult& f) {
    return !known.contains(f.path) && f.path != "." && f.kind == FileKind::Python;
  });
  for (FileResult& f : second.files)
    if (f.kind == FileKind::Python && !known.contains(f.path) &&
        (!f.changed || other.framework != "tensorflow" || of_tensorflow_alone(f.before)))
      result.files.push_back(std::move(f));
  std::sort(result.files.begin(), result.files.end(),
            [](const FileResult& x, const FileResult& y) { return x.path < y.path; });
  for (RuleText& text : second.rules)
    if (std::none_of(result.rules.begin(), result.rules.end(), [&](const RuleText& r) { return r.id == text.id; }))
      result.rules.push_back(std::move(text));
}

int run_tool(Arguments& a) {
  const bool chosen = a.options.framework != "auto";
  bool both = false;
  if (!chosen) {
    a.options.framework = a.from_stdin ? "pytorch" : run::framework_of(a.options.input, &both);
    both = both && !a.options.automatic;
  }
  if (a.from_stdin) return from_stdin(a);
  refuse_used_folder(a);
  ProjectResult result;
  {
    Progress progress(!a.quiet);
    a.options.progress = [&](std::size_t done, std::size_t all) { progress(done, all); };
    result = run::migrate(a.options);
    if (both) other_framework(result, a);
    run::write_output(a.options, result);
  }
  const Language language = a.chinese ? Language::zh : Language::en;
  if (a.reports.empty() && a.options.mode == run::Mode::Copy) a.reports = a.options.output;
  const std::string words = a.guide_words ? guide_words(result, a) : std::string();
  if (!a.reports.empty()) {
    auto files = a.options.analysis ? report::analysis(result, language) : report::pytorch_files(result, language);
    if (a.options.framework == "tensorflow") {
      files = report::tensorflow_files(result);
      files.push_back({"api_analysis_report.xlsx", report::api_analysis_table(result)});
    }
    const std::string name = a.options.analysis ? "analysis_report" : "migration_report";
    files.push_back({name + ".json", report::json(result)});
    if (a.options.framework == "tensorflow") leave_out_inventory(result);
    files.push_back({name + ".html", report::html(result)});
    files.push_back({name + ".sarif", report::sarif(result)});
    if (!a.options.analysis) files.push_back({"migration.diff", report::unified_diff(result)});
    std::erase_if(files, [&](const report::ReportFile& f) { return !of_mode(a.mode, f.name); });
    report::write_files(a.reports, files);
  }
  if (!a.sarif.empty()) report::write_file(a.sarif, report::sarif(result));
  if (!a.html.empty()) report::write_file(a.html, report::html(result));
  if (a.diff) std::cout << report::unified_diff(result);
  if (a.json) std::cout << report::json(result);
  std::cout.flush();
  std::cout << words << std::flush;
  if (!a.guide_words && !a.quiet) summary(result, a);
  if (!a.guide_words && !a.quiet && a.options.framework == "tensorflow" && !a.options.analysis)
    for (const Text& advice : tensorflow_advice(result, a.options.tensorflow, false))
      fmt::print(stderr, "{}\n", a.chinese ? advice.zh : advice.en);
  if (a.options.automatic && !a.quiet &&
      std::none_of(result.files.begin(), result.files.end(), [](const FileResult& f) { return f.changed; }))
    fmt::print(stderr, "{}\n",
               a.chinese
                   ? "--auto：未找到入口文件（没有判断 __main__ 的文件），未作修改：请在启动训练的文件开头添加 import "
                     "torch_npu 与 "
                     "from torch_npu.contrib import transfer_to_npu"
                   : "--auto: no entry file was found (none asks for __main__), so nothing was changed: write import "
                     "torch_npu and from torch_npu.contrib import transfer_to_npu where training starts");
  for (const FileResult& f : result.files)
    for (const Finding& finding : f.findings)
      if (finding.rule == "IO004") return 1;  // something could not be written
  if (!a.verify.empty()) verify(a);
  if (!a.check) return 0;
  for (const FileResult& f : result.files)
    if (f.changed) return 1;
  return 0;
}

}  // namespace
}  // namespace updraft::migrate

int main(int argc, char** argv) {
  using namespace updraft::migrate;
  Arguments arguments;
  int status = 0;
  // updraft-migrate [migrate | analyse | gpu2npu | pytorch-analyse] …
  const std::string_view first = argc > 1 ? argv[1] : "";
  auto* parser = &parse;
  bool named = true;
  if (first == "analyse" || first == "analyze") parser = &parse_analyse;
  else if (first == "gpu2npu") parser = &parse_gpu2npu;
  else if (first == "pytorch-analyse") parser = &parse_pytorch_analyse;
  else if (first == "tf2npu") parser = &parse_tf2npu;
  else named = first == "migrate";
  try {
    if (!parser(argc - named, argv + named, arguments, status)) return status;
    if (const int done = explain(arguments); done >= 0) return done;
    return run_tool(arguments);
  } catch (const updraft::Error& error) {
    fmt::print(stderr, "updraft migrate: {}\n", error.text());
  } catch (const std::exception& error) { fmt::print(stderr, "updraft migrate: {}\n", error.what()); }
  return 2;
}
