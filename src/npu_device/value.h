// What flows between operators: tensors on the device, lists of them, variables, and what only TensorFlow's own kernels
// know (texts, resources, variants).
#pragma once
#include <memory>
#include <mutex>
#include <string>

#include "device/device_block.h"
#include "frontends/tensorflow/graph_def.h"
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
  /// A part of other memory, which it keeps.
  Memory(std::shared_ptr<Memory> whole, size_t offset, size_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;

  /// As operators are given it.
  std::byte* data() const { return data_; }
  /// As the host reads it.
  std::byte* host() const;
  size_t bytes() const { return bytes_; }
  /// Memory of TensorFlow's is never written, and neither are parts of other memory.
  bool writable() const { return !tensor_ && !whole_; }
  bool of_tensorflow() const { return tensor_ || (whole_ && whole_->of_tensorflow()); }

 private:
  DeviceBlock block_;
  TF_Tensor* tensor_ = nullptr;
  std::shared_ptr<Memory> whole_;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
};

struct Variable;
struct TensorList;

struct Value {
  enum class Kind : uint8_t { None, Tensor, Variable, List, Host };
  Kind kind = Kind::None;
  ElementType type = ElementType::Invalid;
  Dims dims;
  std::shared_ptr<Memory> memory;      ///< of a Tensor
  std::shared_ptr<Variable> variable;  ///< of a Variable
  HandlePointer host;                  ///< of a Host value
  std::shared_ptr<TensorList> list;    ///< of a List

  static Value tensor(ElementType type, Dims dims, std::shared_ptr<Memory> memory) {
    return {Kind::Tensor, type, std::move(dims), std::move(memory), nullptr, nullptr, nullptr};
  }
  size_t bytes() const;
  /// A copy of a tensor on the host.
  graph::Tensor on_host() const;
  /// True when a host reader need not wait for anything, and the tensor is one of TensorFlow's.
  bool of_tensorflow() const { return kind == Kind::Host || (kind == Kind::Tensor && memory->of_tensorflow()); }
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

/// A list of tensors (TensorListReserve and its kin). Values share lists: who changes one that others have makes his
/// own.
struct TensorList {
  ElementType type = ElementType::Invalid;
  bool rank_known = false;
  Dims dims;                 ///< of every element, -1 where they are not said
  std::vector<Value> items;  ///< of kind None: never written
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
  /// A tensor with these bytes, in memory of the device.
  Value make(ElementType type, Dims dims, const void* bytes) const;
};

}  // namespace updraft::npu_device
