#include "graph/executor/run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device/device.h"
#include "device/failure_summary.h"
#include "device/observer.h"
#include "device/waits/time_limits.h"
#include "graph/executor/plan_ahead.h"
#include "graph/passes/precision.h"
#include "ops/handles.h"
#include "ops/op.h"

namespace updraft::graph {

namespace {

/// A plan may look at the values of constants up to this size (axes, shapes, bounds).
constexpr int64_t kMostLookedAt = 64;
/// Plans of a step that does more work than this, in element operations, are kept one at a time: they may have memory
/// of their own between their steps, and to make one anew is little beside its work.
constexpr int64_t kMostKeptWork = 64 << 10;
/// Steps of less work than this are not chained: their arrays stay in the cache from one step to the next.
constexpr int64_t kChainWork = 64 << 10;
/// What a step costs beside its elements, in element operations.
constexpr int64_t kStepWork = 1024;

Dims channels_last_strides(const Dims& dims) {
  Dims strides(dims.size());
  int64_t step = 1;
  auto next = [&](size_t d) {
    strides[d] = step;
    step *= dims[d];
  };
  next(1);
  for (size_t d = dims.size(); d-- > 2;) next(d);
  next(0);
  return strides;
}

}  // namespace

bool wants_whole(const Program& program) {
  return program.whole && (watched() || has_close_limit() || deterministic());
}

Run::Run(std::shared_ptr<const Program> program, const Weights& weights, Device& device, std::span<std::byte> arena)
    : program_(std::move(program)),
      weights_(weights),
      device_(device),
      own_arena_(device, arena.data() ? 0 : program_->arena_bytes),
      arena_(arena.data() ? arena : std::span(own_arena_.data(), own_arena_.bytes())) {
  inputs_.resize(program_->inputs.size());
  outputs_.resize(program_->outputs.size());
  bound_.resize(program_->steps.size());
  chains_.resize(program_->times());
  for (size_t s = 0; s < bound_.size(); ++s) {
    const Step& step = program_->steps[s];
    for (const auto* tensors : {&step.inputs, &step.outputs})
      for (const StepTensor& t : *tensors) {
        if (t.absent) continue;
        if (t.place.area == Place::Area::Input) bound_[s].inputs.push_back(t.place.index);
        if (t.place.area == Place::Area::Output) bound_[s].outputs.push_back(t.place.index);
      }
    if (!step.node || is_collective(*step.node)) continue;  // copies have no plan
    bound_[s].call = std::make_unique<NodeCall>(*step.node);
  }
  std::vector<size_t> fixed, cubes;
  for (size_t s = 0; s < bound_.size(); ++s) {
    if (!bound_[s].call || bound_[s].moves()) continue;
    fixed.push_back(s);
    if (is_cube(program_->steps[s].node->type())) cubes.push_back(s);
  }
  PlanAhead ahead(std::move(cubes), [this](size_t s) {
    NodeCall call(*program_->steps[s].node);
    give_tensors(s, call);
    const std::unique_ptr<aclOpExecutor, Recycle> plan(call.call().make());
  });
  for (size_t s : fixed) {
    ahead.reached(s);
    bind(s);
  }
}

void Run::Recycle::operator()(aclOpExecutor* plan) const { recycle_executor(plan); }

void Run::use_arena(std::span<std::byte> memory) {
  if (memory.data()) {
    own_arena_ = DeviceBlock();
  } else {
    if (!own_arena_.data()) own_arena_ = DeviceBlock(device_, program_->arena_bytes);
    memory = {own_arena_.data(), own_arena_.bytes()};
  }
  const bool moves = memory.data() != arena_.data();
  arena_ = memory;
  if (!moves) return;
  whole_.reset();
  for (Bound& bound : bound_) bound.plans.clear();
}

void* Run::address(const StepTensor& t) const {
  switch (t.place.area) {
    case Place::Area::Arena: return arena_.data() + t.place.offset;
    case Place::Area::Input: return static_cast<std::byte*>(inputs_[t.place.index]) + t.place.offset;
    case Place::Area::Output: return static_cast<std::byte*>(outputs_[t.place.index]) + t.place.offset;
    case Place::Area::Constant: return weights_.of(*program_->constants[t.place.index]).data;
    default: return const_cast<std::byte*>(program_->values[t.place.index].data.data());
  }
}

CallTensor Run::tensor_of(const StepTensor& t) const {
  CallTensor tensor{t.dtype, t.dims};
  if (t.channels_last) tensor.strides = channels_last_strides(t.dims);
  else if (!t.strides.empty()) tensor.strides = t.strides;
  tensor.data = address(t);
  const bool constant = t.place.area == Place::Area::Constant;
  if (constant) tensor.constant = weights_.of(*program_->constants[t.place.index]).constant;
  tensor.on_host = (constant || t.place.area == Place::Area::Value) && count_of(t.dims) <= kMostLookedAt;
  return tensor;
}

void Run::give_tensors(size_t s, NodeCall& call) const {
  const Step& step = program_->steps[s];
  for (const Parameter& p : call.call().info().parameters)
    if (p.kind == Kind::Tensors) call.call().set_empty(p.name);
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    if (!step.inputs[i].absent) call.set_input(i, tensor_of(step.inputs[i]));
    else if (call.inputs()[i].parameter->kind == Kind::Tensors)
      call.call().add_absent(call.inputs()[i].parameter->name);
  }
  for (size_t i = 0; i < step.outputs.size(); ++i) call.set_output(i, tensor_of(step.outputs[i]));
}

