#include "graph/executor/loaded_model.h"

#include <algorithm>
#include <cstring>

#include "base/config.h"
#include "base/heap_room.h"
#include "base/parallel.h"
#include "base/recoded.h"
#include "device/device.h"
#include "device/observer.h"
#include "device/stream.h"
#include "graph/executor/interpreter.h"
#include "graph/executor/neighbours.h"
#include "graph/shape/aipp_inputs.h"
#include "ops/reach.h"

namespace updraft::graph {
namespace {

bool in_range(const TensorDesc& desc, size_t d, int64_t size) {
  if (d >= desc.ranges.size()) return size >= 0;
  const auto [least, most] = desc.ranges[d];
  return size >= std::max<int64_t>(least, 0) && (most < 0 || size <= most);
}

std::string range_text(const TensorDesc& desc) {
  std::string text;
  for (const auto& [least, most] : desc.ranges)
    text += fmt::format("{}{}", text.empty() ? "" : ", ",
                        most == least ? fmt::format("{}", least) : fmt::format("{}~{}", least, most));
  return text.empty() ? text : fmt::format(" in the range [{}]", text);
}

/// True where sizes are known, and no graph but this one may want the constants.
bool has_one_program(const Model& model) {
  return model.subgraphs.empty() &&
         std::ranges::all_of(model.graph->inputs(), [](const Node* node) { return node->output().desc.known(); });
}

}  // namespace

/// What a plan of a node allocates, and oneDNN for it.
constexpr size_t kHeapOfNode = 16 << 10;
/// Work up to this much may run in the thread that submits it, which is beside others as it is.
constexpr int64_t kLittleWork = 16 << 10;

/// What an operator refuses while a model runs is refused in the codes of models, not in those of its own call.
template <class F>
void as_a_model(F&& run) {
  recoded(code::kAclInvalidParam, "", run);
}

class ExecuteTask final : public Task {
 public:
  ExecuteTask(std::shared_ptr<LoadedModel> model, std::shared_ptr<Execution> execution, Stream& stream)
      : model_(std::move(model)), execution_(std::move(execution)) {
    work = execution_->work;
    composite = true;
    if (!model_->may_run_beside(*execution_) || stream.capturing()) return;
    stream_ = &stream;
    // an engine does one task at a time, host functions have a thread each
    if (neighbours().enter(stream)) kind = TaskKind::Host;
  }
  ~ExecuteTask() override {
    if (stream_) neighbours().leave(*stream_);
  }
  void run() override {
    as_a_model([this] {
      if (kind != TaskKind::Host) return model_->run(*execution_);
      const Neighbours::Share share(neighbours());
      model_->run(*execution_);
    });
  }
  void release() override { delete this; }
  const char* name() const override { return "MODEL_EXECUTE"; }
  uint32_t model() const override { return model_->id(); }

 private:
  Neighbours& neighbours() const { return Neighbours::of(model_->device()); }

