// The timeline: https://ui.perfetto.dev and chrome://tracing show it, torch_npu merges it with what it recorded itself.
#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include "observe/profiling/export/tables.h"
#include "observe/profiling/export/text_file.h"
#include "observe/profiling/settings.h"

namespace updraft::profiling {
namespace {

enum Layer : uint32_t { kHost = 1, kHardware = 2, kCommunication = 3, kOverlap = 4, kMarkers = 5, kIterations = 6 };

std::string_view level_of(std::string_view name) {
  if (name.substr(0, 4) == "Hccl") return "Communication@";
  return "AscendCL@";
}

class Timeline {
 public:
  Timeline(const Profile& profile, const std::vector<Collective>& collectives, const std::vector<Iteration>& iterations,
           const std::string& path)
      : p_(profile), collectives_(collectives), iterations_(iterations), links_(connect(profile)), out_(path) {}

  void write() {
    out_ << '[';
    metadata();
    host();
    hardware();
    communication();
    overlap();
    iterations();
    markers();
    memory();
    out_ << ']';
    out_.done();
  }

 private:
  // A number for a process of the timeline, the same for all of it; it is nobody's real one.
  uint32_t pid(Layer layer, int device = 0) const {
    return (p_.process & 0x3ffff) << 13 | static_cast<uint32_t>(layer) << 10 | (static_cast<uint32_t>(device) & 0x3ff);
  }

  TextFile& next() {
    if (!first_) out_ << ",\n";
    first_ = false;
    return out_;
  }
  void meta(const char* what, uint32_t pid, int64_t tid, const char* key, std::string_view value, bool text = true) {
    next() << "{\"name\":\"" << what << "\",\"pid\":";
    out_.number(pid) << ",\"tid\":";
    out_.number(tid) << ",\"args\":{\"" << key << "\":";
    if (text) out_.json(value);
    else out_ << value;
    out_ << "},\"ph\":\"M\"}";
  }
  void process(uint32_t pid, std::string_view name, std::string_view label) {
    meta("process_name", pid, 0, "name", name);
    meta("process_labels", pid, 0, "labels", label);
    meta("process_sort_index", pid, 0, "sort_index", fmt::format_int(pid & 0x1fff).c_str(), false);
  }
  void thread(uint32_t pid, int64_t tid, std::string_view name, int64_t order) {
    meta("thread_name", pid, tid, "name", name);
    meta("thread_sort_index", pid, tid, "sort_index", fmt::format_int(order).c_str(), false);
  }
  // {"name":…,"pid":…,"tid":…,"ts":"…","dur":…,"ph":"X","args":{ — the caller writes the arguments and "}}"
  void event(std::string_view prefix, std::string_view name, uint32_t pid, int64_t tid, uint64_t begin, uint64_t end) {
    next() << "{\"name\":";
    if (prefix.empty()) out_.json(name);
    else out_.json(std::string(prefix).append(name));
    out_ << ",\"pid\":";
    out_.number(pid) << ",\"tid\":";
    out_.number(tid) << ",\"ts\":\"";
    out_.microseconds(p_.wall(begin)) << "\",\"dur\":";
    out_.microseconds(static_cast<int64_t>(end - begin)) << ",\"ph\":\"X\",\"args\":{";
  }
  void flow(char ph, uint64_t id, uint32_t pid, int64_t tid, uint64_t time) {
    next() << "{\"name\":\"HostToDevice";
    out_.number(id) << "\",\"cat\":\"HostToDevice\",\"ph\":\"" << ph << "\",\"id\":\"";
    out_.number(id) << "\",\"pid\":";
    out_.number(pid) << ",\"tid\":";
    out_.number(tid) << ",\"ts\":\"";
    out_.microseconds(p_.wall(time)) << '"';
    if (ph == 'f') out_ << ",\"bp\":\"e\"";
    out_ << '}';
  }

  std::string npu(int device) const { return "NPU " + std::to_string(device); }

