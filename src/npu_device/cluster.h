// Items of a function that run on the device together: one graph of the graph engine for each set of input shapes.
//
// Variables are inputs of the graph. What is assigned to one gives an output that becomes its memory; optimizers
// (ResourceApply…) write the memory itself where nobody reads the old value after them, else a copy of it.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "graph/executor/loaded_model.h"
#include "npu_device/body.h"
#include "npu_device/value.h"

namespace updraft::npu_device {

class Runtime;

/// Thrown for an item that the device cannot run.
struct Refusal {
  int item = -1;
  std::string reason;
};

class Cluster {
 public:
  /// `items` in the order of the body; `variables` says of each item which argument its first output is, or -1.
  /// `wanted`: outputs that are read elsewhere.
  Cluster(Runtime& runtime, const Body& body, std::vector<int> items, const std::vector<int>& variables,
          const std::vector<Ref>& wanted);

  /// Reads and sets the values of items; `arguments` has the variables. Throws Refusal.
  void run(std::vector<std::vector<Value>>& values, const std::vector<Value>& arguments);

 private:
  struct Compiled {
    std::shared_ptr<graph::LoadedModel> model;
    std::vector<int> new_memory;  ///< variables that get the outputs behind the wanted ones
    std::vector<int> written;     ///< variables whose memory is written
    uint64_t used = 0;            ///< the latest of Cluster::uses_
  };
  struct Key {
    std::vector<Dims> dims;
    std::vector<int64_t> numbers;  ///< of inputs whose values decided something
    auto operator<=>(const Key&) const = default;
  };
  class Import;
  std::shared_ptr<Compiled> compiled_for(const std::vector<Value>& inputs, const std::vector<Value>& variables);

  Runtime& runtime_;
  const Body& body_;
  const std::vector<int> items_;
  const std::vector<int>& variable_of_;
  std::vector<Ref> externals_;  ///< tensors from elsewhere
  std::vector<int> variables_;  ///< arguments
  std::vector<Ref> wanted_;
  bool collectives_ = false;  ///< the items have some
  std::mutex mutex_;
  bool numbers_matter_ = false;
  uint64_t uses_ = 0;
  std::map<Key, std::shared_ptr<Compiled>> compiled_;
};

/// True for an operator on variables that clusters have.
bool is_variable_operator(std::string_view type);

}  // namespace updraft::npu_device
