// Descriptions of models: names, shapes, types and sizes of their inputs and outputs (aclmdlGetDesc and what reads it).
#include <algorithm>
#include <cstring>

#include "acl/api.h"
#include "acl/model/dataset.h"
#include "acl/model/load.h"
#include "base/handle_pool.h"
#include "graph/shape/aipp_inputs.h"

using namespace updraft;

namespace {

HandlePool<aclmdlDesc>& descs() {
  static auto* p = new HandlePool<aclmdlDesc>(1 << 16);
  return *p;
}

}  // namespace

aclmdlDesc& updraft::live(const aclmdlDesc* handle) {
  need(handle, "modelDesc");
  if (aclmdlDesc* d = descs().get(handle)) return *d;
  throw Error(code::kAclInvalidParam, "modelDesc {} is none (destroyed, or never created)",
              static_cast<const void*>(handle));
}

namespace {

enum class Side { Input, Output };

const graph::TensorDesc& tensor(const aclmdlDesc* handle, Side side, size_t index) {
  const aclmdlDesc& desc = live(handle);
  const auto& all = side == Side::Input ? desc.inputs : desc.outputs;
  if (index >= all.size())
    throw Error(code::kAclInvalidParam, "the model has {} {}, index {} is none", all.size(),
                side == Side::Input ? "inputs" : "outputs", index);
  return all[index];
}
const std::string& name_of(const aclmdlDesc* handle, Side side, size_t index) {
  tensor(handle, side, index);
  const aclmdlDesc& desc = live(handle);
  return (side == Side::Input ? desc.input_names : desc.output_names)[index];
}

void give_dims(const aclmdlDesc* handle, Side side, size_t index, const graph::TensorDesc& t, aclmdlIODims* to) {
  need(to, "dims");
  const std::string& name = name_of(handle, side, index);
  std::memset(to->name, 0, sizeof to->name);
  std::memcpy(to->name, name.data(), std::min(name.size(), sizeof to->name - 1));
  if (!t.rank_known()) {  // clients know -1 alone: "the sizes come with the results"
    to->dimCount = 1;
    to->dims[0] = graph::kUnknownDim;
    return;
  }
  to->dimCount = std::min(t.dims.size(), std::size(to->dims));
  std::copy_n(t.dims.begin(), to->dimCount, to->dims);
}

void give_dims(const aclmdlDesc* handle, Side side, size_t index, aclmdlIODims* to) {
  give_dims(handle, side, index, tensor(handle, side, index), to);
}

/// Bytes; 0 where a size is not known.
size_t bytes_of(const graph::TensorDesc& t) {
  return t.known() ? static_cast<size_t>(t.count()) * size_of(t.dtype) : 0;
}

/// The same; of images of dynamic AIPP what the largest source has, of models with gears the most that any wants.
size_t bytes_of(const aclmdlDesc* handle, Side side, size_t index) {
  size_t most = bytes_of(tensor(handle, side, index));
  const aclmdlDesc& desc = live(handle);
  if (side == Side::Input && desc.image_bytes[index]) return desc.image_bytes[index];
  if (!desc.gears) return most;
  for (size_t g = 0; g < desc.gears->inputs.size(); ++g) {
    graph::TensorDesc in_gear = tensor(handle, side, index);
    if (side == Side::Input) in_gear.dims = desc.gears->inputs[g][index];
    else in_gear = desc.gears->outputs[g][index];
    most = std::max(most, bytes_of(in_gear));
  }
  return most;
}

void find(const aclmdlDesc* handle, Side side, const char* name, size_t* index) {
  need(name, "name");
  need(index, "index");
  const aclmdlDesc& desc = live(handle);
  const auto& names = side == Side::Input ? desc.input_names : desc.output_names;
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    throw Error(code::kAclInvalidParam, "the model has no {} named {}; it has {}",
                side == Side::Input ? "input" : "output", name, fmt::join(names, ", "));
  *index = static_cast<size_t>(found - names.begin());
}

/// Functions without a code give `otherwise`, and the text tells why.
template <class T, class F>
T value_or(const char* function, T otherwise, F&& f) {
  T value = otherwise;
  guard(function, [&] { value = f(); });
  return value;
}

}  // namespace