  void metadata() {
    process(pid(kHost), "CANN", "CPU");
    std::set<int32_t> threads;
    for (const CallRecord& call : p_.calls) threads.insert(call.thread);
    for (const Report& report : p_.reports)
      if (report.what == ReportKind::Api && report.bytes.size() >= 40) threads.insert(thread_of(report));
    for (const int32_t t : threads) thread(pid(kHost), t, "Thread " + std::to_string(t), t);
    std::set<std::pair<int, int64_t>> streams;
    for (const TaskRecord& task : p_.tasks) streams.insert({task.device, profiling::stream_of(task)});
    std::map<int, std::set<std::string>> groups;
    for (const Collective& c : collectives_) groups[c.task->device].insert(c.group);
    for (const int device : p_.devices) {
      process(pid(kHardware, device), "Ascend Hardware", npu(device));
      for (const auto& [d, stream] : streams)
        if (d == device)
          thread(pid(kHardware, device), stream,
                 stream == 60000 ? "Synchronous copies" : "Stream " + std::to_string(stream), stream);
      process(pid(kCommunication, device), "Communication", npu(device));
      int64_t place = 0;
      for (const std::string& group : groups[device]) {
        group_threads_[{device, group}] = place;
        thread(pid(kCommunication, device), place,
               group.empty() ? "Communication" : "Group " + group + " Communication", place);
        ++place;
      }
      process(pid(kOverlap, device), "Overlap Analysis", npu(device));
      const char* names[] = {"Computing", "Communication", "Communication(Not Overlapped)", "Free"};
      for (int i = 0; i < 4; ++i) thread(pid(kOverlap, device), i, names[i], i);
    }
    if (!p_.markers.empty()) process(pid(kMarkers), "MSTX", "CPU");
  }

  static int32_t thread_of(const Report& report) {
    int32_t thread;
    std::memcpy(&thread, report.bytes.data() + 8, sizeof thread);
    return thread;
  }

  void host() {
    for (size_t i = 0; i < p_.calls.size(); ++i) {
      const CallRecord& call = p_.calls[i];
      const std::string_view name = p_.text(call.name);
      std::string whole(level_of(name));
      whole.append(name);
      if (call.phase == 1) whole += "GetWorkspaceSize";
      event("", whole, pid(kHost), call.thread, call.begin, call.end);
      out_ << "\"level\":\"acl\",\"connection_id\":";
      out_.number(call.correlation);
      if (call.code) out_ << ",\"return code\":", out_.number(call.code);
      out_ << "}}";
      const int64_t t = links_.first_task[i];
      if (t < 0) continue;
      const TaskRecord& task = p_.tasks[static_cast<size_t>(t)];
      if (!is_operator(task) && core_of(p_, task) != "COMMUNICATION") continue;
      // From the call to the moment when the stream has the task.
      const uint64_t end = std::clamp(task.submitted, call.begin, call.end);
      event("", "Node@launch", pid(kHost), call.thread, call.begin, end);
      out_ << "\"level\":\"node\",\"item_id\":";
      out_.json(type_of(name)) << ",\"connection_id\":";
      out_.number(call.correlation) << "}}";
    }
    // What clients report of themselves (MsprofReportApi).
    for (const Report& report : p_.reports) {
      if (report.what != ReportKind::Api || report.bytes.size() < 40) continue;
      uint64_t begin, end, item;
      std::memcpy(&begin, report.bytes.data() + 16, 8);
      std::memcpy(&end, report.bytes.data() + 24, 8);
      std::memcpy(&item, report.bytes.data() + 32, 8);
      if (end < begin) continue;
      const std::string_view name = p_.text(item);
      event("Node@", name.empty() ? "launch" : name, pid(kHost), thread_of(report), begin, end);
      out_ << "\"level\":\"node\"}}";
    }
  }

  void arrow(size_t i, uint32_t to_pid, int64_t to_tid) {
    if (!links_.of_task[i]) return;
    const CallRecord& call = p_.calls[static_cast<size_t>(links_.call[i])];
    flow('s', links_.of_task[i], pid(kHost), call.thread, call.begin);
    flow('f', links_.of_task[i], to_pid, to_tid, p_.tasks[i].begun);
  }

