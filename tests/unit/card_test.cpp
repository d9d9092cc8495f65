// What the products take of operators' data types (UPDRAFT_FIDELITY=card).
#include "ops/card.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>
#include <string>

#include "ops/call.h"
#include "ops/op.h"

namespace updraft {
namespace {

const OpInfo& op(const std::string& name) {
  for (const OpInfo* o = first_op(); o; o = o->next)
    if (name == o->name) return *o;
  throw std::runtime_error("no operator " + name);
}
std::string why(const char* name, const char* parameter, DType type, const char* product = "Ascend910B2") {
  return card_refusal(op(name), parameter, type, *find_soc(product));
}

TEST(Card, RulesNameTensorsOfTheOperator) {
  for (const OpInfo* o = first_op(); o; o = o->next) {
    if (!o->card) continue;  // classes name tensors that only some of their operators have
    bool any = false;
    for (const CardRule& rule : *o->card) {
      any |= rule.products != 0;
      std::istringstream names(rule.parameters ? rule.parameters : "");
      for (std::string name; names >> name;)
        EXPECT_NE(find_parameter(*o, name), nullptr) << o->name << " has no " << name;
    }
    EXPECT_TRUE(any) << o->name << ": CARD says nothing";
  }
}

TEST(Card, RefusalsSayWhatAndWhatToDo) {
  const std::string text = why("aclnnMm", "self", DType::Double);
  for (const char* part :
       {"self", "DOUBLE", "Ascend910B2", "FLOAT, FLOAT16, BFLOAT16", "UPDRAFT_SOC", "UPDRAFT_FIDELITY"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_EQ(why("aclnnMm", "self", DType::BFloat16), "");
}

TEST(Card, ProductsWithoutBfloat16DoNotOfferIt) {
  for (const char* product : {"Ascend910A", "Ascend310P3"}) {
    EXPECT_NE(why("aclnnAbs", "self", DType::BFloat16, product), "") << product;
    EXPECT_EQ(why("aclnnMm", "self", DType::Double, product).find("BFLOAT16"), std::string::npos) << product;
  }
}

TEST(Card, NothingIsRefusedWhereNothingIsKnown) {
  for (const OpInfo* o = first_op(); o; o = o->next)
    for (DType type : {DType::Float, DType::Double, DType::Int8, DType::Complex128, DType::BFloat16})
      EXPECT_EQ(card_refusal(*o, "self", type, *find_soc("Ascend950PR_9589")), "") << o->name;
  EXPECT_EQ(why("aclnnAbs", "self", DType::Complex64), "");
}

TEST(Card, OtherTensorsHaveTheirOwnTypes) {
  EXPECT_EQ(why("aclnnSort", "indices", DType::Int64), "");
  EXPECT_NE(why("aclnnSort", "indices", DType::Float), "");
  EXPECT_NE(why("aclnnSort", "self", DType::Double), "");
  EXPECT_EQ(why("aclnnSort", "values", DType::Double), "");
  EXPECT_EQ(why("aclnnFlashAttentionScore", "attenMask", DType::Bool), "");
  EXPECT_NE(why("aclnnFlashAttentionScore", "query", DType::Double), "");
}

TEST(Card, OperatorsThatAProductLacks) {
  EXPECT_NE(why("aclnnFlashAttentionScore", "query", DType::Float16, "Ascend910A").find("has no aclnnFlashAttention"),
            std::string::npos);
  EXPECT_NE(why("aclnnForeachSqrt", "x", DType::Float, "Ascend910A"), "");
  EXPECT_EQ(why("aclnnForeachSqrt", "x", DType::Float), "");
  EXPECT_EQ(why("aclnnForeachNonFiniteCheckAndUnscale", "foundInf", DType::Float, "Ascend910A"), "");
}

TEST(Card, RulesDifferByProduct) {
  EXPECT_NE(why("aclnnXLogYScalarSelf", "other", DType::Double, "Ascend910A"), "");
  EXPECT_EQ(why("aclnnXLogYScalarSelf", "other", DType::Double), "");
}

TEST(Card, ProductsThatFewDocumentsMention) {
  EXPECT_NE(why("aclnnFlashAttentionScore", "query", DType::Double, "Ascend950PR_9589"), "");
  EXPECT_EQ(why("aclnnFlashAttentionScore", "query", DType::BFloat16, "Ascend950PR_9589"), "");
}

TEST(Card, EveryProfileHasAFamily) {
  EXPECT_EQ(family_of(*find_soc("Ascend910B")), SocFamily::A910);  // its name says less than its lack of bfloat16
  EXPECT_EQ(family_of(*find_soc("Ascend910B4-1")), SocFamily::A2);
  EXPECT_EQ(family_of(*find_soc("Ascend910_9391")), SocFamily::A2);
  EXPECT_EQ(family_of(*find_soc("Ascend310P1")), SocFamily::A310P);
  EXPECT_EQ(family_of(*find_soc("Ascend950PR_9589")), SocFamily::A950);
}

}  // namespace
}  // namespace updraft
