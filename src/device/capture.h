// A captured graph: the tasks that streams were given between aclmdlRICaptureBegin and End, in order. Replaying
// runs them one after another on one stream: the order of capture satisfies every dependency that events made.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/observer.h"

namespace updraft {

class Stream;
class Task;

class CapturedGraph : public std::enable_shared_from_this<CapturedGraph> {
 public:
  explicit CapturedGraph(uint32_t id) : id_(id) {}
  ~CapturedGraph();

  void begin(Stream& stream);
  /// A stream that waited for a captured event.
  void join(Stream& stream);
  /// Ends the capture that `stream` began; throws 107000 when it was invalidated.
  void end(Stream& stream);
  /// The stream is going away: the capture is void, and over when this stream began it.
  void leave(Stream& stream);
  void add(Task* task);
  void invalidate() { invalid_ = true; }
  bool invalid() const { return invalid_; }
  bool capturing() const { return capturing_; }
  uint32_t id() const { return id_; }
  size_t size() const;
  /// One JSON object a task.
  std::string to_json() const;

  /// Enqueues one run of the whole graph.
  static void launch(const std::shared_ptr<CapturedGraph>& graph, Stream& stream);
  /// Tasks [begin, end).
  void run(size_t begin, size_t end);

  void* handle = nullptr;  ///< what the client calls this graph

 private:
  const uint32_t id_;
  mutable std::mutex mutex_;
  Stream* origin_ = nullptr;
  std::vector<Stream*> streams_;
  std::vector<Task*> tasks_;
  std::atomic<bool> invalid_{false};
  std::atomic<bool> capturing_{false};
  std::optional<KeepArguments> keep_arguments_;  ///< while it is captured: observers of a replay may come later
};

}  // namespace updraft
