// What the log says of functions that take their data from iterators: which of them loop over one without Python
// between the steps, how many batches a call takes, and how that ended.
#pragma once
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "npu_device/body.h"
#include "npu_device/value.h"

namespace updraft::npu_device {

/// Batches that the calling thread has taken from iterators.
int64_t& batches_taken();

class LoopLog {
 public:
  explicit LoopLog(int device) : device_(device) {}

  /// A call of a function: says that it begins, and how it ends.
  class Call {
   public:
    Call(LoopLog& log, Library& library, const Body& body, const std::vector<Value>& arguments);
    void done(const std::string& status);

   private:
    const std::string name_;
    const std::chrono::steady_clock::time_point begin_;
    std::vector<std::string> iterators_;
    int64_t times_ = 0;   ///< 0: nothing is said
    int64_t before_ = 0;  ///< batches that had been taken
  };

  /// How many steps a call of a function that loops makes (0: nobody has said), and whether the log has a line of that.
  void set_loop_size(int64_t size, bool told);
  /// There is an iterator that hands out to those of several devices (of a distribution strategy).
  void add_source();
  /// The process ends.
  void close();

 private:
  struct Function {
    bool loops = false;
    std::vector<int> iterators;  ///< arguments
    int graph = 0;
    bool told = false;  ///< the log has the line about its form
  };
  Function& function(Library& library, const Body& body);
  std::string name_of(const Value& iterator);

  const int device_;
  std::mutex mutex_;
  int64_t size_ = 0;
  bool told_ = false;  ///< the log has the line about the size
  std::map<std::string, Function> functions_;
  std::map<std::string, std::string> names_;  ///< of iterators, by what TensorFlow says of the resource
  std::vector<std::string> order_, sources_;
};

}  // namespace updraft::npu_device
