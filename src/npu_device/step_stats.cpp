// As StepStats of TensorFlow; the field numbers are those of its step_stats.proto.
#include "npu_device/step_stats.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <protozero/pbf_writer.hpp>
#include <set>
#include <vector>

#include "device/observer.h"

namespace updraft::npu_device {
namespace {

using protozero::pbf_writer;

namespace step_stats {
constexpr uint32_t kDevice = 1;
}
namespace device_stats {
constexpr uint32_t kName = 1, kNode = 2;
}
namespace node_stats {
constexpr uint32_t kName = 1, kStart = 2, kBeginsAfter = 3, kEndsAfter = 4, kDoneAfter = 5, kLabel = 8, kSubmitted = 9,
                   kThread = 10, kStartNanos = 13, kBeginsAfterNanos = 14, kEndsAfterNanos = 15, kDoneAfterNanos = 16,
                   kSubmittedNanos = 17;
}

/// Nanoseconds from CLOCK_MONOTONIC to the time of day.
int64_t to_time_of_day() {
  timespec monotonic, real;
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  clock_gettime(CLOCK_REALTIME, &real);
  return (real.tv_sec - monotonic.tv_sec) * 1'000'000'000 + (real.tv_nsec - monotonic.tv_nsec);
}

constexpr int32_t kCpu = -1;  // in the place of a device's number

class StepTrace final : public Observer {
 public:
  void task_ended(const TaskEvent& task) override {
    if (task.begun.monotonic == 0) return;     // it never ran
    if (task.model && task.index < 0) return;  // the nodes of the graph have rows of their own
    if (task.kind == TaskKind::Control && task.cost.unit == Unit::Other) return;  // records and waits
    const std::lock_guard lock(mutex_);
    nodes_[task.device].push_back(
        {task.node, task.name, task.stream, task.submitted.monotonic, task.begun.monotonic, task.ended.monotonic});
  }

  void host_work(const std::string& node, std::string_view type, uint64_t begun, uint64_t ended) {
    const std::lock_guard lock(mutex_);
    nodes_[kCpu].push_back({node, std::string(type), static_cast<int32_t>(thread_number()), 0, begun, ended});
  }

  std::string text() {
    const std::lock_guard lock(mutex_);
    std::string text;
    pbf_writer stats(text);
    for (auto& [device, nodes] : nodes_) {
      std::ranges::sort(nodes, {}, &Node::begun);
      pbf_writer to(stats, step_stats::kDevice);
      to.add_string(device_stats::kName, "/job:localhost/replica:0/task:0/device:" +
                                             (device == kCpu ? "CPU:0" : "NPU:" + std::to_string(device)));
      for (const Node& node : nodes) write(pbf_writer(to, device_stats::kNode), node);
    }
    return text;
  }

 private:
  struct Node {
    std::string node, operation;
    int32_t stream;  ///< of the CPU: the thread
    uint64_t submitted, begun, ended;
  };

  void write(pbf_writer to, const Node& node) const {
    const std::string& name = node.node.empty() ? node.operation : node.node;
    const auto start = static_cast<int64_t>(node.begun) + offset_;
    const auto length = static_cast<int64_t>(node.ended - node.begun);
    to.add_string(node_stats::kName, name);
    to.add_int64(node_stats::kStart, start / 1000);
    to.add_int64(node_stats::kBeginsAfter, 0);
    to.add_int64(node_stats::kEndsAfter, length / 1000);
    to.add_int64(node_stats::kDoneAfter, length / 1000);
    to.add_string(node_stats::kLabel, name + " = " + node.operation + "()");
    // streams of the library have negative numbers
    to.add_uint32(node_stats::kThread, static_cast<uint32_t>(std::max(node.stream, 0)));
    to.add_int64(node_stats::kStartNanos, start);
    to.add_int64(node_stats::kBeginsAfterNanos, 0);
    to.add_int64(node_stats::kEndsAfterNanos, length);
    to.add_int64(node_stats::kDoneAfterNanos, length);
    if (node.submitted) {
      to.add_int64(node_stats::kSubmitted, (static_cast<int64_t>(node.submitted) + offset_) / 1000);
      to.add_int64(node_stats::kSubmittedNanos, static_cast<int64_t>(node.submitted) + offset_);
    }
  }

  const int64_t offset_ = to_time_of_day();
  std::mutex mutex_;
  std::map<int32_t, std::vector<Node>> nodes_;  // by device
};

std::mutex g_mutex;
std::set<std::shared_ptr<StepTrace>> g_traces;  // subscribed ones
std::atomic<bool> g_tracing{false};             // there are some

}  // namespace

HostWork::HostWork(const std::string& node, std::string_view type)
    : node_(node),
      type_(type),
      begun_(g_tracing.load(std::memory_order_relaxed) ? stamp(watch::kTasks).monotonic : 0) {}

HostWork::~HostWork() {
  if (!begun_) return;
  const uint64_t ended = stamp(watch::kTasks).monotonic;
  const std::lock_guard lock(g_mutex);
  for (const auto& trace : g_traces) trace->host_work(node_, type_, begun_, ended);
}

/// Tells what the process' devices do from now on. Ends with updraft_npu_device_trace_end(); several may be on at once.
extern "C" __attribute__((visibility("default"))) void* updraft_npu_device_trace_begin() {
  auto trace = std::make_shared<StepTrace>();
  subscribe(trace, watch::kTasks);
  const std::lock_guard lock(g_mutex);
  g_traces.insert(trace);
  g_tracing = true;
  return trace.get();
}

/// Hands the bytes of a StepStats to `take` (null: nobody wants them) and forgets the trace.
extern "C" __attribute__((visibility("default"))) void updraft_npu_device_trace_end(void* handle,
                                                                                    void (*take)(const char* bytes,
                                                                                                 size_t size)) {
  std::shared_ptr<StepTrace> trace;
  {
    const std::lock_guard lock(g_mutex);
    const auto found = std::ranges::find(g_traces, handle, [](const auto& t) { return static_cast<void*>(t.get()); });
    if (found == g_traces.end()) return;
    trace = *found;
    g_traces.erase(found);
    g_tracing = !g_traces.empty();
  }
  unsubscribe(trace.get());
  if (!take) return;
  const std::string text = trace->text();
  take(text.data(), text.size());
}

}  // namespace updraft::npu_device
