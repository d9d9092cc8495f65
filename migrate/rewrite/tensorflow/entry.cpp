// Which sources are programs, and which of those are to run on the NPU: tests, and programs that only prepare data,
// stay on the CPU.
#include <algorithm>
#include <array>
#include <set>

#include "migrate/rewrite/tensorflow/script.h"
#include "migrate/source/words.h"

namespace updraft::migrate::rewrite::tensorflow {
namespace {

constexpr int kDeepest = 8;  // of imports that lead to TensorFlow

bool contains(std::string_view text, std::string_view part) noexcept {
  return text.find(part) != std::string_view::npos;
}

/// Names of TensorFlow that read, write and describe data; none of them computes on a device.
bool handles_data(std::string_view api) noexcept {
  static constexpr std::array<std::string_view, 42> known = {"io",
                                                             "gfile",
                                                             "python_io",
                                                             "python.platform",
                                                             "python.lib.io",
                                                             "strings",
                                                             "logging",
                                                             "get_logger",
                                                             "flags",
                                                             "app",
                                                             "errors",
                                                             "data",
                                                             "version",
                                                             "__version__",
                                                             "TensorShape",
                                                             "TensorSpec",
                                                             "dtypes",
                                                             "DType",
                                                             "float32",
                                                             "float16",
                                                             "bfloat16",
                                                             "int64",
                                                             "int32",
                                                             "int8",
                                                             "uint8",
                                                             "string",
                                                             "bool",
                                                             "compat.as_str",
                                                             "compat.as_bytes",
                                                             "compat.as_text",
                                                             "compat.as_str_any",
                                                             "FixedLenFeature",
                                                             "VarLenFeature",
                                                             "FixedLenSequenceFeature",
                                                             "parse_single_example",
                                                             "parse_example",
                                                             "train.Example",
                                                             "train.SequenceExample",
                                                             "train.BytesList",
                                                             "train.Int64List",
                                                             "train.FloatList",
                                                             "enable_eager_execution"};
  return std::any_of(known.begin(), known.end(), [&](std::string_view k) { return rules::under(api, k); }) ||
         api.starts_with("train.Feature") || api.starts_with("image.decode_") || api.starts_with("image.encode_") ||
         api.starts_with("enable_v2_") || api == "compat";
}

/// What a program that prepares data has: it writes records, or files.
bool writes_data(std::string_view api) noexcept {
  return api.ends_with("TFRecordWriter") || rules::under(api, "train.Example") ||
         rules::under(api, "train.SequenceExample") || rules::under(api, "io.gfile") || rules::under(api, "gfile") ||
         rules::under(api, "python.platform.gfile") || api == "io.write_file";
}

/// Packages of which it is known that no model is run by importing them: a program that needs others may do anything.
bool harmless(std::string_view module) noexcept {
  static constexpr std::array<std::string_view, 82> known = {"__future__",
                                                             "absl",
                                                             "abc",
                                                             "argparse",
                                                             "array",
                                                             "ast",
                                                             "base64",
                                                             "bisect",
                                                             "bs4",
                                                             "codecs",
                                                             "collections",
                                                             "concurrent",
                                                             "contextlib",
                                                             "copy",
                                                             "csv",
                                                             "cv2",
                                                             "dataclasses",
                                                             "datetime",
                                                             "enum",
                                                             "fcntl",
                                                             "functools",
                                                             "gc",
                                                             "glob",
                                                             "gzip",
                                                             "h5py",
                                                             "hashlib",
                                                             "heapq",
                                                             "html",
                                                             "io",
                                                             "imageio",
                                                             "itertools",
                                                             "jieba",
                                                             "json",
                                                             "librosa",
                                                             "logging",
                                                             "lxml",
                                                             "math",
                                                             "matplotlib",
                                                             "multiprocessing",
                                                             "nltk",
                                                             "numpy",
                                                             "operator",
                                                             "os",
                                                             "pandas",
                                                             "pathlib",
                                                             "pickle",
                                                             "PIL",
                                                             "platform",
                                                             "pprint",
                                                             "pycocotools",
                                                             "queue",
                                                             "random",
                                                             "re",
                                                             "requests",
                                                             "scipy",
                                                             "sentencepiece",
                                                             "shutil",
                                                             "six",
                                                             "skimage",
                                                             "sklearn",
                                                             "soundfile",
                                                             "string",
                                                             "struct",
                                                             "subprocess",
                                                             "sys",
                                                             "tarfile",
                                                             "tempfile",
                                                             "tensorflow_datasets",
                                                             "threading",
                                                             "time",
                                                             "tqdm",
                                                             "typing",
                                                             "unicodedata",
                                                             "urllib",
                                                             "uuid",
                                                             "wave",
                                                             "xml",
                                                             "yaml",
                                                             "zipfile",
                                                             "importlib",
                                                             "unittest",
                                                             "apache_beam"};
  return source::among(known, module.substr(0, module.find('.')));
}

/// TensorFlow's name behind tensorflow. and compat.v1.: "" is the package itself.
std::string_view bare(std::string_view name) noexcept {
  const auto strip = [&](std::string_view prefix) {
    if (!rules::under(name, prefix)) return false;
    name.remove_prefix(std::min(name.size(), prefix.size() + 1));
    return true;
  };
  strip("tensorflow");
  while (strip("compat.v1") || strip("compat.v2")) {}
  return name;
}

/// Names that are asked of a variable, tf.io.gfile in tf.io.gfile.exists(x): read off the text, which is not parsed.
/// Comments and strings are stepped over.
template <class F>
void asked_of(std::string_view text, std::string_view variable, const F& found) {
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '"' || c == '\'') {
      const bool three = text.substr(at, 3) == std::string_view(c == '"' ? "\"\"\"" : "'''");
      const std::string_view end = text.substr(at, three ? 3 : 1);
      for (at += end.size(); at < text.size(); ++at) {
        if (text[at] == '\\') ++at;
        else if (text.substr(at, end.size()) == end || (!three && text[at] == '\n')) break;
      }
      at += end.size();
    } else if (source::is_name_byte(c)) {
      std::size_t end = at;
      while (end < text.size() && source::is_name_byte(text[end])) ++end;
      const bool member = at > 0 && text[at - 1] == '.';
      if (!member && text.substr(at, end - at) == variable) {
        std::size_t last = end;
        while (last + 1 < text.size() && text[last] == '.' && source::is_name_byte(text[last + 1]))
          for (++last; last < text.size() && source::is_name_byte(text[last]);) ++last;
        // its import binds it; elsewhere the bare name is the package itself, given away: f(tf)
        const std::string_view before = text.substr(0, at);
        if (last > end || !(before.ends_with("as ") || before.ends_with("import ")))
          found(text.substr(std::min(end + 1, last), last > end ? last - end - 1 : 0));
        end = last;
      }
      at = end;
    } else {
      ++at;
    }
  }
}

