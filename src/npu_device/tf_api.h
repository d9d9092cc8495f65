// TensorFlow's C interface as far as npu_device uses it. The functions are looked up in the TensorFlow that the process
// has loaded: this library is built without TensorFlow, and serves every version that has them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

extern "C" {
struct TF_Status;
struct TF_Tensor;
struct TF_TString;
struct TFE_Context;
struct TFE_TensorHandle;
struct TFE_Op;
struct TFE_OpAttrs;
struct TFE_CancellationManager;
struct TF_OpDefinitionBuilder;
struct TF_ShapeInferenceContext;
struct TF_ShapeHandle;

struct TF_Buffer {
  const void* data;
  size_t length;
  void (*data_deallocator)(void* data, size_t length);
};

struct TFE_CustomDevice {
  int version;
  TFE_TensorHandle* (*copy_tensor_to_device)(TFE_Context*, TFE_TensorHandle*, TF_Status*, void* info);
  TFE_TensorHandle* (*copy_tensor_from_device)(TFE_Context*, TFE_TensorHandle*, const char* device, TF_Status*,
                                               void* info);
  void (*execute)(const TFE_Op*, int* num_outputs, TFE_TensorHandle** outputs, TF_Status*, void* info);
  void (*delete_device)(void* info);
  TFE_TensorHandle* (*pack)(TFE_Context*, TFE_TensorHandle** handles, int count, TF_Status*, void* info);
  bool (*shall_pin_to_this_device)(const TFE_Op*, TF_Status*);
};

struct TFE_CustomDeviceTensorHandleMethods {
  int version;
  int (*num_dims)(void* data, TF_Status*);
  int64_t (*dim)(void* data, int index, TF_Status*);
  void (*deallocator)(void* data);
  TF_Buffer* (*summarize)(void* data, TF_Status*);
};
}

