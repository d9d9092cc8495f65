// Single-operator execution of the aclop era: compile options, and operators by name (ops/ir_op.h).
#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <variant>

#include "acl/aclop.h"
#include "acl/api.h"
#include "base/accepted.h"
#include "base/config.h"
#include "base/log.h"
#include "device/device.h"
#include "device/host_layout.h"
#include "ops/call.h"
#include "ops/format.h"
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

/// The parameter of an operator that takes texts: which tensors of its list are texts.
constexpr const char* kTexts = "texts";

/// What a description and its data say; no type where the tensor is absent. A text is its bytes, where they may be.
CallTensor tensor_of(const aclTensorDesc* handle, const aclDataBuffer* data_handle, bool may_be_text = false) {
  CallTensor t;
  if (!handle) return t;
  const aclTensorDesc& desc = live(handle);
  const aclDataBuffer* buffer = data_handle ? &live(data_handle) : nullptr;
  if (desc.dtype == DType::Undefined || !buffer) return t;  // an optional input that is absent
  if (desc.dtype == DType::String && may_be_text) {
    t.dtype = DType::UInt8;
    t.dims = {static_cast<int64_t>(buffer->size)};
    t.on_host = desc.placement != 0;
    t.data = buffer->data;
    return t;
  }
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

bool internal_format(const aclTensorDesc* handle) { return handle && is_product_format(live(handle).storage_format); }

/// Bytes that the host laid out in a format of the product's own are something else to operators here (ops/format.h).
void check_internal_format(const char* type, size_t index, const aclTensorDesc* desc, const aclDataBuffer* data) {
  if (!Config::get().card_rules() || !desc || !data) return;
  if (!reorders(live(desc).storage_format, live(desc).dims)) return;
  if (laid_out_by_host(live(data).data, live(data).size))
    throw Error(code::kAclInvalidParam, "{}: input {} is in format {}, and {}", type, index,
                format_name(live(desc).storage_format), kHostLaidOut);
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

/// Where a tensor of the client belongs.
struct Place {
  const Parameter* parameter;
  size_t item;  ///< of a list
};

/// The places of the tensors of one direction, in their order; a list takes what the others leave.
std::vector<Place> places_of(const OpCall& call, bool outputs, int count) {
  const std::vector<const Parameter*> wanted = outputs ? ir_outputs(call.info()) : ir_inputs(call.info());
  const auto lists =
      static_cast<int>(std::ranges::count_if(wanted, [](const Parameter* p) { return p->kind == Kind::Tensors; }));
  const int single = static_cast<int>(wanted.size()) - lists;
  if (count > single && lists == 0)
    throw Error(code::kAclInvalidParam, "{}: {} {} are given, it has {}", call.info().name, count,
                outputs ? "outputs" : "inputs", single);
  const int many = std::max(count - single, 0);  // tensors of all lists, which are equally long
  if (lists > 1 && many % lists != 0)
    throw Error(code::kAclInvalidParam, "{}: {} {} are given, which do not divide into its {} lists", call.info().name,
                count, outputs ? "outputs" : "inputs", lists);
  std::vector<Place> places;
  for (const Parameter* p : wanted)
    for (int n = 0; n < (p->kind == Kind::Tensors ? many / lists : 1); ++n)
      if (static_cast<int>(places.size()) < count) places.push_back({p, static_cast<size_t>(n)});
  return places;
}

/// Gives the tensors of one direction to the parameters. `found`: what inference says of the outputs, where sizes that
/// the values decide are wanted.
void add_tensors(OpCall& call, bool outputs, int count, const aclTensorDesc* const* descs,
                 const aclDataBuffer* const* data, const std::vector<CallTensor>& found = {}) {
  const std::vector<Place> places = places_of(call, outputs, count);
  const bool takes_texts = !outputs && find_parameter(call.info(), kTexts);
  std::vector<int64_t> texts;
  for (size_t i = 0; i < places.size(); ++i) {
    const Parameter& p = *places[i].parameter;
    CallTensor t = tensor_of(descs[i], data[i], takes_texts);
    if (takes_texts && p.kind == Kind::Tensors && descs[i] && live(descs[i]).dtype == DType::String)
      texts.push_back(static_cast<int64_t>(places[i].item));
    if (t.dtype == DType::Undefined) {
      if (!p.optional)
        throw Error(code::kAclInvalidParam, "{}: {} {} ({}) is absent, want a tensor with a type and data",
                    call.info().name, outputs ? "output" : "input", i, p.name);
      continue;
    }
    if (!outputs) check_internal_format(call.info().name, i, descs[i], data[i]);
    if (i < found.size()) t.bounds = found[i].bounds;
    // What is read and written was given as an input.
    if (!outputs || !find_parameter(call.info(), p.name)->read()) {
      call.add_tensor(p.name, std::move(t));
    } else if (call.tensors(p.name).size() <= places[i].item || call.tensors(p.name)[places[i].item].data != t.data) {
      throw Error(code::kAclInvalidParam, "{}: output {} ({}) is updated in place: give it the memory of the input",
                  call.info().name, i, p.name);
    }
  }
  if (takes_texts) call.set(kTexts, texts);
}

/// What a client leaves open its first tensor's format says.
void set_layout(OpCall& call, int inputs, const aclTensorDesc* const* in) {
  if (!find_parameter(call.info(), "data_format")) return;
  for (int i = 0; i < inputs; ++i)
    if (const char* layout = in[i] ? layout_of(live(in[i]).format) : nullptr)
      return call.set("data_format", std::string(layout));
}

void set_attributes(OpCall& call, const aclopAttr& attributes) {
  for (const auto& [name, value] : attributes.values) {
    const Parameter* p = find_parameter(call.info(), name);
    if (!p || is_tensor(p->kind)) {  // clients of later versions know more attributes
      UPDRAFT_LOG(kInfo, "ASCENDCL", "{} has no attribute {}: it is passed over", call.info().name, name);
      continue;
    }
    if (p->kind == Kind::Text && std::holds_alternative<bool>(value)) {
      // torch_npu gives texts of DynamicRNN as bools (a literal that its C++ converts): nothing is in them.
      UPDRAFT_LOG(kWarning, "ASCENDCL", "{}: attribute {} is a bool, wants a text: its default counts",
                  call.info().name, name);
      continue;
    }
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

/// What aclopInferShape knows of an input: its description and, where its data is the host's, its values.
CallTensor known_of(const aclTensorDesc* handle, const aclDataBuffer* data) {
  CallTensor t;
  if (!handle) return t;
  const aclTensorDesc& desc = live(handle);
  t.dtype = desc.dtype;
  t.dims = desc.dims;
  t.data = data ? live(data).data : nullptr;
  t.on_host = t.data && !Device::owner(t.data);
  if (!t.on_host) t.data = nullptr;
  return t;
}

/// What inference says of the outputs, in their order.
std::vector<CallTensor> inferred(const OpInfo& info, int inputs, const aclTensorDesc* const* in,
                                 const aclDataBuffer* const* in_data, int outputs, const aclopAttr* attributes) {
  OpCall call(info);
  const std::vector<Place> from = places_of(call, false, inputs), to = places_of(call, true, outputs);
  for (size_t i = 0; i < from.size(); ++i)
    if (CallTensor t = known_of(in[i], in_data[i]); t.dtype != DType::Undefined)
      call.add_tensor(from[i].parameter->name, std::move(t));
  for (const Place& place : to)
    if (!find_parameter(info, place.parameter->name)->read()) call.ask(place.parameter->name);
  set_layout(call, inputs, in);
  if (attributes) set_attributes(call, live(attributes));
  call.infer();
  std::vector<CallTensor> found;
  for (const Place& place : to) found.push_back(call.tensors(place.parameter->name).at(place.item));
  return found;
}

/// The same where the operator has a rule, else nothing: what no rule tells has no sizes that the values decide.
std::vector<CallTensor> inferred_if_known(const OpInfo& info, int inputs, const aclTensorDesc* const* in,
                                          const aclDataBuffer* const* in_data, int outputs,
                                          const aclopAttr* attributes) {
  try {
    return inferred(info, inputs, in, in_data, outputs, attributes);
  } catch (const Error&) { return {}; }
}

void check_lists(const char* type, int inputs, const void* in, const void* in_data, int outputs, const void* out) {
  need(type, "opType");
  if (inputs < 0 || outputs < 0)
    throw Error(code::kAclInvalidParam, "numInputs is {}, numOutputs is {}", inputs, outputs);
  if (inputs) {
    need(in, "inputDesc");
    need(in_data, "inputs");
  }
  if (outputs) need(out, "outputDesc");
}

/// Writes the sizes that the values decided into the descriptions.
void set_sizes(const OpCall& call, const std::vector<CallTensor>& found, aclTensorDesc* const* sized) {
  const std::vector<Place> places = places_of(call, true, static_cast<int>(found.size()));
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].bounds.empty() || !sized[i]) continue;
    std::vector<int64_t>& dims = live(sized[i]).dims;
    dims.clear();
    for (const Dim& d : call.shape(places[i].parameter->name, places[i].item).dims) dims.push_back(d.low);
  }
}

/// The error of an operator in the codes of this interface.
[[noreturn]] void rethrow(const char* type, const Error& e) {
  const bool argument = e.code() == code::kAclnnParamInvalid || e.code() == code::kAclnnNullptr;
  throw Error(argument ? code::kAclInvalidParam : e.code(), "{}: {}", type, e.text());
}

}  // namespace