  std::shared_ptr<LoadedModel> model_;
  std::shared_ptr<Execution> execution_;
  const Stream* stream_ = nullptr;  ///< where it counts among those that may run beside each other
};

LoadedModel::LoadedModel(Model model, Device& device, uint32_t id, std::vector<size_t> late, std::byte* weights)
    : model_(std::move(model)),
      device_(device),
      id_(id),
      late_(std::move(late)),
      weights_(model_, device, weights, has_one_program(model_)),
      arenas_(Arenas::of(device)) {
  for (const auto& node : graph().nodes()) {
    collectives_ = collectives_ || is_collective(*node);
    variables_ = variables_ || node->type() == "RefData";
  }
  Outline made = outline(graph(), late_);
  inputs_ = std::move(made.inputs);
  outputs_ = std::move(made.outputs);
  gears_ = std::move(made.gears);
  work_bytes_ = made.work_bytes;
  static_ = made.is_static;
  for (Outline::Planned& planned : made.programs)
    programs_.push_back({std::move(planned.dims), {}, std::move(planned.program), {}});
  const OwnScratch own;
  const auto bind = [&] {
    for (Kept& kept : programs_) {
      kept.runs.clear();
      if (static_ && kept.program) { const BorrowedRun planned(*this, kept.program, nullptr); }
    }
  };
  bind();
  if (weights_.settle()) bind();
}

LoadedModel::~LoadedModel() { arenas_->clear(); }  // it may have been the one that wanted so much

void LoadedModel::check(Execution& execution) const {
  if (execution.inputs.size() != inputs_.size() || execution.outputs.size() != outputs_.size())
    throw Error(code::kAclInvalidParam, "model {} has {} inputs and {} outputs, got {} and {}", id_, inputs_.size(),
                outputs_.size(), execution.inputs.size(), execution.outputs.size());
  if (gears_ && !execution.gear)
    throw Error(code::kAclInvalidParam,
                "model {} has the gears {}: choose one before the execution, by aclmdlSetDynamicBatchSize, "
                "aclmdlSetDynamicHWSize or aclmdlSetInputDynamicDims on the dataset of its inputs",
                id_, gears_->gears.text());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const TensorDesc& desc = inputs_[i]->output().desc;
    Buffer& buffer = execution.inputs[i];
    if (gears_ && execution.gear) buffer.dims = gears_->inputs.at(*execution.gear)[i];
    if (!static_ && buffer.dims.empty() && desc.known()) buffer.dims = desc.dims;
    const Dims& dims = buffer.dims.empty() && desc.known() ? desc.dims : buffer.dims;
    buffer.dtype = desc.dtype;
    bool fits = desc.rank_known() ? dims.size() == desc.dims.size() : true;
    for (size_t d = 0; fits && desc.rank_known() && d < desc.dims.size(); ++d)
      fits = desc.dims[d] < 0 ? in_range(desc, d, dims[d]) : desc.dims[d] == dims[d];
    if (!fits)
      throw Error(code::kAclInvalidParam, "input {} ({}) of model {} is {}{}, got the shape {}", i, inputs_[i]->name(),
                  id_, describe(desc), range_text(desc), describe(dims));
    const size_t want = input_bytes(*inputs_[i], dims);
    if (buffer.bytes < want || (want && !buffer.data))
      throw Error(code::kAclInvalidParam, "input {} ({}) of model {} is {}{}: want {} bytes, got {} at {}", i,
                  inputs_[i]->name(), id_, updraft::name_of(desc.dtype), describe(dims), want, buffer.bytes,
                  buffer.data);
  }
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const Buffer& buffer = execution.outputs[i];
    if (!outputs_[i].known() || !buffer.data) continue;
    const size_t want = static_cast<size_t>(outputs_[i].count()) * size_of(outputs_[i].dtype);
    if (buffer.bytes < want)
      throw Error(code::kAclInvalidParam, "output {} of model {} is {}: want {} bytes, got {}", i, id_,
                  describe(outputs_[i]), want, buffer.bytes);
  }
}

/// Nodes are told of when they run, by when others may have been told that they read the results, or what a model
/// updates in place.
void LoadedModel::tell_of_results(const Execution& execution, const Stream& stream) const {
  const auto tell = [&](const Buffer& buffer, size_t bytes) {
    if (!buffer.data) return;  // the model's own memory
    OrderEvent event{.what = OrderEvent::What::Written, .object = host_address(buffer.data), .client = buffer.data};
    event.device = device_.index();
    event.stream = stream.id();
    event.bytes = bytes;
    tell_order(event);
  };
  for (size_t i = 0; i < outputs_.size(); ++i)
    tell(execution.outputs[i], outputs_[i].known()
                                   ? static_cast<size_t>(outputs_[i].count()) * size_of(outputs_[i].dtype)
                                   : execution.outputs[i].bytes);
  if (!execution.program) return;
  for (const Step& step : execution.program->steps)
    for (const StepTensor& t : step.outputs)
      if (!t.absent && t.place.area == Place::Area::Input)
        tell(execution.inputs[t.place.index], execution.inputs[t.place.index].bytes);
}

void LoadedModel::execute(std::shared_ptr<Execution> execution, Stream& stream) {
  if (!execution->program) {
    check(*execution);
    if (static_) find_program(*execution);
    else find_kept(*execution);
  }
  execution->stream = &stream;
  if (watched()) [[unlikely]]
    tell_of_results(*execution, stream);
  if (collectives_) submit_parts(execution, stream);
  else stream.submit(new ExecuteTask(shared_from_this(), std::move(execution), stream));
}

bool LoadedModel::may_run_beside(const Execution& execution) const {
  // Who observes tasks gets them in the engine's order. Variables and a client's one block are for one execution at a
  // time; what is planned or interpreted on the way asks the graph, which is for one thread.
  return execution.program && execution.work > kLittleWork && !execution.arena && !execution.shared && !variables_ &&
         !deterministic() && !watched() && Config::get().threads > 1;
}

/// An execution of which several tasks do a part each; the last that lets go gives its memory back to the model.
struct PartsInFlight {
  std::shared_ptr<LoadedModel> model;
  std::shared_ptr<Execution> execution;
  uint64_t number = 0;  ///< of the execution
  std::optional<BorrowedRun> run;
};

namespace {

class PartTask final : public Task {
 public:
  PartTask(std::shared_ptr<PartsInFlight> parts, size_t first, size_t last)
      : parts_(std::move(parts)), first_(first), last_(last) {
    kind = TaskKind::Compute;
    work = INT64_MAX;
    composite = true;
  }
  void run() override {
    const OwnScratch own;
    as_a_model([this] { (*parts_->run)->run_steps(first_, last_, parts_->model->place(parts_->number)); });
  }
  void release() override { delete this; }
  const char* name() const override { return "MODEL_EXECUTE"; }
  uint32_t model() const override { return parts_->model->id(); }

