#include "observe/dump/tensor_dump.h"

#include <algorithm>

#include "base/log.h"
#include "observe/dump/names.h"
#include "observe/overflow/opdebug.h"

namespace updraft::dump {
namespace {

bool has_in_out(const TaskEvent& task) {
  return std::ranges::any_of(task.arguments,
                             [](const Argument& a) { return a.direction == Direction::InOut && a.tensor(); });
}

bool in_graph(const TaskEvent& task) { return *task.graph || *task.node; }

}  // namespace

TensorDump::TensorDump(Settings settings, FileWriter& writer)
    : settings_(std::move(settings)), writer_(writer), root_(settings_.path + "/" + time_folder()) {}

const ModelRule* TensorDump::rule_of(const TaskEvent& task) const {
  const auto rule = std::ranges::find_if(settings_.models,
                                         [&](const ModelRule& r) { return r.model.empty() || r.model == task.graph; });
  return rule == settings_.models.end() ? nullptr : &*rule;
}

bool TensorDump::named(const std::vector<std::string>& layers, const TaskEvent& task) {
  if (layers.empty()) return true;
  const std::string type = type_of(task);
  const auto found = std::ranges::find_if(
      layers, [&](const std::string& layer) { return layer == task.node || layer == task.name || layer == type; });
  std::lock_guard lock(mutex_);
  met_any_ = true;
  if (found == layers.end()) return false;
  met_.insert(&*found);
  return true;
}

bool TensorDump::wanted(const TaskEvent& task) {
  if (!in_graph(task)) {
    if (!settings_.operators) return false;
    // dump_list beside dump_op_switch is about models; one entry without a model's name is about operators as well.
    const auto rule = std::ranges::find(settings_.models, std::string(), &ModelRule::model);
    return rule == settings_.models.end() || named(rule->layers, task);
  }
  const ModelRule* rule = rule_of(task);
  return rule && named(rule->layers, task) && settings_.steps.contain(task.execution);
}

std::string TensorDump::unknown_names() const {
  std::lock_guard lock(mutex_);
  if (!met_any_) return {};  // nothing ran: a process that only starts others
  std::string text;
  for (size_t i = 0; i < settings_.models.size(); ++i) {
    const ModelRule& rule = settings_.models[i];
    for (const auto& [key, list] : {std::pair{"layer", &rule.layers}, {"watcher_nodes", &rule.watchers}})
      for (const std::string& name : *list)
        if (!met_.contains(&name))
          text += fmt::format("{}dump_list[{}].{} \"{}\"", text.empty() ? "" : ", ", i, key, name);
  }
  return text;
}

OperatorFile::Place TensorDump::place_of(const TaskEvent& task, std::string number) const {
  OperatorFile::Place place;
  place.type = type_of(task);
  place.folder = fmt::format("{}/{}", root_, task.device);
  if (in_graph(task)) {
    place.name = task.node;
    place.folder += fmt::format("/{}/{}/{}", clean(task.graph), task.model, task.execution);
  } else {
    place.name = std::move(number);
  }
  return place;
}

void TensorDump::keep(uint64_t id, Pending pending) {
  std::lock_guard lock(mutex_);
  pending_[id] = std::move(pending);
}

bool TensorDump::take(uint64_t id, Pending& pending) {
  std::lock_guard lock(mutex_);
  const auto found = pending_.find(id);
  if (found == pending_.end()) return false;
  pending = std::move(found->second);
  pending_.erase(found);
  return true;
}

void TensorDump::task_begun(const TaskEvent& task) {
  if (!is_operator(task) || settings_.scene == Settings::Scene::Watcher || !settings_.writes()) return;
  // Counted whether it is written or not: the same call has the same name in every dump of a program.
  std::string number = in_graph(task) ? std::string() : numbers_.next(task);
  Pending pending;
  if (settings_.overflow) {
    if (in_graph(task) && !settings_.steps.contain(task.execution)) return;
    pending.before = overflow::look_before(task, true);
    if (!pending.before.finite) return;
    pending.place = place_of(task, std::move(number));
    // What it writes over is gone afterwards.
    if (has_in_out(task)) pending.file = std::make_unique<OperatorFile>(writer_, task, pending.place, true, true);
  } else {
    if (!wanted(task)) return;
    pending.place = place_of(task, std::move(number));
    if (settings_.statistics) {
      pending.figures = figures_head(settings_.figures);
      size_t index = 0;
      if (settings_.inputs)
        for (const TensorArgument* tensor : tensors_of(task, false))
          pending.figures += figures_line(*tensor, false, index++, settings_.figures);
    } else if (settings_.inputs) {
      pending.file = std::make_unique<OperatorFile>(writer_, task, pending.place, true, settings_.outputs);
    }
  }
  keep(task.id, std::move(pending));
}

void TensorDump::task_ended(const TaskEvent& task) {
  if (task.outcome == Outcome::Failed && settings_.writes_failures()) write_failure(task);
  if (settings_.scene == Settings::Scene::Watcher) return watch(task);
  Pending pending;
  if (!take(task.id, pending)) return;
  if (task.outcome != Outcome::Done) {
    if (pending.file) pending.file->forget();
    return;
  }
  if (settings_.overflow) end_overflow(task, pending);
  else if (settings_.statistics) write_figures(task, pending);
  else end_dump(task, pending);
}

void TensorDump::end_dump(const TaskEvent& task, Pending& pending) {
  if (!pending.file) pending.file = std::make_unique<OperatorFile>(writer_, task, pending.place, false, true);
  pending.file->finish(task);
}

void TensorDump::write_figures(const TaskEvent& task, Pending& pending) {
  size_t index = 0;
  if (settings_.outputs)
    for (const TensorArgument* tensor : tensors_of(task, true))
      pending.figures += figures_line(*tensor, true, index++, settings_.figures);
  writer_.add(pending.place.folder + "/" +
                  file_name(pending.place.type, pending.place.name, task.id, task.stream, next_timestamp()) + ".csv",
              std::move(pending.figures), {});
}

void TensorDump::end_overflow(const TaskEvent& task, Pending& pending) {
  const auto finding = overflow::look_after(task, pending.before);
  const bool wanted = finding && (finding->part == overflow::Part::AiCore ? settings_.overflow_of_cores
                                                                          : settings_.overflow_of_atomics);
  if (!wanted) {
    if (pending.file) pending.file->forget();
    return;
  }
  if (!pending.file) pending.file = std::make_unique<OperatorFile>(writer_, task, pending.place, true, true);
  pending.file->finish(task);
  const uint64_t time = next_timestamp();
  writer_.add(pending.place.folder + "/" + file_name("Opdebug", "Node_OpDebug", task.id + 1, task.stream, time),
              overflow::opdebug_file(task, *finding, time), {});
  UPDRAFT_LOG(kWarning, "IDEDD", "overflow: operator {} ({}), task {}, stream {}, status {}", pending.place.name,
              pending.place.type, task.id, stream_number(task.stream), finding->status);
}

void TensorDump::write_failure(const TaskEvent& task) {
  if (!task.arguments_known || (task.model && task.index < 0)) return;
  OperatorFile::Place place;
  place.type = type_of(task);
  place.name = *task.node ? task.node : task.name;
  place.folder = fmt::format("{}/extra-info/data-dump/{}", settings_.path, task.device);
  OperatorFile(writer_, task, std::move(place), true, true).finish(task);
  writer_.flush();  // the program may be about to end
}

void TensorDump::watch(const TaskEvent& task) {
  if (task.outcome != Outcome::Done || !is_operator(task) || !in_graph(task)) return;
  const ModelRule* rule = rule_of(task);
  if (!rule) return;
  const bool layer = named(rule->layers, task);
  const auto watcher = std::ranges::find(rule->watchers, std::string(task.node));
  if (watcher != rule->watchers.end()) {
    std::lock_guard lock(mutex_);
    met_.insert(&*watcher);
  }
  if (!settings_.steps.contain(task.execution)) return;
  if (watcher != rule->watchers.end()) {
    std::vector<TensorArgument> outputs;
    for (const TensorArgument* tensor : tensors_of(task, true)) outputs.push_back(*tensor);
    std::lock_guard lock(mutex_);
    watched_[{task.model, task.node}] = {type_of(task), std::move(outputs)};
  }
  if (!layer) return;
  for (const std::string& node : rule->watchers) {
    std::pair<std::string, std::vector<TensorArgument>> memory;
    {
      std::lock_guard lock(mutex_);
      const auto found = watched_.find({task.model, node});
      if (found == watched_.end()) continue;  // it has not run yet
      memory = found->second;
    }
    TaskEvent looked = task;
    std::vector<Argument> arguments;
    for (TensorArgument& tensor : memory.second) arguments.push_back({"", Direction::Out, -1, std::move(tensor)});
    looked.arguments = arguments;
    OperatorFile::Place place = place_of(task, {});
    place.type = memory.first;
    place.name = node + "_after_" + task.node;
    OperatorFile(writer_, looked, std::move(place), false, true).finish(looked);
  }
}

}  // namespace updraft::dump
