// Single-operator execution of the aclop era: compile options, and operators by name (ops/aclop.h).
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "acl/api.h"
#include "acl/tensor_desc.h"
#include "base/watch.h"
#include "ops/aclop.h"
#include "ops/handles.h"
#include "ops/reach.h"
#include "tensor/extent.h"

using namespace updraft;

namespace {

std::mutex g_mutex;
std::map<int32_t, std::string>& options() {
  static auto* m = new std::map<int32_t, std::string>{{10, "disable"}};  // ACL_OP_JIT_COMPILE
  return *m;
}
const std::string& option(int32_t which) {
  static const std::string empty;
  auto it = options().find(which);
  return it == options().end() ? empty : it->second;
}

AclopTensor tensor_of(const aclTensorDesc* handle, const aclDataBuffer* data_handle) {
  AclopTensor t;
  if (!handle) return t;
  const aclTensorDesc* desc = &live(handle);
  const aclDataBuffer* buffer = data_handle ? &live(data_handle) : nullptr;
  if (desc->dtype != DType::Undefined)  // undefined: an optional input that is absent
    if (std::string why = refusal_of(desc->dtype); !why.empty())
      throw Error(code::kAclInvalidParam, "tensor '{}' {}", desc->name, why);
  for (int64_t dim : desc->dims)
    if (dim < 0) throw Error(code::kAclInvalidParam, "tensor '{}' has a dimension of {}", desc->name, dim);
  // Without a type or without data it is an optional tensor that is absent: operators look at the data alone. What the
  // client keeps on the host (attributes given as tensors) is readable as it is.
  const bool absent = !buffer || desc->dtype == DType::Undefined;
  void* data = absent ? nullptr : desc->placement ? buffer->data : host_address(buffer->data);
  t.view = TensorView::contiguous(data, desc->dtype, desc->dims.data(), static_cast<int>(desc->dims.size()));
  if (!extent_of(t.view))
    throw Error(code::kAclInvalidParam, "shape {} is larger than any memory", describe_shape(t.view.dims, t.view.rank));
  if (data && !desc->placement) check_reach("a tensor", t.view, buffer->data, 0);
  t.on_host = desc->placement != 0;
  t.name = desc->name;
  t.constant = desc->constant;
  t.format = desc->format;
  return t;
}

/// True for a layout of the product's own (NC1HWC0, FRACTAL_NZ, …); NCHW, NHWC, ND, NDHWC, NCDHW and NCL are the
/// client's.
bool internal_format(const aclTensorDesc* handle) {
  constexpr int32_t kBase[] = {-1, 0, 1, 2, 27, 30, 47};
  return handle && std::ranges::count(kBase, live(handle).storage_format) == 0;
}

/// The value of an attribute as observers see it.
struct ForObservers {
  Argument::Value operator()(int32_t type) const { return static_cast<DType>(type); }
  Argument::Value operator()(float v) const { return static_cast<double>(v); }
  Argument::Value operator()(const std::vector<uint8_t>& list) const {
    return std::vector<bool>(list.begin(), list.end());
  }
  Argument::Value operator()(const std::vector<float>& list) const {
    return std::vector<double>(list.begin(), list.end());
  }
  template <class T>
  Argument::Value operator()(const T& v) const {
    return v;
  }
};

[[noreturn]] void refuse_unknown(const char* type, int inputs, const aclTensorDesc* const* in, int outputs,
                                 const aclTensorDesc* const* out) {
  bool internal = false;
  for (int i = 0; i < inputs; ++i) internal = internal || internal_format(in[i]);
  for (int i = 0; i < outputs; ++i) internal = internal || internal_format(out[i]);
  throw Error(code::kAclOpNotFound,
              "operator {} (aclop) is not implemented by Updraft (docs/reference/support.md lists what is){}", type,
              internal ? "; torch_npu asks for it because a tensor has an internal format (half precision convolutions "
                         "and three-dimensional pooling give such tensors on Ascend910 and Ascend310P by default): set "
                         "torch.npu.config.allow_internal_format = False before the model is made"
                       : "");
}

void execute(const char* type, int inputs, const aclTensorDesc* const* in, const aclDataBuffer* const* in_data,
             int outputs, const aclTensorDesc* const* out, aclDataBuffer* const* out_data, const aclopAttr* attributes,
             void* stream) {
  need(type, "opType");
  if (inputs < 0 || outputs < 0)
    throw Error(code::kAclInvalidParam, "numInputs is {}, numOutputs is {}", inputs, outputs);
  const AclopInfo* info = find_aclop(type);
  if (inputs) {
    need(in, "inputDesc");
    need(in_data, "inputs");
  }
  if (outputs) {
    need(out, "outputDesc");
    need(out_data, "outputs");
  }
  if (!info) refuse_unknown(type, inputs, in, outputs, out);
  AclopCall call;
  call.type = type;
  for (int i = 0; i < inputs; ++i) call.inputs.push_back(tensor_of(in[i], in_data[i]));
  for (int i = 0; i < outputs; ++i) call.outputs.push_back(tensor_of(out[i], out_data[i]));
  if (attributes)
    for (const auto& [name, value] : live(attributes).values) {
      AclopAttribute& a = call.attributes[name];
      if (auto* v = std::get_if<bool>(&value)) a.integer = *v;
      if (auto* v = std::get_if<int64_t>(&value)) a.integer = *v;
      if (auto* v = std::get_if<int32_t>(&value)) a.integer = *v;
      if (auto* v = std::get_if<float>(&value)) a.real = *v;
      if (auto* v = std::get_if<std::string>(&value)) a.text = *v;
      if (auto* v = std::get_if<std::vector<int64_t>>(&value)) a.integers = *v;
      if (auto* v = std::get_if<std::vector<float>>(&value)) a.reals = *v;
      if (observing_arguments()) a.given = std::visit(ForObservers{}, value);
    }
  launch_aclop(*info, std::move(call), stream_of(stream));
}

}  // namespace

