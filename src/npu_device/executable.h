// A function, or one operator, made ready for arguments of certain kinds: its items in phases, which run on the device
// and on TensorFlow's CPU kernels in turns.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "npu_device/body.h"
#include "npu_device/cluster.h"
#include "npu_device/loop_form.h"
#include "npu_device/value.h"

namespace updraft::npu_device {

class Runtime;

/// What executables depend on of an argument, beside its shape.
struct ArgumentKind {
  ElementType type = ElementType::Invalid;
  int variable = -1;  ///< the first argument that is this variable
  bool operator==(const ArgumentKind&) const = default;
};
using Signature = std::vector<ArgumentKind>;
Signature signature_of(const std::vector<Value>& arguments);
/// A text that other signatures do not have.
std::string text_of(const Signature& signature);

class Executable {
 public:
  /// `on_cpu`: everything runs on TensorFlow's kernels.
  Executable(Runtime& runtime, Body body, Signature signature, bool on_cpu = false);

  /// `path`: the calls of If and While that lead here.
  std::vector<Value> run(const std::vector<Value>& arguments, const std::string& path = "");
  const Body& body() const { return body_; }

 private:
  enum class Kind : uint8_t { Argument, Constant, Nothing, Alias, Device, Control, Host };
  struct Phase {
    std::vector<int> items;
    std::shared_ptr<Cluster> cluster;  ///< null: on the CPU
  };
  /// What runs where. A refusal makes another one; runs that are under way keep theirs.
  struct Plan {
    std::vector<Kind> kinds;
    std::vector<Phase> phases;
    Kind of(int item) const { return kinds[static_cast<size_t>(item)]; }
  };
  using Values = std::vector<std::vector<Value>>;  ///< of each item

  void check_types_of_cards() const;
  Kind kind_of(const Item& item) const;
  std::shared_ptr<const Plan> plan();
  std::shared_ptr<const Plan> make_plan() const;
  void read_late(const Plan& plan, std::vector<size_t>& level) const;
  /// The item goes to the CPU from now on.
  std::shared_ptr<const Plan> move_to_host(const Refusal& refusal);
  void move_back(const std::vector<Refusal>& refusals);
  void run_one_by_one(const Plan& plan, Values& values, std::vector<bool>& done, const std::vector<Value>& arguments,
                      const std::string& path, std::vector<Refusal>& refusals);
  const Value& value_of(const Plan& plan, Ref ref, Values& values);
  Value constant(int index);
  void run_on_host(const Plan& plan, int index, Values& values, const std::string& path);
  std::vector<Value> run_on_kernel(const Item& item, const std::vector<Value>& inputs, const std::string& path);
  std::vector<Value> run_control(const Item& item, std::vector<Value> inputs, const std::string& path);
  std::vector<Value> run_loop(const Item& item, std::string_view condition, std::string_view body,
                              std::vector<Value> inputs, const std::string& path);

  Runtime& runtime_;
  const Body body_;
  const Signature signature_;
  const bool on_cpu_;
  std::vector<int> variables_;  ///< of items whose output is one: the argument
  std::mutex mutex_;
  std::set<int> refused_;  ///< items that the device cannot run
  std::shared_ptr<const Plan> plan_;
  std::map<const Item*, std::shared_ptr<const LoopForm>> loops_;
  std::vector<std::pair<int, Value>> constants_;  ///< that only TensorFlow knows
};

}  // namespace updraft::npu_device
