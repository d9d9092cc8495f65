// What the operators of the products take, as their public documents list it. UPDRAFT_FIDELITY=card refuses the rest;
// without it nothing here matters. CARD(...) beside an operator says what the class of the operator (card.cpp) does
// not:
//
//   CARD(aclnnGlu, kFloats | kF64)                            every tensor of the operator
//   CARD(aclnnTopk, on("indices", kI64), kFloats | kIntegers)  the first rule that names a tensor counts, then the rest
//   CARD(aclnnFastNorm, absent(k910), on("x", kFloats, kAll))  products that lack the operator, or that are listed too
//   CARD(aclnnSleep, kAny)                                    not known: nothing is refused
//
// BFLOAT16 is left out by itself where a product lacks it (device/soc.h). What nobody has documented is not refused.
#pragma once
#include <cstdint>
#include <string>

#include "device/soc.h"
#include "tensor/dtype.h"

namespace updraft {
struct OpInfo;

struct TypeSet {
  uint64_t bits = 0;
  constexpr TypeSet operator|(TypeSet other) const { return {bits | other.bits}; }
  constexpr TypeSet without(TypeSet other) const { return {bits & ~other.bits}; }
  constexpr bool empty() const { return bits == 0; }
  constexpr bool has(DType t) const { return t >= DType::Float && (bits >> static_cast<int>(t) & 1) != 0; }
  constexpr bool operator==(const TypeSet&) const = default;
};

/// A rule for some tensors of an operator on some products.
struct CardRule {
  const char* parameters = nullptr;  ///< names, separated by blanks; null: every tensor that no earlier rule names
  TypeSet types;
  uint8_t products = 0;  ///< bits by SocFamily
  constexpr CardRule() = default;
  constexpr CardRule(const char* names, TypeSet set, uint8_t where) : parameters(names), types(set), products(where) {}
  constexpr CardRule(TypeSet set);  // NOLINT: a set stands for its rule in CARD
};

struct OpCard {
  CardRule rules[4];
  const CardRule* begin() const { return rules; }
  const CardRule* end() const { return rules + 4; }
};

namespace card {
constexpr TypeSet only(DType t) { return {uint64_t{1} << static_cast<int>(t)}; }
constexpr TypeSet kF64 = only(DType::Double), kBool = only(DType::Bool);
constexpr TypeSet kI8 = only(DType::Int8), kI16 = only(DType::Int16), kI32 = only(DType::Int32),
                  kI64 = only(DType::Int64), kU8 = only(DType::UInt8);
constexpr TypeSet kFloats = only(DType::Float) | only(DType::Float16) | only(DType::BFloat16);
constexpr TypeSet kIntegers = kI8 | kI16 | kI32 | kI64 | kU8;
constexpr TypeSet kComplex = only(DType::Complex64) | only(DType::Complex128);
constexpr TypeSet kAny{~uint64_t{0}};

constexpr uint8_t k910 = 1 << static_cast<int>(SocFamily::A910), kA2 = 1 << static_cast<int>(SocFamily::A2),
                  k310P = 1 << static_cast<int>(SocFamily::A310P), k950 = 1 << static_cast<int>(SocFamily::A950);
/// Most lists of data types are of these; what is public of 950 as well says kAll.
constexpr uint8_t kDocumented = k910 | kA2 | k310P, kAll = kDocumented | k950;

constexpr CardRule on(const char* parameters, TypeSet types, uint8_t products = kDocumented) {
  return {parameters, types, products};
}
constexpr CardRule absent(uint8_t products) { return {nullptr, {}, products}; }
}  // namespace card

constexpr CardRule::CardRule(TypeSet set) : types(set), products(card::kDocumented) {}

/// What an operator's own CARD says, or else the class that it belongs to.
const OpCard& card_of(const OpInfo& info);
/// What the products of this family take as this tensor of the operator; kAny where it is not known. Empty: they lack
/// the operator.
TypeSet card_types(const OpInfo& info, const char* parameter, SocFamily family);
/// Why the product that UPDRAFT_FIDELITY=card stands for does not take a tensor of this type there; empty: it does.
std::string card_refusal(const OpInfo& info, const char* parameter, DType type, const SocProfile& product);

}  // namespace updraft