  void task_arguments(const TaskRecord& task, std::string_view type, uint64_t connection) {
    out_ << "\"Model Id\":";
    out_.number(model_of(task)) << ",\"Task Type\":";
    out_.json(type) << ",\"Physic Stream Id\":";
    out_.number(profiling::stream_of(task)) << ",\"Stream Id\":";
    out_.number(profiling::stream_of(task)) << ",\"Task Id\":";
    out_.number(task_number(task)) << ",\"Batch Id\":0,\"Subtask Id\":4294967295,\"connection_id\":";
    out_.number(connection ? connection : kNone);
  }

  void hardware() {
    for (size_t i = 0; i < p_.tasks.size(); ++i) {
      const TaskRecord& task = p_.tasks[i];
      const std::string_view core = core_of(p_, task);
      if (core == "COMMUNICATION") continue;  // a lane of its own
      const uint32_t process = pid(kHardware, task.device);
      const int64_t stream = profiling::stream_of(task);
      event("", p_.text(task.name), process, stream, task.begun, task.ended);
      task_arguments(task, core, links_.of_task[i]);
      if (task.outcome) out_ << ",\"Outcome\":\"failed\"";
      out_ << "}}";
      arrow(i, process, stream);
    }
  }

  void communication() {
    for (const Collective& c : collectives_) {
      const TaskRecord& task = *c.task;
      const auto i = static_cast<size_t>(c.task - p_.tasks.data());
      const uint32_t process = pid(kCommunication, task.device);
      const int64_t lane = group_threads_[{task.device, c.group}];
      event("", c.name, process, lane, task.begun, task.ended);
      task_arguments(task, "COMMUNICATION", links_.of_task[i]);
      out_ << ",\"group\":";
      out_.json(c.group) << ",\"data_type\":";
      out_.json(c.data_type) << ",\"count\":";
      out_.number(c.count) << ",\"ranks\":";
      out_.number(c.ranks) << "}}";
      arrow(i, process, lane);
    }
  }

  using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;
  static void add(Ranges& list, uint64_t begin, uint64_t end) {
    if (begin == end) return;
    if (!list.empty() && begin <= list.back().second) list.back().second = std::max(list.back().second, end);
    else list.emplace_back(begin, end);
  }
  static Ranges without(const Ranges& a, const Ranges& b) {
    Ranges rest;
    size_t j = 0;
    for (auto [begin, end] : a) {
      while (j < b.size() && b[j].second <= begin) ++j;
      for (size_t k = j; k < b.size() && b[k].first < end && begin < end; ++k) {
        if (b[k].first > begin) rest.emplace_back(begin, b[k].first);
        begin = std::max(begin, b[k].second);
      }
      if (begin < end) rest.emplace_back(begin, end);
    }
    return rest;
  }
  void ranges(const char* name, int device, int64_t tid, const Ranges& list) {
    for (const auto& [begin, end] : list) {
      event("", name, pid(kOverlap, device), tid, begin, end);
      out_ << "}}";
    }
  }

  // What a device's time goes to: tasks are in order of their begins.
  void overlap() {
    for (const int device : p_.devices) {
      Ranges computing, communicating, either;
      for (const TaskRecord& task : p_.tasks) {
        if (task.device != device) continue;
        const bool collective = core_of(p_, task) == "COMMUNICATION";
        if (!collective && !is_operator(task)) continue;
        add(collective ? communicating : computing, task.begun, task.ended);
        add(either, task.begun, task.ended);
      }
      Ranges free;
      for (size_t i = 1; i < either.size(); ++i) free.emplace_back(either[i - 1].second, either[i].first);
      ranges("Computing", device, 0, computing);
      ranges("Communication", device, 1, communicating);
      ranges("Communication(Not Overlapped)", device, 2, without(communicating, computing));
      ranges("Free", device, 3, free);
    }
  }

