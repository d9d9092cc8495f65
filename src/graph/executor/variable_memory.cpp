#include "graph/executor/variable_memory.h"

#include <cstring>

#include "base/error.h"
#include "device/device.h"

namespace updraft::graph {

namespace {

constexpr size_t kAlign = 64;

size_t bytes_of(const TensorDesc& desc) { return static_cast<size_t>(desc.count()) * size_of(desc.dtype); }
size_t aligned(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

size_t variable_bytes(const std::vector<Variable>& variables) {
  size_t sum = 0;
  for (const Variable& v : variables) sum += aligned(bytes_of(v.desc));
  return sum;
}

void VariableMemory::declare(const std::vector<Variable>& variables, Device& device) {
  std::lock_guard lock(mutex_);
  for (const Variable& v : variables) {
    const auto found = all_.find(v.name);
    if (found != all_.end()) {
      const TensorDesc& before = found->second.desc;
      if (before.dtype != v.desc.dtype || before.dims != v.desc.dims)
        throw Error(code::kAclInvalidParam,
                    "variable {} is {} here and {} in a graph before: graphs share a variable by its name", v.name,
                    describe(v.desc), describe(before));
      continue;
    }
    const size_t bytes = bytes_of(v.desc);
    Held made;
    made.desc = v.desc;
    made.has_value = v.value.has_value();
    if (!client_) {
      made.own = DeviceBlock(device, bytes);
      made.data = made.own.data();
    } else {
      if (client_bytes_ - client_used_ < bytes)
        throw Error(code::kAclInvalidParam,
                    "the memory for variables has {} bytes, {} wants {} behind the {} that are taken: ask "
                    "aclmdlBundleGetVarWeightSize",
                    client_bytes_, v.name, bytes, client_used_);
      made.data = client_ + client_used_;
      client_used_ = std::min(client_bytes_, client_used_ + aligned(bytes));
    }
    if (v.value && bytes) std::memcpy(host_address(made.data), v.value->data.data(), bytes);
    all_.emplace(v.name, std::move(made));
  }
}

std::vector<Buffer> VariableMemory::buffers(const std::vector<Variable>& variables, const std::string& who) {
  std::lock_guard lock(mutex_);
  std::vector<Buffer> buffers;
  for (const Variable& v : variables) {
    const Held& variable = all_.at(v.name);
    if (v.read && !variable.has_value)
      throw Error(code::kAclInvalidParam,
                  "{} reads variable {}, which has no value yet: run a graph before that assigns it (Assign)", who,
                  v.name);
    buffers.push_back({variable.data, bytes_of(variable.desc), variable.desc.dims, variable.desc.dtype, {}});
  }
  return buffers;
}

void VariableMemory::assigned(const std::vector<Variable>& variables) {
  std::lock_guard lock(mutex_);
  for (const Variable& v : variables)
    if (v.assigned) all_.at(v.name).has_value = true;
}

const VariableMemory::Held& VariableMemory::held(const std::string& name) const {
  const auto found = all_.find(name);
  if (found == all_.end()) {
    std::string names;
    for (const auto& [other, variable] : all_) names += (names.empty() ? "" : ", ") + other;
    throw Error(code::kAclInvalidParam, "the session has no variable {}; it has {}", name,
                names.empty() ? "none: compile a graph that has one" : names);
  }
  if (!found->second.has_value)
    throw Error(code::kAclInvalidParam, "variable {} has no value yet: run a graph that assigns it (Assign)", name);
  return found->second;
}

bool VariableMemory::has(const std::string& name) const {
  std::lock_guard lock(mutex_);
  const auto found = all_.find(name);
  return found != all_.end() && found->second.has_value;
}

VariableMemory::Content VariableMemory::content(const std::string& name) const {
  std::lock_guard lock(mutex_);
  const Held& variable = held(name);
  return {variable.desc, variable.data};
}

}  // namespace updraft::graph
