// The comparison of two sides: rows in the columns of msaccucmp's result file.
#pragma once
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "observe/compare/custom_measures.h"
#include "observe/compare/graph_rule.h"
#include "observe/compare/measures.h"
#include "observe/compare/side.h"

namespace updraft::compare {

struct Options {
  std::string mine, golden;                        ///< folders, or two files
  std::string rule, quantised_rule, unfused_rule;  ///< -f, -q, -cf
  std::string output = ".";
  std::vector<Measure> measures;
  std::shared_ptr<CustomMeasures> custom;  ///< -c; null: none
  std::vector<std::string> custom_names;   ///< those of them that were chosen
  /// Of all cells of a line: the measures', then the custom ones'.
  std::vector<std::string> measure_names() const;
  bool overflow = false, advisor = false, mapping = false;
  std::string range, select;  ///< -r, -s
  int64_t most = 0;           ///< -max
  std::string op;             ///< -op
  std::optional<int> input, output_index;
  int top = 20, lines = 1000000;
  bool without_detail = false;
  int threads = 0;  ///< 0: as many as there are
};

/// A line of the result: a tensor of an operator, or an operator that could not be compared.
struct Line {
  int index = 0, sequence = 0;
  std::string type, mine, mine_type = "NaN", mine_address = "NaN";
  std::string golden, golden_type = "NaN", golden_address = "NaN";
  std::string tensor = "NaN", shape = "NaN", overflow = "NaN";
  std::vector<Cell> cells;
  std::string reason;
  std::string mine_path, golden_path;
  bool is_output = false;
};

/// A tensor of mine and the one that it is compared with.
struct Pair {
  Line line;  ///< without cells
  Array mine, golden;
  std::string refusal;  ///< why there is nothing to compare
};

class Comparison {
 public:
  /// Reads both sides and the rules. Throws Error.
  explicit Comparison(Options options);

  const Options& options() const { return options_; }
  bool mine_is_npu() const { return mine_.is_npu(); }
  bool golden_is_npu() const { return golden_.is_npu(); }
  bool has_sequence() const { return !options_.range.empty() || !options_.select.empty(); }
  const std::vector<std::string>& notes() const { return notes_; }
  const GraphRule* rule() const { return rule_ ? &*rule_ : nullptr; }

  /// All lines in the order of the operators. `progress` is told how many of how many operators are done.
  std::vector<Line> run(const std::function<void(size_t, size_t)>& progress = {});
  /// True when some operator was on both sides.
  bool matched() const { return matched_; }
  /// The pairs of one operator, by its name (-op).
  std::vector<Pair> pairs_of(const std::string& op);

 private:
  struct Unit {  // what is compared as one: an operator
    int index = 0;
    const RuleOperator* op = nullptr;  ///< null without a rule
    std::string name;
  };
  std::vector<Unit> units() const;
  std::vector<Pair> pairs(const Unit& unit) const;
  std::vector<Pair> plain_pairs(const Unit& unit) const;
  std::vector<Pair> ruled_pairs(const Unit& unit) const;
  Pair missing(const Unit& unit, const std::string& reason) const;
  /// Name and output of the golden side that an output of an operator of the rule stands for.
  std::pair<std::string, int> golden_of(const RuleOperator& op, int output, int depth = 0) const;
  std::pair<std::string, int> golden_input_of(const RuleOperator& op, int input) const;
  std::string golden_names(const RuleOperator& op) const;
  void match_rules();
  Line finish(Pair pair, int threads) const;

  Options options_;
  Side mine_, golden_;
  std::optional<GraphRule> rule_, unfused_;
  std::vector<std::string> notes_;
  bool matched_ = false;
};

/// Cells and reasons of the custom measures, behind the others.
void add_custom(Row& row, const Options& options, const Array& x, const Array& y, const std::string& mine,
                const std::string& golden);

/// "[2,3]".
std::string shape_text(const std::vector<int64_t>& dims);

}  // namespace updraft::compare
