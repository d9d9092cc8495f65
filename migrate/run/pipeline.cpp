#include "migrate/run/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <iterator>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "base/error.h"
#include "migrate/names/module.h"
#include "migrate/names/project.h"
#include "migrate/rewrite/distributed/conversion.h"
#include "migrate/rewrite/options/options.h"
#include "migrate/rewrite/passes.h"
#include "migrate/rules/rule.h"
#include "migrate/run/registry.h"
#include "migrate/run/walk.h"
#include "migrate/source/edit.h"
#include "migrate/source/words.h"
#include "migrate/support/settings.h"
#include "migrate/support/tf_api.h"
#include "migrate/support/torch_api.h"
#include "migrate/text/file.h"
#include "migrate/text/values.h"

namespace updraft::migrate::run {
namespace fs = std::filesystem;
namespace {

void load_rules(const Options& options, rules::RuleSet& rules) {
  rules::add_builtin(rules, options.framework);
  for (const fs::path& file : options.rules) rules.add(rules::load(read_file(file), file.string()));
}

Finding failure(std::string_view rule, Text message) {
  Finding f;
  f.rule = rule;
  f.category = Category::Failure;
  f.message = std::move(message);
  return f;
}

/// Bytes of Python up to which every source that speaks of the framework is parsed.
constexpr std::uintmax_t kSmallProject = 4 << 20;

/// Bytes of the largest Python source that is parsed: a tree has ten times as many. What is larger was made by a
/// program.
constexpr std::size_t kLargestSource = 8 << 20;

bool wide(std::string_view text) noexcept {
  return text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");  // UTF-16, UTF-32
}

/// Runs `work(i)` for 0 … count-1 on some threads; the first exception is thrown on.
template <class F>
void for_each(std::size_t count, unsigned threads, const F& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex mutex;
  const auto loop = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < count;) try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
        next = count;
      }
  };
  std::vector<std::thread> others;
  for (unsigned t = 1; t < std::min<std::size_t>(threads, count); ++t) others.emplace_back(loop);
  loop();
  for (std::thread& t : others) t.join();
  if (error) std::rethrow_exception(error);
}

/// The dotted name of a folder that is a package, through those that it is in; empty for any other.
std::string package_of(const fs::path& folder) {
  std::error_code error;
  std::string name;
  for (fs::path at = fs::weakly_canonical(folder, error); !error && fs::is_regular_file(at / "__init__.py", error);
       at = at.parent_path())
    name = at.filename().string() + (name.empty() ? "" : ".") + name;
  return name;
}

class Run {
 public:
  explicit Run(const Options& options)
      : options_(options),
        threads_(options.threads ? options.threads : std::max(1U, std::thread::hardware_concurrency())) {
    load_rules(options, rules_);
    tensorflow_ = options.tensorflow;
    tensorflow_.version = nearest_tf(options.version);
    rules::Triggers triggers = rules_.triggers(options.framework);
    if (options.framework == "pytorch") {
      const std::vector<std::string> settings = telling_settings();
      triggers.names.insert(triggers.names.end(), settings.begin(), settings.end());
      triggers.names.emplace_back("install_requires");
      triggers.anywhere.insert(triggers.anywhere.end(), {".cu'", ".cu\"", "CUDAExecutionProvider"});
    }
    words_.emplace(triggers.anywhere, triggers.names);
    chosen_ = {options.specify_device, options.similar,      options.mixed_precision,
               options.modelarts,      options.affine_model, options.amp_model};
    if (options.framework == "pytorch") {
      facts_.emplace();
      facts_->version = options.version.empty() ? std::size(kTorchVersions) - 1 : nearest_torch(options.version);
      facts_->product = parse_product(options.product);
    }
  }

