#include "device/capture/capture.h"

#include <algorithm>

#include "base/error.h"
#include "device/capture/lanes.h"
#include "device/capture/told_lanes.h"
#include "device/device.h"
#include "device/stream.h"
#include "device/waits/time_limits.h"

namespace updraft {
namespace {

class LaunchTask final : public Task {
 public:
  LaunchTask(std::shared_ptr<CapturedGraph> graph, size_t begin, size_t end, uint32_t lane)
      : graph_(std::move(graph)), begin_(begin), end_(end), lane_(lane) {
    kind = TaskKind::Compute;
    work = INT64_MAX;
    composite = true;
  }
  void run() override { graph_->run(begin_, end_, lane_); }
  void release() override { delete this; }
  const char* name() const override { return "MODEL_EXECUTE"; }
  uint32_t model() const override { return graph_->id(); }

 private:
  std::shared_ptr<CapturedGraph> graph_;
  size_t begin_, end_;
  uint32_t lane_;
};

}  // namespace

/// Carries the tasks of an update to its place in the order of the stream.
class GroupUpdateTask final : public Task {
 public:
  GroupUpdateTask(std::shared_ptr<CapturedGraph> graph, uint32_t group, std::vector<Task*> tasks)
      : graph_(std::move(graph)), group_(group), tasks_(std::move(tasks)) {
    kind = TaskKind::Compute;
  }
  void run() override { graph_->exchange(group_, tasks_); }
  void release() override {
    for (Task* task : tasks_) task->release();  // those that were replaced, or of an update that was dropped
    delete this;
  }
  const char* name() const override { return "TASK_UPDATE"; }

 private:
  std::shared_ptr<CapturedGraph> graph_;
  uint32_t group_;
  std::vector<Task*> tasks_;
};

CapturedGraph::~CapturedGraph() {
  for (const Node& node : nodes_)
    if (node.task) node.task->release();
}

void CapturedGraph::begin(Stream& stream) {
  std::lock_guard lock(mutex_);
  origin_ = &stream;
  streams_.push_back({&stream, lanes_++});
  capturing_ = true;
  keep_arguments_.emplace();
  stream.set_capture(shared_from_this());
}

const CapturedGraph::Lane* CapturedGraph::lane_of(const Stream& stream) const {
  const auto it = std::ranges::find(streams_, &stream, [](const Lane& lane) { return lane.stream; });
  return it == streams_.end() ? nullptr : &*it;
}

void CapturedGraph::end(Stream& stream) {
  std::lock_guard lock(mutex_);
  if (&stream != origin_)
    throw Error(code::kRtParamInvalid, "stream {} did not begin this capture: end it on the stream that did",
                stream.id());
  for (const Lane& lane : streams_) lane.stream->set_capture(nullptr);
  streams_.clear();
  capturing_ = false;
  keep_arguments_.reset();
  if (invalid_) throw Error(code::kRtParamInvalid, "the capture was invalidated: a stream of it was destroyed");
}

void CapturedGraph::leave(Stream& stream) {
  std::lock_guard lock(mutex_);
  invalid_ = true;
  stream.set_capture(nullptr);
  std::erase_if(streams_, [&](const Lane& lane) { return lane.stream == &stream; });
  if (&stream != origin_) return;
  for (const Lane& lane : streams_) lane.stream->set_capture(nullptr);
  streams_.clear();
  capturing_ = false;
  keep_arguments_.reset();
}

bool CapturedGraph::add(Stream& stream, Task* task) {
  std::lock_guard lock(mutex_);
  const Lane* lane = lane_of(stream);
  if (!lane) return false;
  task->next = nullptr;
  nodes_.push_back({task, lane->number, false, tasks_++, lane->group});
  waits_ |= task->waits;
  return true;
}

std::optional<uint32_t> CapturedGraph::record(Stream& stream) {
  std::lock_guard lock(mutex_);
  const Lane* lane = lane_of(stream);
  if (!lane) return std::nullopt;
  nodes_.push_back({nullptr, lane->number, true, records_});
  return records_++;
}

void CapturedGraph::wait(Stream& stream, uint32_t record) {
  std::lock_guard lock(mutex_);
  if (!capturing_) return;  // it ended meanwhile
  const Lane* lane = lane_of(stream);
  if (!lane) {
    if (stream.capturing()) return;  // of another graph
    streams_.push_back({&stream, lanes_++});
    stream.set_capture(shared_from_this());
    lane = &streams_.back();
  }
  nodes_.push_back({nullptr, lane->number, false, record});
}

CapturedGraph::Lane& CapturedGraph::lane_to_group(Stream& stream) {
  const auto it = std::ranges::find(streams_, &stream, [](const Lane& lane) { return lane.stream; });
  if (it == streams_.end()) throw Error(code::kRtParamInvalid, "stream {} is not being captured", stream.id());
  return *it;
}

void CapturedGraph::begin_group(Stream& stream) {
  std::lock_guard lock(mutex_);
  Lane& lane = lane_to_group(stream);
  if (lane.group != kNoGroup)
    throw Error(code::kRtParamInvalid, "a task group of stream {} is open: end it before another", stream.id());
  lane.group = groups_++;
}

std::vector<size_t> CapturedGraph::nodes_of(uint32_t group) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < nodes_.size(); ++i)
    if (nodes_[i].group == static_cast<int32_t>(group)) found.push_back(i);
  return found;
}

