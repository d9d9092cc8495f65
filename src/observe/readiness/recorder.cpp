#include "observe/readiness/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "observe/readiness/chains.h"
#include "ops/card.h"
#include "ops/ir_op.h"

namespace updraft::readiness {
namespace {

bool is_collective(const TaskEvent& task) { return std::string_view(task.name).starts_with("Hccl"); }

/// The host does not go on before the device has got that far, or the bytes are there.
bool makes_the_host_wait(std::string_view call) {
  static constexpr std::string_view kCalls[] = {"aclrtSynchronizeDevice",
                                                "aclrtSynchronizeDeviceWithTimeout",
                                                "aclrtSynchronizeStream",
                                                "aclrtSynchronizeStreamWithTimeout",
                                                "aclrtSynchronizeEvent",
                                                "aclrtSynchronizeEventWithTimeout",
                                                "aclrtMemcpy"};
  return std::ranges::find(kCalls, call) != std::end(kCalls);
}

std::string shape_of(const TensorView& view) {
  return fmt::format("[{}]", fmt::join(view.dims, view.dims + view.rank, ","));
}

/// A device does nothing of this kind itself.
bool of_no_engine(const TaskEvent& task) { return task.kind == TaskKind::Control && !is_collective(task); }

}  // namespace

void Recorder::advance(Timeline& line, uint64_t now) {
  if (!line.first) line.first = line.changed = now;
  now = std::max(now, line.changed);  // engines tell of their tasks side by side
  const uint64_t passed = now - line.changed;
  if (line.computing) line.busy += passed;
  else if (line.collective) line.exposed += passed;
  else line.idle += passed;
  line.changed = now;
}

void Recorder::task_begun(const TaskEvent& task) {
  if (of_no_engine(task) || task.kind == TaskKind::Host) return;
  const std::string_view name = task.name;
  std::lock_guard lock(mutex_);
  if (task.model && task.index < 0) return;
  Timeline& line = timelines_[task.device];
  const uint64_t before = line.changed;
  const bool resting = line.first && !line.computing && !line.collective;
  advance(line, task.begun.monotonic);
  if (resting && line.changed - before >= kLeastGap) {
    Gap& gap = gaps_[{line.before, std::string(name)}];
    ++gap.count;
    gap.nanoseconds += line.changed - before;
  }
  ++(is_collective(task) ? line.collective : line.computing);
}

void Recorder::task_ended(const TaskEvent& task) {
  if (of_no_engine(task) || task.kind == TaskKind::Host || task.begun.monotonic == 0) return;
  if (task.model && task.index < 0) return;
  std::lock_guard lock(mutex_);
  Timeline& line = timelines_[task.device];
  advance(line, task.ended.monotonic);
  int& running = is_collective(task) ? line.collective : line.computing;
  if (running) --running;  // who subscribed in between was not told of its beginning
  line.before = task.name;
  if (line.before == "aclnnForeachNonFiniteCheckAndUnscale" && task.outcome == Outcome::Done)
    for (const Argument& argument : task.arguments)
      if (const TensorArgument* t = argument.tensor(); t && std::string_view(argument.name) == "foundInf") {
        ++unscaled_;
        overflowed_ += t->view.dtype == DType::Float && *t->view.as<float>() != 0;
      }
  Operator& row = operators_[task.name];
  ++row.count;
  row.nanoseconds += task.ended.monotonic - task.begun.monotonic;
  row.unit = task.cost.unit;
  row.flops += static_cast<double>(task.cost.flops);
  row.bytes += static_cast<double>(task.cost.bytes);
  row.by_name |= task.model == 0 && find_ir_op(task.name);
}

void Recorder::call_ended(const ApiCall& call) {
  if (call.depth > 0) return;
  if (!call.implemented) {
    std::lock_guard lock(mutex_);
    ++missing_[call.name];
  } else if (call.phase == ApiCall::Phase::Plan) {
    planned(call);
  } else if (call.phase == ApiCall::Phase::Whole && makes_the_host_wait(call.name)) {
    const Stack where = python_stack(kMostFrames);
    std::lock_guard lock(mutex_);
    Wait& wait = waits_[{call.name, where}];
    ++wait.count;
    wait.nanoseconds += call.end.monotonic - call.begin.monotonic;
  }
}

void Recorder::planned(const ApiCall& call) {
  if (call.argument_count == 0) return;
  std::string types, shapes;
  std::array<const Argument*, 64> tensors;
  size_t count = 0;
  for (size_t i = 0; i < call.argument_count; ++i) {
    const TensorArgument* t = call.arguments[i].tensor();
    if (!t) continue;
    if (count < tensors.size()) tensors[count++] = &call.arguments[i];
    if (!types.empty()) types += ' ', shapes += ' ';
    types += name_of(t->view.dtype);
    shapes += shape_of(t->view);
  }
  bool known;
  {
    std::lock_guard lock(mutex_);
    const auto found = signatures_.find({call.name, types});
    known = found != signatures_.end();
    if (known) {
      Signature& s = found->second;
      ++s.count;
      if (s.shapes.contains(shapes)) {
      } else if (s.shapes.size() < kMostShapes) {
        s.shapes.insert(std::move(shapes));
        s.new_at.push_back(s.count);
      } else {
        s.more_shapes = true;
      }
    }
  }
  if (!known) {
    Signature made{1, {std::move(shapes)}, false, {1}, python_stack(kMostFrames)};
    const OpInfo* info = find_op(call.name);
    std::vector<std::string> refused;
    for (size_t i = 0; info && i < count; ++i) {
      const std::string why = card_refusal(*info, tensors[i]->name, tensors[i]->tensor()->view.dtype, soc());
      if (!why.empty() && std::ranges::find(refused, why) == refused.end()) refused.push_back(why);
    }
    std::lock_guard lock(mutex_);
    for (const std::string& why : refused) {
      Refusal& refusal = refusals_[{call.name, why}];
      if (refusal.first.empty()) refusal.first = made.first;
    }
    signatures_.emplace(std::pair(std::string(call.name), types), std::move(made));
  }
  look_for_chains(call);
}

void Recorder::look_for_chains(const ApiCall& call) {
  std::string name;
  {
    std::lock_guard lock(mutex_);
    auto& latest = latest_[call.thread];
    latest.emplace_back(call.name);
    if (latest.size() > kLongestChain) latest.pop_front();
    name = chain_that_ends(latest);
    if (name.empty()) return;
    Chain& chain = chains_[name];
    ++chain.count;
    if (!chain.first.empty()) return;
  }
  const Stack where = python_stack(kMostFrames);
  std::lock_guard lock(mutex_);
  chains_[name].first = where;
}

}  // namespace updraft::readiness