  ProjectResult project() {
    const auto start = std::chrono::steady_clock::now();
    tree_ = walk(options_.input);
    std::vector<std::string> python;
    std::uintmax_t python_bytes = 0;
    for (const Entry& e : tree_.entries) {
      if (e.kind != FileKind::Python) continue;
      python.push_back(e.path);
      python_bytes += e.size;
    }
    std::vector<std::string> followed = python;
    // of a large project names are followed only into sources that can bring TensorFlow's
    if (options_.framework == "tensorflow" && python_bytes >= kSmallProject) followed = tensorflow_sources();
    mostly_torch_ = torch_sources_ > followed.size();
    project_.emplace([this](const std::string& path) { return text_of(path); }, followed, package_of(tree_.root));
    begun_ = std::vector<std::atomic<bool>>(tree_.entries.size());
    project_->keep([this](const std::string& path) { return waits(path); });
    look();
    if (!options_.distributed_main.empty() && !options_.analysis) {
      conversion_.emplace(
          *project_, [this](const std::string& path) { return text_of(path); },
          rewrite::DistributedOptions{options_.distributed_main, options_.distributed_model});
      for (std::size_t i = 0; i < wanted_.size(); ++i)
        if (conversion_->touches(tree_.entries[i].path)) wanted_[i] = 1;
    }
    ProjectResult result;
    result.request.analysis = options_.analysis;
    result.request.command = options_.command;
    result.request.framework = options_.framework;
    result.request.input = options_.input.string();
    result.request.output = options_.mode == Mode::Copy ? options_.output.string() : "";
    result.request.version = options_.version;
    result.request.partial = partial_;
    if (facts_) result.request.facts = kTorchVersions[facts_->version];
    else result.request.facts = kTfVersions[nearest_tf(options_.version)];
    result.request.product = options_.product;
    result.request.least = options_.least;
    result.seen = tree_.entries.size();
    result.python = python.size();
    result.bytes = bytes_;
    for (std::size_t i = 0; i < wanted_.size(); ++i)
      if (wanted_[i] && tree_.entries[i].kind == FileKind::Python) {
        ++result.parsed;
        result.parsed_bytes += tree_.entries[i].size;
      }
    std::vector<FileResult> files(tree_.entries.size());
    for_each(tree_.entries.size(), threads_, [&](std::size_t i) {
      if (wanted_[i]) files[i] = file(i);
      if (options_.progress) options_.progress(done_.fetch_add(1) + 1, tree_.entries.size());
    });
    for (FileResult& f : files)
      if (!f.findings.empty() || !f.uses.empty()) result.files.push_back(std::move(f));
    for (Finding& folder : tree_.left_out) {
      FileResult f;
      f.path = folder.api;
      f.findings.push_back(std::move(folder));
      result.files.push_back(std::move(f));
    }
    for (Finding& problem : tree_.problems) {
      FileResult f;
      f.path = problem.api;
      f.failed = true;
      f.findings.push_back(std::move(problem));
      result.files.push_back(std::move(f));
    }
    std::stable_sort(result.files.begin(), result.files.end(),
                     [](const FileResult& a, const FileResult& b) { return a.path < b.path; });
    result.rules = rule_texts(result.files, rules_);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

  FileResult text(const std::string& path, std::string text) {
    project_.emplace([&](const std::string& p) { return p == path ? text : std::string(); },
                     std::vector<std::string>{path});
    return rewritten({path, FileKind::Python, false, text.size()}, text);
  }

 private:
  static bool imports_tensorflow(std::string_view text) {
    return source::says(text, "import tensorflow") || source::says(text, "from tensorflow") ||
           source::says(text, "horovod") || (source::says(text, ", tensorflow") && brings(text, "tensorflow"));
  }

  /// Sources that import TensorFlow, of which it is noted that they do; those of torch are counted.
  std::vector<std::string> tensorflow_sources() {
    static const source::Words words(
        {"import tensorflow", "from tensorflow", "horovod", "import torch", "from torch", ", tensorflow"});
    imports_tensorflow_.assign(tree_.entries.size(), 0);
    for_each(tree_.entries.size(), threads_, [&](std::size_t i) {
      if (tree_.entries[i].kind != FileKind::Python) return;
      static thread_local std::string text;
      try {
        read_file(tree_.root / tree_.entries[i].path, text);
      } catch (const Error&) {
        return;  // the file's own turn reports it
      }
      if (text.size() > kLargestSource) return;
      const std::vector<bool> says = words.all(text);
      imports_tensorflow_[i] = says[0] || says[1] || says[2] || (says[5] && brings(text, "tensorflow"));
      torch_sources_ += !imports_tensorflow_[i] && (says[3] || says[4]);
    });
    std::vector<std::string> found;
    for (std::size_t i = 0; i < tree_.entries.size(); ++i)
      if (imports_tensorflow_[i]) found.push_back(tree_.entries[i].path);
    return found;
  }

  /// Nothing of what is too large.
  std::string text_of(const std::string& path) const {
    try {
      std::string text = read_file(tree_.root / path);
      return text.size() > kLargestSource ? std::string() : text;
    } catch (const Error&) {
      return {};  // the file's own turn reports it
    }
  }

  /// Which files have anything to do with the rules, and which methods of the user's own look like the framework's.
  void look() {
    wanted_.assign(tree_.entries.size(), 0);
    imports_torch_.assign(tree_.entries.size(), 0);
    alone_.assign(tree_.entries.size(), 0);
    modules_.assign(tree_.entries.size(), std::nullopt);
    std::vector<std::string> methods;
    for (const rules::Rule& rule : rules_.all())
      if (rule.match == rules::Match::Member && !rule.to.empty())
        for (const std::string& name : rule.names) methods.push_back("def " + name + "(");
    methods.emplace_back("def to(");  // arguments of .to() are devices unless the class says otherwise
    const source::Words own(methods);
    // args.cuda is a flag: where something has one, x.cuda that nobody calls may be one as well
    const source::Words flags({"\"--cuda\"", "'--cuda'", "cuda: bool", ".cuda = True", ".cuda = False", ".cuda = not ",
                               "cuda=True", "cuda=False", "self.cuda =", " cuda = ", " cuda: "});
    std::uintmax_t python_bytes = 0;
    for (const Entry& e : tree_.entries)
      if (e.kind == FileKind::Python) python_bytes += e.size;
    partial_ = facts_ && !options_.analysis && !options_.automatic && python_bytes >= kSmallProject;
    std::mutex mutex;
    std::atomic<bool> flagged = false, registered = false;
    std::vector<std::string> suspects;
    for_each(tree_.entries.size(), threads_, [&](std::size_t i) {
      const Entry& e = tree_.entries[i];
      if (e.link || e.kind == FileKind::Other || e.path.ends_with(rewrite::kLightningModule)) return;
      if (options_.others && e.kind != FileKind::Python) return;
      if (mostly_torch_ && e.kind == FileKind::Python) {
        wanted_[i] = imports_tensorflow_[i];
        bytes_ += e.size;
        return;
      }
      static thread_local std::string text;  // memory that is at hand already
      try {
        read_file(tree_.root / e.path, text);
      } catch (const Error&) {
        wanted_[i] = 1;  // reported in its turn
        return;
      }
      bytes_ += text.size();
      const std::string_view framework = options_.framework == "tensorflow" ? "tensorflow" : "torch";
      // every use of TensorFlow's names is reported, so that each of its scripts is parsed; advice by pattern is looked
      // for in all of a small project, and by an analysis
      const bool all = options_.framework == "tensorflow" ? python_bytes < kSmallProject || imports_tensorflow(text)
                                                          : options_.analysis || !partial_;
      wanted_[i] = e.kind != FileKind::Python || (all && source::says(text, framework)) || words_->any(text) ||
                   wide(text) || (facts_ && rewrite::facts_may_apply(text, *facts_)) ||
                   rewrite::options_may_apply(text, chosen_) || (facts_ && rewrite::lightning_may_apply(text));
      if (e.kind != FileKind::Python) return;
      if (facts_) {
        modules_[i] = names::imported_modules(text);
        imports_torch_[i] =
            std::any_of(modules_[i]->begin(), modules_[i]->end(), [](const std::string& m) { return of_torch(m); });
        alone_[i] = wanted_[i] && !imports_torch_[i];
      }
      if (wanted_[i] && own.any(text)) {
        const std::lock_guard lock(mutex);
        suspects.push_back(e.path);
      }
      if (facts_ && !registered && source::says(text, "nccl") && names::registers_nccl(text)) {
        const std::lock_guard lock(mutex);
        project_->note_registered_backend();
        registered = true;
      }
      if (!flagged && flags.any(text)) {
        const std::lock_guard lock(mutex);
        project_->note_flag("cuda");
        flagged = true;
      }
      if (options_.automatic) wanted_[i] = text.find("__main__") != std::string::npos;
    });
    std::set<std::string> kept;
    for (const std::string& path : suspects) {
      const auto summary = project_->summary(path);
      for (const auto& [name, info] : summary->classes)
        for (const std::string& method : methods) {
          const std::string bare = method.substr(4, method.size() - 5);
          if (!info.methods.contains(bare)) continue;
          project_->note_method(bare);
          if (bare != "to" && !project_->follows(path + "#" + name, bare)) kept.insert(bare);
        }
    }
    for (const std::string& method : kept) look_for_unknown(method);
    if (std::find(alone_.begin(), alone_.end(), 1) != alone_.end()) look_beside_torch();
    if (options_.others)
      for (std::size_t i = 0; i < wanted_.size(); ++i)
        if (options_.others->contains(tree_.entries[i].path)) wanted_[i] = 0;
  }

  /// Sources without torch that are imported, at whatever remove, by those that import it; and those that import
  /// nothing at all, which such projects read as configurations.
  void look_beside_torch() {
    const auto place = [&](const std::string& path) {
      return std::lower_bound(tree_.entries.begin(), tree_.entries.end(), path,
                              [](const Entry& e, const std::string& p) { return e.path < p; }) -
             tree_.entries.begin();
    };
    std::vector<char> reached(tree_.entries.size(), 0);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < tree_.entries.size(); ++i)
      if (imports_torch_[i]) {
        open.push_back(i);
        reached[i] = 1;
      }
    const bool any = !open.empty();
    while (!open.empty()) {
      const std::size_t from = open.back();
      const std::string& path = tree_.entries[from].path;
      open.pop_back();
      if (!modules_[from]) modules_[from] = names::imported_modules(text_of(path));  // a link
      for (const std::string& module : *modules_[from])
        if (const std::string file = project_->file_of(module, path); !file.empty())
          if (const auto i = static_cast<std::size_t>(place(file)); !reached[i]) {
            reached[i] = 1;
            open.push_back(i);
          }
    }
    for (std::size_t i = 0; i < tree_.entries.size(); ++i) {
      if (!alone_[i]) continue;
      const std::string text = text_of(tree_.entries[i].path);
      const bool registry = text.find("dict(type=") != std::string::npos || text.find("_base_ =") != std::string::npos;
      if (reached[i] || registry || (any && names::imported_modules(text).empty()))
        project_->note_beside_torch(tree_.entries[i].path);
    }
    modules_.clear();
  }

