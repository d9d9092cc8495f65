// The open device: what its operators, functions and streams share.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "npu_device/executable.h"
#include "npu_device/library.h"
#include "npu_device/value.h"

namespace updraft::npu_device {

class Runtime {
 public:
  Runtime(TFE_Context* context, Device& device, const std::string& name,
          std::map<std::string, std::string> options);

  const Handles& handles() const { return handles_; }
  Library& library() { return library_; }
  Device& device() const { return handles_.device; }
  /// Options of the graph engine, by their names there.
  const std::map<std::string, std::string>& options() const { return options_; }

  /// The function for arguments of these kinds.
  std::shared_ptr<Executable> function(std::string_view name, const Signature& signature);
  /// An operator by itself; `attributes` is a message NameAttrList.
  std::vector<Value> run_operator(const std::string& type, const TFE_OpAttrs* attributes,
                                  const std::vector<Value>& inputs, size_t outputs);
  /// The calling thread's.
  Stream& stream();
  /// Tells the log once for each reason that an operator runs on the CPU.
  void tell_host(const std::string& type, const std::string& reason);

 private:
  const Handles handles_;
  Library library_;
  const std::map<std::string, std::string> options_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Executable>, std::less<>> executables_;
  std::set<std::string> told_;
};

}  // namespace updraft::npu_device