 private:
  std::shared_ptr<PartsInFlight> parts_;
  size_t first_, last_;
};

}  // namespace

void LoadedModel::submit_parts(const std::shared_ptr<Execution>& execution, Stream& stream) {
  if (!execution->program) find_program(*execution);
  if (!execution->program)
    throw Error(
        code::kAclInvalidParam,
        "model {} has collectives, and values that are computed decide shapes or branches: take the collectives "
        "out of that graph",
        id_);
  give_addresses(*execution);
  auto parts = std::make_shared<PartsInFlight>();
  parts->model = shared_from_this();
  parts->execution = execution;
  parts->number = executions_.fetch_add(1, std::memory_order_relaxed);
  {
    const OwnScratch own;
    parts->run.emplace(*this, wants_whole(*execution->program) ? execution->program->whole : execution->program,
                       execution->arena);
  }
  const Program& program = parts->run->program();
  Run& run = **parts->run;
  run.begin(execution->reads, execution->writes);
  size_t first = 0;
  bool waits_for_ranks = false;
  for (size_t time = 0; time <= program.times(); ++time) {
    const Step* step = time < program.times() ? &program.steps[program.step_at(time)] : nullptr;
    const bool collective = step && step->node && is_collective(*step->node);
    if (step && !collective) continue;
    // the last one holds the memory until what stands before it has run, where that is a collective, too
    if (time > first || (!step && waits_for_ranks)) stream.submit(new PartTask(parts, first, time));
    if (!collective) continue;
    try {
      if (is_of_the_door(*step->node))
        collective_door()(*step->node, run.tensors(step->inputs), run.tensors(step->outputs), stream);
      else run.start_between_ranks(program.step_at(time), stream);
    } catch (...) {
      // the client may free its memory once it hears of the failure: the part before has to be over by then
      if (!waits_for_ranks) stream.synchronize();
      throw;
    }
    waits_for_ranks = true;
    first = time + 1;
  }
}

const std::vector<Known>* LoadedModel::prepare(Execution& execution) {
  check(execution);
  find_program(execution);
  return execution.program ? &execution.program->outputs : nullptr;
}

namespace {

bool same(const std::optional<Tensor>& a, const std::optional<Tensor>& b) {
  return a.has_value() == b.has_value() &&
         (!a || (a->dtype == b->dtype && a->dims == b->dims && a->data.text() == b->data.text()));
}

}  // namespace

LoadedModel::Kept* LoadedModel::kept_program(const std::vector<Dims>& dims, const Execution& execution) {
  for (auto kept = programs_.begin(); kept != programs_.end(); ++kept) {
    bool fits = kept->dims == dims;
    for (size_t i = 0; fits && i < kept->values.size(); ++i) fits = same(kept->values[i], execution.inputs[i].value);
    if (!fits) continue;
    programs_.splice(programs_.begin(), programs_, kept);
    return &programs_.front();
  }
  return nullptr;
}

bool LoadedModel::find_kept(Execution& execution) {
  std::vector<Dims> dims;
  if (!static_)
    for (const Buffer& b : execution.inputs) dims.push_back(b.dims);
  std::lock_guard lock(mutex_);
  const Kept* found = static_ && !programs_.empty() ? &programs_.front()  // the only one
                                                    : kept_program(dims, execution);
  if (!found) return false;
  execution.program = found->program;
  execution.work = found->work.value_or(INT64_MAX);
  return true;
}

void LoadedModel::find_program(Execution& execution) {
  if (find_kept(execution)) return;
  make_heap_room(graph().nodes().size() * kHeapOfNode);
  Kept kept;
  if (!static_)
    for (const Buffer& b : execution.inputs) kept.dims.push_back(b.dims);
  std::vector<Known> sizes;
  bool values = false;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const Buffer& b = execution.inputs[i];
    sizes.emplace_back(b.dtype, static_ ? inputs_[i]->output().desc.dims : b.dims);
    values = values || b.value;
  }
  auto planned = plan(graph(), sizes, late_);
  if (!planned && values) {  // values of the host may decide
    for (size_t i = 0; i < sizes.size(); ++i) {
      kept.values.push_back(execution.inputs[i].value);
      sizes[i].value = execution.inputs[i].value;
    }
    planned = plan(graph(), sizes, late_);
  }
  if (planned) kept.program = std::make_shared<Program>(std::move(*planned));
  std::lock_guard lock(mutex_);
  programs_.push_front(std::move(kept));
  if (programs_.size() > kMostPrograms) programs_.pop_back();
  execution.program = programs_.front().program;
}

