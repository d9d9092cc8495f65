// The memory of variables on a device, which graphs share by name: those of a session, or of a bundle of models.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device/device_block.h"
#include "graph/compile/variables.h"
#include "graph/executor/loaded_model.h"

namespace updraft::graph {

/// What variables of these descriptions want in one block of memory.
size_t variable_bytes(const std::vector<Variable>& variables);

class VariableMemory {
 public:
  VariableMemory() = default;
  /// Variables lie in a client's memory, which must live as long as this does; null: in memory of their own.
  VariableMemory(std::byte* memory, size_t bytes) : client_(memory), client_bytes_(bytes) {}

  /// Makes those that are not there yet, with the values that they begin with. Throws 100000 where a graph says
  /// otherwise of a variable than one before it, and where the client's memory is too small.
  void declare(const std::vector<Variable>& variables, Device& device);
  /// Their memory, for a run that reads and assigns them so. `who` ("graph 3") is what a refusal names. Throws 100000
  /// for one that is read and has no value.
  std::vector<Buffer> buffers(const std::vector<Variable>& variables, const std::string& who);
  /// A run was put on its stream.
  void assigned(const std::vector<Variable>& variables);

  struct Content {
    TensorDesc desc;
    std::byte* data;  ///< as clients see it
  };
  /// Whether there is one of that name, with a value.
  bool has(const std::string& name) const;
  /// Throws 100000 for a name that is none, and for a variable without a value.
  Content content(const std::string& name) const;

 private:
  struct Held {
    TensorDesc desc;
    DeviceBlock own;
    std::byte* data = nullptr;  ///< as clients see it
    bool has_value = false;
  };
  const Held& held(const std::string& name) const;

  mutable std::mutex mutex_;
  std::map<std::string, Held, std::less<>> all_;
  std::byte* client_ = nullptr;
  size_t client_bytes_ = 0, client_used_ = 0;
};

}  // namespace updraft::graph