/// A program and what it imports of the project: whether any of it may compute, and whether it writes data.
class Preparation {
 public:
  explicit Preparation(const names::Project& project) : project_(project) {}

  bool only(const std::string& path) { return visit(path, 0) && writes_; }

 private:
  bool visit(const std::string& path, int depth) {
    if (!seen_.insert(path).second) return true;
    if (depth > kDeepest) return false;
    const auto summary = project_.summary(path);
    const std::string text = project_.text(path);
    std::set<std::string> at_module_level;
    for (const auto& [name, import] : summary->imports) {
      at_module_level.insert(import.module);
      const std::string whole =
          import.name.empty() ? import.module : import.module + (import.module.ends_with('.') ? "" : ".") + import.name;
      at_module_level.insert(whole);
      if (rules::under(whole, "tensorflow") && !data_alone(text, name, bare(whole))) return false;
    }
    // imports within functions count as well; what they bind there is not looked for
    const std::vector<std::string> modules = names::imported_modules(text);
    for (const std::string& module : modules) {
      if (rules::under(module, "tensorflow")) {
        if (!at_module_level.contains(module) || !summary_wildcards_are_data(*summary)) return false;
        continue;
      }
      const std::string file = project_.file_of(module, path);
      if (!file.empty()) {
        if (!visit(file, depth + 1)) return false;
      } else if (!module.starts_with('.') && !harmless(module) && !of_project(module, path) &&
                 !folder_of_project(module, modules, path)) {
        return false;
      }
    }
    return true;
  }

  /// What a variable of TensorFlow's is used for.
  bool data_alone(std::string_view text, std::string_view variable, std::string_view base) {
    if (!base.empty() && !handles_data(base)) return false;
    bool all = true;
    asked_of(text, variable, [&](std::string_view rest) {
      const std::string api = base.empty()   ? std::string(bare(rest))
                              : rest.empty() ? std::string(base)
                                             : std::string(base) + "." + std::string(rest);
      writes_ = writes_ || writes_data(api);
      if (base.empty() && !handles_data(api)) all = false;
    });
    return all;
  }

