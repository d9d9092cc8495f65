#include "ops/card.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "ops/card_families.h"
#include "ops/op.h"

namespace updraft {
namespace {
using namespace card;

// Classes of operators whose documents all list the same; they hold for what has neither CARD nor family.
constexpr OpCard kUnknown{};
constexpr OpCard kCube{{kFloats}};
// The adapter of PyTorch itself takes the single operators on products before A2.
constexpr OpCard kForeach{{absent(k910 | k310P)}};
constexpr OpCard kForeachFloats{{absent(k910 | k310P), kFloats}};
constexpr OpCard kForeachInts{{absent(k910 | k310P), kFloats | kI32}};
constexpr OpCard kFlashAttention{
    {absent(k910), on("query key value dy attentionIn attentionOut dq dk dv", kFloats, kA2 | k950)}};

/// The first row counts with whose text the operator's name begins.
struct Class {
  const char* name;
  const OpCard& card;
};
constexpr Class kClasses[] = {
    {"aclnnConv", kCube},
    {"aclnnAddbmm", kCube},
    {"aclnnAddmm", kCube},
    {"aclnnBaddbmm", kCube},
    {"aclnnBatchMatMul", kCube},
    {"aclnnInplaceAddmm", kCube},
    {"aclnnMatmul", kCube},
    {"aclnnMm", kCube},
    {"aclnnMv", kCube},
    {"aclnnFlashAttention", kFlashAttention},
    {"aclnnForeachNonFiniteCheckAndUnscale", kUnknown},  // gradient scaling is for all products
    {"aclnnForeachExp", kForeachFloats},
    {"aclnnForeachLog", kForeachFloats},
    {"aclnnForeachReciprocal", kForeachFloats},
    {"aclnnForeachNeg", kForeachInts},
    {"aclnnForeachSub", kForeachInts},
    {"aclnnForeach", kForeach},
};

bool names(const char* list, std::string_view name) {
  for (std::string_view rest = list; !rest.empty();) {
    const auto end = std::min(rest.find(' '), rest.size());
    if (rest.substr(0, end) == name) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

std::string list_of(TypeSet types) {
  std::string text;
  for (int t = 0; t < 64; ++t)
    if (const auto type = static_cast<DType>(t); types.has(type) && is_computable(type))
      text += (text.empty() ? "" : ", ") + std::string(name_of(type));
  return text;
}
}  // namespace

const OpCard& card_of(const OpInfo& info) {
  if (info.card) return *info.card;
  if (const OpCard* family = family_card(info.name)) return *family;
  for (const Class& c : kClasses)
    if (std::string_view(info.name).starts_with(c.name)) return c.card;
  return kUnknown;
}

TypeSet card_types(const OpInfo& info, const char* parameter, SocFamily family) {
  for (const CardRule& rule : card_of(info))
    if ((rule.products >> static_cast<int>(family) & 1) && (!rule.parameters || names(rule.parameters, parameter)))
      return rule.types;
  return kAny;
}

std::string card_refusal(const OpInfo& info, const char* parameter, DType type, const SocProfile& product) {
  constexpr const char* kWay = "UPDRAFT_SOC chooses the product; without UPDRAFT_FIDELITY=card Updraft computes it";
  if (type == DType::BFloat16 && !product.bf16)
    return fmt::format("{} is {}: {} has no bfloat16. Convert the tensor. {}", parameter, name_of(type), product.name,
                       kWay);
  TypeSet types = card_types(info, parameter, family_of(product));
  if (types.has(type)) return {};
  if (types.empty()) return fmt::format("{} has no {}. {}", product.name, info.name, kWay);
  if (!product.bf16) types = types.without(only(DType::BFloat16));
  return fmt::format("{} is {}: {} takes {} there. Convert the tensor. {}", parameter, name_of(type), product.name,
                     list_of(types), kWay);
}

}  // namespace updraft
