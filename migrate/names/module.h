// Whether a source chooses between vendors by itself.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "migrate/names/project.h"
#include "migrate/names/scopes.h"
#include "migrate/syntax/tree.h"

namespace updraft::migrate::names {

/// npu as a word of a name: is_npu_available, IS_NPU, torch_npu, NPUAccelerator; neither input nor INPUT_SIZE.
bool says_npu(std::string_view name) noexcept;
/// Whether the code asks for NPUs: is_npu_available(), torch.npu, device == "npu", {"npu": …}. A source that imports
/// torch_npu in any case is for NPUs alone and chooses nothing; a list of names that are allowed asks for none of them.
bool asks_for_npu(const syntax::Tree& tree);

// One Python source with its names resolved.

class Module {
 public:
  /// `text` must outlive the module; `project` may be null (a lone file).
  Module(std::string path, std::string_view text, const Project* project);
  /// Likewise of a tree that was made before.
  Module(std::string path, const syntax::Tree& tree, const Project* project);
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  const std::string& path() const noexcept { return path_; }
  const syntax::Tree& tree() const noexcept { return tree_; }
  const Scopes& scopes() const noexcept { return scopes_; }
  const Project* project() const noexcept { return project_; }

  /// What an expression is. Unknown where that cannot be said.
  Value value(NodeId expression) const { return value(expression, 0); }
  /// Likewise, but names that come from other files of the project stay unknown: nothing else is read.
  Value local(NodeId expression) const;
  Value value_of(const Binding& binding) const { return value_of(binding, 0); }
  /// Dotted name of what an import binding brings.
  Value imported(const Binding& binding) const;
  /// The expressions that may stand behind one: through names, conditionals, `or`, parentheses, defaults, self.x.
  void sources(NodeId expression, std::vector<NodeId>& found, int depth = 0) const;
  /// The parameter that an argument of a call is bound to: by keyword, else by position in `parameters`. Empty where
  /// positions cannot be told (after a starred argument).
  static std::string parameter(const syntax::Tree& tree, NodeId argument, const std::vector<std::string>& parameters);
  /// Parameters of a function_definition or lambda.
  std::vector<std::string> parameters(NodeId function) const;
  /// The literal's text without quotes, where it is one plain string without escapes or interpolation.
  bool plain_string(NodeId literal, std::string& text) const;

  /// What others see of it. Forgets what was resolved so far.
  Summary summarise() const;

 private:
  Value value(NodeId expression, int depth) const;
  Value tried(NodeId name) const;
  Value value_of(const Binding& binding, int depth) const;
  Value merge(const std::vector<Binding>& bindings, int depth) const;
  Value attribute(const Value& base, std::string_view name) const;
  Value called(const Value& callee) const;
  std::string id_of(NodeId definition) const;

  std::string path_;
  std::optional<syntax::Tree> own_;
  const syntax::Tree& tree_;
  Scopes scopes_;
  const Project* project_;
  mutable std::unordered_map<NodeId, Value> known_, known_locally_;
  mutable bool locally_ = false;
};

/// Whether a class is an Enum by what its bases are called.
bool is_enum(const syntax::Tree& tree, NodeId definition) noexcept;

/// Whether a class outside the project is torch's Module or Tensor (or a well-known heir of them).
bool is_module_or_tensor(std::string_view api) noexcept;

}  // namespace updraft::migrate::names
