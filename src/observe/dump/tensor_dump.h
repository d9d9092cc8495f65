// The observer that writes operators' tensors: all that the settings name, those that overflow, or those that fail.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>

#include "observe/dump/operator_files.h"
#include "observe/overflow/detection.h"

namespace updraft::dump {

class TensorDump final : public Observer {
 public:
  TensorDump(Settings settings, FileWriter& writer);
  void task_begun(const TaskEvent& task) override;
  void task_ended(const TaskEvent& task) override;

  const Settings& settings() const { return settings_; }
  /// Names of dump_list that no operator had which ran meanwhile, with their keys; "" where all were met.
  std::string unknown_names() const;

 private:
  /// What is kept of an operator between its begin and its end.
  struct Pending {
    OperatorFile::Place place;
    std::unique_ptr<OperatorFile> file;
    std::string figures;
    overflow::Before before;
  };
  /// The rule that names the operator's graph; null: none.
  const ModelRule* rule_of(const TaskEvent& task) const;
  /// Whether the list has the operator's name, function or type, or is empty; the name counts as met.
  bool named(const std::vector<std::string>& layers, const TaskEvent& task);
  bool wanted(const TaskEvent& task);
  /// `number`: the name of what no graph names.
  OperatorFile::Place place_of(const TaskEvent& task, std::string number) const;
  void keep(uint64_t id, Pending pending);
  bool take(uint64_t id, Pending& pending);
  void end_dump(const TaskEvent& task, Pending& pending);
  void end_overflow(const TaskEvent& task, Pending& pending);
  void write_figures(const TaskEvent& task, Pending& pending);
  void write_failure(const TaskEvent& task);
  void watch(const TaskEvent& task);

  const Settings settings_;
  FileWriter& writer_;
  const std::string root_;  ///< dump_path and the time
  CallNumbers numbers_;
  mutable std::mutex mutex_;
  std::set<const std::string*> met_;  ///< names of dump_list that an operator had
  bool met_any_ = false;
  std::unordered_map<uint64_t, Pending> pending_;
  /// Outputs of watcher_nodes, by model and node.
  std::map<std::pair<uint32_t, std::string>, std::pair<std::string, std::vector<TensorArgument>>> watched_;
};

}  // namespace updraft::dump
