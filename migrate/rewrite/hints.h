// Advice by pattern: what an NPU operator does in one go, shapes that depend on data, precision, and what makes the
// host wait. Reports only; the words and the names to take are those of support/data/affinity.tsv and advice.tsv.
#pragma once
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "migrate/rewrite/passes.h"
#include "migrate/rewrite/sites.h"

namespace updraft::migrate::rewrite {

/// All hints on a source, in one walk.
void hints(Sites& sites, const Facts& facts);

namespace hint {

/// A walk over one source, and what it collects.
class Walk {
 public:
  Walk(Sites& sites, const Facts& facts) : s(sites), tree(sites.tree()), facts_(facts) {}
  void run();

  Sites& s;
  const syntax::Tree& tree;

  /// Reports what the tables say of a resolved name or of "pattern:X"; nothing where they say nothing.
  void affinity(std::string_view name, NodeId node, Confidence confidence);
  void advise(std::string_view name, NodeId node, Confidence confidence);
  /// Like the others, once in a file.
  void once(std::string_view name, NodeId node, Confidence confidence);

  /// Last part of what a call calls.
  std::string_view callee(NodeId call) const;
  /// Resolved name of what a call calls (of an instance that is called, its class's); empty where that is unknown.
  std::string resolved(NodeId call) const;
  /// Whether an expression is a tensor: known to be one, or nothing else in sight in a source that has only tensors.
  bool tensor(NodeId expression) const;
  NodeId argument(NodeId call, std::string_view keyword, int position) const;
  bool has_stars(NodeId call) const;
  std::string_view operator_of(NodeId binary) const;

 private:
  void report(const char* rule, NodeId node, Confidence confidence, std::string_view name, std::string_view suggestion,
              Text text);

  const Facts& facts_;
  std::set<std::string, std::less<>> said_;
};

/// Each of them is asked about nodes of the kinds that it knows, once.
void fused_call(Walk& walk, NodeId call);
void fused_product(Walk& walk, NodeId binary);
void fused_definition(Walk& walk, NodeId definition);
void shape_call(Walk& walk, NodeId call);
void shape_subscript(Walk& walk, NodeId subscript);
void dtype(Walk& walk, NodeId attribute);
/// Switches of torch.backends that are set.
void setting(Walk& walk, NodeId attribute);
void tensor_condition(Walk& walk, NodeId statement);
/// Whether advice on a name depends on how it is used: a function here asks, not every call.
bool advised_by_case(std::string_view name) noexcept;
void window(Walk& walk, NodeId call);
void loader(Walk& walk, NodeId call);

/// Calls that wait for the device: told once their loop is known to train.
class Waits {
 public:
  void call(Walk& walk, NodeId call);
  void tell(Walk& walk) const;

 private:
  std::vector<NodeId> trained_;                          // innermost loops that hold a backward()
  std::vector<std::pair<NodeId, std::string>> waiting_;  // call, name in the table
};

}  // namespace hint
}  // namespace updraft::migrate::rewrite