aclOpExecutor& Run::bind(size_t s) {
  Bound& bound = bound_[s];
  give_tensors(s, *bound.call);
  Planned made;
  made.plan.reset(bound.call->call().make());
  for (size_t i : bound.inputs) made.addresses.push_back(inputs_[i]);
  for (size_t i : bound.outputs) made.addresses.push_back(outputs_[i]);
  prepare_constants(*made.plan);
  made.number = ++plans_made_;
  const size_t most = made.plan->work <= kMostKeptWork ? kMostPlans : 1;
  if (bound.plans.size() >= most) bound.plans.resize(most - 1);
  bound.plans.insert(bound.plans.begin(), std::move(made));
  return *bound.plans.front().plan;
}

void Run::begin(std::span<void* const> inputs, std::span<void* const> outputs) {
  std::ranges::copy(inputs, inputs_.begin());
  std::ranges::copy(outputs, outputs_.begin());
  chained_ = 0;
}

bool Run::fits(const Bound& bound, const Planned& planned) const {
  auto address = planned.addresses.begin();
  return std::ranges::all_of(bound.inputs, [&](size_t i) { return inputs_[i] == *address++; }) &&
         std::ranges::all_of(bound.outputs, [&](size_t i) { return outputs_[i] == *address++; });
}

aclOpExecutor& Run::plan_of(size_t s) {
  Bound& bound = bound_[s];
  for (size_t i = 0; i < bound.plans.size(); ++i) {
    if (!fits(bound, bound.plans[i])) continue;
    if (i > 0)
      std::rotate(bound.plans.begin(), bound.plans.begin() + static_cast<ptrdiff_t>(i),
                  bound.plans.begin() + static_cast<ptrdiff_t>(i) + 1);
    return *bound.plans.front().plan;
  }
  return bind(s);
}

int64_t Run::work() const {
  int64_t sum = 0;
  for (size_t time = 0; time < program_->times(); ++time) {
    const size_t s = program_->step_at(time);
    const Step& step = program_->steps[s];
    if (step.node && bound_[s].plans.empty()) return INT64_MAX;
    const int64_t of_step = step.node ? bound_[s].plans.front().plan->work : count_of(step.inputs[0].dims);
    if (__builtin_add_overflow(sum, of_step, &sum) || __builtin_add_overflow(sum, kStepWork, &sum)) return INT64_MAX;
  }
  return sum;
}