ACL_API aclSetCompileopt(int32_t which, const char* value) {
  return guard("aclSetCompileopt", [&] {
    need(value, "value");
    if (which < 0 || which > 16)
      throw Error(code::kAclInvalidParam, "compile option {} is unknown, want 0 to 16", which);
    std::lock_guard lock(g_mutex);
    options()[which] = value;
  });
}
extern "C" UPDRAFT_API size_t aclGetCompileoptSize(int32_t which) {
  std::lock_guard lock(g_mutex);
  return option(which).size() + 1;
}
ACL_API aclGetCompileopt(int32_t which, char* value, size_t length) {
  return guard("aclGetCompileopt", [&] {
    need(value, "value");
    std::lock_guard lock(g_mutex);
    const std::string& text = option(which);
    if (text.size() + 1 > length)
      throw Error(code::kAclInvalidParam, "value has {} bytes of room, want {}", length, text.size() + 1);
    std::memcpy(value, text.c_str(), text.size() + 1);
  });
}
ACL_API aclopSetCompileFlag(int32_t) { return 0; }

ACL_API aclopCompileAndExecute(const char* type, int inputs, const aclTensorDesc* const in[],
                               const aclDataBuffer* const in_data[], int outputs, const aclTensorDesc* const out[],
                               aclDataBuffer* const out_data[], const aclopAttr* attributes, int32_t, int32_t,
                               const char*, void* stream) {
  return guard("aclopCompileAndExecute",
               [&] { execute(type, inputs, in, in_data, outputs, out, out_data, attributes, stream); });
}
ACL_API aclopCompileAndExecuteV2(const char* type, int inputs, aclTensorDesc* in[], aclDataBuffer* in_data[],
                                 int outputs, aclTensorDesc* out[], aclDataBuffer* out_data[], aclopAttr* attributes,
                                 int32_t, int32_t, const char*, void* stream) {
  return guard("aclopCompileAndExecuteV2", [&] {
    execute(type, inputs, in, in_data, outputs, out, out_data, attributes, stream);
    if (AclopInfo const* info = find_aclop(type); info && info->dynamic_shape) stream_of(stream).synchronize();
  });
}
ACL_API aclopExecuteV2(const char* type, int inputs, aclTensorDesc* in[], aclDataBuffer* in_data[], int outputs,
                       aclTensorDesc* out[], aclDataBuffer* out_data[], aclopAttr* attributes, void* stream) {
  return guard("aclopExecuteV2",
               [&] { execute(type, inputs, in, in_data, outputs, out, out_data, attributes, stream); });
}
