// A captured graph: the tasks that streams were given between aclmdlRICaptureBegin and End, in order. A replay runs
// them one after another on one stream, since the order of capture satisfies every dependency that events made. When
// several streams were captured and some task waits for what another stream does (a notify, a value, a host function),
// each has a lane of its own: a stream of the replay, ordered with the others by the captured events.
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
class ToldLanes;

class CapturedGraph : public std::enable_shared_from_this<CapturedGraph> {
 public:
  explicit CapturedGraph(uint32_t id) : id_(id) {}
  ~CapturedGraph();

  void begin(Stream& stream);
  /// Ends the capture that `stream` began; throws 107000 when it was invalidated. The caller has a pointer to the
  /// graph.
  void end(Stream& stream);
  /// The stream is going away: the capture is void, and over when this stream began it.
  void leave(Stream& stream);
  /// False when the capture is over: the task stays the caller's.
  bool add(Stream& stream, Task* task);
  /// An event was recorded; returns which record of the graph that is, or nothing when the capture is over.
  std::optional<uint32_t> record(Stream& stream);
  /// The stream waits for that record, and joins the capture if it has not yet.
  void wait(Stream& stream, uint32_t record);
  /// What the stream is given between these two is a group, which an update can replace; the second gives its number.
  /// Throws 107000 where a group is begun twice or ended before, where the stream is not the capture's, or where the
  /// group holds tasks that wait.
  void begin_group(Stream& stream);
  uint32_t end_group(Stream& stream);
  /// Puts on the stream what replaces the group's tasks, in order, by those that `update` captured, the same ones with
  /// other arguments. Throws 107000 where they are others.
  void replace_group(Stream& stream, uint32_t group, CapturedGraph& update);
  bool invalid() const { return invalid_; }
  bool capturing() const { return capturing_; }
  uint32_t id() const { return id_; }
  size_t size() const;
  /// A Chrome trace (chrome://tracing, Perfetto) of the tasks in the order of capture: a row a captured stream.
  std::string to_json() const;

  /// Enqueues one run of the whole graph.
  static void launch(const std::shared_ptr<CapturedGraph>& graph, Stream& stream);
  /// What of [begin, end) runs on an engine; of `lane` alone, or of all (kAllLanes).
  void run(size_t begin, size_t end, uint32_t lane);
  static constexpr uint32_t kAllLanes = UINT32_MAX;

  void* handle = nullptr;  ///< what the client calls this graph; none: it records an update of another

 private:
  struct Node {
    Task* task = nullptr;  ///< null: an event
    uint32_t lane = 0;
    bool record = false;  ///< of events: a record, else a wait
    uint32_t number = 0;  ///< of events: the record that it makes or waits for; of tasks: place among the tasks
    int32_t group = kNoGroup;
  };
  static constexpr int32_t kNoGroup = -1;
  struct Lane {
    Stream* stream;
    uint32_t number;
    int32_t group = kNoGroup;  ///< that is open
  };
  friend class GroupUpdateTask;
  void exchange(uint32_t group, std::vector<Task*>& tasks);
  std::vector<size_t> nodes_of(uint32_t group) const;
  Lane& lane_to_group(Stream& stream);
  void run_node(const Node& node);
  const Lane* lane_of(const Stream& stream) const;
  static bool in_piece(const Node& node);
  void observe_piece(const Stream& stream, size_t begin, size_t end, uint32_t lane) const;
  void tell_piece(const ToldLanes& told, size_t begin, size_t end) const;
  void launch_in_order(Stream& stream);
  void launch_in_lanes(Stream& stream);

  const uint32_t id_;
  mutable std::mutex mutex_;
  Stream* origin_ = nullptr;
  std::vector<Lane> streams_;  ///< while the capture goes on
  uint32_t lanes_ = 0, records_ = 0, tasks_ = 0;
  bool waits_ = false;
  std::vector<Node> nodes_;
  int32_t groups_ = 0;
  std::mutex update_mutex_;  ///< held while a task of a group runs, and while groups are replaced
  std::atomic<bool> invalid_{false};
  std::atomic<bool> capturing_{false};
  std::optional<KeepArguments> keep_arguments_;  ///< while it is captured: observers of a replay may come later
};

}  // namespace updraft
