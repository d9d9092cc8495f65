// What flows between operators: tensors on the device, variables, and what only TensorFlow's own kernels know (texts,
// resources, variants).
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "frontends/tensorflow/graph_def.h"
#include "graph/executor/run.h"
#include "npu_device/tf_api.h"

namespace updraft::npu_device {

using graph::Dims;
using tensorflow::ElementType;

/// The bytes of a tensor: memory of the device, or a tensor of TensorFlow's that is read where it lies.
class Memory {
 public:
  /// Throws 207001 with sizes when there is no room.
  Memory(Device& device, size_t bytes);
  /// Takes the tensor over.
  explicit Memory(TF_Tensor* tensor);
  ~Memory();
  Memory(const Memory&) = delete;

  /// As operators are given it.
  std::byte* data() const { return data_; }
  /// As the host reads it.
  std::byte* host() const;
  size_t bytes() const { return bytes_; }
  /// Memory of TensorFlow's is never written.
  bool writable() const { return !tensor_; }

 private:
  graph::DeviceBlock block_;
  TF_Tensor* tensor_ = nullptr;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

struct Variable;

struct Value {
  enum class Kind : uint8_t { None, Tensor, Variable, Host };
  Kind kind = Kind::None;
  ElementType type = ElementType::Invalid;
  Dims dims;
  std::shared_ptr<Memory> memory;      ///< of a Tensor
  std::shared_ptr<Variable> variable;  ///< of a Variable
  HandlePointer host;                  ///< of a Host value

  static Value tensor(ElementType type, Dims dims, std::shared_ptr<Memory> memory) {
    return {Kind::Tensor, type, std::move(dims), std::move(memory), nullptr, nullptr};
  }
  size_t bytes() const;
  /// True when a host reader need not wait for anything, and the tensor is one of TensorFlow's.
  bool of_tensorflow() const { return kind == Kind::Host || (kind == Kind::Tensor && !memory->writable()); }
  /// The value of one element as an integer. Throws StatusError for another number of elements.
  int64_t integer(const char* what) const;
  /// The same as a condition: numbers are true unless they are 0.
  bool truth(const char* what) const;
};

/// A variable lives on the device. Reads share its memory; who writes it while somebody shares it writes elsewhere.
struct Variable {
  const ElementType type;
  const std::string name;
  std::mutex mutex;
  Dims dims;
  std::shared_ptr<Memory> memory;  ///< null before the first assignment

  Variable(ElementType t, std::string n) : type(t), name(std::move(n)) {}
  /// The value that it has now. Throws StatusError (FailedPrecondition) when it has none.
  Value read();
  void assign(const Value& tensor);
};

/// True for types that tensors on the device have.
bool on_device(ElementType type);

/// The context's CPU, the NPU, and the values of both as handles of TensorFlow.
class Handles {
 public:
  Handles(TFE_Context* context, Device& device, std::string name)
      : context(context), device(device), device_name(std::move(name)) {}

  TFE_Context* const context;
  Device& device;
  const std::string device_name;

  /// What a handle holds. The tensors of TensorFlow's CPU are not copied.
  Value value(TFE_TensorHandle* handle) const;
  /// A handle that clients see; it is theirs. Host values keep TensorFlow's own handles.
  TFE_TensorHandle* handle(const Value& value) const;
  /// A handle for TensorFlow's CPU kernels, which read the memory where it lies: nobody writes it while they have it.
  HandlePointer on_cpu(const Value& value) const;
  /// What a tensor handle of TensorFlow's CPU holds.
  Value tensor_of(TFE_TensorHandle* cpu) const;
};

}  // namespace updraft::npu_device