namespace {

void describe(aclmdlDesc& desc, const graph::Graph& graph, const std::vector<const graph::Node*>& inputs,
              const std::vector<graph::TensorDesc>& outputs, std::shared_ptr<const graph::GearTable> gears) {
  desc = {};
  for (const graph::Node* node : inputs) {
    if (graph::is_noted_variable(*node)) continue;  // clients do not give it
    desc.input_names.push_back(node->name());
    desc.inputs.push_back(node->output().desc);
    const graph::Node* aipp = graph::aipp_of(*node);
    desc.image_bytes.push_back(aipp && graph::is_dynamic_aipp(*aipp) ? graph::input_bytes(*node, {}) : 0);
    desc.added.push_back(is_added(*node));
  }
  desc.outputs = outputs;
  desc.output_names = graph::find_or(graph.attributes, "output_names", std::vector<std::string>());
  desc.output_names.resize(desc.outputs.size());
  for (size_t i = 0; i < desc.outputs.size(); ++i)
    if (desc.output_names[i].empty()) desc.output_names[i] = "output_" + std::to_string(i);
  desc.gears = std::move(gears);
  for (const auto& node : graph.nodes())
    if (const auto* names = graph::find<std::vector<std::string>>(node->attributes, "OriginOp"))
      desc.origins[node->name()] = *names;
}

/// Of a model that is on no device.
void describe(aclmdlDesc& desc, const graph::Model& model) {
  const graph::Outline outline = graph::outline(*model.graph);
  describe(desc, *model.graph, outline.inputs, outline.outputs, outline.gears);
}

}  // namespace

