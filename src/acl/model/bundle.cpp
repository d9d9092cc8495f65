// Bundles: files of several models that share variables (aclmdlBundle…). aclgrphBundleBuildModel makes them.
#include <algorithm>
#include <mutex>

#include "acl/api.h"
#include "acl/model/config.h"
#include "acl/model/dataset.h"
#include "base/handle_pool.h"
#include "om/external_weight.h"
#include "om/om_file.h"

using namespace updraft;

struct aclmdlBundleQueryInfo {
  struct Sizes {
    size_t work, weights;
  };
  std::vector<Sizes> models;
  size_t variables = 0;
};

namespace {

constexpr int kInvalidBundle = 148053, kModelIdInvalid = 145003;

/// What is loaded of a bundle; its models are loaded again from its bytes.
struct Bundle {
  ModelSource source;                 ///< what lies in memory is kept there by the client until all models are loaded
  std::vector<graph::Bytes> members;  ///< empty ones where all models were loaded at once
  std::shared_ptr<graph::VariableMemory> variables;
  std::vector<uint32_t> ids;  ///< of the models that are loaded
};

std::mutex g_mutex;
std::map<uint32_t, std::shared_ptr<Bundle>>& bundles() {
  static auto* all = new std::map<uint32_t, std::shared_ptr<Bundle>>;
  return *all;
}
uint32_t g_next = 1;

HandlePool<aclmdlBundleQueryInfo>& infos() {
  static auto* p = new HandlePool<aclmdlBundleQueryInfo>(1 << 12);
  return *p;
}
aclmdlBundleQueryInfo& live_info(const aclmdlBundleQueryInfo* handle) {
  need(handle, "queryInfo");
  if (aclmdlBundleQueryInfo* found = infos().get(handle)) return *found;
  throw Error(code::kAclInvalidParam, "queryInfo {} is none (destroyed, or never created)",
              static_cast<const void*>(handle));
}

graph::Model member(const Bundle& bundle, size_t index, const ModelMemory& memory = {}) {
  graph::Model model = om::read_member(bundle.members[index]);
  om::bring_weights_in(model, bundle.source.directory, memory.external);
  return model;
}

std::shared_ptr<Bundle> opened(ModelSource source) {
  auto bundle = std::make_shared<Bundle>();
  try {
    bundle->members = om::bundle_members(source.file);
  } catch (const Error& e) {
    if (source.name.empty()) throw;
    throw Error(e.code(), "{}: {}", source.name, e.text());
  }
  bundle->source = std::move(source);
  return bundle;
}

/// The variables of all its models, each once.
std::vector<graph::Variable> variables_of(const Bundle& bundle) {
  std::vector<graph::Variable> all;
  for (const graph::Bytes& m : bundle.members)
    for (graph::Variable& v : graph::noted_variables(*om::read_member(m).graph))
      if (std::ranges::find(all, v.name, &graph::Variable::name) == all.end()) all.push_back(std::move(v));
  return all;
}

uint32_t keep(std::shared_ptr<Bundle> bundle) {
  std::lock_guard lock(g_mutex);
  const uint32_t id = g_next++;
  bundles()[id] = std::move(bundle);
  return id;
}

std::shared_ptr<Bundle> bundle_of(uint32_t id) {
  std::lock_guard lock(g_mutex);
  const auto found = bundles().find(id);
  if (found == bundles().end())
    throw Error(kInvalidBundle, "there is no bundle {}: it was never loaded, or it was unloaded", id);
  return found->second;
}

void unload_all(Bundle& bundle) {
  std::vector<uint32_t> ids;
  {
    std::lock_guard lock(g_mutex);
    ids.swap(bundle.ids);
  }
  for (const uint32_t id : ids) unload_model(id);
}

/// All models at once, with memory of their own.
uint32_t load_bundle(ModelSource source) {
  const auto bundle = opened(std::move(source));
  bundle->variables = std::make_shared<graph::VariableMemory>();
  bundle->variables->declare(variables_of(*bundle), current_device());
  try {
    for (size_t i = 0; i < bundle->members.size(); ++i)
      bundle->ids.push_back(load_model(member(*bundle, i), {}, bundle->variables));
  } catch (...) {
    unload_all(*bundle);
    throw;
  }
  for (graph::Bytes& m : bundle->members) m = {};  // the client's memory is its own again
  bundle->source.file = {};
  return keep(bundle);
}

uint32_t init_bundle(ModelSource source, void* memory, size_t bytes) {
  const auto bundle = opened(std::move(source));
  const auto variables = variables_of(*bundle);
  std::byte* const at = want_memory("varWeightPtr", memory, bytes, graph::variable_bytes(variables));
  bundle->variables = std::make_shared<graph::VariableMemory>(at, bytes);
  bundle->variables->declare(variables, current_device());
  return keep(bundle);
}

void check_index(const Bundle& bundle, uint32_t id, size_t index) {
  if (index >= bundle.members.size())
    throw Error(code::kAclInvalidParam, "bundle {} has {} models, index {} is none", id, bundle.members.size(), index);
}

uint32_t load_one(uint32_t bundle_id, size_t index, const ModelMemory& memory) {
  const auto bundle = bundle_of(bundle_id);
  check_index(*bundle, bundle_id, index);
  if (bundle->members[index].empty())
    throw Error(code::kAclInvalidParam,
                "the models of bundle {} were loaded with it: aclmdlBundleGetModelId tells their ids, and "
                "aclmdlBundleInitFromFile makes a bundle whose models are loaded one by one",
                bundle_id);
  const uint32_t id = load_model(member(*bundle, index, memory), memory, bundle->variables);
  std::lock_guard lock(g_mutex);
  bundle->ids.push_back(id);
  return id;
}

void query(ModelSource source, aclmdlBundleQueryInfo* handle) {
  aclmdlBundleQueryInfo& info = live_info(handle);
  const auto bundle = opened(std::move(source));
  aclmdlBundleQueryInfo made;
  for (size_t i = 0; i < bundle->members.size(); ++i) {
    const graph::Model model = member(*bundle, i);
    made.models.push_back({graph::outline(*model.graph).work_bytes, graph::weight_bytes(model)});
  }
  made.variables = graph::variable_bytes(variables_of(*bundle));
  info = std::move(made);
}

}  // namespace