  /// Whether a method of the project's own is called somewhere where nobody knows whose it is.
  void look_for_unknown(const std::string& method) {
    for (std::size_t i = 0; i < tree_.entries.size(); ++i) {
      const Entry& e = tree_.entries[i];
      if (!wanted_[i] || e.kind != FileKind::Python) continue;
      const std::string text = text_of(e.path);
      if (text.find("." + method) == std::string::npos) continue;
      if (!rewrite::calls_unknown(names::Module(e.path, text, &*project_), method)) continue;
      project_->note_doubtful(method);
      return;
    }
  }

  /// Whether a file is to be rewritten and nobody has begun to.
  bool waits(const std::string& path) const {
    const auto at = std::lower_bound(tree_.entries.begin(), tree_.entries.end(), path,
                                     [](const Entry& e, const std::string& p) { return e.path < p; });
    if (at == tree_.entries.end() || at->path != path) return false;
    const auto i = static_cast<std::size_t>(at - tree_.entries.begin());
    return wanted_[i] && !begun_[i] && at->size <= kLargestSource;
  }

  FileResult file(std::size_t i) {
    const Entry& entry = tree_.entries[i];
    begun_[i] = true;
    try {
      std::unique_ptr<names::Source> parsed = project_->take(entry.path);
      return rewritten(entry, parsed ? std::string() : read_file(tree_.root / entry.path), std::move(parsed));
    } catch (const std::exception& error) {  // whatever befalls one file does not stop the others
      FileResult f;
      f.path = entry.path;
      f.kind = entry.kind;
      f.failed = true;
      f.findings.push_back(failure("IO002", rules::told("IO002", {error.what()})));
      return f;
    }
  }

