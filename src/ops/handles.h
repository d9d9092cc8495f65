// What the opaque handles of the aclnn meta interface hold.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/handle_pool.h"
#include "base/inline_function.h"
#include "base/parallel.h"
#include "device/argument.h"
#include "device/task.h"
#include "ops/parameter.h"
#include "tensor/extent.h"
#include "tensor/view.h"

namespace updraft {
class ConstantOperand;
}

struct aclTensor {
  updraft::TensorView view;  ///< data is translated (device/memory.h) and points at the view's first element
  int32_t format = 2;        ///< aclFormat
  int64_t offset = 0;        ///< elements from the storage's base
  void* storage = nullptr;   ///< the base as the client passed it
  bool on_host = false;      ///< the data is the host's: its values are known while a plan is made
  std::optional<updraft::Extent> extent;  ///< of the view; empty: not computed yet
  int32_t storage_rank = 0;
  int64_t storage_dims[updraft::kMaxDims];
  /// Not null: the values stay as they are from run to run, and kernels keep prepared forms here
  /// (kernels/constant_operand.h). It belongs to who set it and must outlive every plan made with this tensor.
  updraft::ConstantOperand* constant = nullptr;
  /// In a copy of a call's arguments: the client's tensor, which is told the shape of a result when it is known.
  updraft::HandleRef<aclTensor> client;

  aclTensor() {}  // NOLINT(modernize-use-equals-default): a defaulted one would zero the unused dimensions as well
};

struct aclScalar {
  updraft::DType dtype;
  alignas(16) unsigned char bytes[16];

  bool is_floating() const { return updraft::is_floating(dtype); }
  bool is_complex() const { return updraft::is_complex(dtype); }
  double to_double() const;
  int64_t to_int() const;
  updraft::complex128 to_complex() const;
  bool to_bool() const { return to_complex() != updraft::complex128(0); }
};

struct aclIntArray {
  std::vector<int64_t> values;
};
struct aclFloatArray {
  std::vector<float> values;
};
struct aclBoolArray {
  std::vector<uint8_t> values;
};
struct aclTensorList {
  std::vector<updraft::HandleRef<aclTensor>> items;
};
struct aclScalarList {
  std::vector<updraft::HandleRef<aclScalar>> items;
};

namespace updraft {
struct OpInfo;
class KeptArguments;

/// Why no operator takes a tensor of type t (here, or on the product that UPDRAFT_FIDELITY=card stands for); empty:
/// they do.
std::string refusal_of(DType t);

}  // namespace updraft

/// The second phase of an operator: a task that owns all it needs.
struct aclOpExecutor final : updraft::Task {
  enum class State : uint8_t { Free, Planned, Launched };
  const updraft::OpInfo* info = nullptr;
  updraft::InlineFunction<3072> body;
  std::vector<aclOpExecutor*> steps;                      ///< plans of other operators that run before the body
  std::vector<std::unique_ptr<std::byte[]>> temporaries;  ///< memory of tensors between the steps, and of the host's
  std::vector<updraft::Value> values;                     ///< what it was planned with; the handles may be gone since
  size_t kernel_bytes = 0;                                ///< what its kernels will take: the size of the workspace
  std::function<void()> prepare;                          ///< prepares constant operands; empty without such
  void* workspace = nullptr;                     ///< the client's, of at least that size; null: the engine's own memory
  const updraft::FlatWork* flat_work = nullptr;  ///< the body, where it is element by element work
  const char* unaddressed = nullptr;             ///< a tensor with elements that has no memory yet
  std::unique_ptr<updraft::KeptArguments> kept;  ///< copies of the values, where it may be launched many times
  std::vector<updraft::Argument> observed;       ///< its arguments, when they were observed while it was planned
  std::atomic<State> state{State::Free};
  bool repeatable = false;
  bool deterministic = false;  ///< as it was when the operator was planned

  /// True when there is nothing to do: an empty tensor.
  bool idle() const { return !body && steps.empty(); }
  void run() override;
  void release() override;
  const char* name() const override;
  void arguments(updraft::ArgumentList& list) const override;
  const updraft::FlatWork* flat() const override { return steps.empty() ? flat_work : nullptr; }
};

namespace updraft {

HandlePool<aclTensor>& tensor_pool();
/// The client's tensor: this one, or the one that it is a copy of; empty when it is gone.
HandleRef<aclTensor> client_of(const aclTensor* tensor);
HandlePool<aclScalar>& scalar_pool();
HandlePool<aclIntArray>& int_array_pool();
HandlePool<aclFloatArray>& float_array_pool();
HandlePool<aclBoolArray>& bool_array_pool();
HandlePool<aclTensorList>& tensor_list_pool();
HandlePool<aclScalarList>& scalar_list_pool();

/// Executors are recycled with their buffers.
aclOpExecutor* take_executor();
void recycle_executor(aclOpExecutor* executor);
/// The executor behind a handle that was planned and not launched yet, else null.
aclOpExecutor* find_executor(const void* handle);

}  // namespace updraft
