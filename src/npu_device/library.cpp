#include "npu_device/library.h"

#include <fmt/format.h>

#include <fstream>

#include "base/error.h"
#include "npu_device/adapter_log.h"

namespace updraft::npu_device {
namespace {

using tensorflow::Attrs;
using tensorflow::AttrValue;
using tensorflow::OpArg;
using tensorflow::OpDef;

const AttrValue& attribute(const OpDef& def, const Attrs& attributes, std::string_view name) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) throw Error(code::kAclnnParamInvalid, "{}: attribute {} is missing", def.name, name);
  return found->second;
}

std::vector<ElementType> types_of(const OpDef& def, const OpArg& arg, const Attrs& attributes) {
  if (!arg.types_attribute.empty()) return attribute(def, attributes, arg.types_attribute).types;
  const ElementType type = arg.type_attribute.empty() ? arg.type : attribute(def, attributes, arg.type_attribute).type;
  const int64_t number = arg.number_attribute.empty() ? 1 : attribute(def, attributes, arg.number_attribute).integer;
  return std::vector<ElementType>(static_cast<size_t>(number < 0 ? 0 : number), type);
}

graph::Bytes bytes_of(const TF_Buffer& buffer) { return graph::Bytes::copy_of(buffer.data, buffer.length); }

/// A function as TensorFlow gives it, for NPU_DUMP_GRAPH: a message FunctionDef. DUMP_GE_GRAPH shows what became of it.
void dump(std::string_view name, const graph::Bytes& bytes) {
  const std::string path = fmt::format("npu_graph_{}.pb", name);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) say("core/npu_device.cpp", 245, fmt::format("NPU_DUMP_GRAPH: {} cannot be written", path), true);
}

}  // namespace

Library::Library(TFE_Context* context) : context_(context) {
  const BufferPointer all(tf().TF_GetAllOpList());
  operator_bytes_ = bytes_of(*all);
  operators_ = tensorflow::read_operators(operator_bytes_);
}

const OpDef* Library::operator_named(std::string_view name) const {
  const auto found = operators_.find(name);
  return found == operators_.end() ? nullptr : &found->second;
}

std::shared_ptr<const tensorflow::FunctionDef> Library::function(std::string_view name) {
  const auto definition = [](const std::shared_ptr<Kept>& kept) {
    return std::shared_ptr<const tensorflow::FunctionDef>(kept, &kept->def);
  };
  const std::lock_guard lock(mutex_);
  if (const auto found = functions_.find(name); found != functions_.end()) return definition(found->second);
  const Status status;
  const BufferPointer buffer(tf().TF_NewBuffer());
  tf().TFE_ContextGetFunctionDef(context_, std::string(name).c_str(), buffer.get(), status);
  if (!status.ok()) return nullptr;
  auto kept = std::make_shared<Kept>();
  kept->bytes = bytes_of(*buffer);
  static const bool dumped = switched_on("NPU_DUMP_GRAPH");
  if (dumped) dump(name, kept->bytes);
  kept->def = tensorflow::read_function(kept->bytes);
  return definition(functions_.emplace(name, std::move(kept)).first->second);
}

void Library::forget(std::string_view name) {
  const std::lock_guard lock(mutex_);
  if (const auto found = functions_.find(name); found != functions_.end()) functions_.erase(found);
}

graph::Bytes serialized(const TFE_OpAttrs* attributes) {
  const Status status;
  const BufferPointer buffer(tf().TF_NewBuffer());
  tf().TFE_OpAttrsSerialize(attributes, buffer.get(), status);
  status.check();
  return bytes_of(*buffer);
}

std::vector<ElementType> output_types(const OpDef& def, const Attrs& attributes) {
  std::vector<ElementType> types;
  for (const OpArg& arg : def.outputs) {
    const auto some = types_of(def, arg, attributes);
    types.insert(types.end(), some.begin(), some.end());
  }
  return types;
}

int first_output(const OpDef& def, const Attrs& attributes, std::string_view name) {
  size_t at = 0;
  for (const OpArg& arg : def.outputs) {
    if (arg.name == name) return static_cast<int>(at);
    at += types_of(def, arg, attributes).size();
  }
  return -1;
}

}  // namespace updraft::npu_device