ACL_API aclmdlBundleLoadFromFile(const char* path, uint32_t* id) {
  return guard("aclmdlBundleLoadFromFile", [&] {
    need(id, "bundleId");
    *id = load_bundle(model_file(path));
  });
}

ACL_API aclmdlBundleLoadFromMem(const void* model, size_t size, uint32_t* id) {
  return guard("aclmdlBundleLoadFromMem", [&] {
    need(id, "bundleId");
    *id = load_bundle(model_in_memory(model, size));
  });
}

ACL_API aclmdlBundleInitFromFile(const char* path, void* variables, size_t bytes, uint32_t* id) {
  return guard("aclmdlBundleInitFromFile", [&] {
    need(id, "bundleId");
    *id = init_bundle(model_file(path), variables, bytes);
  });
}

ACL_API aclmdlBundleInitFromMem(const void* model, size_t size, void* variables, size_t bytes, uint32_t* id) {
  return guard("aclmdlBundleInitFromMem", [&] {
    need(id, "bundleId");
    *id = init_bundle(model_in_memory(model, size), variables, bytes);
  });
}

ACL_API aclmdlBundleLoadModel(uint32_t bundle, size_t index, uint32_t* id) {
  return guard("aclmdlBundleLoadModel", [&] {
    need(id, "modelId");
    *id = load_one(bundle, index, {});
  });
}

ACL_API aclmdlBundleLoadModelWithMem(uint32_t bundle, size_t index, void* work, size_t work_bytes, void* weights,
                                     size_t weight_bytes, uint32_t* id) {
  return guard("aclmdlBundleLoadModelWithMem", [&] {
    need(id, "modelId");
    *id = load_one(bundle, index, {work, weights, work_bytes, weight_bytes, {}});
  });
}

