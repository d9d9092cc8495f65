// step_trace and ai_stack_time: iterations of graphs, and steps that the program marks.
#include <algorithm>
#include <map>

#include "observe/profiling/export/tables.h"
#include "observe/profiling/export/text_file.h"

namespace updraft::profiling {
namespace {

// Where the forward pass begins and the backward pass ends: the operators of these names, else (with "") the first and
// the last operator of the iteration that computes.
void find_points(const Profile& p, Iteration& it) {
  // Tasks are in order of device and begin.
  auto at = std::partition_point(p.tasks.begin(), p.tasks.end(), [&](const TaskRecord& task) {
    return task.device != it.device ? task.device < it.device : task.begun < it.begin;
  });
  for (; at != p.tasks.end() && at->device == it.device && at->begun <= it.end; ++at) {
    const TaskRecord& task = *at;
    if (task.ended > it.end || !is_operator(task)) continue;
    const std::string_view name = p.text(task.name);
    const bool first = p.fp_point.empty() ? !it.forward : name == p.fp_point && !it.forward;
    if (first) it.forward = task.begun;
    if (p.bp_point.empty() || name == p.bp_point) it.backward = std::max(it.backward, task.ended);
  }
}

}  // namespace

std::vector<Iteration> iterations_of(const Profile& p, const std::vector<Collective>& collectives) {
  std::vector<Iteration> all;
  std::map<std::pair<int, uint32_t>, int64_t> numbers;
  // A graph: pieces of one run have one correlation.
  std::map<std::pair<int, uint64_t>, size_t> runs;
  for (const TaskRecord& task : p.tasks) {
    if (!is_graph_piece(task)) continue;
    const auto [found, fresh] =
        runs.try_emplace({task.device, task.correlation ? task.correlation : task.id}, all.size());
    if (fresh) {
      Iteration it;
      it.device = task.device;
      it.model = task.model;
      it.begin = task.begun;
      it.number = ++numbers[{task.device, task.model}];
      all.push_back(it);
    }
    all[found->second].end = std::max(all[found->second].end, task.ended);
  }
  // Steps of aclprofGetStepTimestamp: from the stream's STEP_START to its STEP_END.
  std::map<uint64_t, const TaskRecord*> reached;
  for (const TaskRecord& task : p.tasks)
    if (const auto name = p.text(task.name); name == "STEP_START" || name == "STEP_END")
      reached[task.correlation] = &task;
  std::map<std::pair<int, uint64_t>, uint64_t> begun;
  for (const StepRecord& step : p.steps) {
    const auto found = reached.find(step.correlation);
    const uint64_t time = found == reached.end() ? step.time : found->second->ended;
    if (step.tag == 0) {
      begun[{step.device, step.step}] = time;
      continue;
    }
    const auto start = begun.find({step.device, step.step});
    if (start == begun.end() || time < start->second) continue;
    Iteration it;
    it.device = step.device;
    it.begin = start->second;
    it.end = time;
    it.number = ++numbers[{step.device, kNone}];
    all.push_back(it);
    begun.erase(start);
  }
  for (Iteration& it : all) {
    find_points(p, it);
    // They are in order of device and begin as well.
    auto c = std::partition_point(collectives.begin(), collectives.end(), [&](const Collective& one) {
      return one.task->device != it.device ? one.task->device < it.device : one.task->begun < it.begin;
    });
    for (; c != collectives.end() && c->task->device == it.device && c->task->begun <= it.end; ++c)
      if (c->task->ended <= it.end && c->type == "hcom_allReduce_")
        it.reductions.emplace_back(c->task->begun, c->task->ended);
  }
  std::sort(all.begin(), all.end(), [](const Iteration& a, const Iteration& b) {
    return a.device != b.device ? a.device < b.device : a.begin < b.begin;
  });
  return all;
}

void write_steps(const Profile& p, const std::vector<Iteration>& every, const std::string& folder,
                 const Selection& selection) {
  std::vector<Iteration> all;
  for (const Iteration& it : every)
    if (p.iterations || it.model == kNone) all.push_back(it);
  if (!all.empty()) {
    size_t reductions = 0;
    for (const Iteration& it : all) reductions = std::max(reductions, it.reductions.size());
    TextFile out(folder + "/step_trace_" + selection.stamp + ".csv");
    out << "Device_id,Iteration ID,FP Start(us),BP End(us),Iteration End(us),Iteration Time(us),FP to BP "
           "Time(us),Iteration "
           "Refresh(us),Data Aug Bound(us),Model ID";
    for (size_t i = 0; i < reductions; ++i) out << ",Reduce Start(us),Reduce Duration(us)";
    out << '\n';
    const Iteration* before = nullptr;
    for (const Iteration& it : all) {
      const bool points = it.forward && it.backward >= it.forward;
      const bool follows = before && before->device == it.device && before->model == it.model;
      out.number(it.device) << ',';
      out.number(it.number) << ',';
      const auto time = [&](bool known, int64_t nanoseconds) {
        if (known) out.microseconds(nanoseconds);
        else out << "N/A";
        out << ',';
      };
      time(points, p.wall(it.forward));
      time(points, p.wall(it.backward));
      time(true, p.wall(it.end));
      time(true, static_cast<int64_t>(it.end - it.begin));
      time(points, static_cast<int64_t>(it.backward - it.forward));
      time(points, static_cast<int64_t>(it.end - it.backward));
      time(points && follows, static_cast<int64_t>(it.forward) - static_cast<int64_t>(follows ? before->end : 0));
      out.number(it.model);
      for (size_t i = 0; i < reductions; ++i) {
        if (i < it.reductions.size()) {
          out << ',';
          out.microseconds(p.wall(it.reductions[i].first)) << ',';
          out.microseconds(static_cast<int64_t>(it.reductions[i].second - it.reductions[i].first));
        } else {
          out << ",N/A,N/A";
        }
      }
      out << '\n';
      before = &it;
    }
    out.done();
  }
  // Where the time of a graph's executions goes between the layers.
  if (!has_task_times(p)) return;
  std::vector<const CallRecord*> runs;
  for (const CallRecord& call : p.calls)
    if (const auto name = p.text(call.name);
        name.find("Execute") != std::string_view::npos || name.substr(0, 8) == "GERunGra")
      runs.push_back(&call);
  if (runs.empty()) return;
  TextFile out(folder + "/ai_stack_time_" + selection.stamp + ".csv");
  out << "Infer ID,Module,API,Start Time(ns),Duration(ns)\n";
  uint64_t id = 0;
  for (const CallRecord* call : runs) {
    out.number(id++) << ',' << (p.text(call->name).substr(0, 2) == "GE" ? "GE" : "ACL") << ',';
    out.csv(p.text(call->name)) << ',';
    out.number(p.wall(call->begin)) << ',';
    out.number(call->end - call->begin) << '\n';
  }
  out.done();
}

}  // namespace updraft::profiling
