// The variables of a session: memory on its device that the session's graphs share by name.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/device_block.h"
#include "graph/compile/variables.h"
#include "graph/executor/loaded_model.h"

namespace ge {

class Variables {
 public:
  /// Makes those that are not there yet, with the values that they begin with. Throws 100000 where a graph says
  /// otherwise of a variable than one before it.
  void declare(const std::vector<updraft::graph::Variable>& variables, updraft::Device& device);
  /// Their memory, for a run that reads and assigns them so. Throws 100000 for one that is read and has no value.
  std::vector<updraft::graph::Buffer> buffers(const std::vector<updraft::graph::Variable>& variables, uint32_t graph);
  /// A run was put on its stream.
  void assigned(const std::vector<updraft::graph::Variable>& variables);

  struct Content {
    updraft::graph::TensorDesc desc;
    std::byte* data;  ///< as clients see it
  };
  /// Whether there is one of that name, with a value.
  bool has(const std::string& name) const;
  /// Throws 100000 for a name that is none, and for a variable without a value.
  Content content(const std::string& name) const;

 private:
  struct Held {
    updraft::graph::TensorDesc desc;
    updraft::DeviceBlock memory;
    bool has_value = false;
  };
  const Held& held(const std::string& name) const;

  mutable std::mutex mutex_;
  std::map<std::string, Held, std::less<>> all_;
};

}  // namespace ge
