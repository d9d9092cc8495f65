// Random operators of functions with seeds. Each has a row of numbers of its own, which begins where its seeds say and
// goes on from call to call: equal seeds give equal numbers, as in TensorFlow, where each node of a function has its
// kernel.
#pragma once
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "npu_device/library.h"
#include "npu_device/value.h"

namespace updraft::npu_device {

/// Whether seeds say what the operator gives, so that it matters where it is in its row.
bool has_row(const tensorflow::NodeDef& def);

class RandomRows {
 public:
  RandomRows(const Handles& handles, const Library& library) : handles_(handles), library_(library) {}
  RandomRows(const RandomRows&) = delete;

  /// The function that is the operator alone, whose kernel keeps the row. `place`: the function that is called, a
  /// slash, and the operator's name in it, with the names of calls and loops between.
  std::string function(const std::string& place, const tensorflow::NodeDef& def,
                       const std::vector<ElementType>& inputs);
  /// The rows of a function that nobody calls any more.
  void forget(std::string_view function);

 private:
  const Handles& handles_;
  const Library& library_;
  std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> functions_;  ///< by place
};

}  // namespace updraft::npu_device