uint32_t CapturedGraph::end_group(Stream& stream) {
  std::lock_guard lock(mutex_);
  Lane& lane = lane_to_group(stream);
  if (lane.group == kNoGroup)
    throw Error(code::kRtParamInvalid, "no task group of stream {} is open: begin one before", stream.id());
  const auto group = static_cast<uint32_t>(std::exchange(lane.group, kNoGroup));
  for (size_t i : nodes_of(group))
    if (nodes_[i].task->replayed_by_stream())
      throw Error(code::kRtParamInvalid, "the task group holds {}, which waits or is the host's: want operators alone",
                  nodes_[i].task->name());
  return group;
}

void CapturedGraph::replace_group(Stream& stream, uint32_t group, CapturedGraph& update) {
  std::vector<Task*> tasks;
  {
    std::scoped_lock lock(mutex_, update.mutex_, update_mutex_);
    const std::vector<size_t> old = nodes_of(group);
    const auto made = static_cast<size_t>(std::ranges::count_if(update.nodes_, [](const Node& n) { return n.task; }));
    if (made != old.size())
      throw Error(code::kRtParamInvalid, "the update has {} tasks, the task group of graph {} has {}", made, id_,
                  old.size());
    for (const Node& node : update.nodes_) {
      if (!node.task) continue;
      const char* was = nodes_[old[tasks.size()]].task->name();
      if (std::string_view(was) != node.task->name())
        throw Error(code::kRtParamInvalid, "task {} of the update is {}, in the task group of graph {} it is {}",
                    tasks.size(), node.task->name(), id_, was);
      tasks.push_back(node.task);
    }
    update.nodes_.clear();  // the tasks are the update's from here on
  }
  stream.submit(new GroupUpdateTask(shared_from_this(), group, std::move(tasks)));
}

void CapturedGraph::exchange(uint32_t group, std::vector<Task*>& tasks) {
  std::scoped_lock lock(mutex_, update_mutex_);
  size_t next = 0;
  for (size_t i : nodes_of(group)) std::swap(nodes_[i].task, tasks[next++]);
}

size_t CapturedGraph::size() const {
  std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::ranges::count_if(nodes_, [](const Node& node) { return node.task != nullptr; }));
}

std::string CapturedGraph::to_json() const {
  std::lock_guard lock(mutex_);
  std::string text = "[";
  size_t index = 0;
  for (const Node& node : nodes_) {
    // torch_npu pairs a record and its waits by the number at the end of their names.
    const char* type = node.task ? node.task->name() : node.record ? "EVENT_RECORD" : "EVENT_WAIT";
    const std::string name = node.task ? type : fmt::format("{}_{}", type, node.number);
    text += fmt::format(
        "{}\n  {{\"name\": \"{}\", \"cat\": \"{}\", \"ph\": \"X\", \"ts\": {}, \"dur\": 1, \"pid\": {}, "
        "\"tid\": \"stream{}\", \"args\": {{\"Model Id\": {}, \"Stream Id\": {}, \"Task Id\": {}, "
        "\"Task Type\": \"{}\"}}}}",
        index ? "," : "", name, node.task ? "task" : "event", index, id_, node.lane, id_, node.lane, index, type);
    ++index;
  }
  return text + "\n]\n";
}

// A task of a group may be replaced meanwhile: it is not looked at.
bool CapturedGraph::in_piece(const Node& node) {
  return node.group != kNoGroup || (node.task && !node.task->replayed_by_stream());
}

void CapturedGraph::launch(const std::shared_ptr<CapturedGraph>& graph, Stream& stream) {
  const ReplayScope scope(graph->id_);
  if (graph->waits_ && graph->lanes_ > 1) {
    graph->launch_in_lanes(stream);
  } else {
    graph->launch_in_order(stream);
  }
}