  /// `parsed`: what the project has of the file already, with its text.
  FileResult rewritten(const Entry& entry, std::string text, std::unique_ptr<names::Source> parsed = nullptr) const {
    FileResult f;
    f.path = entry.path;
    f.kind = entry.kind;
    if (wide(parsed ? parsed->text : text)) {
      f.failed = true;
      f.findings.push_back(failure("IO003", rules::told("IO003")));
      return f;
    }
    if (entry.kind == FileKind::Python && !parsed && text.size() > kLargestSource) {
      f.failed = true;
      const std::string size = fmt::format("{:.1f} MiB", static_cast<double>(text.size()) / (1 << 20));
      f.findings.push_back(failure("IO007", rules::told("IO007", {size})));
      return f;
    }
    if (entry.kind == FileKind::Python) {
      if (!parsed) parsed = std::make_unique<names::Source>(std::move(text));
      {
        const names::Module module(entry.path, parsed->tree, &*project_);
        f.findings = python(module);
        if (options_.analysis) f.uses = rewrite::uses_of(module, options_.framework);
        project_->note(module);
      }
      text = std::move(parsed->text);
    } else if (!options_.automatic) {
      f.findings = text::file_findings(entry.path, text, [&](std::string_view source) {
        return python(names::Module(entry.path, source, &*project_));
      });
      // what is said about devices in such files is PyTorch's, but for NVIDIA's programs and packages
      if (options_.framework == "tensorflow")
        std::erase_if(f.findings, [](const Finding& finding) {
          return !finding.rule.starts_with("TF") && !finding.rule.starts_with("TX32") &&
                 !finding.rule.starts_with("TX33") && !finding.rule.starts_with("TX23") &&
                 !finding.rule.starts_with("TX1") && !finding.rule.starts_with("IO");
        });
      if (project_->registers_backends())
        for (Finding& finding : f.findings)
          if ((finding.rule == "TX202" || finding.rule == "TX302") && finding.confidence == Confidence::Likely) {
            finding.confidence = Confidence::Review;
            text::says_registered(finding.message);
          }
      rules::select(f.findings, text, options_.selection);
      for (Finding& finding : f.findings)
        finding.applied = !finding.edits.empty() && finding.confidence >= options_.least;
    }
    if (options_.analysis)
      for (Finding& finding : f.findings) finding.applied = false;
    f.after = source::apply(text, f.findings);
    f.changed = f.after != text;
    if (f.changed) f.before = std::move(text);
    else f.after.clear();
    return f;
  }

