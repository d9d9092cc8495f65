// Offline models on the device (aclmdlLoad…, aclmdlUnload, aclmdlQuerySize…).
#include "acl/model/load.h"

#include <filesystem>
#include <mutex>

#include "acl/api.h"
#include "acl/dump_door.h"
#include "acl/model/dataset.h"
#include "base/config.h"
#include "base/refused.h"
#include "device/memory.h"
#include "om/external_weight.h"
#include "om/om_file.h"

using namespace updraft;

namespace {

constexpr int kModelIdInvalid = 145003, kPathInvalid = 145002;

std::mutex g_mutex;
std::map<uint32_t, LoadedEntry>& models() {
  static auto* m = new std::map<uint32_t, LoadedEntry>;
  return *m;
}
uint32_t g_next = 1;

uint32_t load(const ModelSource& source, const ModelMemory& memory = {}) {
  return load_model(read_model(source, memory), memory);
}

void query(const ModelSource& source, size_t* work, size_t* weights) {
  need(work, "workSize");
  need(weights, "weightSize");
  const graph::Model model = read_model(source);
  in_codes_of_files([&] {
    *work = graph::outline(*model.graph).work_bytes;
    *weights = graph::weight_bytes(model);
  });
}

/// Models that take their inputs from queues and put their outputs there: the device has no queues.
[[noreturn]] void refuse_queues(const ModelSource& source, const uint32_t* id, const uint32_t* inputs,
                                size_t input_count, const uint32_t* outputs, size_t output_count) {
  need(id, "modelId");
  need(inputs, "inputQ");
  need(outputs, "outputQ");
  const graph::Outline model = graph::outline(*read_model(source).graph);
  if (input_count != model.inputs.size() || output_count != model.outputs.size())
    throw Error(code::kAclInvalidParam, "the model has {} inputs and {} outputs, got {} and {} queues",
                model.inputs.size(), model.outputs.size(), input_count, output_count);
  throw Error(
      code::kAclApiNotSupport,
      "models that are fed by queues are not supported, since there are no queues (acltdtCreateQueue): load the "
      "model by aclmdlLoadFromFile or aclmdlLoadFromMem, and give its data to aclmdlExecute");
}

ModelMemory memory_of(void* work, size_t work_bytes, void* weights, size_t weight_bytes) {
  return {work, weights, work_bytes, weight_bytes, {}};
}

}  // namespace

namespace updraft {

ModelSource model_file(const char* path) {
  need(path, "modelPath");
  try {
    const std::string directory = std::filesystem::path(path).parent_path().string();
    return {graph::Bytes::of_file(path), directory.empty() ? "." : directory, path};
  } catch (const Error& e) { throw Error(kPathInvalid, "{}: want an offline model (om)", e.text()); }
}

ModelSource model_in_memory(const void* model, size_t size) {
  need(model, "model");
  return {{nullptr, model, size}, "", ""};  // constants go to the device while it is loaded
}

graph::Model read_model(const ModelSource& source, const ModelMemory& memory) {
  try {
    graph::Model model = om::read(source.file);
    om::bring_weights_in(model, source.directory, memory.external);
    return model;
  } catch (const Error& e) {
    if (source.name.empty()) throw;
    throw Error(e.code(), "{}: {}", source.name, e.text());
  }
}

std::byte* want_memory(const char* name, void* memory, size_t bytes, size_t wanted) {
  if (!memory) return nullptr;
  if (bytes < wanted)
    throw Error(code::kAclInvalidParam, "{} has {} bytes, the model wants {}: ask aclmdlQuerySize", name, bytes,
                wanted);
  Device& device = current_device();
  const auto first = reinterpret_cast<uintptr_t>(memory);
  if (wanted && (Device::owner(memory) != &device ||
                 !device.memory().covers(memory, reinterpret_cast<const void*>(first + wanted))))
    throw Error(code::kAclInvalidParam, "{} is {} with {} bytes: that is not inside one allocation of device {}", name,
                memory, bytes, device.index());
  if (first % 64) throw Error(code::kAclInvalidParam, "{} is {}: that is not a multiple of 64 bytes", name, memory);
  return static_cast<std::byte*>(memory);
}

uint32_t load_model(graph::Model model, const ModelMemory& memory, std::shared_ptr<graph::VariableMemory> variables) {
  if (Config::get().card_rules() && !acl_is_initialized())
    throw Error(code::kAclUninitialized, "call aclInit before a model is loaded");
  Device& device = current_device();
  LoadedEntry entry;
  entry.variables = graph::noted_variables(*model.graph);
  if (!entry.variables.empty() && !variables) variables = std::make_shared<graph::VariableMemory>();
  if (variables) variables->declare(entry.variables, device);
  entry.memory = std::move(variables);
  std::byte* weights = want_memory("weightPtr", memory.weights, memory.weight_bytes, graph::weight_bytes(model));
  std::unique_lock lock(g_mutex);
  const uint32_t id = g_next++;
  lock.unlock();
  in_codes_of_files([&] {
    entry.model = std::make_shared<graph::LoadedModel>(std::move(model), device, id, std::vector<size_t>(), weights);
  });
  entry.work = want_memory("workPtr", memory.work, memory.work_bytes, entry.model->work_bytes());
  if (entry.model->work_bytes() == 0) entry.work = nullptr;  // sizes are known when it runs: memory of its own
  if (entry.work) entry.model->use_arena(entry.work);
  lock.lock();
  models()[id] = std::move(entry);
  return id;
}

LoadedEntry loaded_entry(uint32_t id) {
  std::lock_guard lock(g_mutex);
  const auto found = models().find(id);
  if (found == models().end())
    throw Error(kModelIdInvalid, "there is no model {}: it was never loaded, or it was unloaded", id);
  return found->second;
}

std::shared_ptr<graph::LoadedModel> loaded_model(uint32_t id) { return loaded_entry(id).model; }

void unload_model(uint32_t id) {
  loaded_model(id)->device().synchronize();  // executions that are under way use its memory
  LoadedEntry gone;                          // its memory is given back without the lock
  std::lock_guard lock(g_mutex);
  const auto found = models().find(id);
  if (found == models().end()) throw Error(kModelIdInvalid, "model {} is being unloaded by another thread", id);
  gone = std::move(found->second);
  models().erase(found);
}

}  // namespace updraft

