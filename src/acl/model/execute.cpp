// Data of models and their execution (aclmdlCreateDataset … aclmdlExecuteAsync).
#include <mutex>

#include "acl/api.h"
#include "acl/model/dataset.h"
#include "acl/model/load.h"
#include "acl/tensor_desc.h"
#include "base/config.h"
#include "base/handle_pool.h"
#include "device/memory.h"

using namespace updraft;

namespace {

HandlePool<aclmdlDataset>& datasets() {
  static auto* p = new HandlePool<aclmdlDataset>(1 << 18);
  return *p;
}

}  // namespace

aclmdlDataset& updraft::live(const aclmdlDataset* handle) {
  need(handle, "dataset");
  if (aclmdlDataset* d = datasets().get(handle)) return *d;
  throw Error(code::kAclInvalidParam, "dataset {} is none (destroyed, or never created)",
              static_cast<const void*>(handle));
}

namespace {

aclmdlDataset::Item& item(const aclmdlDataset* handle, size_t index) {
  aclmdlDataset& set = live(handle);
  if (index >= set.items.size())
    throw Error(code::kAclInvalidParam, "the dataset has {} buffers, index {} is none", set.items.size(), index);
  return set.items[index];
}

void drop_desc(aclmdlDataset::Item& of) {
  if (of.own_desc) aclDestroyTensorDesc(of.desc);
  of.desc = nullptr;
  of.own_desc = false;
}

/// Where the rules of the card hold: its engines reach no memory of the host but what is registered.
void want_device_memory(const aclDataBuffer& buffer, const char* side, size_t number) {
  if (!Config::get().card_rules() || !buffer.data || Device::owner(buffer.data)) return;
  if (HostMemory::get().registered(buffer.data)) return;
  throw Error(code::kAclInvalidParam,
              "{} {} is at {}, which is host memory: datasets take device memory (aclrtMalloc and a copy, or "
              "aclrtHostRegister); on the card this fails",
              side, number, buffer.data);
}

}  // namespace

std::shared_ptr<graph::Execution> updraft::execution_of(uint32_t id, const aclmdlDataset* input,
                                                        const aclmdlDataset* output) {
  const LoadedEntry entry = loaded_entry(id);
  auto execution = std::make_shared<graph::Execution>();
  execution->gear = live(input).gear;
  for (const auto& [set, buffers] : {std::pair{&live(input), &execution->inputs}, {&live(output), &execution->outputs}})
    for (const aclmdlDataset::Item& i : set->items) {
      const aclDataBuffer& buffer = updraft::live(i.buffer);
      want_device_memory(buffer, set == &live(input) ? "input" : "output", buffers->size());
      graph::Buffer& made = buffers->emplace_back();
      made.data = buffer.data;
      made.bytes = buffer.size;
      if (i.desc && !i.own_desc) made.dims = updraft::live(i.desc).dims;
    }
  execution->arena = entry.work;
  if (entry.variables.empty()) return execution;
  const size_t want = entry.model->inputs().size() - entry.variables.size();
  if (execution->inputs.size() != want)
    throw Error(code::kAclInvalidParam, "model {} has {} inputs beside its variables, got {}", id, want,
                execution->inputs.size());
  for (graph::Buffer& buffer : entry.memory->buffers(entry.variables, fmt::format("model {}", id)))
    execution->inputs.push_back(std::move(buffer));
  execution->shared = entry.memory;
  return execution;
}

void updraft::submit(uint32_t id, const std::shared_ptr<graph::Execution>& execution, Stream& stream) {
  const LoadedEntry entry = loaded_entry(id);
  entry.model->execute(execution, stream);
  if (entry.memory) entry.memory->assigned(entry.variables);
}

void updraft::give_results(const graph::Execution& execution, aclmdlDataset* output) {
  aclmdlDataset& set = live(output);
  for (size_t i = 0; i < set.items.size(); ++i) {
    const graph::Buffer& made = execution.outputs[i];
    aclmdlDataset::Item& to = set.items[i];
    if (!updraft::live(to.buffer).data) aclUpdateDataBuffer(to.buffer, made.data, made.bytes);
    if (to.desc && !to.own_desc) continue;
    drop_desc(to);
    to.desc = aclCreateTensorDesc(static_cast<aclDataType>(made.dtype), static_cast<int>(made.dims.size()),
                                  made.dims.data(), ACL_FORMAT_ND);
    to.own_desc = true;
  }
}

namespace {

void run(uint32_t id, const aclmdlDataset* input, aclmdlDataset* output, Stream& stream) {
  const auto execution = execution_of(id, input, output);
  submit(id, execution, stream);
  stream.synchronize();
  give_results(*execution, output);
}

}  // namespace

extern "C" {

UPDRAFT_API aclmdlDataset* aclmdlCreateDataset(void) {
  aclmdlDataset* made = nullptr;
  guard("aclmdlCreateDataset", [&] { made = datasets().create(); });
  return made;
}
UPDRAFT_API int aclmdlDestroyDataset(const aclmdlDataset* dataset) {
  return guard("aclmdlDestroyDataset", [&] {
    for (aclmdlDataset::Item& i : live(dataset).items) drop_desc(i);
    datasets().destroy(dataset);
  });
}
UPDRAFT_API int aclmdlAddDatasetBuffer(aclmdlDataset* dataset, aclDataBuffer* buffer) {
  return guard("aclmdlAddDatasetBuffer", [&] {
    need(buffer, "dataBuffer");
    updraft::live(buffer);
    live(dataset).items.push_back({buffer});
  });
}
UPDRAFT_API size_t aclmdlGetDatasetNumBuffers(const aclmdlDataset* dataset) {
  size_t count = 0;
  guard("aclmdlGetDatasetNumBuffers", [&] { count = live(dataset).items.size(); });
  return count;
}
UPDRAFT_API aclDataBuffer* aclmdlGetDatasetBuffer(const aclmdlDataset* dataset, size_t index) {
  aclDataBuffer* found = nullptr;
  guard("aclmdlGetDatasetBuffer", [&] { found = item(dataset, index).buffer; });
  return found;
}
UPDRAFT_API int aclmdlSetDatasetTensorDesc(aclmdlDataset* dataset, aclTensorDesc* desc, size_t index) {
  return guard("aclmdlSetDatasetTensorDesc", [&] {
    aclmdlDataset::Item& to = item(dataset, index);
    drop_desc(to);
    if (desc) updraft::live(desc);
    to.desc = desc;
  });
}
UPDRAFT_API aclTensorDesc* aclmdlGetDatasetTensorDesc(const aclmdlDataset* dataset, size_t index) {
  aclTensorDesc* found = nullptr;
  guard("aclmdlGetDatasetTensorDesc", [&] { found = item(dataset, index).desc; });
  return found;
}

UPDRAFT_API int aclmdlExecute(uint32_t id, const aclmdlDataset* input, aclmdlDataset* output) {
  return guard("aclmdlExecute", [&] { run(id, input, output, current_context().default_stream()); });
}
UPDRAFT_API int aclmdlExecuteAsync(uint32_t id, const aclmdlDataset* input, aclmdlDataset* output, aclrtStream stream) {
  return guard("aclmdlExecuteAsync", [&] { submit(id, execution_of(id, input, output), stream_of(stream)); });
}

}  // extern "C"