namespace updraft {
void execute_operator(const char* type, int inputs, const aclTensorDesc* const* in, const aclDataBuffer* const* in_data,
                      int outputs, const aclTensorDesc* const* out, aclDataBuffer* const* out_data,
                      const aclopAttr* attributes, void* stream, aclTensorDesc* const* sized) {
  check_lists(type, inputs, in, in_data, outputs, out);
  if (outputs) need(out_data, "outputs");
  const OpInfo* info = find_ir_op(type);
  if (!info) refuse_unknown(type, inputs, in, outputs, out);
  try {
    OpCall call(*info);
    add_tensors(call, false, inputs, in, in_data);
    std::vector<CallTensor> found;
    if (sized) found = inferred_if_known(*info, inputs, in, in_data, outputs, attributes);
    add_tensors(call, true, outputs, out, out_data, found);
    set_layout(call, inputs, in);
    if (attributes) set_attributes(call, live(attributes));
    if (std::ranges::any_of(found, [](const CallTensor& f) { return !f.bounds.empty(); })) {
      call.run_and_wait(stream_of(stream));  // for the sizes
      set_sizes(call, found, sized);
    } else {
      call.run(stream_of(stream));
    }
    for (int i = 0; i < outputs; ++i)
      if (out_data[i]) note_device_write(live(out_data[i]).data, live(out_data[i]).size);
  } catch (const Error& e) { rethrow(type, e); }
}

void require_operator(const char* type, int inputs, const aclTensorDesc* const* in, int outputs,
                      const aclTensorDesc* const* out) {
  need(type, "opType");
  if (inputs < 0 || outputs < 0)
    throw Error(code::kAclInvalidParam, "numInputs is {}, numOutputs is {}", inputs, outputs);
  if (inputs) need(in, "inputDesc");
  if (outputs) need(out, "outputDesc");
  for (const auto& [count, descs] : {std::pair{inputs, in}, {outputs, out}})
    for (int i = 0; i < count; ++i)
      if (descs[i]) live(descs[i]);
  if (!find_ir_op(type)) refuse_unknown(type, inputs, in, outputs, out);
}
}  // namespace updraft