extern "C" {

UPDRAFT_API aclmdlDesc* aclmdlCreateDesc(void) {
  return value_or<aclmdlDesc*>("aclmdlCreateDesc", nullptr, [] { return descs().create(); });
}
UPDRAFT_API int aclmdlDestroyDesc(aclmdlDesc* desc) {
  return guard("aclmdlDestroyDesc", [&] {
    live(desc);
    descs().destroy(desc);
  });
}

UPDRAFT_API int aclmdlGetDesc(aclmdlDesc* handle, uint32_t id) {
  return guard("aclmdlGetDesc", [&] {
    aclmdlDesc& desc = live(handle);
    const auto model = loaded_model(id);
    describe(desc, model->graph(), model->inputs(), model->outputs(), model->gear_table());
  });
}
UPDRAFT_API int aclmdlGetDescFromFile(aclmdlDesc* handle, const char* path) {
  return guard("aclmdlGetDescFromFile",
               [&] { in_codes_of_files([&] { describe(live(handle), read_model(model_file(path))); }); });
}
UPDRAFT_API int aclmdlGetDescFromMem(aclmdlDesc* handle, const void* model, size_t size) {
  return guard("aclmdlGetDescFromMem",
               [&] { in_codes_of_files([&] { describe(live(handle), read_model(model_in_memory(model, size))); }); });
}
UPDRAFT_API const char* aclmdlGetOpAttr(aclmdlDesc* d, const char* op, const char* attribute) {
  return value_or<const char*>("aclmdlGetOpAttr", "", [&] {
    need(op, "opName");
    need(attribute, "attr");
    aclmdlDesc& desc = live(d);
    if (std::string_view(attribute) != "_datadump_original_op_names")
      throw Error(code::kAclInvalidParam, "attr is {}: want _datadump_original_op_names", attribute);
    const auto found = desc.origins.find(std::string_view(op));
    if (found == desc.origins.end())
      throw Error(code::kAclInvalidParam, "{} is no operator of the model that was made of several", op);
    desc.text.clear();
    for (const std::string& name : found->second) desc.text += fmt::format("[{}]{}", name.size(), name);
    return desc.text.c_str();
  });
}
UPDRAFT_API const char* aclmdlGetTensorRealName(const aclmdlDesc* d, const char* name) {
  return value_or<const char*>("aclmdlGetTensorRealName", nullptr, [&] {
    need(name, "name");
    const std::string_view wanted = name;
    const aclmdlDesc& desc = live(d);
    // aclmdlIODims has room for the begin of a long name alone
    for (const auto* names : {&desc.input_names, &desc.output_names})
      for (const std::string& real : *names)
        if (real == wanted || (wanted.size() == sizeof(aclmdlIODims::name) - 1 && real.starts_with(wanted)))
          return real.c_str();
    throw Error(code::kAclInvalidParam, "the model has no input or output named {}", name);
  });
}

UPDRAFT_API size_t aclmdlGetNumInputs(aclmdlDesc* d) {
  return value_or<size_t>("aclmdlGetNumInputs", 0, [&] { return live(d).inputs.size(); });
}
UPDRAFT_API size_t aclmdlGetNumOutputs(aclmdlDesc* d) {
  return value_or<size_t>("aclmdlGetNumOutputs", 0, [&] { return live(d).outputs.size(); });
}
UPDRAFT_API size_t aclmdlGetInputSizeByIndex(aclmdlDesc* d, size_t i) {
  return value_or<size_t>("aclmdlGetInputSizeByIndex", 0, [&] { return bytes_of(d, Side::Input, i); });
}
UPDRAFT_API size_t aclmdlGetOutputSizeByIndex(aclmdlDesc* d, size_t i) {
  return value_or<size_t>("aclmdlGetOutputSizeByIndex", 0, [&] { return bytes_of(d, Side::Output, i); });
}
UPDRAFT_API int aclmdlGetInputDims(const aclmdlDesc* d, size_t i, aclmdlIODims* dims) {
  return guard("aclmdlGetInputDims", [&] { give_dims(d, Side::Input, i, dims); });
}
UPDRAFT_API int aclmdlGetInputDimsV2(const aclmdlDesc* d, size_t i, aclmdlIODims* dims) {
  return guard("aclmdlGetInputDimsV2", [&] { give_dims(d, Side::Input, i, dims); });
}
UPDRAFT_API int aclmdlGetOutputDims(const aclmdlDesc* d, size_t i, aclmdlIODims* dims) {
  return guard("aclmdlGetOutputDims", [&] { give_dims(d, Side::Output, i, dims); });
}
UPDRAFT_API int aclmdlGetCurOutputDims(const aclmdlDesc* d, size_t i, aclmdlIODims* dims) {
  return guard("aclmdlGetCurOutputDims", [&] {
    const graph::TensorDesc& any = tensor(d, Side::Output, i);
    const auto& gears = live(d).gears;
    give_dims(d, Side::Output, i, gears ? gears->outputs[gears->chosen][i] : any, dims);
  });
}
UPDRAFT_API const char* aclmdlGetInputNameByIndex(const aclmdlDesc* d, size_t i) {
  return value_or<const char*>("aclmdlGetInputNameByIndex", "", [&] { return name_of(d, Side::Input, i).c_str(); });
}
UPDRAFT_API const char* aclmdlGetOutputNameByIndex(const aclmdlDesc* d, size_t i) {
  return value_or<const char*>("aclmdlGetOutputNameByIndex", "", [&] { return name_of(d, Side::Output, i).c_str(); });
}
UPDRAFT_API int aclmdlGetInputIndexByName(const aclmdlDesc* d, const char* name, size_t* index) {
  return guard("aclmdlGetInputIndexByName", [&] { find(d, Side::Input, name, index); });
}
UPDRAFT_API int aclmdlGetOutputIndexByName(const aclmdlDesc* d, const char* name, size_t* index) {
  return guard("aclmdlGetOutputIndexByName", [&] { find(d, Side::Output, name, index); });
}
UPDRAFT_API aclDataType aclmdlGetInputDataType(const aclmdlDesc* d, size_t i) {
  return value_or("aclmdlGetInputDataType", ACL_DT_UNDEFINED,
                  [&] { return static_cast<aclDataType>(tensor(d, Side::Input, i).dtype); });
}
UPDRAFT_API aclDataType aclmdlGetOutputDataType(const aclmdlDesc* d, size_t i) {
  return value_or("aclmdlGetOutputDataType", ACL_DT_UNDEFINED,
                  [&] { return static_cast<aclDataType>(tensor(d, Side::Output, i).dtype); });
}
UPDRAFT_API aclFormat aclmdlGetInputFormat(const aclmdlDesc* d, size_t i) {
  return value_or("aclmdlGetInputFormat", ACL_FORMAT_UNDEFINED,
                  [&] { return static_cast<aclFormat>(tensor(d, Side::Input, i).format); });
}
UPDRAFT_API aclFormat aclmdlGetOutputFormat(const aclmdlDesc* d, size_t i) {
  return value_or("aclmdlGetOutputFormat", ACL_FORMAT_UNDEFINED,
                  [&] { return static_cast<aclFormat>(tensor(d, Side::Output, i).format); });
}

}  // extern "C"