namespace updraft::npu_device {

inline constexpr int kCustomDeviceVersion = 4;
/// Types of elements are the numbers of tensorflow::ElementType.
using TypeNumber = int;

/// Codes of a TF_Status: each is a class of tf.errors.
enum class StatusCode : int {
  Ok = 0,
  InvalidArgument = 3,
  NotFound = 5,
  ResourceExhausted = 8,
  FailedPrecondition = 9,
  OutOfRange = 11,
  Unimplemented = 12,
  Internal = 13,
};

#define UPDRAFT_TENSORFLOW_FUNCTIONS(X)                                                                         \
  X(TF_NewStatus, TF_Status*, ())                                                                               \
  X(TF_DeleteStatus, void, (TF_Status*))                                                                        \
  X(TF_SetStatus, void, (TF_Status*, int, const char*))                                                         \
  X(TF_GetCode, int, (const TF_Status*))                                                                        \
  X(TF_Message, const char*, (const TF_Status*))                                                                \
  X(TF_NewBuffer, TF_Buffer*, ())                                                                               \
  X(TF_DeleteBuffer, void, (TF_Buffer*))                                                                        \
  X(TF_GetAllOpList, TF_Buffer*, ())                                                                            \
  X(TF_NewTensor, TF_Tensor*,                                                                                   \
    (TypeNumber, const int64_t* dims, int rank, void*, size_t, void (*)(void*, size_t, void*), void*))          \
  X(TF_DeleteTensor, void, (TF_Tensor*))                                                                        \
  X(TF_TensorData, void*, (const TF_Tensor*))                                                                   \
  X(TF_TensorByteSize, size_t, (const TF_Tensor*))                                                              \
  X(TF_StringGetDataPointer, const char*, (const TF_TString*))                                                  \
  X(TF_StringGetSize, size_t, (const TF_TString*))                                                              \
  X(TFE_NewTensorHandle, TFE_TensorHandle*, (const TF_Tensor*, TF_Status*))                                     \
  X(TFE_DeleteTensorHandle, void, (TFE_TensorHandle*))                                                          \
  X(TFE_TensorHandleDataType, TypeNumber, (TFE_TensorHandle*))                                                  \
  X(TFE_TensorHandleNumDims, int, (TFE_TensorHandle*, TF_Status*))                                              \
  X(TFE_TensorHandleDim, int64_t, (TFE_TensorHandle*, int, TF_Status*))                                         \
  X(TFE_TensorHandleDeviceName, const char*, (TFE_TensorHandle*, TF_Status*))                                   \
  X(TFE_TensorHandleCopySharingTensor, TFE_TensorHandle*, (TFE_TensorHandle*, TF_Status*))                      \
  X(TFE_TensorHandleResolve, TF_Tensor*, (TFE_TensorHandle*, TF_Status*))                                       \
  X(TFE_TensorHandleDevicePointer, void*, (TFE_TensorHandle*, TF_Status*))                                      \
  X(TFE_NewOp, TFE_Op*, (TFE_Context*, const char* name, TF_Status*))                                           \
  X(TFE_DeleteOp, void, (TFE_Op*))                                                                              \
  X(TFE_OpSetDevice, void, (TFE_Op*, const char*, TF_Status*))                                                  \
  X(TFE_OpAddInput, void, (TFE_Op*, TFE_TensorHandle*, TF_Status*))                                             \
  X(TFE_OpSetAttrValueProto, void, (const TFE_Op*, const char* name, const void*, size_t, TF_Status*))          \
  X(TFE_OpSetAttrType, void, (TFE_Op*, const char* name, TypeNumber))                                           \
  X(TFE_OpSetAttrString, void, (TFE_Op*, const char* name, const void*, size_t))                                \
  X(TFE_OpSetAttrShape, void, (TFE_Op*, const char* name, const int64_t* dims, int rank, TF_Status*))           \
  X(TFE_NewCancellationManager, TFE_CancellationManager*, ())                                                   \
  X(TFE_DeleteCancellationManager, void, (TFE_CancellationManager*))                                            \
  X(TFE_CancellationManagerStartCancel, void, (TFE_CancellationManager*))                                       \
  X(TFE_OpSetCancellationManager, void, (TFE_Op*, TFE_CancellationManager*, TF_Status*))                        \
  X(TFE_Execute, void, (TFE_Op*, TFE_TensorHandle * *outputs, int* count, TF_Status*))                          \
  X(TFE_OpGetName, const char*, (const TFE_Op*, TF_Status*))                                                    \
  X(TFE_OpGetContext, TFE_Context*, (const TFE_Op*, TF_Status*))                                                \
  X(TFE_OpGetFlatInputCount, int, (const TFE_Op*, TF_Status*))                                                  \
  X(TFE_OpGetFlatInput, TFE_TensorHandle*, (const TFE_Op*, int, TF_Status*))                                    \
  X(TFE_OpGetAttrs, const TFE_OpAttrs*, (const TFE_Op*))                                                        \
  X(TFE_OpAttrsSerialize, void, (const TFE_OpAttrs*, TF_Buffer*, TF_Status*))                                   \
  X(TFE_RegisterCustomDevice, void, (TFE_Context*, TFE_CustomDevice, const char* name, void* info, TF_Status*)) \
  X(TFE_NewCustomDeviceTensorHandle, TFE_TensorHandle*,                                                         \
    (TFE_Context*, const char* device, TypeNumber, void*, TFE_CustomDeviceTensorHandleMethods, TF_Status*))     \
  X(TFE_ContextAddFunctionDef, void, (TFE_Context*, const char* function, size_t bytes, TF_Status*))            \
  X(TFE_ContextGetFunctionDef, void, (TFE_Context*, const char* name, TF_Buffer*, TF_Status*))                  \
  X(TFE_ContextRemoveFunction, void, (TFE_Context*, const char* name, TF_Status*))                              \
  X(TF_NewOpDefinitionBuilder, TF_OpDefinitionBuilder*, (const char* name))                                     \
  X(TF_OpDefinitionBuilderAddAttr, void, (TF_OpDefinitionBuilder*, const char*))                                \
  X(TF_OpDefinitionBuilderAddInput, void, (TF_OpDefinitionBuilder*, const char*))                               \
  X(TF_OpDefinitionBuilderAddOutput, void, (TF_OpDefinitionBuilder*, const char*))                              \
  X(TF_OpDefinitionBuilderSetIsStateful, void, (TF_OpDefinitionBuilder*, bool))                                 \
  X(TF_OpDefinitionBuilderSetShapeInferenceFunction, void,                                                      \
    (TF_OpDefinitionBuilder*, void (*)(TF_ShapeInferenceContext*, TF_Status*)))                                 \
  X(TF_RegisterOpDefinition, void, (TF_OpDefinitionBuilder*, TF_Status*))                                       \
  X(TF_NewShapeHandle, TF_ShapeHandle*, ())                                                                     \
  X(TF_DeleteShapeHandle, void, (TF_ShapeHandle*))                                                              \
  X(TF_ShapeInferenceContextNumInputs, int64_t, (TF_ShapeInferenceContext*))                                    \
  X(TF_ShapeInferenceContextGetInput, void, (TF_ShapeInferenceContext*, int, TF_ShapeHandle*, TF_Status*))      \
  X(TF_ShapeInferenceContextSetOutput, void, (TF_ShapeInferenceContext*, int, TF_ShapeHandle*, TF_Status*))     \
  X(TF_ShapeInferenceContextSetUnknownShape, void, (TF_ShapeInferenceContext*, TF_Status*))

struct Api {
#define X(NAME, RESULT, ARGUMENTS) RESULT(*NAME) ARGUMENTS = nullptr;
  UPDRAFT_TENSORFLOW_FUNCTIONS(X)
#undef X
};
/// TensorFlow's functions. load() has to have been called.
const Api& tf();
/// Looks the functions up in a library that the process has loaded (libtensorflow_cc.so.2). Throws 161002 that names
/// the library, or the function that it lacks.
void load(const std::string& library);

/// A failure as TensorFlow tells it: Python sees the class of tf.errors.
class StatusError {
 public:
  StatusError(StatusCode code, std::string text) : code_(code), text_(std::move(text)) {}
  StatusCode code() const { return code_; }
  const std::string& text() const { return text_; }

 private:
  StatusCode code_;
  std::string text_;
};

/// A TF_Status of our own.
class Status {
 public:
  Status() : status_(tf().TF_NewStatus()) {}
  ~Status() { tf().TF_DeleteStatus(status_); }
  Status(const Status&) = delete;
  operator TF_Status*() const { return status_; }
  bool ok() const { return tf().TF_GetCode(status_) == 0; }
  /// Throws StatusError unless the call that was given the status did well.
  void check() const {
    if (!ok()) throw StatusError(static_cast<StatusCode>(tf().TF_GetCode(status_)), tf().TF_Message(status_));
  }

 private:
  TF_Status* status_;
};

struct DeleteBuffer {
  void operator()(TF_Buffer* buffer) const { tf().TF_DeleteBuffer(buffer); }
};
using BufferPointer = std::unique_ptr<TF_Buffer, DeleteBuffer>;

/// A reference to a tensor handle of TensorFlow.
using HandlePointer = std::shared_ptr<TFE_TensorHandle>;
inline HandlePointer own(TFE_TensorHandle* handle) {
  return HandlePointer(handle, [](TFE_TensorHandle* h) {
    if (h) tf().TFE_DeleteTensorHandle(h);
  });
}

}  // namespace updraft::npu_device