  std::vector<Finding> python(const names::Module& module) const {
    if (options_.automatic)
      return rewrite::is_entry(module.tree()) ? rewrite::automatic(module, rules_, options_.least)
                                              : std::vector<Finding>{};
    return rewrite::python(module, rules_, options_.framework, options_.least,
                           {.facts = facts_ ? &*facts_ : nullptr,
                            .conversion = conversion_ ? &*conversion_ : nullptr,
                            .tensorflow = &tensorflow_,
                            .chosen = &chosen_,
                            .selection = &options_.selection});
  }

  const Options& options_;
  unsigned threads_;
  rules::RuleSet rules_;
  std::optional<source::Words> words_;
  std::optional<rewrite::Facts> facts_;
  rewrite::Chosen chosen_;
  TensorFlowOptions tensorflow_;
  Tree tree_;
  std::optional<names::Project> project_;
  std::optional<rewrite::Conversion> conversion_;
  std::vector<char> wanted_;
  std::vector<std::optional<std::vector<std::string>>> modules_;  // that a source imports
  std::vector<char> imports_torch_, alone_;  // alone: to be looked at, and nothing of torch's is imported
  std::vector<char> imports_tensorflow_;
  std::atomic<std::size_t> torch_sources_ = 0;
  bool mostly_torch_ = false;             // TensorFlow's run of a large project of torch: only sources that import it
  bool partial_ = false;                  // of a large project only files that have one of the rules' words are parsed
  std::vector<std::atomic<bool>> begun_;  // a file's own turn
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<std::size_t> done_{0};
};