  // The trace of iterations: each a slice, whose points are its arguments.
  void iterations() {
    std::map<int, std::vector<uint64_t>> lanes;  // of a device: the end of what each lane had last
    for (const Iteration& it : iterations_) {
      if (it.model != kNone && !(p_.switches & data::kTrainingTrace)) continue;
      auto& ends = lanes[it.device];
      if (ends.empty()) process(pid(kIterations, it.device), "Iterations", npu(it.device));
      const auto lane = std::find_if(ends.begin(), ends.end(), [&](uint64_t end) { return end <= it.begin; });
      const auto tid = lane - ends.begin();
      if (lane == ends.end()) ends.push_back(it.end);
      else *lane = it.end;
      event("", "Iteration " + std::to_string(it.number), pid(kIterations, it.device), tid, it.begin, it.end);
      out_ << "\"Model Id\":";
      out_.number(it.model);
      const auto point = [&](const std::string& name, uint64_t time) {
        out_ << ",\"" << name << "\":\"";
        out_.microseconds(p_.wall(time)) << '"';
      };
      if (it.forward && it.backward >= it.forward) {
        point("fp_start", it.forward);
        point("bp_end", it.backward);
      }
      for (size_t i = 0; i < it.reductions.size(); ++i) {
        point(fmt::format("allreduce{}_start", i + 1), it.reductions[i].first);
        point(fmt::format("allreduce{}_end", i + 1), it.reductions[i].second);
      }
      point("Iteration_end", it.end);
      out_ << "}}";
    }
  }

  void markers() {
    for (const MarkedSpan& span : marked_spans(p_)) {
      event("", p_.text(span.begin->message), pid(kMarkers), span.begin->thread, span.begin->time, span.end->time);
      out_ << "\"domain\":";
      out_.json(p_.text(span.begin->domain))
          << ",\"event_type\":\"" << (span.is_mark() ? "marker" : "start/end") << "\"}}";
    }
  }

  void memory() {
    for (const MemoryRecord& m : p_.memory) {
      next() << "{\"name\":\"NPU MEM\",\"pid\":";
      out_.number(pid(kHardware, m.device)) << ",\"tid\":0,\"ts\":\"";
      out_.microseconds(p_.wall(m.time)) << "\",\"ph\":\"C\",\"args\":{\"APP/HBM(KB)\":";
      out_.number(m.used >> 10) << ",\"Reserved(KB)\":";
      out_.number(m.reserved >> 10) << "}}";
    }
  }

  const Profile& p_;
  const std::vector<Collective>& collectives_;
  const std::vector<Iteration>& iterations_;
  const Connections links_;
  TextFile out_;
  bool first_ = true;
  std::map<std::pair<int, std::string>, int64_t> group_threads_;
};

}  // namespace

Connections connect(const Profile& p) {
  Connections links;
  links.of_task.assign(p.tasks.size(), 0);
  links.call.assign(p.tasks.size(), -1);
  links.first_task.assign(p.calls.size(), -1);
  // Numbers of calls are dense: a table of them is smaller than a map. Damaged records must not make it huge.
  uint64_t least = UINT64_MAX, most = 0;
  for (const CallRecord& call : p.calls) {
    least = std::min(least, call.correlation);
    most = std::max(most, call.correlation);
  }
  std::vector<uint32_t> dense;
  std::unordered_map<uint64_t, uint32_t> sparse;
  const bool is_dense = !p.calls.empty() && most - least < 64 * (p.calls.size() + 1024);
  if (is_dense) dense.assign(most - least + 1, UINT32_MAX);
  for (size_t i = 0; i < p.calls.size(); ++i) {
    if (is_dense) dense[p.calls[i].correlation - least] = static_cast<uint32_t>(i);
    else sparse[p.calls[i].correlation] = static_cast<uint32_t>(i);
  }
  uint64_t further = most;
  for (size_t i = 0; i < p.tasks.size(); ++i) {
    const TaskRecord& task = p.tasks[i];
    if (!task.correlation) continue;
    uint32_t call = UINT32_MAX;
    if (is_dense) {
      if (task.correlation >= least && task.correlation <= most) call = dense[task.correlation - least];
    } else if (const auto found = sparse.find(task.correlation); found != sparse.end()) {
      call = found->second;
    }
    if (call == UINT32_MAX) continue;
    links.call[i] = call;
    const bool first = links.first_task[call] < 0;
    if (first) links.first_task[call] = static_cast<int64_t>(i);
    links.of_task[i] = first ? task.correlation : ++further;
  }
  return links;
}

void write_timeline(const Profile& profile, const std::vector<Collective>& collectives,
                    const std::vector<Iteration>& iterations, const std::string& folder, const Selection& selection) {
  Timeline(profile, collectives, iterations, folder + "/msprof_" + selection.stamp + ".json").write();
}

}  // namespace updraft::profiling
