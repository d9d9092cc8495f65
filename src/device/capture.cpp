#include "device/capture.h"

#include <algorithm>

#include "base/error.h"
#include "device/device.h"
#include "device/stream.h"

namespace updraft {
namespace {

class LaunchTask final : public Task {
 public:
  LaunchTask(std::shared_ptr<CapturedGraph> graph, size_t begin, size_t end)
      : graph_(std::move(graph)), begin_(begin), end_(end) {
    kind = TaskKind::Compute;
    work = INT64_MAX;
  }
  void run() override { graph_->run(begin_, end_); }
  void release() override { delete this; }
  const char* name() const override { return "MODEL_EXECUTE"; }
  uint32_t model() const override { return graph_->id(); }

 private:
  std::shared_ptr<CapturedGraph> graph_;
  size_t begin_, end_;
};

}  // namespace

CapturedGraph::~CapturedGraph() {
  for (Task* task : tasks_) task->release();
}

void CapturedGraph::begin(Stream& stream) {
  std::lock_guard lock(mutex_);
  origin_ = &stream;
  streams_.push_back(&stream);
  capturing_ = true;
  keep_arguments_.emplace();
  stream.set_capture(this);
}

void CapturedGraph::join(Stream& stream) {
  std::lock_guard lock(mutex_);
  if (!capturing_) return;  // it ended meanwhile
  streams_.push_back(&stream);
  stream.set_capture(this);
}

void CapturedGraph::end(Stream& stream) {
  std::lock_guard lock(mutex_);
  if (&stream != origin_)
    throw Error(code::kRtParamInvalid, "stream {} did not begin this capture: end it on the stream that did",
                stream.id());
  for (Stream* s : streams_) s->set_capture(nullptr);
  streams_.clear();
  capturing_ = false;
  keep_arguments_.reset();
  if (invalid_)
    throw Error(code::kRtParamInvalid,
                "the capture was invalidated: something in it synchronised or is not permitted in a capture");
}

void CapturedGraph::leave(Stream& stream) {
  std::lock_guard lock(mutex_);
  invalid_ = true;
  stream.set_capture(nullptr);
  std::erase(streams_, &stream);
  if (&stream != origin_) return;
  for (Stream* s : streams_) s->set_capture(nullptr);
  streams_.clear();
  capturing_ = false;
  keep_arguments_.reset();
}

void CapturedGraph::add(Task* task) {
  std::lock_guard lock(mutex_);
  task->next = nullptr;
  tasks_.push_back(task);
}

size_t CapturedGraph::size() const {
  std::lock_guard lock(mutex_);
  return tasks_.size();
}

std::string CapturedGraph::to_json() const {
  std::lock_guard lock(mutex_);
  std::string text = fmt::format("{{\"id\": {}, \"tasks\": [", id_);
  for (size_t i = 0; i < tasks_.size(); ++i)
    text += fmt::format("{}\n  {{\"index\": {}, \"name\": \"{}\"}}", i ? "," : "", i, tasks_[i]->name());
  return text + "\n]}\n";
}

void CapturedGraph::launch(const std::shared_ptr<CapturedGraph>& graph, Stream& stream) {
  size_t begin = 0;
  const size_t size = graph->size();
  for (size_t i = 0; i < size; ++i) {
    Task* task = graph->tasks_[i];
    if (!task->replayed_by_stream()) continue;
    if (i > begin) stream.submit(new LaunchTask(graph, begin, i));
    {
      const ReplayScope scope(graph->id_, i);
      task->replay(stream);
    }
    begin = i + 1;
  }
  if (begin < size || size == 0) stream.submit(new LaunchTask(graph, begin, size));
}

void CapturedGraph::run(size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    Task* task = tasks_[i];
    try {
      if (watched()) [[unlikely]]
        run_observed_in_graph(id_, static_cast<int32_t>(i), *task, [&] { task->run(); });
      else task->run();
    } catch (const Error& e) { throw Error(e.code(), "{} (in captured graph {}): {}", task->name(), id_, e.text()); }
  }
}

}  // namespace updraft
