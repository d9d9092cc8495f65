// One TensorFlow script as the rules of this folder see it: resolved names of tf and hvd, calls bound to signatures,
// edits on statements and arguments, and what has to be imported for what was written.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "migrate/rewrite/sites.h"
#include "migrate/rewrite/tensorflow/options.h"

namespace updraft::migrate::rewrite::tensorflow {

/// What edits rely on; the header brings it (header.cpp).
enum Need : unsigned {
  NeedNone = 0,
  NeedNpu = 1,     ///< the name `npu` for npu_device
  NeedCompat = 2,  ///< what npu_device.compat.v1.npu_init exports
  NeedRankId = 4,  ///< get_rank_id and the like of hccl.manage.api
  NeedRankSize = 8,
  NeedLocalRank = 16,
  NeedLocalSize = 32,
  NeedOs = 64,
  NeedTf = 128
};

/// The names in a call's parentheses, by parameter.
struct Argument {
  std::string name;      ///< of the parameter; empty where it cannot be told
  NodeId node = kNone;   ///< whole: `rate=0.5`
  NodeId value = kNone;  ///< the expression
};

struct Call {
  NodeId node = kNone, callee = kNone, list = kNone;
  std::vector<Argument> arguments;
  bool splat = false;  ///< *args or **kwargs: what is missing may be in it

  const Argument* find(std::string_view parameter) const noexcept;
};

class Script {
 public:
  Script(Sites& sites, const TensorFlowOptions& options, Confidence least);

  Sites& sites;
  const TensorFlowOptions& options;
  const Confidence least;

  const syntax::Tree& tree() const noexcept { return sites.tree(); }
  std::string_view text(NodeId node) const noexcept { return tree().text(node); }

  /// A program: the file with which training starts, or another that is started by itself.
  bool entry() const noexcept { return entry_; }
  /// A program of tests. It stays as it is, on the CPU, unless the user takes its findings.
  bool test() const noexcept { return test_; }
  /// A program that reads and writes data and computes nothing on a device: no NPU is opened in it.
  bool prepares_data() const noexcept { return prepares_; }
  /// A program of which it cannot be told whether TensorFlow runs in it: what it imports lies around the project.
  bool unseen() const noexcept { return unseen_; }
  /// It imports TensorFlow or Horovod.
  bool about_tensorflow() const noexcept { return about_; }

  /// What an expression is; names that `from tensorflow.x import *` may have brought as well.
  Value value(NodeId expression) const { return value(expression, 0); }
  /// "keras.optimizers.Adam" for tensorflow.keras.…, tensorflow.compat.v1.keras.…, …; empty for what is not of
  /// TensorFlow.
  std::string api(const Value& value) const;
  std::string api(NodeId expression) const { return api(value(expression)); }
  /// "callbacks.MetricAverageCallback" for what is of Horovod, of whichever flavour; empty else.
  std::string horovod(const Value& value) const;
  std::string horovod(NodeId expression) const { return horovod(value(expression)); }
  /// Whether a name of TensorFlow is meant as in 1.x: it was reached by compat.v1.
  static bool of_v1(const Value& value) noexcept;

  /// A call with its arguments bound to parameters (without self).
  Call call(NodeId node, std::initializer_list<std::string_view> parameters) const;
  /// Whether the call's result is a statement of its own.
  bool is_statement(NodeId expression) const noexcept;
  /// Whether an expression is an argument of a call of something that ends in NAME (npu_config_proto(x)).
  bool inside_call_of(NodeId expression, std::string_view name) const noexcept;

  /// A finding of one of this folder's rules (texts.cpp). Its edits rely on `needs`.
  Finding& add(std::string_view rule, NodeId node, Confidence confidence, std::string api, unsigned needs = NeedNone);
  /// Prints an API as reports name it: tf.keras…, hvd.….
  static std::string shown(std::string_view resolved);

  Edit insert(std::uint32_t at, std::string written) const { return {at, at, std::move(written)}; }
  Edit replace(NodeId node, std::string written) const { return sites.replace(node, std::move(written)); }
  /// Deletes a statement (an expression's or an import) with its line; leaves `pass` where a block would be empty or
  /// the line is shared.
  Edit remove_statement(NodeId statement) const;
  /// Adds `, name=value` to a call, or `name=value` to one without arguments.
  Edit add_argument(const Call& call, const std::string& written) const;
  /// Deletes some arguments, with the commas between.
  std::vector<Edit> remove_arguments(const Call& call, const std::vector<NodeId>& gone) const;

  /// `npu`, or `npu_device` where the script gives `npu` another meaning.
  const std::string& npu() const noexcept { return npu_; }
  /// How `tensorflow.REST` is written in this script: tf.REST.
  std::string tf(std::string_view rest) const;
  bool has_tf() const noexcept { return !tf_.empty(); }

  /// Whether a finding's edits will be applied: it is sure enough, and the user did not forbid it.
  bool will(const Finding& finding) const noexcept;
  /// In a program of tests nothing is sure enough to be done unasked.
  void hold_back();
  /// Before the header: what the user forbade has no edits, and blocks that lost all of their statements get `pass`.
  void settle();
  /// Needs of what will be applied.
  unsigned needs() const;
  /// Nodes of Horovod's names that are gone in the output.
  std::unordered_set<NodeId> converted;
  void convert(NodeId subtree);

 private:
  Value value(NodeId expression, int depth) const;
  bool wildcard(std::string_view package, std::string& module) const;
  void find_names();
  void find_entry();
  bool starts_horovod() const;
  bool tests() const;

  std::vector<std::pair<std::size_t, unsigned>> needs_;  // findings' indices
  std::unordered_set<std::size_t> kept_;                 // likewise
  struct Removal {
    NodeId block = kNone, statement = kNone;
    Edit edit;
  };
  mutable std::vector<Removal> removals_;
  std::string npu_ = "npu", tf_;
  bool entry_ = false, about_ = false, test_ = false, prepares_ = false, unseen_ = false;
};

/// Horovod's launcher and its parts for other frameworks open no device of TensorFlow's.
bool of_tensorflow(std::string_view module) noexcept;
/// The block of `if __name__ == "__main__":`; kNone without one.
NodeId main_guard(const syntax::Tree& tree);

/// An expression that can stand as an operand: a + b gets parentheses.
std::string operand(const Script& script, NodeId expression);
/// The innermost function that a node is in; kNone at module level.
NodeId enclosing_function(const syntax::Tree& tree, NodeId node) noexcept;

// The stages, each in a file of its own.
void datasets(Script& script);
void keras(Script& script);
void strategies(Script& script);
void horovod(Script& script);
void devices(Script& script);
void sessions(Script& script);
void estimators(Script& script);
void dropout(Script& script);
void hints(Script& script);
void header(Script& script);
/// Every use of an API with its class of support. Last: what other findings say counts.
void api_uses(Script& script);

/// The rule of a finding that code makes; `id` is known.
const rules::Rule& rule(std::string_view id);

}  // namespace updraft::migrate::rewrite::tensorflow