void Run::run(std::span<void* const> inputs, std::span<void* const> outputs, const NodePlace& place) {
  if (wants_whole(*program_)) {
    // the memory may have room for it now, or none any more
    const auto memory = arena_.size() >= program_->whole->arena_bytes ? arena_ : std::span<std::byte>();
    if (whole_) whole_->use_arena(memory);
    else whole_ = std::make_unique<Run>(program_->whole, weights_, device_, memory);
    whole_->run(inputs, outputs, place);
    return;
  }
  begin(inputs, outputs);
  run_steps(0, program_->times(), place);
}

std::vector<CollectiveTensor> Run::tensors(const std::vector<StepTensor>& of) const {
  std::vector<CollectiveTensor> all;
  for (const StepTensor& t : of)
    if (!t.absent) all.push_back({address(t), t.dtype, t.dims});
  return all;
}

void Run::start_between_ranks(size_t s, Stream& stream) {
  const Node& node = *program_->steps[s].node;
  try {
    NodeCall call(node);  // a plan of its own for each run: its parts are used up
    give_tensors(s, call);
    call.call().run(stream);
  } catch (const Error& e) { throw_of(node, e); }
}

namespace {
/// Its failure says what it was called with.
void run_summarised(aclOpExecutor& plan) {
  try {
    run_in_time(plan);
  } catch (...) { rethrow_with_summary(plan); }
}
}  // namespace

const FlatWork* Run::flat_work_of(size_t s) {
  if (!bound_[s].call) return nullptr;  // a copy, or a collective
  try {
    const aclOpExecutor& plan = plan_of(s);
    if (plan.work < kChainWork) return nullptr;
    return plan.steps.size() == 1 && !plan.body ? plan.steps[0]->flat() : plan.flat();
  } catch (const Error& e) { throw_of(*program_->steps[s].node, e); }
}

// The chain is kept as long as its steps keep their plans: whether arrays overlap depends on their addresses.
size_t Run::run_chain(size_t time, size_t last) {
  const auto work_at = [&](size_t at) { return flat_work_of(program_->step_at(at)); };
  const auto number_at = [&](size_t at) { return bound_[program_->step_at(at)].plans.front().number; };
  if (time + 1 == last || !work_at(time) || !work_at(time + 1)) return 0;
  std::unique_ptr<Chained>& kept = chains_[time];
  bool same = kept && kept->plans.size() <= last - time;
  for (size_t i = 0; same && i < kept->plans.size(); ++i)
    same = work_at(time + i) && number_at(time + i) == kept->plans[i];
  if (!same) {
    kept = std::make_unique<Chained>();
    for (size_t at = time; at < last; ++at) {
      const FlatWork* work = work_at(at);
      if (!work || !kept->chain.add(*work)) break;
      kept->plans.push_back(number_at(at));
    }
  }
  if (kept->plans.size() < 2) return 0;
  try {
    kept->chain.run();
  } catch (const Error& e) { throw_of(*program_->steps[program_->step_at(time)].node, e); }
  return kept->plans.size();
}

void Run::run_steps(size_t first, size_t last, const NodePlace& place) {
  // Whoever observes, or limits the time of an operator, wants to see each by itself.
  const bool chains = !watched() && !has_close_limit();
  for (size_t time = first; time < last; ++time) {
    if (const size_t together = chains ? run_chain(time, last) : 0) {
      chained_ += together;
      time += together - 1;
      continue;
    }
    const size_t s = program_->step_at(time);
    const Step& step = program_->steps[s];
    if (!step.node) {
      const size_t bytes = static_cast<size_t>(count_of(step.inputs[0].dims)) * size_of(step.inputs[0].dtype);
      if (bytes) std::memcpy(host_address(address(step.outputs[0])), host_address(address(step.inputs[0])), bytes);
      continue;
    }
    try {
      aclOpExecutor& plan = plan_of(s);
      if (watched()) [[unlikely]]
        run_observed_in_graph(
            {place.model, static_cast<int32_t>(s), place.graph, step.node->name().c_str(), place.execution}, plan,
            [&] { run_summarised(plan); });
      else run_summarised(plan);
    } catch (const Error& e) { throw_of(*step.node, e); }
  }
}

}  // namespace updraft::graph
