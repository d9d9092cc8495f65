#include "describe_card.h"

#include <sstream>
#include <string>
#include <vector>

#include "ops/card.h"

namespace {
using namespace updraft;

struct Name {
  DType type;
  const char* name;
};
constexpr Name kNames[] = {{DType::Float, "f32"},  {DType::Float16, "f16"},   {DType::BFloat16, "bf16"},
                           {DType::Double, "f64"}, {DType::Int8, "i8"},       {DType::Int16, "i16"},
                           {DType::Int32, "i32"},  {DType::Int64, "i64"},     {DType::UInt8, "u8"},
                           {DType::Bool, "bool"},  {DType::Complex64, "c64"}, {DType::Complex128, "c128"}};
struct Product {
  SocFamily family;
  const char* name;
  bool bf16;
};
constexpr Product kProducts[] = {{SocFamily::A910, "910", false},
                                 {SocFamily::A2, "A2", true},
                                 {SocFamily::A310P, "310P", false},
                                 {SocFamily::A950, "950", true}};

std::vector<std::string> list_of(TypeSet types) {
  std::vector<std::string> list;
  for (const Name& n : kNames)
    if (types.has(n.type)) list.emplace_back(n.name);
  return list;
}

std::string text_of(TypeSet types) {
  std::string text;
  for (const std::string& name : list_of(types)) text += (text.empty() ? "" : " ") + name;
  return text;
}

/// The tensors among those that a rule names which the operator has: families and classes name those of all their
/// operators.
std::string named(const char* list, const OpInfo& op) {
  std::string text;
  std::istringstream names(list);
  for (std::string name; names >> name;)
    for (const Parameter& p : op.parameters)
      if (p.name == name) text += (text.empty() ? "" : " ") + name;
  return text;
}
}  // namespace

std::string card_column(const OpInfo& op, bool chinese) {
  std::string rules, lacking;
  for (const CardRule& rule : card_of(op)) {
    if (!rule.products) continue;
    if (rule.types.empty()) {
      for (const Product& p : kProducts)
        if (rule.products >> static_cast<int>(p.family) & 1)
          lacking += (lacking.empty() ? "" : ", ") + std::string(p.name);
      continue;
    }
    if (rule.types == card::kAny) continue;
    const std::string tensors = rule.parameters ? named(rule.parameters, op) : "";
    if (rule.parameters && tensors.empty()) continue;
    std::string where;
    if (rule.products != card::kDocumented)
      for (const Product& p : kProducts)
        if (rule.products >> static_cast<int>(p.family) & 1) where += (where.empty() ? "" : ", ") + std::string(p.name);
    if (!where.empty()) where = " (" + where + ")";
    const std::string names = tensors.empty() ? "" : tensors + ": ";
    rules += (rules.empty() ? "" : "; ") + names + text_of(rule.types) + where;
  }
  if (!lacking.empty()) {
    rules += (rules.empty() ? "" : "; ") + std::string(chinese ? "不支持 " : "not on ") + lacking;
  }
  return rules.empty() ? (chinese ? "未知" : "not known") : rules;
}

nlohmann::ordered_json card_json(const OpInfo& op) {
  nlohmann::ordered_json all;
  for (const Product& product : kProducts)
    for (const Parameter& p : op.parameters) {
      if (!is_tensor(p.kind)) continue;
      TypeSet types = card_types(op, p.name, product.family);
      auto& entry = all[product.name][p.name];
      if (types == card::kAny) continue;  // null: not known
      if (!product.bf16) types = types.without(card::only(DType::BFloat16));
      entry = list_of(types);
    }
  return all;
}
