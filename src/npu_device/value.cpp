#include "npu_device/value.h"

#include <cstring>

#include "device/device.h"
#include "npu_device/tensor_list.h"

namespace updraft::npu_device {
namespace {

using tensorflow::dtype_of;
using tensorflow::name_of;

/// A tensor of TensorFlow's that reads the value where it lies.
TF_Tensor* view_of(const Value& value) {
  auto* keep = new std::shared_ptr<Memory>(value.memory);
  return tf().TF_NewTensor(
      static_cast<TypeNumber>(value.type), value.dims.data(), static_cast<int>(value.dims.size()), value.memory->host(),
      value.bytes(), [](void*, size_t, void* kept) { delete static_cast<std::shared_ptr<Memory>*>(kept); }, keep);
}

HandlePointer handle_of(TF_Tensor* tensor) {
  const Status status;
  HandlePointer handle = own(tf().TFE_NewTensorHandle(tensor, status));
  tf().TF_DeleteTensor(tensor);
  status.check();
  return handle;
}

const Value& value_of(void* data) { return *static_cast<const Value*>(data); }

TFE_CustomDeviceTensorHandleMethods methods() {
  TFE_CustomDeviceTensorHandleMethods m{};
  m.version = kCustomDeviceVersion;
  m.num_dims = [](void* data, TF_Status*) { return static_cast<int>(value_of(data).dims.size()); };
  m.dim = [](void* data, int i, TF_Status*) { return value_of(data).dims.at(static_cast<size_t>(i)); };
  m.deallocator = [](void* data) { delete static_cast<Value*>(data); };
  return m;
}

}  // namespace

Memory::Memory(Device& device, size_t bytes) : block_(device, bytes ? bytes : 1), data_(block_.data()), bytes_(bytes) {}
Memory::Memory(TF_Tensor* tensor)
    : tensor_(tensor),
      data_(static_cast<std::byte*>(tf().TF_TensorData(tensor))),
      bytes_(tf().TF_TensorByteSize(tensor)) {}
Memory::Memory(std::shared_ptr<Memory> whole, size_t offset, size_t bytes)
    : whole_(std::move(whole)), data_(whole_->data_ + offset), bytes_(bytes) {}
Memory::~Memory() {
  if (tensor_) tf().TF_DeleteTensor(tensor_);
}
std::byte* Memory::host() const { return static_cast<std::byte*>(host_address(data_)); }

graph::Tensor Value::on_host() const { return {dtype_of(type), dims, graph::Bytes::copy_of(memory->host(), bytes())}; }
size_t Value::bytes() const { return static_cast<size_t>(graph::count_of(dims)) * size_of(dtype_of(type)); }

namespace {

graph::Tensor one(const Value& value, const char* what) {
  if (value.kind != Value::Kind::Tensor || graph::count_of(value.dims) != 1)
    throw StatusError(StatusCode::InvalidArgument, fmt::format("{} is {}{}, want one value", what, name_of(value.type),
                                                               graph::describe(value.dims)));
  return value.on_host();
}

}  // namespace

int64_t Value::integer(const char* what) const { return one(*this, what).integers().at(0); }
bool Value::truth(const char* what) const { return one(*this, what).reals().at(0) != 0; }

Value Variable::read() {
  const std::lock_guard lock(mutex);
  if (!memory)
    throw StatusError(StatusCode::FailedPrecondition,
                      fmt::format("variable {} is read before a value was assigned to it: initialise it first", name));
  return Value::tensor(type, dims, memory);
}

void Variable::assign(const Value& tensor) {
  const std::lock_guard lock(mutex);
  dims = tensor.dims;
  memory = tensor.memory;
}

bool on_device(ElementType type) { return dtype_of(type) != DType::Undefined; }

Value Handles::tensor_of(TFE_TensorHandle* cpu) const {
  const Status status;
  const auto type = static_cast<ElementType>(tf().TFE_TensorHandleDataType(cpu));
  if (!on_device(type)) {
    Value host;
    host.kind = Value::Kind::Host;
    host.type = type;
    host.host = own(tf().TFE_TensorHandleCopySharingTensor(cpu, status));
    status.check();
    return host;
  }
  Dims dims;
  const int rank = tf().TFE_TensorHandleNumDims(cpu, status);
  status.check();
  for (int d = 0; d < rank; ++d) dims.push_back(tf().TFE_TensorHandleDim(cpu, d, status));
  status.check();
  TF_Tensor* tensor = tf().TFE_TensorHandleResolve(cpu, status);
  status.check();
  return Value::tensor(type, std::move(dims), std::make_shared<Memory>(tensor));
}

Value Handles::value(TFE_TensorHandle* handle) const {
  const Status status;
  const char* name = tf().TFE_TensorHandleDeviceName(handle, status);
  status.check();
  if (device_name != name) return tensor_of(handle);
  const Value value = value_of(tf().TFE_TensorHandleDevicePointer(handle, status));
  status.check();
  return value;
}

TFE_TensorHandle* Handles::handle(const Value& value) const {
  const Status status;
  if (value.kind == Value::Kind::Host) {
    TFE_TensorHandle* shared = tf().TFE_TensorHandleCopySharingTensor(value.host.get(), status);
    status.check();
    return shared;
  }
  TFE_TensorHandle* made = tf().TFE_NewCustomDeviceTensorHandle(
      context, device_name.c_str(),
      static_cast<TypeNumber>(value.kind == Value::Kind::Variable ? ElementType::Resource : value.type),
      new Value(value), methods(), status);
  status.check();
  return made;
}

Value Handles::make(ElementType type, Dims dims, const void* bytes) const {
  Value value = Value::tensor(type, std::move(dims), nullptr);
  value.memory = std::make_shared<Memory>(device, value.bytes());
  if (value.bytes()) std::memcpy(value.memory->host(), bytes, value.bytes());
  return value;
}

HandlePointer Handles::on_cpu(const Value& value) const {
  if (value.kind == Value::Kind::Host) return value.host;
  if (value.kind == Value::Kind::List) return list_on_cpu(*this, *value.list);
  return handle_of(view_of(value));
}

}  // namespace updraft::npu_device