namespace {

void infer_shapes(const char* type, int inputs, const aclTensorDesc* const* in, const aclDataBuffer* const* in_data,
                  int outputs, aclTensorDesc* const* out, const aclopAttr* attributes) {
  check_lists(type, inputs, in, in_data, outputs, out);
  const OpInfo* info = find_ir_op(type);
  if (!info) refuse_unknown(type, inputs, in, outputs, out);
  try {
    const std::vector<CallTensor> found = inferred(*info, inputs, in, in_data, outputs, attributes);
    for (size_t i = 0; i < found.size(); ++i) {
      aclTensorDesc& desc = live(out[i]);
      desc.dtype = found[i].dtype;
      desc.dims = found[i].dims;
    }
  } catch (const Error& e) { rethrow(type, e); }
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
  size_t size = 0;
  guard("aclGetCompileoptSize", [&] {
    std::lock_guard lock(g_mutex);
    size = option(which).size() + 1;
  });
  return size;
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
               [&] { execute_operator(type, inputs, in, in_data, outputs, out, out_data, attributes, stream); });
}
ACL_API aclopCompileAndExecuteV2(const char* type, int inputs, aclTensorDesc* in[], aclDataBuffer* in_data[],
                                 int outputs, aclTensorDesc* out[], aclDataBuffer* out_data[], aclopAttr* attributes,
                                 int32_t, int32_t, const char*, void* stream) {
  return guard("aclopCompileAndExecuteV2",
               [&] { execute_operator(type, inputs, in, in_data, outputs, out, out_data, attributes, stream, out); });
}
ACL_API aclopInferShape(const char* type, int inputs, aclTensorDesc* in[], aclDataBuffer* in_data[], int outputs,
                        aclTensorDesc* out[], aclopAttr* attributes) {
  return guard("aclopInferShape", [&] { infer_shapes(type, inputs, in, in_data, outputs, out, attributes); });
}
ACL_API aclopExecuteV2(const char* type, int inputs, aclTensorDesc* in[], aclDataBuffer* in_data[], int outputs,
                       aclTensorDesc* out[], aclDataBuffer* out_data[], aclopAttr* attributes, void* stream) {
  return guard("aclopExecuteV2",
               [&] { execute_operator(type, inputs, in, in_data, outputs, out, out_data, attributes, stream, out); });
}