ACL_API aclmdlBundleLoadModelWithConfig(uint32_t bundle, size_t index, aclmdlConfigHandle* handle, uint32_t* id) {
  return guard("aclmdlBundleLoadModelWithConfig", [&] {
    need(id, "modelId");
    *id = load_one(bundle, index, live(handle).memory);
  });
}

ACL_API aclmdlBundleGetModelNum(uint32_t id, size_t* count) {
  return guard("aclmdlBundleGetModelNum", [&] {
    need(count, "modelNum");
    *count = bundle_of(id)->members.size();
  });
}

ACL_API aclmdlBundleGetModelId(uint32_t id, size_t index, uint32_t* model) {
  return guard("aclmdlBundleGetModelId", [&] {
    need(model, "modelId");
    const auto bundle = bundle_of(id);
    check_index(*bundle, id, index);
    std::lock_guard lock(g_mutex);
    if (index >= bundle->ids.size())
      throw Error(code::kAclInvalidParam, "model {} of bundle {} is not loaded: call aclmdlBundleLoadModel", index, id);
    *model = bundle->ids[index];
  });
}

ACL_API aclmdlBundleUnloadModel(uint32_t id, uint32_t model) {
  return guard("aclmdlBundleUnloadModel", [&] {
    const auto bundle = bundle_of(id);
    {
      std::lock_guard lock(g_mutex);
      if (std::erase(bundle->ids, model) == 0)
        throw Error(kModelIdInvalid, "model {} is none that is loaded of bundle {}", model, id);
    }
    unload_model(model);
  });
}

ACL_API aclmdlBundleUnload(uint32_t id) {
  return guard("aclmdlBundleUnload", [&] {
    const auto bundle = bundle_of(id);
    {
      std::lock_guard lock(g_mutex);
      if (bundles().erase(id) == 0) throw Error(kInvalidBundle, "bundle {} is being unloaded by another thread", id);
    }
    unload_all(*bundle);
  });
}

extern "C" UPDRAFT_API aclmdlBundleQueryInfo* aclmdlBundleCreateQueryInfo(void) {
  aclmdlBundleQueryInfo* made = nullptr;
  guard("aclmdlBundleCreateQueryInfo", [&] { made = infos().create(); });
  return made;
}

ACL_API aclmdlBundleDestroyQueryInfo(aclmdlBundleQueryInfo* info) {
  return guard("aclmdlBundleDestroyQueryInfo", [&] {
    live_info(info);
    infos().destroy(info);
  });
}

ACL_API aclmdlBundleQueryInfoFromFile(const char* path, aclmdlBundleQueryInfo* info) {
  return guard("aclmdlBundleQueryInfoFromFile", [&] { query(model_file(path), info); });
}

ACL_API aclmdlBundleQueryInfoFromMem(const void* model, size_t size, aclmdlBundleQueryInfo* info) {
  return guard("aclmdlBundleQueryInfoFromMem", [&] { query(model_in_memory(model, size), info); });
}

ACL_API aclmdlBundleGetQueryModelNum(const aclmdlBundleQueryInfo* info, size_t* count) {
  return guard("aclmdlBundleGetQueryModelNum", [&] {
    need(count, "modelNum");
    *count = live_info(info).models.size();
  });
}

ACL_API aclmdlBundleGetVarWeightSize(const aclmdlBundleQueryInfo* info, size_t* bytes) {
  return guard("aclmdlBundleGetVarWeightSize", [&] {
    need(bytes, "variableWeightSize");
    *bytes = live_info(info).variables;
  });
}

ACL_API aclmdlBundleGetSize(const aclmdlBundleQueryInfo* info, size_t index, size_t* work, size_t* weights) {
  return guard("aclmdlBundleGetSize", [&] {
    need(work, "workSize");
    need(weights, "constWeightSize");
    const auto& models = live_info(info).models;
    if (index >= models.size())
      throw Error(code::kAclInvalidParam, "the bundle has {} models, index {} is none", models.size(), index);
    *work = models[index].work;
    *weights = models[index].weights;
  });
}
