// What the sources of a project are to each other: what they import, and what each offers by which name.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "migrate/syntax/tree.h"

namespace updraft::migrate::names {

// What a source imports, read off its lines without parsing it.

/// Modules of its import statements as written, relative ones with their dots; of `from m import a, b` m, m.a and m.b.
std::vector<std::string> imported_modules(std::string_view text);

/// Whether a source registers something of its own under the name of NCCL: @ENGINES.register("nccl"),
/// {"nccl": NcclEngine}.
bool registers_nccl(std::string_view text) noexcept;

// The user's own modules: which import means which file, and what a module offers to others. Files are looked into
// only when somebody asks, once, by any thread.

enum class What : std::uint8_t {
  Unknown,
  Api,       ///< something outside the project, by its dotted name: torch.cuda.is_available
  Module,    ///< a file of the project; `name` is its path
  Class,     ///< of the project; `name` is PATH#NAME
  Function,  ///< of the project; likewise
  Instance,  ///< of a class; `name` is the class's (own: PATH#NAME)
  Member,    ///< an attribute of such an instance: CLASS.ATTRIBUTE
  String     ///< a literal; `name` is its text
};

struct Value {
  What what = What::Unknown;
  std::string name;
  bool own = false;  ///< of the project
  bool sure = true;  ///< every binding agrees

  explicit operator bool() const noexcept { return what != What::Unknown; }
  bool is_api(std::string_view api) const noexcept { return what == What::Api && name == api; }
  bool operator==(const Value& o) const noexcept { return what == o.what && own == o.own && name == o.name; }
};

struct FunctionInfo {
  std::vector<std::string> parameters;  ///< names in order; "*" from the first starred one on
};

struct ClassInfo {
  std::vector<std::string> bases;  ///< as written: nn.Module
  std::unordered_map<std::string, FunctionInfo> methods;
  std::vector<std::string> forwarding;  ///< methods whose body names them again: def cuda(self): self.x.cuda()
};

/// An import that nobody has followed yet.
struct Import {
  std::string module, name;  ///< as in Binding
};

/// What a module offers, read off its own text alone: imports are followed when somebody asks for the name.
struct Summary {
  std::unordered_map<std::string, Value> names;  ///< constants, classes, functions
  std::unordered_map<std::string, Import> imports;
  std::unordered_map<std::string, FunctionInfo> functions;
  std::unordered_map<std::string, ClassInfo> classes;
  std::vector<std::string> wildcards;  ///< modules of `from m import *`
  bool asks_for_npu = false;           ///< it chooses between vendors by itself
};

/// A source and its tree, which points into the text.
struct Source {
  explicit Source(std::string t) : text(std::move(t)), tree(text) {}
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  std::string text;
  const syntax::Tree tree;
};

class Module;

class Project {
 public:
  using Reader = std::function<std::string(const std::string& path)>;
  /// `python` are paths relative to the root, with '/'; `read` gives the text of one, empty where it cannot. `package`
  /// is the dotted name of the root where it is a package itself, of larger ones perhaps: "official.vision".
  Project(Reader read, const std::vector<std::string>& python, std::string package = {});

  /// Sources of which `wanted` says that their own turn comes are kept for `take` once they are parsed for a summary.
  void keep(std::function<bool(const std::string& path)> wanted) { wanted_ = std::move(wanted); }
  /// A kept source, which is forgotten; null where there is none.
  std::unique_ptr<Source> take(const std::string& path) const;
  /// Makes the summary of a module that is at hand. Its names are resolved anew afterwards.
  void note(const Module& module) const;

  /// Path of the file that `module` means in the file `from`; empty where it is not of the project.
  std::string file_of(std::string_view module, std::string_view from) const;
  /// Whether `module` is of a package that the root is only a part of, and not below the root: nobody has read it.
  bool around(std::string_view module, std::string_view from) const;
  /// A source's text, read anew.
  std::string text(const std::string& path) const { return read_(path); }
  /// Never null; empty for what cannot be read or is being read by the caller already.
  std::shared_ptr<const Summary> summary(const std::string& path) const;
  /// A name of a module of the project, through its re-exports.
  Value member(const std::string& path, const std::string& name, int depth = 0) const;
  /// What an import in a file brings.
  Value imported(const std::string& from, const std::string& module, const std::string& name, int depth = 0) const;
  /// Whether an import in a file brings a name of a module of the project that chooses between vendors by itself.
  bool asks_for_npu(const std::string& from, const std::string& module, const std::string& name, int depth = 0) const;
  /// A dotted name as a file's module level understands it.
  Value resolve(const std::string& path, const std::string& dotted, int depth = 0) const;
  /// An attribute of a module, class or API.
  Value attribute(const Value& base, const std::string& name, int depth = 0) const;
  /// Null where the project has no such class. `id` is PATH#NAME.
  const ClassInfo* class_info(const std::string& id) const;
  const FunctionInfo* function_info(const std::string& id) const;
  /// Whether a class of the project is one of these, by its bases. Unknown bases count as no.
  bool derives(const std::string& id, const std::function<bool(std::string_view)>& from, int depth = 0) const;
  /// The class (PATH#NAME) that defines a method: the class itself or a base of the project; empty where none does.
  std::string defines(const std::string& id, const std::string& method, int depth = 0) const;

  /// Whether a method of the user's own looks like the framework's and stays (`def cuda(self)` of a class that is
  /// neither Module nor Tensor and moves nothing) while x.NAME is asked somewhere of an x that nobody knows.
  bool doubtful(std::string_view method) const;
  /// Whether something of the project may have a flag of that name: args.cuda.
  bool has_flag(std::string_view name) const;
  /// Whether any class of the project may have a method of that name.
  bool has(std::string_view method) const;
  void note_method(std::string_view method);
  void note_doubtful(std::string_view method);
  void note_flag(std::string_view name);
  /// Whether a source that imports nothing of torch's works beside torch: others that do import it, or it is a
  /// configuration that they read.
  bool beside_torch(const std::string& path) const { return beside_.contains(path); }
  void note_beside_torch(const std::string& path) { beside_.emplace(path, true); }
  /// Whether the project has something of its own that is asked for by the name nccl.
  bool registers_backends() const noexcept { return registers_backends_; }
  void note_registered_backend() noexcept { registers_backends_ = true; }
  /// Whether a class's own method is to be renamed with the framework's.
  bool follows(const std::string& id, const std::string& method) const;

 private:
  Reader read_;
  std::string package_;
  std::unordered_map<std::string, std::string> modules_;  // dotted name, from several roots → path
  std::unordered_map<std::string, bool> files_;
  mutable std::recursive_mutex mutex_;
  mutable std::unordered_map<std::string, std::shared_ptr<const Summary>> summaries_;
  std::function<bool(const std::string& path)> wanted_;
  mutable std::unordered_map<std::string, std::unique_ptr<Source>> kept_sources_;
  mutable std::size_t kept_bytes_ = 0;  // of their texts
  bool registers_backends_ = false;
  std::unordered_map<std::string, bool> doubtful_, methods_, flags_, beside_;
};

}  // namespace updraft::migrate::names
