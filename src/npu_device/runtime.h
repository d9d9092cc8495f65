// The open device: what its operators, functions and streams share.
#pragma once
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "npu_device/executable.h"
#include "npu_device/feeds.h"
#include "npu_device/library.h"
#include "npu_device/loop_log.h"
#include "npu_device/random_rows.h"
#include "npu_device/value.h"

namespace updraft::npu_device {

class Runtime {
 public:
  Runtime(TFE_Context* context, Device& device, const std::string& name, std::map<std::string, std::string> options);

  const Handles& handles() const { return handles_; }
  Library& library() { return library_; }
  LoopLog& loop_log() { return loop_log_; }
  Feeds& feeds() { return feeds_; }
  RandomRows& random_rows() { return random_rows_; }
  Device& device() const { return handles_.device; }
  /// Options of the graph engine, by their names there.
  const std::map<std::string, std::string>& options() const { return options_; }

  /// The function for arguments of these kinds.
  std::shared_ptr<Executable> function(std::string_view name, const Signature& signature);
  /// Nobody calls the function any more: what was made of it goes when the last run is over.
  void forget(std::string_view function);
  /// An operator by itself; `attributes` is a message NameAttrList.
  std::vector<Value> run_operator(const std::string& type, const TFE_OpAttrs* attributes,
                                  const std::vector<Value>& inputs, size_t outputs);
  /// How long a graph may run; negative: as long as it likes.
  std::chrono::milliseconds time_limit() const { return time_limit_; }
  /// The calling thread's.
  Stream& stream();
  /// Notes that an operator runs on the CPU, and why; the log is told the first time.
  void tell_host(std::string_view type, std::string_view reason);
  /// A line "type: reason" for each such operator.
  std::string host_operators();

 private:
  const Handles handles_;
  Library library_;
  LoopLog loop_log_;
  Feeds feeds_{handles_};
  RandomRows random_rows_{handles_, library_};
  const std::map<std::string, std::string> options_;
  std::chrono::milliseconds time_limit_{-1};
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Executable>, std::less<>> executables_;
  std::map<std::string, std::string, std::less<>> on_host_;
};

}  // namespace updraft::npu_device
