// op_summary, op_statistic, task_time and aicpu.
#include <algorithm>
#include <map>

#include "observe/profiling/export/metrics.h"
#include "observe/profiling/export/tables.h"
#include "observe/profiling/export/text_file.h"

namespace updraft::profiling {
namespace {

struct Statistic {
  uint64_t count = 0, total = 0, least = UINT64_MAX, most = 0;
  void add(uint64_t time) {
    ++count;
    total += time;
    least = std::min(least, time);
    most = std::max(most, time);
  }
};

// A group's collectives take their names from here, all else from the task.
using Names = std::map<const TaskRecord*, const Collective*>;

bool has_shapes(const Profile& p) {
  return std::any_of(p.tasks.begin(), p.tasks.end(), [&](const TaskRecord& t) { return t.arguments != 0; });
}

bool in_summary(const Profile& p, const TaskRecord& task) {
  return is_operator(task) || core_of(p, task) == "COMMUNICATION";
}

void summary(const Profile& p, const Names& names, const std::string& folder, const Selection& selection) {
  if (std::none_of(p.tasks.begin(), p.tasks.end(), [&](const TaskRecord& t) { return in_summary(p, t); })) return;
  TextFile out(folder + "/op_summary_" + selection.stamp + ".csv");
  const bool shapes = has_shapes(p);
  const auto columns = p.metrics.empty() ? std::vector<std::string>() : metric_columns(p.metrics);
  out << "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task "
         "Duration(us),Task Wait Time(us),Block Num,Mix Block Num,HF32 Eligible";
  if (shapes) out << ",Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats";
  out << ",Context ID";
  for (const auto& column : columns) out << ',' << column;
  out << '\n';
  int device = -1;
  uint64_t before = 0;
  for (const TaskRecord& task : p.tasks) {
    if (!in_summary(p, task)) continue;
    if (task.device != device) before = 0;
    device = task.device;
    const auto found = names.find(&task);
    const Collective* collective = found == names.end() ? nullptr : found->second;
    out.number(task.device) << ',';
    out.number(model_of(task)) << ',';
    out.number(task_number(task)) << ',';
    out.number(stream_of(task)) << ',';
    const std::string_view name = p.text(task.name);
    out.csv(collective ? std::string_view(collective->name) : name) << ',';
    out.csv(collective ? std::string_view(collective->type) : type_of(name)) << ',';
    // Nothing is compiled for a shape, known or not: no operator is a dynamic one in the card's sense.
    out << "static," << core_of(p, task) << ',';
    out.microseconds(p.wall(task.begun)) << "\t,";
    out.microseconds(static_cast<int64_t>(task.ended - task.begun)) << ',';
    out.microseconds(before && task.begun > before ? static_cast<int64_t>(task.begun - before) : 0) << ",0,0,NO";
    before = std::max(before, task.ended);
    if (shapes) {
      const Tensors tensors = tensors_of(p, task);
      for (size_t i = 0; i < 6; ++i) {
        // in quotes, as lists have semicolons and commas
        if (tensors.known) out << ",\"" << tensors.text[i] << '"';
        else out << ",N/A";
      }
    }
    out << ",N/A";
    if (!columns.empty()) {
      if (collective) {
        for (size_t i = 0; i < columns.size(); ++i) out << ",N/A";
      } else {
        for (const double value : metric_values(p.metrics, p.soc, task)) {
          out << ',';
          out.real(value, 4);
        }
      }
    }
    out << '\n';
  }
  out.done();
}

void statistic(const Profile& p, const Names& names, const std::string& folder, const Selection& selection) {
  std::map<std::tuple<int, std::string, std::string_view>, Statistic> rows;
  std::map<int, uint64_t> totals;
  for (const TaskRecord& task : p.tasks) {
    if (!in_summary(p, task)) continue;
    const auto found = names.find(&task);
    const std::string type = found == names.end() ? std::string(type_of(p.text(task.name))) : found->second->type;
    rows[{task.device, type, core_of(p, task)}].add(task.ended - task.begun);
    totals[task.device] += task.ended - task.begun;
  }
  if (rows.empty()) return;
  std::vector<std::pair<std::tuple<int, std::string, std::string_view>, Statistic>> order(rows.begin(), rows.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::get<0>(a.first) != std::get<0>(b.first) ? std::get<0>(a.first) < std::get<0>(b.first)
                                                        : a.second.total > b.second.total;
  });
  TextFile out(folder + "/op_statistic_" + selection.stamp + ".csv");
  out << "Device_id,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)\n";
  for (const auto& [key, s] : order) {
    const auto& [device, type, core] = key;
    out.number(device) << ',';
    out.csv(type) << ',' << core << ',';
    out.number(s.count) << ',';
    out.microseconds(static_cast<int64_t>(s.total)) << ',';
    out.microseconds(static_cast<int64_t>(s.least)) << ',';
    out.microseconds(static_cast<int64_t>(s.total / s.count)) << ',';
    out.microseconds(static_cast<int64_t>(s.most)) << ',';
    out.real(totals[device] ? 100.0 * static_cast<double>(s.total) / static_cast<double>(totals[device]) : 0) << '\n';
  }
  out.done();
}

void task_time(const Profile& p, const Names& names, const std::string& folder, const Selection& selection) {
  if (p.tasks.empty()) return;
  TextFile out(folder + "/task_time_" + selection.stamp + ".csv");
  out << "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)\n";
  for (const TaskRecord& task : p.tasks) {
    const auto found = names.find(&task);
    out.number(task.device) << ',';
    out.csv(found == names.end() ? p.text(task.name) : std::string_view(found->second->name))
        << ',' << core_of(p, task) << ',';
    out.number(stream_of(task)) << ',';
    out.number(task_number(task)) << ',';
    out.microseconds(static_cast<int64_t>(task.ended - task.begun)) << ',';
    out.microseconds(p.wall(task.begun)) << "\t,";
    out.microseconds(p.wall(task.ended)) << "\t\n";
  }
  out.done();
}

}  // namespace