ACL_API aclmdlLoadFromFile(const char* path, uint32_t* id) {
  return guard("aclmdlLoadFromFile", [&] {
    need(id, "modelId");
    *id = load(model_file(path));
  });
}

ACL_API aclmdlLoadFromMem(const void* model, size_t size, uint32_t* id) {
  return guard("aclmdlLoadFromMem", [&] {
    need(id, "modelId");
    *id = load(model_in_memory(model, size));
  });
}

ACL_API aclmdlLoadFromFileWithMem(const char* path, uint32_t* id, void* work, size_t work_bytes, void* weights,
                                  size_t weight_bytes) {
  return guard("aclmdlLoadFromFileWithMem", [&] {
    need(id, "modelId");
    *id = load(model_file(path), memory_of(work, work_bytes, weights, weight_bytes));
  });
}

ACL_API aclmdlLoadFromMemWithMem(const void* model, size_t size, uint32_t* id, void* work, size_t work_bytes,
                                 void* weights, size_t weight_bytes) {
  return guard("aclmdlLoadFromMemWithMem", [&] {
    need(id, "modelId");
    *id = load(model_in_memory(model, size), memory_of(work, work_bytes, weights, weight_bytes));
  });
}

REFUSED(aclmdlLoadFromFileWithQ)
ACL_API aclmdlLoadFromFileWithQ(const char* path, uint32_t* id, const uint32_t* inputs, size_t input_count,
                                const uint32_t* outputs, size_t output_count) {
  return guard("aclmdlLoadFromFileWithQ",
               [&] { refuse_queues(model_file(path), id, inputs, input_count, outputs, output_count); });
}

REFUSED(aclmdlLoadFromMemWithQ)
ACL_API aclmdlLoadFromMemWithQ(const void* model, size_t size, uint32_t* id, const uint32_t* inputs, size_t input_count,
                               const uint32_t* outputs, size_t output_count) {
  return guard("aclmdlLoadFromMemWithQ",
               [&] { refuse_queues(model_in_memory(model, size), id, inputs, input_count, outputs, output_count); });
}

ACL_API aclmdlUnload(uint32_t id) {
  return guard("aclmdlUnload", [&] { unload_model(id); });
}

ACL_API aclmdlQuerySize(const char* path, size_t* work, size_t* weights) {
  return guard("aclmdlQuerySize", [&] { query(model_file(path), work, weights); });
}

ACL_API aclmdlQuerySizeFromMem(const void* model, size_t size, size_t* work, size_t* weights) {
  return guard("aclmdlQuerySizeFromMem", [&] { query(model_in_memory(model, size), work, weights); });
}

ACL_API aclmdlQueryExeOMDesc(const char* path, aclmdlExeOMDesc* desc) {
  return guard("aclmdlQueryExeOMDesc", [&] {
    need(desc, "exeOMDesc");
    *desc = {};  // kernels and tasks are the library's own and want no memory of the client
    query(model_file(path), &desc->workSize, &desc->weightSize);
  });
}
