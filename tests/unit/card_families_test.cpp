// What products take of the families of operators (src/ops/card_families.cpp): for each a type that is taken and one
// that is refused, on every product that its documents describe.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "device/soc.h"
#include "ops/call.h"
#include "ops/card_families.h"
#include "ops/op.h"

namespace updraft {
namespace {

using enum DType;

const OpInfo& op(const std::string& name) {
  for (const OpInfo* o = first_op(); o; o = o->next)
    if (name == o->name) return *o;
  throw std::runtime_error("no operator " + name);
}

const SocProfile& product(const std::string& family) {
  if (family == "910") return *find_soc("Ascend910A");
  if (family == "A2") return *find_soc("Ascend910B2");
  return *find_soc("Ascend310P3");
}

struct Row {
  const char *name, *tensor;
  DType taken, refused;
  const char* products;
};
constexpr const char *kAllThree = "910 A2 310P", *kTraining = "910 A2";
constexpr Row kRows[] = {
    {"Relu", "self", Int32, Int16, kTraining},
    {"InplaceRelu", "selfRef", UInt8, Bool, kTraining},
    {"AddRelu", "other", Int16, Double, kTraining},
    {"Hardswish", "self", Float16, Double, kTraining},
    {"SiluBackward", "gradOutput", Float16, Double, kTraining},
    {"HardtanhBackward", "self", Float, Int32, kAllThree},
    {"EluBackward", "selfOrResult", Float, Double, kAllThree},
    {"TanhBackward", "gradOutput", Double, Int32, kAllThree},
    {"ThresholdBackward", "self", UInt8, Double, kAllThree},
    {"FastGeluBackward", "gradOutput", BFloat16, Double, "A2"},
    {"SoftmaxBackward", "output", Float16, Double, kAllThree},
    {"GeluV2", "self", BFloat16, Double, "A2"},
    {"Tanh", "self", Int32, Complex64, "A2"},
    {"Hardtanh", "self", Int32, Bool, "A2"},
    {"BinaryCrossEntropyWithLogits", "posWeight", Float, Double, kAllThree},
    {"NLLLoss2d", "target", Int64, Float, kAllThree},
    {"NLLLossBackward", "target", UInt8, Int16, kTraining},
    {"SmoothL1LossBackward", "gradOut", Float, Double, kAllThree},
    {"L1LossBackward", "target", Int64, Complex64, kAllThree},
    {"KlDivBackward", "target", Double, Int64, kAllThree},
    {"SmoothL1Loss", "self", BFloat16, Double, "A2"},
    {"KlDiv", "target", Double, Int64, "A2"},
    {"LayerNormBackward", "input", Float16, Double, kAllThree},
    {"GroupNormBackward", "rstd", Double, Undefined, kTraining},  // nothing is known of it
    {"GroupNormBackward", "mean", Float16, Double, kTraining},
    {"BatchNormElemtBackward", "gradOut", Float16, Double, kTraining},
    {"BatchNormStats", "input", Float16, Double, kTraining},
    {"RmsNorm", "x", Float16, Double, "A2 310P"},
    {"RmsNorm", "rstd", Float, Float16, "A2 310P"},
    {"AddRmsNormCast", "x1", BFloat16, Float, "A2"},
    {"AddLayerNormGrad", "dy", Float16, Double, "A2 310P"},
    {"GroupNorm", "self", BFloat16, Double, "A2"},
    {"AvgPool2dBackward", "gradOutput", Float16, Double, kAllThree},
    {"AdaptiveAvgPool2dBackward", "out", Float16, Double, kAllThree},
    {"AvgPool3dBackward", "self", BFloat16, Double, "A2"},
    {"AdaptiveMaxPool3d", "self", BFloat16, Double, "A2"},
    {"MaxPool2dWithIndicesBackward", "self", BFloat16, Double, "A2"},
    {"MaxPool2dWithMask", "indices", Int8, Int64, kTraining},
    {"MaxPool2dWithMaskBackward", "gradOutput", Float, Int8, kTraining},
    {"AdaptiveAvgPool2d", "self", BFloat16, Double, "A2"},
    {"UpsampleNearest2d", "self", Float, Int32, "A2"},
    {"UpsampleNearest2d", "self", Float16, Float, "910 310P"},
    {"UpsampleNearest2dBackward", "gradOutput", Float, Double, "A2"},
    {"UpsampleNearest2dBackward", "gradInput", Float16, Float, "910 310P"},
    {"UpsampleNearest1dBackward", "gradOutput", Double, Int32, kAllThree},
    {"UpsampleNearest3dBackward", "gradOutput", Double, Int32, "A2"},
    {"UpsampleBilinear2d", "self", Double, UInt8, kAllThree},
    {"UpsampleBilinear2dBackward", "gradOutput", Float16, Double, kAllThree},
    {"UpsampleBilinear2dAABackward", "gradInput", BFloat16, Double, "A2"},
    {"UpsampleBicubic2d", "self", Float16, Double, kAllThree},
    {"UpsampleTrilinear3dBackward", "gradOutput", Double, Int32, kTraining},
    {"UpsampleNearestExact2d", "self", Float16, Double, "A2 310P"},
    {"UpsampleNearestExact1dBackward", "gradOutput", BFloat16, Double, "A2"},
    {"ReflectionPad2dBackward", "self", Complex64, Int32, kAllThree},
    {"IndexSelect", "index", Int32, Int16, kAllThree},
    {"Embedding", "indices", Int64, Float, kAllThree},
    {"EmbeddingDenseBackward", "grad", Float16, Double, kTraining},
    {"EmbeddingDenseBackward", "indices", Double, Complex64, kTraining},
    {"IndexPutImpl", "indices", Float, Undefined, kTraining},
    {"IndexPutImpl", "values", Int16, Complex64, kTraining},
    {"InplaceMaskedFillScalar", "selfRef", Int8, Int16, kAllThree},
    {"InplaceMaskedFillScalar", "mask", Bool, UInt8, kAllThree},
    {"InplaceMaskedScatter", "source", Double, Complex64, kAllThree},
    {"SWhere", "condition", UInt8, Int32, kAllThree},
    {"Gather", "self", Bool, Complex64, "A2"},
    {"InplaceMaskedFillTensor", "selfRef", Int64, Int16, "A2"},
    {"InplaceIndexFillTensor", "selfRef", Int32, Int16, "A2"},
    {"Topk", "self", Int16, Bool, kAllThree},
    {"Topk", "indices", Int64, Int32, kAllThree},
    {"Cat", "tensors", Complex64, Complex128, kAllThree},
    {"Roll", "self", UInt8, Int16, kAllThree},
    {"InplaceTriu", "selfRef", Bool, Complex64, "A2"},
    {"Unique2", "self", Bool, Complex64, "A2"},
    {"RepeatInterleaveInt", "self", Int16, Double, "A2"},
    {"OneHot", "self", Int32, Float, "A2"},
    {"MedianDim", "self", Int16, Bool, "A2"},
    {"Mean", "self", Int16, Bool, kAllThree},
    {"Std", "out", Float16, Double, kAllThree},
    {"VarCorrection", "self", Float, Double, kAllThree},
    {"VarMean", "self", Float, Double, kTraining},
    {"ArgMax", "self", UInt8, Bool, "A2"},
    {"Any", "self", Bool, Complex64, "A2"},
    {"LinalgVectorNorm", "self", BFloat16, Int32, "A2"},
    {"Norm", "self", Double, Int32, "A2"},
    {"Cdist", "x1", Float, Double, "A2"},
    {"BitwiseAndTensor", "out", Bool, Float, kAllThree},
    {"InplaceBitwiseXorScalar", "selfRef", UInt8, Float16, "A2"},
    {"LessScalar", "self", Complex64, Undefined, "A2"},  // a name that nobody documents
    {"LtTensor", "other", Bool, Complex64, "A2"},
    {"IsFinite", "self", Bool, Complex64, "A2"},
    {"IsInTensorScalar", "element", Int8, Bool, "A2"},
    {"Addcdiv", "tensor1", Int64, Int32, kTraining},
    {"InplaceAddcmul", "selfRef", Int64, Int16, kAllThree},
    {"FloorDivide", "other", Int16, Bool, "A2"},
    {"FmodScalar", "self", UInt8, Int16, "A2"},
    {"RemainderTensorTensor", "self", Int64, Int8, "A2"},
    {"InplacePowTensorScalar", "selfRef", Complex64, Bool, "A2"},
    {"Clamp", "self", UInt8, Bool, "A2"},
    {"InplaceExp", "selfRef", Int64, Int32, "A2"},
    {"Erf", "self", Bool, Int32, "A2"},
    {"NanToNum", "self", Int16, Double, "A2"},
    {"Floor", "self", Int16, Bool, "A2"},
    {"Round", "self", Int32, Int16, "A2"},
    {"Sign", "self", Bool, Int16, "A2"},
    {"Neg", "self", Complex64, Bool, "A2"},
    {"Atan", "self", Bool, Complex64, "A2"},
    {"InplaceNormalTensor", "selfRef", Bool, Complex64, "A2"},
    {"InplaceBernoulli", "selfRef", Bool, Complex64, kTraining},
    {"InplaceBernoulliTensor", "selfRef", Int8, Complex64, kTraining},
    {"InplaceUniform", "selfRef", Double, Complex64, "A2"},
    {"NormalTensorTensor", "std", Double, Int32, kAllThree},
    {"Multinomial", "self", Double, Int32, kAllThree},
    {"Multinomial", "out", Int64, Int32, kAllThree},
    {"MultinomialTensor", "self", BFloat16, Int32, "A2"},
    {"Randperm", "out", Int16, Bool, kTraining},
};

TEST(CardFamilies, TakeAndRefuseByProduct) {
  for (const Row& row : kRows) {
    const OpInfo& o = op(std::string("aclnn") + row.name);
    ASSERT_NE(find_parameter(o, row.tensor), nullptr) << row.name << " has no " << row.tensor;
    std::istringstream products(row.products);
    for (std::string family; products >> family;) {
      const SocProfile& p = product(family);
      EXPECT_EQ(card_refusal(o, row.tensor, row.taken, p), "") << row.name << " on " << family;
      if (row.refused == Undefined) continue;
      EXPECT_NE(card_refusal(o, row.tensor, row.refused, p).find(name_of(row.refused)), std::string::npos)
          << row.name << " on " << family;
    }
  }
}

struct Lacking {
  const char *name, *tensor, *products;
};
constexpr Lacking kLacking[] = {
    {"Relu", "self", "310P"},
    {"InplaceAddRelu", "selfRef", "310P"},
    {"Hardswish", "self", "310P"},
    {"BatchNormElemtBackward", "input", "310P"},
    {"AddRmsNormCast", "x1", "910 310P"},
    {"AddLayerNormGrad", "dy", "910"},
    {"AdaptiveMaxPool3d", "self", "910 310P"},
    {"MaxPool2dWithIndicesBackward", "self", "910 310P"},
    {"UpsampleBilinear2dAABackward", "gradOutput", "910 310P"},
    {"UpsampleNearestExact2d", "self", "910"},
    {"EmbeddingDenseBackward", "grad", "310P"},
    {"GatherV3", "self", "910 310P"},
    {"ScatterAdd", "self", "310P"},
    {"InplaceScatterValue", "selfRef", "310P"},
    {"InplaceNormalTensor", "selfRef", "910 310P"},
    {"InplaceBernoulliTensor", "selfRef", "310P"},
    {"MultinomialTensor", "self", "910 310P"},
};

TEST(CardFamilies, AreMissingFromProducts) {
  for (const Lacking& row : kLacking) {
    const OpInfo& o = op(std::string("aclnn") + row.name);
    EXPECT_EQ(card_refusal(o, row.tensor, Float16, product("A2")), "") << row.name;
    std::istringstream products(row.products);
    for (std::string family; products >> family;)
      EXPECT_NE(card_refusal(o, row.tensor, Float16, product(family)).find(std::string("has no aclnn") + row.name),
                std::string::npos)
          << row.name << " on " << family;
  }
}

// What the rows above cannot show: that no family was left out of them.
TEST(CardFamilies, EveryFamilyHasARowHere) {
  std::set<const OpCard*> shown, shown_lacking;
  for (const Row& row : kRows) shown.insert(&card_of(op(std::string("aclnn") + row.name)));
  for (const Lacking& row : kLacking) shown_lacking.insert(&card_of(op(std::string("aclnn") + row.name)));
  const TypeSet everything = card::kFloats | card::kF64 | card::kIntegers | card::kBool | card::kComplex;
  for (const std::string& member : family_members()) {
    const OpCard& card = *family_card(member);
    for (const CardRule& rule : card) {
      if (!rule.products) continue;
      if (rule.types.empty()) {
        EXPECT_TRUE(shown_lacking.contains(&card)) << member;
      } else if (!(rule.types == everything)) {
        EXPECT_TRUE(shown.contains(&card)) << member;
      }
    }
  }
}

TEST(CardFamilies, ListOperatorsThatExistAndThatNoCardHides) {
  for (const std::string& member : family_members()) {
    int operators = 0;
    for (const OpInfo* o = first_op(); o; o = o->next) {
      if (family_card(o->name) != family_card(member)) continue;
      if (std::string(o->name) != "aclnn" + member && std::string(o->name) != "aclnnInplace" + member) continue;
      ++operators;
      EXPECT_EQ(o->card, nullptr) << o->name << " has a CARD of its own";
    }
    EXPECT_GT(operators, 0) << member;
  }
}

TEST(CardFamilies, NameTensorsOfTheirOperators) {
  for (const std::string& member : family_members())
    for (const CardRule& rule : *family_card(member)) {
      std::istringstream names(rule.parameters ? rule.parameters : "");
      bool any = !rule.parameters;
      for (std::string name; names >> name;)
        for (const OpInfo* o = first_op(); o; o = o->next)
          any |= family_card(o->name) == family_card(member) && find_parameter(*o, name);
      EXPECT_TRUE(any) << member << ": nothing has " << rule.parameters;
    }
}

}  // namespace
}  // namespace updraft