void write_operators(const Profile& profile, const std::vector<Collective>& collectives, const std::string& folder,
                     const Selection& selection) {
  Names names;
  for (const Collective& c : collectives) names[c.task] = &c;
  summary(profile, names, folder, selection);
  statistic(profile, names, folder, selection);
  task_time(profile, names, folder, selection);
}

void write_aicpu(const Profile& p, const std::string& folder, const Selection& selection) {
  if (std::none_of(p.tasks.begin(), p.tasks.end(), [&](const TaskRecord& t) { return core_of(p, t) == "AI_CPU"; }))
    return;
  TextFile out(folder + "/aicpu_" + selection.stamp + ".csv");
  out << "Device_id,Timestamp(us),Node,Compute_time(us),Memcpy_time(us),Task_time(us),Dispatch_time(us),Total_time(us),"
         "Stream "
         "ID,Task ID\n";
  for (const TaskRecord& task : p.tasks) {
    if (core_of(p, task) != "AI_CPU") continue;
    const auto time = static_cast<int64_t>(task.ended - task.begun);
    const int64_t dispatch =
        task.begun > task.submitted && task.submitted ? static_cast<int64_t>(task.begun - task.submitted) : 0;
    out.number(task.device) << ',';
    out.microseconds(p.wall(task.begun)) << "\t,";
    out.csv(p.text(task.name)) << ',';
    out.microseconds(time) << ",0,";  // operators work on the device's memory: nothing is copied
    out.microseconds(time) << ',';
    out.microseconds(dispatch) << ',';
    out.microseconds(time + dispatch) << ',';
    out.number(stream_of(task)) << ',';
    out.number(task_number(task)) << '\n';
  }
  out.done();
}

}  // namespace updraft::profiling
