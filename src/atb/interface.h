// The C++ interface of libatb.so, the Ascend Transformer Boost library of NNAL, as far as clients use it. Sizes,
// offsets and the places of virtual functions are those of torch_npu 2.13's libop_plugin_atb.so (its machine code);
// names and values of enumerations are what op-plugin's sources (op_plugin/ops/atb) say by name. What nobody was seen
// to use is reserved: its place counts, its meaning is not known here.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

// Functions of a template are seen where the types of its parameters are.
#pragma GCC visibility push(default)
namespace atb {

using Status = int32_t;  ///< 0: success

struct Dims {
  int64_t dims[8];
  uint64_t dimNum;
};
struct TensorDesc {
  int32_t dtype;   ///< aclDataType; -1: no tensor
  int32_t format;  ///< aclFormat
  Dims shape;
};
struct Tensor {
  TensorDesc desc;
  void* deviceData;
  void* hostData;     ///< where the host keeps it; deviceData is null then
  uint64_t dataSize;  ///< bytes
};

/// Up to 64 elements in place, more where `heap` points.
template <class T>
struct SVector {
  uint64_t capacity;
  uint64_t count;
  T place[65];
  T* heap;

  const T* begin() const { return heap ? heap : place; }
  const T& operator[](size_t i) const { return begin()[i]; }
  size_t size() const { return count; }
};

struct VariantPack {
  SVector<Tensor> inTensors;
  SVector<Tensor> outTensors;
};
static_assert(sizeof(Tensor) == 0x68 && sizeof(SVector<Tensor>) == 0x1a80 && sizeof(VariantPack) == 0x3500);

/// A std::string for the client: that of C++11, or, where the process's PyTorch has the older ABI (releases
/// before 2.7), the pointer that a std::string was then. Only so many bytes are written: the client has no more room
/// for it.
class Text {
 public:
  explicit Text(const std::string& text);
  Text(const Text&) = delete;
  ~Text();
  std::string str() const;

 private:
  union {
    std::string text_;
    char older_[8];
  };
};

/// What operations run on. Clients make it by CreateContext().
class Context {
 public:
  virtual ~Context();
  virtual Status SetExecuteStream(void* stream) = 0;
  // No client of ours calls what else stands in the table.
  virtual Status reserved1() = 0;
  virtual Status reserved2() = 0;
  virtual Status reserved3() = 0;
  virtual Status reserved4() = 0;
};

/// One kind of work with its parameters, for tensors of any shape. Clients make it by CreateOperation().
class Operation {
 public:
  virtual ~Operation();
  virtual Text GetName() const = 0;
  virtual Status reserved1() = 0;
  virtual Status reserved2() = 0;
  virtual Status reserved3() = 0;
  /// Checks the tensors and tells what Execute() needs beside them, in bytes.
  virtual Status Setup(const VariantPack& pack, uint64_t& workspaceSize, Context* context) = 0;
  virtual Status Execute(const VariantPack& pack, uint8_t* workspace, uint64_t workspaceSize, Context* context) = 0;
};

Status CreateContext(Context** context);
Status DestroyContext(Context* context);
Status DestroyOperation(Operation* operation);

namespace Utils {
/// Bytes of a tensor by its type and its shape.
uint64_t GetTensorSize(const Tensor& tensor);
}  // namespace Utils

/// Makes an operation; it refuses what it does not support when it is set up, with the reason.
template <class Param>
Status CreateOperation(const Param& param, Operation** operation);

namespace infer {

struct LinearParam {
  bool transposeA, transposeB, hasBias;
  int32_t outDataType;  ///< -1: that of the inputs
  bool enAccum;         ///< the product is added to the third input, which is the output, too
};
struct ElewiseParam {
  int32_t elewiseType;  ///< kQuantPerChannel
  float inputScale;
  bool asymmetric;
  int32_t inputOffset;
};
struct RmsNormParam {
  int32_t layerType;  ///< 1: RMS_NORM_NORM
  int32_t reserved;
  int32_t quantType;  ///< 2: QUANT_INT8
  float epsilon;
};
struct GroupTopkParam {
  int32_t groupNum, k;
  uint16_t groupMultiFlag;  ///< 0: a group counts as its largest element, 1: as the sum of its n largest
  uint16_t n;
};
struct ReshapeAndCacheParam {
  int32_t compressType;  ///< 0: none
  int32_t kvCacheCfg;    ///< 0: K_CACHE_V_CACHE, 1: K_CACHE_V_BYPASS, 2: K_CACHE_V_CACHE_NZ
};
struct RopeParam {
  int32_t rotaryCoeff;  ///< 2: halves are paired; the size of a head: neighbours
};
struct SelfAttentionParam {
  int32_t quantType, outDataType;
  int32_t headNum, kvHeadNum;
  float qScale, qkScale;
  bool batchRunStatusEnable;
  uint32_t isTriuMask;
  int32_t calcType;  ///< 3: PA_ENCODER, 4: PREFIX_ENCODER
  int32_t kernelType, clampType;
  float clampMin, clampMax;
  int32_t maskType;
  int32_t kvcacheCfg, scaleType, inputLayout;
  uint32_t mlaVHeadSize;
};
static_assert(offsetof(SelfAttentionParam, calcType) == 0x20 && offsetof(SelfAttentionParam, maskType) == 0x34 &&
              offsetof(SelfAttentionParam, mlaVHeadSize) == 0x44);
struct PagedAttentionParam {
  int32_t headNum;
  float qkScale;
  int32_t kvHeadNum;
  int32_t maskType;
  bool batchRunStatusEnable;
  int32_t quantType, outDataType;
  bool hasQuantOffset;
  int32_t compressType;
  int32_t calcType;  ///< 1: CALC_TYPE_SPEC, several queries a sequence
  int32_t scaleType, inputLayout;
  uint32_t mlaVHeadSize;  ///< above 0: values are the first so many numbers of each key
};
static_assert(offsetof(PagedAttentionParam, quantType) == 0x14 && offsetof(PagedAttentionParam, calcType) == 0x24 &&
              offsetof(PagedAttentionParam, mlaVHeadSize) == 0x30);

}  // namespace infer
}  // namespace atb
#pragma GCC visibility pop
