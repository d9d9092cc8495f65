// What a run tells of how it would fare on a card: operators with their types and shapes, what the product does not
// take, where the host waits for the device and the device for the host. `updraft run --report` makes a page of it.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "device/observer.h"
#include "observe/python_stack.h"

namespace updraft::readiness {

using Stack = std::vector<PythonFrame>;

struct Operator {
  long count = 0;
  uint64_t nanoseconds = 0;
  Unit unit = Unit::Other;
  double flops = 0, bytes = 0;
  bool by_name = false;  ///< through the aclop interface
};

/// The tensors of an operator's calls in the same types.
struct Signature {
  long count = 0;
  std::set<std::string> shapes;  ///< up to kMostShapes
  bool more_shapes = false;
  std::vector<long> new_at;  ///< the counts at which each of them came first
  Stack first;               ///< where the first of them was made
};

struct Refusal {
  long count = 0;
  Stack first;
};

struct Wait {
  long count = 0;
  uint64_t nanoseconds = 0;
};

/// Operators that follow each other and have one operator for all of it.
struct Chain {
  long count = 0;
  Stack first;
};

/// The device had nothing to do between two tasks.
struct Gap {
  long count = 0;
  uint64_t nanoseconds = 0;
};

class Recorder final : public Observer {
 public:
  static constexpr size_t kMostShapes = 64, kMostFrames = 24;
  static constexpr uint64_t kLeastGap = 1'000'000;  ///< nanoseconds; shorter ones are the launches themselves

  void task_begun(const TaskEvent& task) override;
  void task_ended(const TaskEvent& task) override;
  void call_ended(const ApiCall& call) override;

  /// Everything as JSON, of this process.
  std::string json() const;

 private:
  struct Timeline {
    int computing = 0, collective = 0;
    uint64_t first = 0, changed = 0;           ///< when the first task began; when a count changed last
    uint64_t busy = 0, idle = 0, exposed = 0;  ///< computing; neither; collectives alone
    std::string before;                        ///< the task that ended last
  };
  void advance(Timeline& line, uint64_t now);
  void planned(const ApiCall& call);
  void look_for_chains(const ApiCall& call);

  mutable std::mutex mutex_;
  std::map<std::string, Operator, std::less<>> operators_;
  std::map<std::pair<std::string, std::string>, Signature> signatures_;  // operator, types
  std::map<std::pair<std::string, std::string>, Refusal> refusals_;      // operator, what the product says
  std::map<std::pair<std::string, Stack>, Wait> waits_;                  // call, where
  std::map<std::string, long> missing_;                                  // names that nobody has implemented
  std::map<std::string, Chain> chains_;
  std::map<std::pair<std::string, std::string>, Gap> gaps_;  // task before, task behind
  std::map<int32_t, Timeline> timelines_;                    // by device
  std::map<int32_t, std::deque<std::string>> latest_;        // planned operators, by thread
  long unscaled_ = 0, overflowed_ = 0;  ///< lists of gradients, and of them those with an infinity or NaN
};

}  // namespace updraft::readiness
