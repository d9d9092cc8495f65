// Loaded models: what loads them, and what is kept of each.
#pragma once
#include <map>
#include <memory>
#include <string>

#include "base/recoded.h"
#include "graph/executor/variable_memory.h"

namespace updraft {

/// A model file, and the folder that its weights beside it lie in.
struct ModelSource {
  graph::Bytes file;
  std::string directory;
  std::string name;  ///< for errors; empty for one in memory
};
/// Throws 145002 for what cannot be read.
ModelSource model_file(const char* path);
ModelSource model_in_memory(const void* model, size_t size);

/// Memory of the client's, which must live as long as the model is loaded; null: the model has its own.
struct ModelMemory {
  void *work = nullptr, *weights = nullptr;
  size_t work_bytes = 0, weight_bytes = 0;
  /// By the name of a file with weights, where the client has brought its content.
  std::map<std::string, std::pair<const void*, size_t>, std::less<>> external;
};

struct LoadedEntry {
  std::shared_ptr<graph::LoadedModel> model;
  std::byte* work = nullptr;               ///< of the client, for what lives during an execution
  std::vector<graph::Variable> variables;  ///< of models of a bundle: their last inputs
  std::shared_ptr<graph::VariableMemory> memory;
};

/// Puts a model on the current device. Throws 100000 where the client's memory is too small or none of that device.
uint32_t load_model(graph::Model model, const ModelMemory& memory,
                    std::shared_ptr<graph::VariableMemory> variables = nullptr);
/// What a graph or an operator refuses is a file that cannot be parsed, for whoever loads it (100013).
template <class F>
void in_codes_of_files(F&& read) {
  recoded(100013, "the model cannot be prepared: ", read);
}
/// The model of a file, with the weights that lie beside it.
graph::Model read_model(const ModelSource& source, const ModelMemory& memory = {});
/// Throws 145003 for an id that is none.
LoadedEntry loaded_entry(uint32_t id);
/// Waits for what is under way.
void unload_model(uint32_t id);

/// Throws 100000 that names the argument where the memory is not so large or none of the device.
std::byte* want_memory(const char* name, void* memory, size_t bytes, size_t wanted);

}  // namespace updraft