  static bool summary_wildcards_are_data(const names::Summary& summary) {
    return std::none_of(summary.wildcards.begin(), summary.wildcards.end(),
                        [](const std::string& module) { return rules::under(module, "tensorflow"); });
  }

  /// package.module.NAME, where package.module is a file: NAME is what it holds.
  bool of_project(std::string_view module, const std::string& path) const {
    const std::size_t dot = module.rfind('.');
    return dot != std::string_view::npos && !project_.file_of(module.substr(0, dot), path).empty();
  }

  /// A package without __init__.py: what is imported from it is of the project.
  bool folder_of_project(std::string_view module, const std::vector<std::string>& others,
                         const std::string& path) const {
    return std::any_of(others.begin(), others.end(), [&](const std::string& other) {
      return other.size() > module.size() && rules::under(other, module) && !project_.file_of(other, path).empty();
    });
  }

  const names::Project& project_;
  std::set<std::string> seen_;
  bool writes_ = false;
};

/// Whether a module of the project uses TensorFlow, itself or by what it imports of the project.
bool reaches_tensorflow(const names::Project& project, const std::string& path, std::set<std::string>& seen,
                        int depth) {
  if (depth > kDeepest || !seen.insert(path).second) return false;
  const auto summary = project.summary(path);
  const auto follow = [&](const std::string& module) {
    const std::string file = project.file_of(module, path);
    return file.empty() ? of_tensorflow(module) : reaches_tensorflow(project, file, seen, depth + 1);
  };
  for (const auto& [name, import] : summary->imports) {
    const bool relative = import.module.ends_with('.');
    if (follow(import.module) || (!import.name.empty() && follow(import.module + (relative ? "" : ".") + import.name)))
      return true;
  }
  return std::any_of(summary->wildcards.begin(), summary->wildcards.end(), follow);
}

/// Whether a program imports something of a package that the project is only a part of.
bool imports_around(const names::Project& project, const std::string& path) {
  const auto summary = project.summary(path);
  return std::any_of(summary->imports.begin(), summary->imports.end(),
                     [&](const auto& import) { return project.around(import.second.module, path); });
}

}  // namespace

bool of_tensorflow(std::string_view module) noexcept {
  return rules::under(module, "tensorflow") || rules::under(module, "horovod.tensorflow") ||
         rules::under(module, "horovod.keras");
}

NodeId main_guard(const syntax::Tree& tree) {
  for (NodeId id : tree.children(0)) {
    if (tree.kind(id) != Kind::If) continue;
    const std::string_view condition = tree.text(tree.child(id, Field::Condition));
    if (contains(condition, "__name__") && contains(condition, "__main__")) return tree.child(id, Field::Consequence);
  }
  return kNone;
}

void Script::find_entry() {
  const std::string& path = sites.module.path();
  if (!options.main_file.empty() && path == options.main_file) {
    entry_ = true;
    return;  // the user says so: it runs on the NPU, whatever it is
  }
  test_ = tests();
  if (options.strategy == Strategy::Horovod && starts_horovod()) {
    entry_ = true;
  } else if (is_entry(tree())) {
    std::set<std::string> seen;
    const names::Project* project = sites.module.project();
    entry_ = about_ || (project && reaches_tensorflow(*project, path, seen, 0));
    unseen_ = !entry_ && !test_ && !options.beside_torch && project && imports_around(*project, path);
    prepares_ = entry_ && !test_ && project && Preparation(*project).only(path);
  }
}

/// hvd.init() outside functions: the file is a program.
bool Script::starts_horovod() const {
  for (NodeId id = 0; id < tree().size(); ++id)
    if (tree().kind(id) == Kind::Call &&
        sites.module.scopes()[sites.module.scopes().of(id)].kind == names::ScopeKind::Module &&
        horovod(tree().child(id, Field::Function)) == "init")
      return true;
  return false;
}

/// Test programs: named as test runners find them, or run by tf.test.main(), unittest.main().
bool Script::tests() const {
  const std::string_view path = sites.module.path();
  const std::string_view file = path.substr(path.rfind('/') + 1);
  if (file.starts_with("test_") || file.ends_with("_test.py")) return true;
  for (NodeId c : tree().children(main_guard(tree()))) {
    const std::string_view text = this->text(c);
    for (std::string_view main :
         {"test.main(", "unittest.main(", "googletest.main(", "pytest.main(", "combinations.main("})
      if (contains(text, main)) return true;
  }
  return false;
}

}  // namespace updraft::migrate::rewrite::tensorflow
