// Offline models on the device (aclmdlLoad…, aclmdlUnload, aclmdlQuerySize…).
#include <filesystem>
#include <map>
#include <mutex>

#include "acl/api.h"
#include "acl/model_dataset.h"
#include "om/external_weight.h"
#include "om/om_file.h"

using namespace updraft;

namespace {

constexpr int kModelIdInvalid = 145003, kPathInvalid = 145002;

std::mutex g_mutex;
std::map<uint32_t, std::shared_ptr<graph::LoadedModel>>& models() {
  static auto* m = new std::map<uint32_t, std::shared_ptr<graph::LoadedModel>>;
  return *m;
}
uint32_t g_next = 1;

graph::Bytes map_file(const char* path) {
  need(path, "modelPath");
  try {
    return graph::Bytes::of_file(path);
  } catch (const Error& e) { throw Error(kPathInvalid, "{}: want an offline model (om)", e.text()); }
}

std::string directory_of(const std::string& path) {
  const std::string directory = std::filesystem::path(path).parent_path().string();
  return directory.empty() ? "." : directory;
}

graph::Bytes bytes_of(const void* model, size_t size) {
  need(model, "model");
  return {nullptr, model, size};  // constants go to the device while it is loaded
}

/// `directory`: where files with weights lie.
uint32_t load(const graph::Bytes& file, const std::string& directory) {
  Device& device = current_device();
  graph::Model model = om::read(file);
  om::bring_weights_in(model, directory);
  std::unique_lock lock(g_mutex);
  const uint32_t id = g_next++;
  lock.unlock();
  auto loaded = std::make_shared<graph::LoadedModel>(std::move(model), device, id);
  lock.lock();
  models()[id] = std::move(loaded);
  return id;
}

void query(const graph::Bytes& file, const std::string& directory, size_t* work, size_t* weights) {
  need(work, "workSize");
  need(weights, "weightSize");
  graph::Model model = om::read(file);
  om::bring_weights_in(model, directory);
  const graph::LoadedModel loaded(std::move(model), current_device(), 0);
  *work = loaded.work_bytes();
  *weights = loaded.weight_bytes();
}

}  // namespace

namespace updraft {
std::shared_ptr<graph::LoadedModel> loaded_model(uint32_t id) {
  std::lock_guard lock(g_mutex);
  const auto found = models().find(id);
  if (found == models().end())
    throw Error(kModelIdInvalid, "there is no model {}: it was never loaded, or it was unloaded", id);
  return found->second;
}
}  // namespace updraft

ACL_API aclmdlLoadFromFile(const char* path, uint32_t* id) {
  return guard("aclmdlLoadFromFile", [&] {
    need(id, "modelId");
    try {
      *id = load(map_file(path), directory_of(path));
    } catch (const Error& e) {
      if (e.code() == kPathInvalid) throw;
      throw Error(e.code(), "{}: {}", path, e.text());
    }
  });
}

ACL_API aclmdlLoadFromMem(const void* model, size_t size, uint32_t* id) {
  return guard("aclmdlLoadFromMem", [&] {
    need(id, "modelId");
    *id = load(bytes_of(model, size), "");
  });
}

ACL_API aclmdlUnload(uint32_t id) {
  return guard("aclmdlUnload", [&] {
    const auto model = loaded_model(id);
    model->device().synchronize();             // executions that are under way use its memory
    std::shared_ptr<graph::LoadedModel> gone;  // its memory is given back without the lock
    std::lock_guard lock(g_mutex);
    const auto found = models().find(id);
    if (found == models().end()) throw Error(kModelIdInvalid, "model {} is being unloaded by another thread", id);
    gone = std::move(found->second);
    models().erase(found);
  });
}

ACL_API aclmdlQuerySize(const char* path, size_t* work, size_t* weights) {
  return guard("aclmdlQuerySize", [&] { query(map_file(path), directory_of(path), work, weights); });
}

ACL_API aclmdlQuerySizeFromMem(const void* model, size_t size, size_t* work, size_t* weights) {
  return guard("aclmdlQuerySizeFromMem", [&] { query(bytes_of(model, size), "", work, weights); });
}
