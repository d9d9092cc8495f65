// A model on a device: what aclmdlLoad… makes, and what graph sessions keep of a graph.
#pragma once
#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "graph/executor/arenas.h"
#include "graph/executor/outline.h"
#include "graph/executor/run.h"

namespace updraft {
class Stream;
}

namespace updraft::graph {

/// Memory of an input or output of one execution.
struct Buffer {
  /// As clients see it; null for an output: memory of the model's own, valid until its next run in the same stream.
  void* data = nullptr;
  size_t bytes = 0;
  Dims dims;  ///< of inputs, empty where they are as described; of outputs set by the execution
  DType dtype = DType::Undefined;
  std::optional<Tensor> value;  ///< of an input whose values the host has: `data` points to them
};

/// One execution: the caller reads the outputs when its stream has passed it.
struct Execution {
  std::vector<Buffer> inputs, outputs;
  std::optional<size_t> gear;              ///< of models with gears: the inputs have its sizes
  std::shared_ptr<const Program> program;  ///< that prepare() found
  int64_t work = INT64_MAX;                ///< of that program, as Task::work; the largest where it is not known yet
  std::vector<void*> reads, writes;        ///< the addresses of inputs and outputs, of the run
  /// Memory of a client for what lives during the run, of work_bytes() or more; null: the model has its own.
  std::byte* arena = nullptr;
  std::shared_ptr<const void> shared;  ///< what must live until it is over, and is for one execution at a time
  const Stream* stream = nullptr;      ///< that execute() puts it on
};

class LoadedModel : public std::enable_shared_from_this<LoadedModel> {
 public:
  /// Brings the constants onto the device, into `weights` of `weight_bytes()` or more where a client gives memory. The
  /// graph's descriptions say what may be run: sizes that are known are the only ones. With all sizes known the program
  /// is made at once, else at the first execution with its sizes. `late`: outputs that are written when all else has
  /// run, because their memory is an input's.
  LoadedModel(Model model, Device& device, uint32_t id, std::vector<size_t> late = {}, std::byte* weights = nullptr);
  ~LoadedModel();

  const Graph& graph() const { return *model_.graph; }
  const Model& model() const { return model_; }
  Device& device() const { return device_; }
  uint32_t id() const { return id_; }
  /// What observers are told of an execution; `execution`: how many began before it.
  NodePlace place(uint64_t execution) const;

  const std::vector<const Node*>& inputs() const { return inputs_; }
  /// Descriptions of the outputs: -1 where a size is not known before the execution.
  const std::vector<TensorDesc>& outputs() const { return outputs_; }

  /// Puts an execution on the stream. Checks numbers and sizes at once (161002); what an operator refuses fails the
  /// stream.
  void execute(std::shared_ptr<Execution> execution, Stream& stream);

  /// True when the sizes of all tensors are known before an execution.
  bool is_static() const { return static_; }

  /// Plans for the sizes of the inputs, now. The types and sizes of the outputs; null where values decide them.
  const std::vector<Known>* prepare(Execution& execution);

  /// The sizes that clients choose from; null for models without gears.
  const Gears* gears() const { return gears_ ? &gears_->gears : nullptr; }
  std::shared_ptr<const GearTable> gear_table() const { return gears_; }
  /// Shapes of the inputs in a gear, of models that have some.
  const std::vector<Dims>& gear_inputs(size_t gear) const { return gears_->inputs.at(gear); }
  void choose_gear(size_t gear) { gears_->chosen = gear; }

  size_t weight_bytes() const { return weights_.bytes(); }
  /// The constants lie in a client's memory of weight_bytes() from now on. Before the first execution.
  void move_weights(std::byte* memory);
  /// The executions that were prepared have a client's memory of work_bytes(), and none of the model's own.
  void use_arena(std::byte* memory);
  /// Memory of one execution; 0 where sizes are not known.
  size_t work_bytes() const { return work_bytes_; }

 private:
  friend class ExecuteTask;
  friend class BorrowedRun;
  struct Kept {
    std::vector<Dims> dims;
    std::vector<std::optional<Tensor>> values;  ///< that it was planned with; empty: it serves all values
    std::shared_ptr<const Program> program;     ///< null: values decide, so it is run node by node
    std::vector<std::unique_ptr<Run>> runs;     ///< idle ones
    std::optional<int64_t> work = {};           ///< of a run, once there was one
  };
  void run(Execution& execution);
  /// True for executions of which several may run at the same time.
  bool may_run_beside(const Execution& execution) const;
  /// Programs with collectives: their parts are tasks of the stream, the collectives between them are its operations.
  void submit_parts(const std::shared_ptr<Execution>& execution, Stream& stream);
  void give_result(Execution& execution, size_t i, const Known& known);
  void give_addresses(Execution& execution);
  void check(Execution& execution) const;
  void tell_of_results(const Execution& execution, const Stream& stream) const;
  /// Of those that are planned. False: there is none for these sizes.
  bool find_kept(Execution& execution);
  void find_program(Execution& execution);
  Kept* kept_program(const std::vector<Dims>& dims, const Execution& execution);

  static constexpr size_t kMostPrograms = 128;  ///< more than a model has gears

  Model model_;
  Device& device_;
  const uint32_t id_;
  const std::vector<size_t> late_;
  Weights weights_;
  std::vector<const Node*> inputs_;
  std::vector<TensorDesc> outputs_;
  std::shared_ptr<GearTable> gears_;  ///< null without gears
  size_t work_bytes_ = 0;
  bool static_ = false;
  bool collectives_ = false;             ///< the graph has some
  bool variables_ = false;               ///< it writes memory that all executions share
  std::atomic<uint64_t> executions_{0};  ///< that have begun
  std::mutex mutex_;
  std::mutex client_arena_;               ///< held by an execution in memory of a client
  const std::shared_ptr<Arenas> arenas_;  ///< for all others
  std::list<Kept> programs_;              ///< the latest first
  /// Of outputs without memory of the client, by stream, until the next execution there.
  std::map<const Stream*, std::vector<DeviceBlock>> results_;
};

/// A run of a program that one execution has for itself, until it goes: then others may have it. `arena`: of a client;
/// null: one that all models share. The model must outlive it.
class BorrowedRun {
 public:
  BorrowedRun(LoadedModel& model, std::shared_ptr<const Program> program, std::byte* arena);
  BorrowedRun(const BorrowedRun&) = delete;
  ~BorrowedRun();
  const Program& program() const { return *program_; }
  Run& operator*() const { return *run_; }
  Run* operator->() const { return run_.get(); }

 private:
  LoadedModel& model_;
  const std::shared_ptr<const Program> program_;
  std::byte* arena_ = nullptr;  ///< that is no client's
  std::unique_ptr<Run> run_;
};

}  // namespace updraft::graph
