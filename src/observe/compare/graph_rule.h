// What a graph in JSON (atc --mode=5) says of its operators: which operators of the original network each stands for.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace updraft::compare {

/// An output of an operator and where it comes from.
struct RuleOutput {
  std::string origin;  ///< operator of the original network, empty: none
  int origin_index = 0;
  std::string format;  ///< there, "" where the graph does not say
  std::vector<int64_t> shape;
};

struct RuleOperator {
  std::string name, type;
  int sequence = 0;                                 ///< its id in the graph
  int group = 0;                                    ///< operators of one group stand for the same original ones
  std::vector<std::pair<std::string, int>> inputs;  ///< operator and output
  std::vector<std::string> originals;               ///< empty names: added by the compiler
  std::vector<RuleOutput> outputs;
};

class GraphRule {
 public:
  /// Throws Error 100006 with the place in the file.
  explicit GraphRule(const std::string& path);

  const std::string& graph() const { return graph_; }  ///< field graph.name
  const std::vector<RuleOperator>& operators() const { return operators_; }
  const RuleOperator* find(const std::string& name) const;
  /// The operators of a group, in their order.
  std::vector<const RuleOperator*> group(int group) const;
  int groups() const { return groups_; }
  /// The operator and output of this graph that stands for an output of the original network; an empty name: none.
  std::pair<std::string, int> standing_for(const std::string& origin, int index) const;
  /// Names of its inputs (operators Data).
  const std::vector<std::string>& data() const { return data_; }

 private:
  std::string graph_;
  std::vector<RuleOperator> operators_;
  std::map<std::string, size_t> by_name_;
  std::map<std::pair<std::string, int>, std::pair<std::string, int>> by_origin_;
  std::vector<std::string> data_;
  int groups_ = 0;
};

}  // namespace updraft::compare
