#include "migrate/rewrite/tensorflow/options.h"
#include "migrate/rules/rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace updraft::migrate {
namespace fs = std::filesystem;
namespace {

constexpr std::array kStrategies = {"none", "tf_strategy", "horovod"};

/// The real place of a path of which the last parts may not exist yet.
fs::path place(const fs::path& path) { return fs::weakly_canonical(fs::absolute(path)).lexically_normal(); }

bool within(const fs::path& inner, const fs::path& outer) {
  const fs::path a = place(inner / ""), b = place(outer / "");
  // a trailing slash gives an empty last part
  const auto end_of = [](const fs::path& p) { return p.filename().empty() ? std::prev(p.end()) : p.end(); };
  return std::mismatch(b.begin(), end_of(b), a.begin(), a.end()).first == end_of(b);
}

std::string stamp(std::time_t now) {
  std::tm local{};
  localtime_r(&now, &local);
  return fmt::format("{:04}{:02}{:02}{:02}{:02}{:02}", local.tm_year + 1900, local.tm_mon + 1, local.tm_mday,
                     local.tm_hour, local.tm_min, local.tm_sec);
}

void outside(const fs::path& folder, const fs::path& input, const char* option) {
  if (!folder.empty() && within(folder, input))
    throw Error(code::kAclInvalidParam, "{} {} lies in the scripts' folder {}: name a folder outside it", option,
                folder.string(), input.string());
}

bool any(const ProjectResult& result, std::string_view rule) {
  return std::any_of(result.files.begin(), result.files.end(), [&](const FileResult& file) {
    return std::any_of(file.findings.begin(), file.findings.end(), [&](const Finding& f) { return f.rule == rule; });
  });
}

}  // namespace

std::string_view name(Strategy strategy) noexcept { return kStrategies[static_cast<std::size_t>(strategy)]; }

Strategy strategy_of(std::string_view name) {
  for (std::size_t i = 0; i < kStrategies.size(); ++i)
    if (name == kStrategies[i]) return static_cast<Strategy>(i);
  throw Error(code::kAclInvalidParam,
              "{} is no distribution strategy for -d: take tf_strategy (the script uses tf.distribute.Strategy) or "
              "horovod",
              name.empty() ? "an empty text" : name);
}

TensorFlowFolders tensorflow_folders(const fs::path& input, const fs::path& output, const fs::path& report,
                                     std::time_t now) {
  const std::string time = stamp(now);
  const fs::path whole = place(input / "");
  const std::string project = (whole.filename().empty() ? whole.parent_path() : whole).filename().string();
  TensorFlowFolders folders;
  folders.shown_output = output.empty() ? fs::path("output_npu_" + time) : output;
  folders.output = folders.shown_output / ((project.empty() ? "project" : project) + "_npu_" + time);
  folders.report = report / ("report_npu_" + time);
  return folders;
}

void check_tensorflow(const fs::path& input, const fs::path& output, const fs::path& report, const fs::path& main_file,
                      TensorFlowOptions& options) {
  std::error_code error;
  if (!fs::exists(input, error)) throw Error(code::kAclInvalidParam, "-i {}: there is no such folder", input.string());
  if (!fs::is_directory(input, error))
    throw Error(code::kAclInvalidParam, "-i {} is a file: name the folder that holds the scripts", input.string());
  outside(output, input, "-o");
  outside(report, input, "-r");
  options.main_file.clear();
  if (main_file.empty()) return;
  // as the shell sees it, else as seen from the scripts' folder
  const fs::path found = fs::is_regular_file(main_file, error) ? main_file : input / main_file;
  if (!fs::is_regular_file(found, error))
    throw Error(code::kAclInvalidParam, "-m {}: there is no such file, neither here nor in {}", main_file.string(),
                input.string());
  if (found.extension() != ".py")
    throw Error(code::kAclInvalidParam, "-m {} is no Python file: name the .py file with which training starts",
                main_file.string());
  if (!within(found, input))
    throw Error(code::kAclInvalidParam, "-m {} lies outside the scripts' folder {}: only files in it are migrated",
                main_file.string(), input.string());
  options.main_file = place(found).lexically_relative(place(input)).generic_string();
}

std::string tensorflow_begin(std::string_view path) { return fmt::format("Begin conver file: {}", path); }
std::string tensorflow_end(std::string_view path) { return fmt::format("Finish conver file: {}", path); }

std::string tensorflow_finish(const TensorFlowFolders& folders) {
  return fmt::format("Finish conver, output file: {}; report file: {}", folders.shown_output.string(),
                     folders.report.string());
}

std::vector<Text> tensorflow_advice(const ProjectResult& result, const TensorFlowOptions& options, bool guide) {
  // the guide's command line and ours call the same things differently
  const std::string main = guide ? "-m" : "--main", strategy = guide ? "-d" : "--strategy",
                    compat = guide ? "-c" : "--compat";
  std::vector<Text> advice;
  const bool entered = any(result, "TF001") || any(result, "TF003");
  if (!entered && options.main_file.empty() && !result.files.empty())
    advice.push_back(rules::told("run.entry", {main}));
  if (any(result, "TF041")) advice.push_back(rules::told("run.strategy", {strategy}));
  if (any(result, "TF078")) advice.push_back(rules::told("run.horovod", {strategy}));
  if (any(result, "TF067")) advice.push_back(rules::told("run.compat", {compat}));
  if (options.strategy == Strategy::TfStrategy && any(result, "TF012")) advice.push_back(rules::told("run.shard"));
  return advice;
}

}  // namespace updraft::migrate