// Of what a group holds at the time nobody is told: it may be replaced before the piece runs.
void CapturedGraph::observe_piece(const Stream& stream, size_t begin, size_t end, uint32_t lane) const {
  if (!watched() || stream.capturing()) return;
  for (size_t i = begin; i < end; ++i) {
    const Node& node = nodes_[i];
    if (node.group == kNoGroup && in_piece(node) && (lane == kAllLanes || node.lane == lane))
      observe_part(stream, id_, static_cast<int32_t>(node.number), *node.task);
  }
}

// The same of a graph of several streams, whose lanes run one after the other here.
void CapturedGraph::tell_piece(const ToldLanes& told, size_t begin, size_t end) const {
  for (size_t i = begin; i < end; ++i) {
    const Node& node = nodes_[i];
    if (!node.task) {
      if (node.record) told.record(node.lane, node.number);
      else told.wait(node.lane, node.number);
    } else if (node.group == kNoGroup && in_piece(node)) {
      told.task(node.lane, id_, static_cast<int32_t>(node.number), *node.task);
    }
  }
}

void CapturedGraph::launch_in_order(Stream& stream) {
  size_t begin = 0, pieces = 0;
  bool any = false;
  std::optional<ToldLanes> told;
  if (lanes_ > 1 && watched() && !stream.capturing()) [[unlikely]]
    told.emplace(stream, lanes_, records_);
  const auto flush = [&](size_t end) {
    if (told) tell_piece(*told, begin, end);
    else if (any) observe_piece(stream, begin, end, kAllLanes);
    if (any) stream.submit(new LaunchTask(shared_from_this(), begin, end, kAllLanes));
    pieces += any;
    any = false;
    begin = end;
  };
  for (size_t i = 0; i < nodes_.size(); ++i) {
    any |= in_piece(nodes_[i]);
    if (!nodes_[i].task || in_piece(nodes_[i])) continue;
    flush(i);
    if (told) told->meet(nodes_[i].lane);
    const ReplayScope task(id_, static_cast<int32_t>(nodes_[i].number));
    nodes_[i].task->replay(stream);
    if (told) told->meet(nodes_[i].lane);
    ++pieces;
  }
  any |= pieces == 0;  // an empty graph is a task as well
  flush(nodes_.size());
}

void CapturedGraph::launch_in_lanes(Stream& stream) {
  if (stream.capturing())
    throw Error(code::kRtFeatureNotSupport,
                "model {} cannot be captured into another: its streams wait for each other by notifies, values or host "
                "functions",
                id_);
  LaneReplay lanes(stream, lanes_, records_);
  struct Piece {
    size_t begin = 0;
    bool any = false;
  };
  std::vector<Piece> pieces(lanes_);
  const auto flush = [&](uint32_t lane, size_t end) {
    Piece& piece = pieces[lane];
    if (piece.any) observe_piece(lanes.stream(lane), piece.begin, end, lane);
    if (piece.any) lanes.stream(lane).submit(new LaunchTask(shared_from_this(), piece.begin, end, lane));
    piece = {end, false};
  };
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    if (in_piece(node)) {
      pieces[node.lane].any = true;
      continue;
    }
    flush(node.lane, i);
    if (node.task) {
      const ReplayScope task(id_, static_cast<int32_t>(node.number));
      node.task->replay(lanes.stream(node.lane));
    } else if (node.record) {
      lanes.record(node.lane, node.number);
    } else {
      lanes.wait(node.lane, node.number);
    }
  }
  for (uint32_t lane = 0; lane < lanes_; ++lane) flush(lane, nodes_.size());
}

void CapturedGraph::run(size_t begin, size_t end, uint32_t lane) {
  for (size_t i = begin; i < end; ++i) {
    const Node& node = nodes_[i];
    if (!in_piece(node) || (lane != kAllLanes && node.lane != lane)) continue;
    if (node.group == kNoGroup) {
      run_node(node);
    } else {
      std::lock_guard lock(update_mutex_);
      run_node(node);
    }
  }
}

void CapturedGraph::run_node(const Node& node) {
  Task* task = node.task;
  try {
    if (watched()) [[unlikely]]
      run_observed_in_graph(id_, static_cast<int32_t>(node.number), *task, [&] { run_in_time(*task); });
    else run_in_time(*task);
  } catch (const Error& e) { throw Error(e.code(), "{} (in captured graph {}): {}", task->name(), id_, e.text()); }
}

}  // namespace updraft
