// Single-operator execution of the aclop era: compile options, and operators by name (ops/ir_op.h).
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <variant>

#include "acl/api.h"
#include "acl/tensor_desc.h"
#include "base/accepted.h"
#include "device/host_layout.h"
#include "ops/call.h"
#include "ops/handles.h"
#include "ops/ir_op.h"
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

/// What a description and its data say; no type where the tensor is absent.
CallTensor tensor_of(const aclTensorDesc* handle, const aclDataBuffer* data_handle) {
  CallTensor t;
  if (!handle) return t;
  const aclTensorDesc& desc = live(handle);
  const aclDataBuffer* buffer = data_handle ? &live(data_handle) : nullptr;
  if (desc.dtype == DType::Undefined || !buffer) return t;  // an optional input that is absent
  if (std::string why = refusal_of(desc.dtype); !why.empty())
    throw Error(code::kAclInvalidParam, "tensor '{}' {}", desc.name, why);
  for (int64_t dim : desc.dims)
    if (dim < 0) throw Error(code::kAclInvalidParam, "tensor '{}' has a dimension of {}", desc.name, dim);
  t.dtype = desc.dtype;
  t.dims = desc.dims;
  // What the client keeps on the host (attributes given as tensors) is readable as it is.
  t.on_host = desc.placement != 0;
  t.data = buffer->data;
  const TensorView view = TensorView::contiguous(nullptr, t.dtype, t.dims.data(), static_cast<int>(t.dims.size()));
  if (!extent_of(view))
    throw Error(code::kAclInvalidParam, "shape {} is larger than any memory", describe_shape(view.dims, view.rank));
  if (!t.data && !view.empty()) t.dtype = DType::Undefined;  // no memory: absent as well
  return t;
}

/// True for a layout of the product's own (NC1HWC0, FRACTAL_NZ, …); NCHW, NHWC, ND, NDHWC, NCDHW and NCL are the
/// client's.
bool internal_format(const aclTensorDesc* handle) {
  constexpr int32_t kBase[] = {-1, 0, 1, 2, 27, 30, 47};
  return handle && std::ranges::count(kBase, live(handle).storage_format) == 0;
}

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

/// Gives the tensors of one direction to the parameters in their order; a list takes what the others leave.
void add_tensors(OpCall& call, bool outputs, int count, const aclTensorDesc* const* descs,
                 const aclDataBuffer* const* data) {
  const std::vector<const Parameter*> wanted = outputs ? ir_outputs(call.info()) : ir_inputs(call.info());
  const auto lists =
      static_cast<int>(std::ranges::count_if(wanted, [](const Parameter* p) { return p->kind == Kind::Tensors; }));
  const int single = static_cast<int>(wanted.size()) - lists;
  if (count > single && lists == 0)
    throw Error(code::kAclInvalidParam, "{}: {} {} are given, it has {}", call.info().name, count,
                outputs ? "outputs" : "inputs", single);
  if (lists > 1)
    throw Error(code::kAclInvalidParam, "{} has {} lists: which tensors belong to which is not known by their order",
                call.info().name, lists);
  int next = 0;
  for (const Parameter* p : wanted)
    for (int n = p->kind == Kind::Tensors ? std::max(count - single, 0) : 1; n-- > 0 && next < count; ++next) {
      CallTensor t = tensor_of(descs[next], data[next]);
      if (t.dtype == DType::Undefined) {
        if (!p->optional)
          throw Error(code::kAclInvalidParam, "{}: {} {} ({}) is absent, want a tensor with a type and data",
                      call.info().name, outputs ? "output" : "input", next, p->name);
        continue;
      }
      if (!(outputs &&
            find_parameter(call.info(), p->name)->read())) {  // what is read and written was given as an input
        call.add_tensor(p->name, std::move(t));
      } else if (call.tensors(p->name).empty() || call.tensors(p->name)[0].data != t.data) {
        throw Error(code::kAclInvalidParam, "{}: output {} ({}) is updated in place: give it the memory of the input",
                    call.info().name, next, p->name);
      }
    }
}

void set_attributes(OpCall& call, const aclopAttr& attributes) {
  for (const auto& [name, value] : attributes.values) {
    const Parameter* p = find_parameter(call.info(), name);
    if (!p || is_tensor(p->kind)) continue;  // clients pass attributes of later versions; unknown ones say nothing here
    std::visit(
        [&, &name = name]<class T>(const T& v) {
          if constexpr (std::is_same_v<T, std::vector<uint8_t>>)
            call.set(name, std::vector<int64_t>(v.begin(), v.end()));
          else if constexpr (std::is_same_v<T, std::vector<float>>)
            call.set(name, std::vector<double>(v.begin(), v.end()));
          else if constexpr (std::is_same_v<T, float>) call.set(name, static_cast<double>(v));
          else if constexpr (std::is_same_v<T, int32_t>) call.set(name, static_cast<int64_t>(v));
          else call.set(name, v);
        },
        value);
  }
}

void execute(const char* type, int inputs, const aclTensorDesc* const* in, const aclDataBuffer* const* in_data,
             int outputs, const aclTensorDesc* const* out, aclDataBuffer* const* out_data, const aclopAttr* attributes,
             void* stream) {
  need(type, "opType");
  if (inputs < 0 || outputs < 0)
    throw Error(code::kAclInvalidParam, "numInputs is {}, numOutputs is {}", inputs, outputs);
  if (inputs) {
    need(in, "inputDesc");
    need(in_data, "inputs");
  }
  if (outputs) {
    need(out, "outputDesc");
    need(out_data, "outputs");
  }
  const OpInfo* info = find_ir_op(type);
  if (!info) refuse_unknown(type, inputs, in, outputs, out);
  try {
    OpCall call(*info);
    add_tensors(call, false, inputs, in, in_data);
    add_tensors(call, true, outputs, out, out_data);
    if (attributes) set_attributes(call, live(attributes));
    call.run(stream_of(stream));
    for (int i = 0; i < outputs; ++i)
      if (out_data[i]) note_device_write(live(out_data[i]).data, live(out_data[i]).size);
  } catch (const Error& e) {
    // The codes of this interface.
    const bool argument = e.code() == code::kAclnnParamInvalid || e.code() == code::kAclnnNullptr;
    throw Error(argument ? code::kAclInvalidParam : e.code(), "{}: {}", type, e.text());
  }
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
ACCEPTED(aclopSetCompileFlag, "operators are part of the library, and never compiled when they are called",
         "算子已编译在库中，调用时从不在线编译")
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
  return guard("aclopCompileAndExecuteV2",
               [&] { execute(type, inputs, in, in_data, outputs, out, out_data, attributes, stream); });
}
ACL_API aclopExecuteV2(const char* type, int inputs, aclTensorDesc* in[], aclDataBuffer* in_data[], int outputs,
                       aclTensorDesc* out[], aclDataBuffer* out_data[], aclopAttr* attributes, void* stream) {
  return guard("aclopExecuteV2",
               [&] { execute(type, inputs, in, in_data, outputs, out, out_data, attributes, stream); });
}
