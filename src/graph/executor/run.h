// Runs of a program on one device.
#pragma once
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "device/chain/flat_chain.h"
#include "device/device_block.h"
#include "graph/executor/collective.h"
#include "graph/executor/shared_constant.h"
#include "graph/node_call.h"
#include "graph/planner/program.h"
#include "kernels/constant_operand.h"

struct aclOpExecutor;

namespace updraft {
struct NodePlace;
}

namespace updraft::graph {

/// The constants of a model's graphs on a device, and what products and convolutions keep of them.
class Weights {
 public:
  /// From here on the graphs' constants share this memory, and no longer the bytes that they were made from.
  /// `memory`: of a client, of weight_bytes() or more; null: memory of its own, and for large constants memory that it
  /// shares with other models that have the same ones. `keep_files`: weights of products and
  /// convolutions that lie in a mapped file stay there until settle().
  Weights(const Model& model, Device& device, std::byte* memory = nullptr, bool keep_files = false);
  /// What lies in files and was not brought into another form is brought onto the device; the rest stays in its file,
  /// where other forms are made of it when they are asked for. True where there was some: what was planned with it has
  /// old addresses. Before the first run.
  bool settle();

  struct Weight {
    std::byte* data = nullptr;
    ConstantOperand* constant = nullptr;  ///< of tensors that may be weights of a product
  };
  const Weight& of(const Node& node) const { return weights_.at(&node); }
  size_t bytes() const { return bytes_; }
  /// The constants move into memory of a client, which lives as long as the model; theirs is given back. Nothing may
  /// run meanwhile.
  void move_to(std::byte* memory);

 private:
  void bring(Node& node, std::byte* to);
  void share(Node& node, bool prepared);
  void lies_at(Node& node, std::byte* data, std::shared_ptr<const void> owner);

  Device& device_;
  DeviceBlock block_, late_;   ///< late_: of settle()
  std::byte* base_ = nullptr;  ///< of the constants, as clients see it
  size_t bytes_ = 0;
  std::unordered_map<const Node*, Weight> weights_;
  std::vector<Node*> in_files_;
  std::vector<std::pair<Node*, size_t>> places_;  ///< of all constants, in a client's memory
  std::vector<std::unique_ptr<ConstantOperand>> operands_;
  std::unordered_map<const Node*, std::shared_ptr<SharedConstant>> shared_;
};

/// True where the program has steps for some images of a batch, and not they are run but whole tensors: somebody
/// observes operators or limits their time, or wants the same bits from any number of threads, which decides how many
/// images.
bool wants_whole(const Program& program);

/// A program with memory: the plans of its operators, for addresses of inputs and outputs that may change from run to
/// run. One run at a time.
class Run {
 public:
  /// `arena`: memory of Program::arena_bytes or more for what lives during a run; empty: it has some of its own.
  Run(std::shared_ptr<const Program> program, const Weights& weights, Device& device, std::span<std::byte> arena = {});
  Run(const Run&) = delete;

  /// The same from now on. Another address means that every operator is planned anew.
  void use_arena(std::span<std::byte> memory);
  const std::byte* arena() const { return arena_.data(); }

  /// In the thread of an engine. `place` is what observers are told: the model, its graph, the number of the execution.
  void run(std::span<void* const> inputs, std::span<void* const> outputs, const NodePlace& place);
  /// Rough number of element operations of a run, as Task::work; known after one.
  int64_t work() const;
  /// The same in parts, for programs with collectives: what the run reads and writes, then what it does from time
  /// `first` to `last` (not included; Program::step_at).
  void begin(std::span<void* const> inputs, std::span<void* const> outputs);
  void run_steps(size_t first, size_t last, const NodePlace& place);
  /// Tensors of a step that is a collective.
  std::vector<CollectiveTensor> tensors(const std::vector<StepTensor>& of) const;
  /// Puts a step that is an operator between ranks on the stream.
  void start_between_ranks(size_t step, Stream& stream);
  /// Steps that the latest run did together with others (Chained).
  size_t chained() const { return chained_; }

 private:
  struct Recycle {
    void operator()(aclOpExecutor* plan) const;
  };
  struct Planned {
    std::vector<void*> addresses;  ///< of the inputs, then of the outputs that are in Bound
    std::unique_ptr<aclOpExecutor, Recycle> plan;
    uint64_t number = 0;  ///< of all plans that this run has made
  };
  /// Steps in a row that work element by element: they go through their arrays together, a piece at a time, so that
  /// what one makes is still in the cache when the next reads it.
  struct Chained {
    std::vector<uint64_t> plans;  ///< that it was made of
    FlatChain chain;
  };
  struct Bound {
    std::unique_ptr<NodeCall> call;  ///< null: a copy
    /// The one that ran last first. Clients' allocators give the same few addresses again and again, so some are kept.
    std::vector<Planned> plans;
    /// The inputs and outputs of the graph that it reads or writes: other addresses want another plan.
    std::vector<size_t> inputs, outputs;
    bool moves() const { return !inputs.empty() || !outputs.empty(); }
  };
  static constexpr size_t kMostPlans = 4;  ///< of a step
  aclOpExecutor& bind(size_t step);
  /// Gives the step's call its tensors.
  void give_tensors(size_t step, NodeCall& call) const;
  aclOpExecutor& plan_of(size_t step);
  /// Runs the steps from `time` on, before `last`, that are element by element work on large arrays, together. How many
  /// they were; 0: there are not two.
  size_t run_chain(size_t time, size_t last);
  /// What the step does, where it is element by element work on large arrays; else null.
  const FlatWork* flat_work_of(size_t step);
  bool fits(const Bound& bound, const Planned& planned) const;
  void* address(const StepTensor& tensor) const;
  CallTensor tensor_of(const StepTensor& tensor) const;

  std::shared_ptr<const Program> program_;
  const Weights& weights_;
  Device& device_;
  DeviceBlock own_arena_;
  std::span<std::byte> arena_;
  std::vector<Bound> bound_;
  std::vector<std::unique_ptr<Chained>> chains_;  ///< by the time at which they begin
  std::unique_ptr<Run> whole_;                    ///< of Program::whole, once somebody wanted to see it
  std::vector<void*> inputs_, outputs_;
  uint64_t plans_made_ = 0;
  size_t chained_ = 0;
};

}  // namespace updraft::graph
