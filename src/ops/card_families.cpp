// Data types that public documents list for families of operators, by name. Two sources, the wider where they disagree:
//
//   pages     the aclnn reference of hiascend.com (CANN 8.0.RC1 to 8.5.0): products and types of each tensor
//   adapter   the lists of PyTorch APIs that torch_npu supports (migrate/support/data/torch_api.tsv), which are
//             those of A2, for the operator that the API calls. Only lists that name bfloat16 or no floating type are
//             used: the others are of what was tried, and narrower than the pages wherever both exist.
//
// A row says nothing of a tensor or of a product that its source does not describe. Rows hold for the in-place form
// too.
#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "ops/card_families.h"

namespace updraft {
namespace {
using namespace card;

constexpr TypeSet kF16 = only(DType::Float16), kF32 = only(DType::Float), kC64 = only(DType::Complex64);
constexpr TypeSet kFloating = kFloats | kF64, kReal = kFloating | kIntegers, kRealBool = kReal | kBool,
                  kNumbers = kRealBool | kComplex, kIndex = kI32 | kI64;
constexpr uint8_t kTraining = k910 | kA2;

constexpr CardRule every(TypeSet types, uint8_t products = kDocumented) { return {nullptr, types, products}; }
constexpr const char *kSelf = "self selfRef", *kOperands = "self selfRef other", *kGradient = "gradOutput self";

struct Family {
  const char* names;  ///< without aclnn, separated by blanks
  OpCard card;
};
constexpr Family kFamilies[] = {
    // Activations: pages.
    {"Relu", {absent(k310P), every(kFloats | kI8 | kIndex | kU8, kTraining)}},
    {"AddRelu", {absent(k310P), on(kOperands, kFloats | kIntegers, kTraining)}},
    {"Hardswish", {absent(k310P), every(kFloats, kTraining)}},
    {"HardswishBackward SiluBackward HardshrinkBackward", {every(kFloats, kTraining)}},
    {"HardsigmoidBackward HardtanhBackward LogSigmoidBackward", {kFloats}},
    {"EluBackward", {on("gradOutput selfOrResult", kFloats)}},
    {"TanhBackward LeakyReluBackward", {kFloating}},
    {"ThresholdBackward", {kFloats | kI32 | kI8 | kU8}},
    {"FastGeluBackward", {every(kFloats, kA2)}},
    {"SoftmaxBackward LogSoftmaxBackward", {on("gradOutput output", kFloats)}},
    // Activations: adapter.
    {"GeluV2 Softshrink Logit LogSoftmax", {on(kSelf, kFloats, kA2)}},
    {"Tanh", {on(kSelf, kRealBool, kA2)}},
    {"Hardtanh", {on(kSelf, kReal, kA2)}},

    // Losses: pages, the last two adapter.
    {"BinaryCrossEntropy BinaryCrossEntropyWithLogits", {on("self target weight posWeight", kFloats)}},
    {"NLLLoss2d", {on("target", kIndex | kU8), on("self weight", kFloats)}},
    {"NLLLossBackward NLLLoss2dBackward",
     {on("target", kIndex | kU8, kTraining), on("gradOutput self weight", kFloats, kTraining)}},
    {"SmoothL1LossBackward", {on("gradOut self target", kFloats)}},
    {"L1LossBackward", {on("gradOutput self target", kFloats | kIntegers | kBool)}},  // what promotes to a float
    {"KlDivBackward", {kFloating}},
    {"SmoothL1Loss", {on("self target", kFloats, kA2)}},
    {"KlDiv", {on("self target", kFloating, kA2)}},

    // Normalisation: pages, the last adapter.
    {"LayerNormBackward", {on("gradOut input mean", kFloats)}},
    {"GroupNormBackward", {on("gradOut input mean", kFloats, kTraining)}},
    {"BatchNormElemtBackward", {absent(k310P), on("gradOut input mean", kFloats, kTraining)}},
    {"BatchNormStats", {on("input", kFloats, kTraining)}},
    {"RmsNorm", {on("rstd", kF32, kA2 | k310P), on("x gamma y", kFloats, kA2 | k310P)}},
    {"AddRmsNormCast", {absent(k910 | k310P), on("x1 x2 gamma", kFloats.without(kF32), kA2)}},
    {"AddLayerNormGrad", {absent(k910), on("dy x1 x2", kFloats, kA2 | k310P)}},
    {"GroupNorm", {on("self", kFloats, kA2)}},

    // Pooling: pages, the last adapter.
    {"AvgPool2dBackward", {on(kGradient, kFloats)}},
    {"AdaptiveAvgPool2dBackward", {kFloats}},
    {"AvgPool3dBackward", {on(kGradient, kFloats, kA2)}},
    {"AdaptiveMaxPool3d", {absent(k910 | k310P), on("self out", kFloats, kA2)}},
    {"MaxPool2dWithIndicesBackward", {absent(k910 | k310P), on(kGradient, kFloats)}},
    {"MaxPool2dWithMask", {on("indices", kI8, kTraining), on("self out", kFloats, kTraining)}},
    {"MaxPool2dWithMaskBackward", {on("indices", kI8, kTraining), on(kGradient, kFloats, kTraining)}},
    {"AdaptiveAvgPool2d AdaptiveAvgPool3d Im2col", {on("self", kFloats, kA2)}},

    // Resizing and padding: pages. A2 of UpsampleNearest2d: adapter.
    {"UpsampleNearest2d", {on("self out", kFloating, kA2), on("self out", kF16 | kF64, k910 | k310P)}},
    {"UpsampleNearest2dBackward", {every(kFloats, kA2), every(kF16, k910 | k310P)}},
    {"UpsampleNearest1dBackward", {on("gradOutput", kFloating)}},
    {"UpsampleNearest3dBackward", {every(kFloating, kA2)}},
    {"UpsampleBilinear2d", {on("self", kFloating)}},
    {"UpsampleBilinear2dBackward", {on("gradOutput", kF32 | kF16)}},
    {"UpsampleBilinear2dAABackward", {absent(k910 | k310P), every(kFloats, kA2)}},
    {"UpsampleBicubic2d", {kFloats}},
    {"UpsampleTrilinear3dBackward", {every(kFloating, kTraining)}},
    {"UpsampleNearestExact2d", {absent(k910), every(kFloats, kA2 | k310P)}},
    {"UpsampleNearestExact1dBackward UpsampleNearestExact3dBackward", {every(kFloats, kA2)}},
    {"ReflectionPad1dBackward ReflectionPad2dBackward ReplicationPad2dBackward", {kFloating | kComplex}},
    {"ConstantPadNd", {kNumbers}},

    // Indexing: pages.
    {"IndexSelect Take", {on("index", kIndex), kNumbers}},
    {"Embedding", {on("indices", kIndex), kNumbers}},
    {"EmbeddingDenseBackward",
     {absent(k310P), on("indices", kRealBool, kTraining), on("grad out", kFloats, kTraining)}},
    {"IndexCopy", {on("self selfRef source", kNumbers, kTraining)}},
    // torch_npu passes an empty tensor of floats for an index that is left out: nothing is said of indices.
    {"IndexPutImpl", {on("selfRef values", kRealBool, kTraining)}},
    {"GatherV3", {absent(k910 | k310P), on("self", kNumbers, kA2)}},
    {"MaskedFillScalar", {on("mask", kBool), on("selfRef", kFloats | kI8 | kIndex | kBool)}},
    {"MaskedScatter", {on("mask", kBool | kU8), on("selfRef source", kRealBool)}},
    {"SWhere", {on("condition", kBool | kU8), on("self other", kNumbers)}},
    // Indexing: adapter; that 310P lacks some: pages.
    {"ScatterAdd", {absent(k310P), on("self src", kNumbers, kA2)}},
    {"ScatterValue", {absent(k310P)}},
    {"Scatter", {on("self selfRef src", kNumbers, kA2)}},
    {"Gather IndexAdd IndexAddV2 MaskedSelect Nonzero NonzeroV2", {on("self", kRealBool, kA2)}},
    {"MaskedFillTensor", {on("selfRef", kFloats | kI8 | kIndex | kBool, kA2)}},
    {"IndexFill IndexFillTensor", {on(kSelf, kFloats | kIndex | kBool, kA2)}},

    // Order and shape: pages.
    {"Topk", {on("indices", kI64), kReal}},
    {"Cat", {kRealBool | kC64}},
    {"Stack", {kNumbers}},
    {"Flip", {kNumbers}},
    {"Roll", {kFloats | kI8 | kU8 | kIndex | kBool}},
    // Order and shape: adapter.
    {"Tril Triu Unique Unique2 UniqueDim", {on(kSelf, kRealBool, kA2)}},
    {"Repeat", {on("self", kNumbers, kA2)}},
    {"RepeatInterleave RepeatInterleaveInt RepeatInterleaveIntWithDim RepeatInterleaveWithDim",
     {on("self", kFloats | kIntegers | kBool, kA2)}},
    {"OneHot", {on("self", kIndex, kA2)}},
    {"Median MedianDim", {on("self", kFloats | kIntegers, kA2)}},

    // Reductions: pages.
    {"Mean", {kFloating | kIntegers | kComplex}},
    {"Std", {kFloats}},
    {"VarCorrection", {on("self", kFloats)}},
    {"VarMean", {on("self", kFloats, kTraining)}},
    // Reductions: adapter.
    {"ArgMax ArgMin", {on("self", kReal, kA2)}},
    {"All Any Amax Cummin", {on("self", kRealBool, kA2)}},
    {"LinalgVectorNorm", {on("self", kFloats, kA2)}},
    {"Norm", {on("self", kFloating, kA2)}},
    {"Cdist", {on("x1 x2", kFloats, kA2)}},

    // Comparison and logic: pages.
    {"EqTensor EqScalar NeScalar", {on(kOperands, kNumbers)}},
    {"BitwiseAndTensor BitwiseAndScalar", {kIntegers | kBool}},
    // Comparison and logic: adapter.
    {"BitwiseNot BitwiseOrTensor BitwiseOrScalar BitwiseXorTensor BitwiseXorScalar",
     {on(kOperands, kIntegers | kBool, kA2)}},
    {"GtTensor GtScalar GeTensor GeScalar LtTensor LtScalar LeTensor LeScalar Equal Maximum Minimum",
     {on(kOperands, kRealBool, kA2)}},
    {"LogicalNot IsFinite", {on(kSelf, kRealBool, kA2)}},
    {"LogicalAnd LogicalOr NeTensor", {on(kOperands, kNumbers, kA2)}},
    {"IsInTensorScalar", {on("element", kReal, kA2)}},

    // Arithmetic: pages.
    {"Sub Subs", {on(kOperands, kNumbers, kTraining)}},
    {"Div DivMods", {on(kOperands, kNumbers, kTraining)}},
    {"Addcdiv", {on("self selfRef tensor1 tensor2", kFloating | kI64, kTraining)}},
    {"InplaceAddcmul", {on("selfRef tensor1 tensor2", kFloating | kIndex | kI8 | kU8)}},
    // Arithmetic: adapter.
    {"Mul Muls Divs", {on(kOperands, kNumbers, kA2)}},
    {"FloorDivide FloorDivides", {on(kOperands, kReal, kA2)}},
    {"FmodTensor FmodScalar", {on(kOperands, kFloats | kI8 | kIndex | kU8, kA2)}},
    {"RemainderTensorTensor RemainderTensorScalar RemainderScalarTensor",
     {on(kOperands, kFloating | kI16 | kIndex, kA2)}},
    {"PowTensorTensor PowTensorScalar", {on("self selfRef exponent other", kReal | kComplex, kA2)}},
    {"Clamp ClampTensor", {on("self min max", kReal, kA2)}},
    // Functions of one tensor: adapter.
    {"Exp", {on(kSelf, kFloating | kI64 | kBool | kComplex, kA2)}},
    {"Erf Expm1", {on(kSelf, kFloating | kI64 | kBool, kA2)}},
    {"Exp2 Erfinv NanToNum IsNegInf IsPosInf", {on(kSelf, kFloats | kIntegers | kBool, kA2)}},
    {"Floor", {on(kSelf, kReal, kA2)}},
    {"Round", {on(kSelf, kFloating | kIndex, kA2)}},
    {"Sign", {on(kSelf, kFloating | kIndex | kBool, kA2)}},
    {"Neg", {on(kSelf, kFloats | kI8 | kIndex | kComplex, kA2)}},
    {"Asin Atan", {on(kSelf, kRealBool, kA2)}},
    {"Acosh Cos Cosh Log2 Log10 Reciprocal Rsqrt Sqrt Tan", {on(kSelf, kNumbers, kA2)}},

    // Random numbers: pages; those without a tensor of seeds: adapter too.
    {"NormalTensor", {absent(k910 | k310P), on("selfRef", kRealBool, kA2)}},
    {"Bernoulli", {on("selfRef", kRealBool, kTraining)}},
    {"BernoulliTensor", {absent(k310P), on("selfRef", kRealBool, kTraining)}},
    {"InplaceNormal InplaceUniform InplaceRandom", {on("selfRef", kRealBool, kA2)}},
    {"NormalTensorTensor", {on("mean std", kFloating)}},
    {"Multinomial", {on("self", kFloating), on("out", kI64)}},
    {"MultinomialTensor", {absent(k910 | k310P), on("self", kFloating, kA2)}},
    {"Randperm", {on("out", kReal, kTraining)}},

    // Creation and copies: pages, the last adapter.
    {"Linspace", {kNumbers}},
    {"Copy FillScalar FillTensor Zero", {on("selfRef src", kNumbers, kA2)}},
};

using Index = std::unordered_map<std::string_view, const OpCard*>;
Index index_of_families() {
  Index index;
  for (const Family& family : kFamilies)
    for (std::string_view rest = family.names; !rest.empty();) {
      const auto end = std::min(rest.find(' '), rest.size());
      index.emplace(rest.substr(0, end), &family.card);
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  return index;
}
const Index& families() {
  static const auto* index = new Index(index_of_families());
  return *index;
}
}  // namespace

const OpCard* family_card(std::string_view name) {
  for (std::string_view prefix : {"aclnn", "Inplace"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    if (const auto found = families().find(name); found != families().end()) return found->second;
  }
  return nullptr;
}

std::vector<std::string> family_members() {
  std::vector<std::string> all;
  for (const auto& [name, card] : families()) all.emplace_back(name);
  return all;
}

}  // namespace updraft
