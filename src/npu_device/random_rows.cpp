#include "npu_device/random_rows.h"

#include <fmt/format.h>

#include <atomic>

#include "npu_device/host_operator.h"

namespace updraft::npu_device {

bool has_row(const tensorflow::NodeDef& def) {
  const auto seed = def.attributes.find("seed"), second = def.attributes.find("seed2");
  return seed != def.attributes.end() && second != def.attributes.end() &&
         seed->second.kind == tensorflow::AttrValue::Kind::Integer &&
         (seed->second.integer != 0 || second->second.integer != 0);
}

std::string RandomRows::function(const std::string& place, const tensorflow::NodeDef& def,
                                 const std::vector<ElementType>& inputs) {
  const std::lock_guard lock(mutex_);
  if (const auto found = functions_.find(place); found != functions_.end()) return found->second;
  static std::atomic<uint64_t> next{0};
  const std::string name = fmt::format("__npu_random_{}", next++);
  add_function_of(handles_, *library_.operator_named(def.type), def, inputs, name);
  functions_.emplace(place, name);
  return name;
}

void RandomRows::forget(std::string_view function) {
  std::vector<std::string> removed;
  {
    const std::lock_guard lock(mutex_);
    auto place = functions_.lower_bound(function);
    while (place != functions_.end() && place->first.starts_with(function)) {
      if (place->first[function.size()] != '/') {
        ++place;
        continue;
      }
      removed.push_back(place->second);
      place = functions_.erase(place);
    }
  }
  for (const std::string& name : removed) remove_function(handles_, name);
}

}  // namespace updraft::npu_device
