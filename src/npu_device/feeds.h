// Threads that read batches from iterators ahead of the steps of a loop. A thread reads just what the loop will take,
// so when a loop is over its iterators stand where they would without. After a step that failed, what was read and not
// taken is what the iterator's next reader gets.
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "npu_device/loop_form.h"
#include "npu_device/value.h"

namespace updraft::npu_device {

/// What tells an iterator from others; empty for what is none.
std::string iterator_key(const Handles& handles, const Value& iterator);

class Feeds {
 public:
  explicit Feeds(const Handles& handles) : handles_(handles) {}

  /// The threads of one run of a loop. Those that still have batches when it goes read no further.
  class Ahead {
   public:
    Ahead(Feeds& feeds, std::vector<std::string> keys) : feeds_(feeds), keys_(std::move(keys)) {}
    ~Ahead();
    Ahead(const Ahead&) = delete;

   private:
    Feeds& feeds_;
    const std::vector<std::string> keys_;
  };
  /// Starts a thread for each iterator of which the loop, with these arguments, takes several batches. `keeps` owns the
  /// definitions that the form points to.
  std::unique_ptr<Ahead> start(const LoopForm& form, int64_t steps, const std::vector<Value>& arguments,
                               std::shared_ptr<const void> keeps);
  /// Does an operator with the batch that a thread has read, if it is one on an iterator and there is such a thread.
  /// Throws the StatusError that the thread met there.
  bool run(const tensorflow::NodeDef& def, const std::vector<Value>& inputs, std::vector<Value>& results);
  /// The process ends: no thread reads on.
  void close();

 private:
  class Feed;
  std::shared_ptr<Feed> find(const std::string& key);
  std::pair<std::string, std::shared_ptr<Feed>> find_of(const Value& iterator);
  void drop(const std::string& key, const Feed* feed);

  const Handles& handles_;
  std::atomic<size_t> count_{0};  ///< of feeds_
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Feed>> feeds_;
  bool closed_ = false;
};

}  // namespace updraft::npu_device
