#include "ge/variables.h"

#include <cstring>

#include "base/error.h"
#include "device/device.h"

namespace ge {

using updraft::Error;
namespace code = updraft::code;
namespace ir = updraft::graph;

namespace {

size_t bytes_of(const ir::TensorDesc& desc) { return static_cast<size_t>(desc.count()) * updraft::size_of(desc.dtype); }

}  // namespace

void Variables::declare(const std::vector<ir::Variable>& variables, updraft::Device& device) {
  std::lock_guard lock(mutex_);
  for (const ir::Variable& v : variables) {
    const auto found = all_.find(v.name);
    if (found != all_.end()) {
      const ir::TensorDesc& before = found->second.desc;
      if (before.dtype != v.desc.dtype || before.dims != v.desc.dims)
        throw Error(code::kAclInvalidParam,
                    "variable {} is {} here and {} in a graph before: graphs of a session share a variable by its name",
                    v.name, ir::describe(v.desc), ir::describe(before));
      continue;
    }
    Held made{v.desc, updraft::DeviceBlock(device, bytes_of(v.desc)), v.value.has_value()};
    if (v.value && made.memory.bytes())
      std::memcpy(updraft::host_address(made.memory.data()), v.value->data.data(), made.memory.bytes());
    all_.emplace(v.name, std::move(made));
  }
}

std::vector<ir::Buffer> Variables::buffers(const std::vector<ir::Variable>& variables, uint32_t graph) {
  std::lock_guard lock(mutex_);
  std::vector<ir::Buffer> buffers;
  for (const ir::Variable& v : variables) {
    const Held& variable = all_.at(v.name);
    if (v.read && !variable.has_value)
      throw Error(code::kAclInvalidParam,
                  "graph {} reads variable {}, which has no value yet: run a graph before that assigns it (Assign)",
                  graph, v.name);
    buffers.push_back({variable.memory.data(), variable.memory.bytes(), variable.desc.dims, variable.desc.dtype, {}});
  }
  return buffers;
}

void Variables::assigned(const std::vector<ir::Variable>& variables) {
  std::lock_guard lock(mutex_);
  for (const ir::Variable& v : variables)
    if (v.assigned) all_.at(v.name).has_value = true;
}

const Variables::Held& Variables::held(const std::string& name) const {
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

bool Variables::has(const std::string& name) const {
  std::lock_guard lock(mutex_);
  const auto found = all_.find(name);
  return found != all_.end() && found->second.has_value;
}

Variables::Content Variables::content(const std::string& name) const {
  std::lock_guard lock(mutex_);
  const Held& variable = held(name);
  return {variable.desc, variable.memory.data()};
}

}  // namespace ge
