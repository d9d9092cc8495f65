// What the rules work on in one Python source: its names, the rules, and the findings so far.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/names/module.h"
#include "migrate/rules/rule.h"

namespace updraft::migrate {
struct TensorFlowOptions;
}

namespace updraft::migrate::rewrite {

using names::Value;
using names::What;
using syntax::Field;
using syntax::Kind;
using syntax::kNone;
using syntax::NodeId;

/// Which nodes a pass has taken for itself: it has said something about them, and later passes leave them alone.
class Claims {
 public:
  explicit Claims(std::size_t nodes) : owners_(nodes, 0) {}

  /// The pass that claims from now on.
  void begin(std::string_view pass) { names_.push_back(pass); }
  bool taken(NodeId node) const noexcept { return owners_[node] != 0; }
  void take(NodeId node);
  /// Whose a node is; empty where nobody took it.
  std::string_view owner(NodeId node) const noexcept {
    return owners_[node] == 0 ? std::string_view() : names_[owners_[node] - 1];
  }
  /// A node that two passes took.
  struct Clash {
    NodeId node;
    std::string_view first, second;
  };
  const std::vector<Clash>& clashes() const noexcept { return clashes_; }

 private:
  std::vector<std::uint8_t> owners_;  // 1 + the place in names_
  std::vector<std::string_view> names_;
  std::vector<Clash> clashes_;
};

struct Sites {
  const names::Module& module;
  const rules::RuleSet& rules;
  std::string framework;
  std::vector<Finding> findings;
  Claims claims;
  bool about_torch = false;  ///< the source imports torch, or what is made for it

  Sites(const names::Module& m, const rules::RuleSet& r, std::string f);

  const syntax::Tree& tree() const noexcept { return module.tree(); }
  bool applies(const rules::Rule& rule) const noexcept { return rule.framework.empty() || rule.framework == framework; }
  /// A finding at a node. The caller adds edits.
  Finding& add(const rules::Rule& rule, NodeId node, Confidence confidence, std::string api = {});
  /// Replaces a node's text.
  Edit replace(NodeId node, std::string text) const;
  /// The user forbade changes here: a comment `updraft: keep` stands on one of the node's lines. Where it names rules,
  /// keep[PT101], only their findings are left out, at the end (rules/selection.h).
  bool kept(NodeId node) const;

 private:
  /// The lines with that comment, from their first byte to behind their last. Found once: a line may be very long.
  struct Line {
    std::size_t begin, end;
  };
  std::vector<Line> kept_lines_;
};

inline Confidence lower(Confidence a, Confidence b) noexcept { return a < b ? a : b; }

/// Whether x.METHOD stands in a source where it cannot be told what x is.
bool calls_unknown(const names::Module& module, std::string_view method);
/// Whether a name holds options: args.cuda is a flag, not the method.
bool names_options(std::string_view name) noexcept;
/// Whether a source is started as a program: it asks for __main__.
bool is_entry(const syntax::Tree& tree);
/// The same, or it does its work at module level.
bool starts(const syntax::Tree& tree);

// New import lines beside an existing one.

/// Whether an import statement imports a package or something in it.
bool imports(const syntax::Tree& tree, NodeId statement, std::string_view package);

/// The first import of a package that is carried out: at module level, else in a function; kNone without any.
NodeId first_import(const Sites& sites, std::string_view package);

/// Whether a source imports a package outside of functions.
bool imported_by_module(const Sites& sites, std::string_view package);

/// An insertion of one line (`import x`, several joined by '\n') after a statement, or before it, with its indentation
/// and the source's line ends. Statements that share a line are joined by "; ".
Edit insert_line(const syntax::Tree& tree, NodeId statement, std::string_view line, bool before);

/// Lines that append the project's folder to sys.path, for a source at `path` in it: a script in a folder is started
/// with that folder there. Empty for a source that stands in the project's folder itself.
std::string on_path(std::string_view path);

/// The first statement of a module that is neither its docstring nor an import of __future__; kNone in an empty one.
NodeId first_statement(const syntax::Tree& tree);

}  // namespace updraft::migrate::rewrite