bool within(const fs::path& inner, const fs::path& outer) {
  const fs::path a = fs::weakly_canonical(inner), b = fs::weakly_canonical(outer);
  const auto [end, _] = std::mismatch(b.begin(), b.end(), a.begin(), a.end());
  return end == b.end();
}

}  // namespace

bool brings(std::string_view text, std::string_view package) {
  const auto modules = names::imported_modules(text);
  return std::any_of(modules.begin(), modules.end(),
                     [&](const std::string& module) { return rules::under(module, package); });
}

std::string framework_of(const fs::path& input, bool* both) {
  const Tree tree = walk(input);
  const source::Words words({"import torch", "from torch", "import tensorflow", "from tensorflow",
                             "import horovod.tensorflow", ", torch", ", tensorflow"});
  std::size_t torch = 0, tensorflow = 0;
  for (const Entry& e : tree.entries) {
    if (e.kind != FileKind::Python && e.kind != FileKind::Notebook) continue;
    try {
      const std::string text = read_file(tree.root / e.path);
      const std::vector<bool> seen = words.all(text);
      // import os, tensorflow as tf
      torch += seen[0] || seen[1] || (seen[5] && brings(text, "torch"));
      tensorflow += seen[2] || seen[3] || seen[4] || (seen[6] && brings(text, "tensorflow"));
    } catch (const Error&) {  // the run itself reports it
    }
    if (torch > tensorflow + 20) break;
  }
  // a line or two for another framework, in a project of many, are no part of it to be migrated
  if (both) *both = torch > 0 && tensorflow > 0 && std::min(torch, tensorflow) * 10 >= std::max(torch, tensorflow);
  return tensorflow > torch ? "tensorflow" : "pytorch";
}

ProjectResult migrate(const Options& options) {
  if (options.mode == Mode::Copy && fs::is_directory(options.input) && within(options.output, options.input))
    throw Error(
        code::kAclInvalidParam,
        "the output {} stands in the input {}: choose a folder outside it with -o (or --in-place to change the input)",
        options.output.string(), options.input.string());
  return Run(options).project();
}

FileResult migrate_text(const std::string& path, std::string text, const Options& options) {
  return Run(options).text(path, std::move(text));
}

namespace {

/// Whether a change of a rule stands in the output.
bool applied(const ProjectResult& result, std::string_view rule) {
  return std::any_of(result.files.begin(), result.files.end(), [&](const FileResult& f) {
    return f.changed && std::any_of(f.findings.begin(), f.findings.end(),
                                    [&](const Finding& finding) { return finding.applied && finding.rule == rule; });
  });
}

/// Which folders of a ModelArts job become which paths of the project: the defaults of its options.
std::string modelarts_table(const ProjectResult& result) {
  nlohmann::ordered_json table = {{"data", nlohmann::ordered_json::array()},
                                  {"output", nlohmann::ordered_json::array()}};
  std::set<std::pair<std::string, std::string>> seen;
  for (const FileResult& f : result.files) {
    if (!f.changed || f.kind != FileKind::Python) continue;
    for (const auto& path : rewrite::modelarts_paths(f.before))
      if (seen.insert(path).second) table[path.first].push_back({{"local", path.second}, {"remote", ""}});
  }
  for (auto& entries : table)
    if (entries.size() > 1)  // each has a folder of its own below the job's
      for (auto& entry : entries)
        entry["remote"] = fs::path(entry["local"].get<std::string>()).lexically_normal().filename().string();
  return table.dump(2) + "\n";
}

/// Modules that sources have come to import: functions in place of what the NPU lacks, the accelerator of Lightning,
/// the paths of a ModelArts job.
void write_modules(const fs::path& folder, const ProjectResult& result) {
  std::vector<rewrite::NewFile> files;
  if (applied(result, "PT811")) files = rewrite::equivalents();
  if (applied(result, "PT332")) files.push_back({std::string(rewrite::kLightningModule), rewrite::lightning_module()});
  if (!files.empty()) fs::create_directories(folder / "ascend_function");
  for (const rewrite::NewFile& file : files) replace_file(folder / file.path, file.text, folder / file.path);
  if (!applied(result, "PT841")) return;
  const fs::path module = folder / rewrite::kModelArtsModule, table = module.parent_path() / "paths.json";
  fs::create_directories(module.parent_path());
  replace_file(module, rewrite::modelarts_module(), module);
  if (!fs::exists(table)) replace_file(table, modelarts_table(result), table);  // a second run keeps the user's
}

}  // namespace