BorrowedRun::BorrowedRun(LoadedModel& model, std::shared_ptr<const Program> program, std::byte* arena)
    : model_(model), program_(std::move(program)) {
  {
    std::lock_guard lock(model_.mutex_);
    const auto kept = std::ranges::find(model_.programs_, program_, &LoadedModel::Kept::program);
    if (kept != model_.programs_.end() && !kept->runs.empty()) {
      run_ = std::move(kept->runs.back());
      kept->runs.pop_back();
    }
  }
  std::span<std::byte> memory(arena, arena ? program_->most_bytes() : 0);
  if (!arena) {
    const size_t bytes = wants_whole(*program_) ? program_->most_bytes() : program_->arena_bytes;
    memory = model_.arenas_->take(bytes, run_ ? run_->arena() : nullptr);
    arena_ = memory.data();
  }
  try {
    if (run_) run_->use_arena(memory);
    else run_ = std::make_unique<Run>(program_, model_.weights_, model_.device_, memory);
  } catch (...) {
    model_.arenas_->give_back(arena_);
    throw;
  }
}

BorrowedRun::~BorrowedRun() {
  {
    std::lock_guard lock(model_.mutex_);
    const auto kept = std::ranges::find(model_.programs_, program_, &LoadedModel::Kept::program);
    if (kept != model_.programs_.end()) {
      const int64_t work = kept->work ? *kept->work : run_->work();
      if (work != INT64_MAX) kept->work = work;
      kept->runs.push_back(std::move(run_));
    }
  }
  run_.reset();
  model_.arenas_->give_back(arena_);
}

void LoadedModel::move_weights(std::byte* memory) {
  const OwnScratch own;
  std::lock_guard lock(mutex_);
  programs_.clear();  // plans and computed values may point into the old memory
  weights_.move_to(memory);
}

void LoadedModel::use_arena(std::byte* memory) {
  std::lock_guard lock(mutex_);
  for (Kept& kept : programs_)
    for (const auto& run : kept.runs) run->use_arena({memory, kept.program->most_bytes()});
  arenas_->clear();
}

void LoadedModel::give_result(Execution& execution, size_t i, const Known& known) {
  Buffer& buffer = execution.outputs[i];
  const size_t want = static_cast<size_t>(count_of(*known.dims)) * size_of(known.dtype);
  buffer.dims = *known.dims;
  buffer.dtype = known.dtype;
  if (!buffer.data) {
    std::lock_guard lock(mutex_);
    std::vector<DeviceBlock>& results = results_[execution.stream];
    results.resize(outputs_.size());
    if (results[i].bytes() < want) results[i] = DeviceBlock(device_, want);
    buffer.data = results[i].data();
    buffer.bytes = want;
  } else if (buffer.bytes < want) {
    throw Error(code::kAclInvalidParam, "output {} of model {} is {}{}: want {} bytes, got {}", i, id_,
                updraft::name_of(known.dtype), describe(*known.dims), want, buffer.bytes);
  }
}

/// Addresses of inputs and outputs; outputs without memory get some.
void LoadedModel::give_addresses(Execution& execution) {
  execution.reads.clear();  // a captured execution runs again
  execution.writes.clear();
  for (const Buffer& b : execution.inputs) execution.reads.push_back(b.data);
  for (size_t i = 0; i < execution.outputs.size(); ++i) {
    give_result(execution, i, execution.program->outputs[i]);
    execution.writes.push_back(execution.outputs[i].data);
  }
}

NodePlace LoadedModel::place(uint64_t execution) const { return {id_, -1, graph().name().c_str(), "", execution}; }

void LoadedModel::run(Execution& execution) {
  const NodePlace here = place(executions_.fetch_add(1, std::memory_order_relaxed));
  const OwnScratch own;  // values and memory of the model's own may lie on the host
  if (!execution.program) find_program(execution);
  if (execution.program) {
    give_addresses(execution);
    // several executions may be under way in a client's one block
    std::unique_lock<std::mutex> alone;
    if (execution.arena) alone = std::unique_lock(client_arena_);
    const BorrowedRun run(*this, execution.program, execution.arena);
    run->run(execution.reads, execution.writes, here);
    return;
  }
  std::vector<LiveTensor> inputs;
  for (const Buffer& b : execution.inputs) inputs.push_back({b.dtype, b.dims, b.data, nullptr});
  const std::vector<LiveTensor> outputs = interpret(model_, graph(), weights_, std::move(inputs), here);
  for (size_t i = 0; i < outputs.size(); ++i) {
    give_result(execution, i, {outputs[i].dtype, outputs[i].dims});
    if (const size_t bytes = outputs[i].bytes())
      std::memcpy(host_address(execution.outputs[i].data), host_address(outputs[i].data), bytes);
  }
}

}  // namespace updraft::graph