/// run_distributed_npu.sh, where one card became several.
static void write_launcher(const Options& options, const fs::path& root) {
  if (options.distributed_main.empty()) return;
  const fs::path launcher = root / "run_distributed_npu.sh";
  replace_file(launcher, rewrite::distributed_launcher(options.distributed_main), launcher);
  fs::permissions(launcher, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                  fs::perm_options::add);
}

void write_output(const Options& options, ProjectResult& result) {
  if (options.mode == Mode::Report) return;
  const bool one = fs::is_regular_file(options.input);
  const fs::path root = one ? options.input.parent_path() : options.input;
  if (options.mode == Mode::InPlace) {
    for (FileResult& f : result.files) {
      if (!f.changed) continue;
      try {
        replace_file(root / f.path, f.after, root / f.path);
      } catch (const Error& error) {
        f.changed = false;
        f.failed = true;
        for (Finding& finding : f.findings) finding.applied = false;
        f.findings.push_back(failure("IO004", rules::told("IO004", {error.text()})));
      }
    }
    write_modules(root, result);
    write_launcher(options, root);
    return;
  }
  const Tree tree = walk(options.input);
  std::error_code error;
  if (fs::create_directories(options.output, error); error)
    throw Error(code::kAclInvalidFile, "{} cannot be made: {}", options.output.string(), error.message());
  for (const std::string& folder : tree.folders) {
    fs::create_directories(options.output / folder, error);
    if (error)
      throw Error(code::kAclInvalidFile, "{} cannot be made: {}", (options.output / folder).string(), error.message());
  }
  std::vector<std::string> failed;
  std::mutex mutex;
  for_each(tree.entries.size(), options.threads ? options.threads : std::max(1U, std::thread::hardware_concurrency()),
           [&](std::size_t i) {
             const Entry& e = tree.entries[i];
             const fs::path from = tree.root / e.path, to = options.output / e.path;
             const auto found =
                 std::lower_bound(result.files.begin(), result.files.end(), e.path,
                                  [](const FileResult& f, const std::string& path) { return f.path < path; });
             try {
               if (e.link) {
                 std::error_code ignored;
                 fs::remove(to, ignored);
                 fs::copy_symlink(from, to);
               } else if (found != result.files.end() && found->path == e.path && found->changed) {
                 replace_file(to, found->after, from);
               } else {
                 run::copy_file(from, to);
               }
             } catch (const std::exception& problem) {
               const std::lock_guard lock(mutex);
               failed.push_back(e.path + ": " + problem.what());
             }
           });
  write_launcher(options, options.output);
  for (const std::string& what : failed) {
    FileResult f;
    f.path = what.substr(0, what.find(": "));
    f.failed = true;
    f.findings.push_back(failure("IO004", rules::told("IO004", {what})));
    result.files.push_back(std::move(f));
  }
  write_modules(options.output, result);
  for (const std::string& folder : tree.folders) {  // modes last: a folder may be read-only
    const fs::perms mode = fs::status(tree.root / folder, error).permissions();
    if (!error) fs::permissions(options.output / folder, mode | fs::perms::owner_all, error);
  }
}

}  // namespace updraft::migrate::run
