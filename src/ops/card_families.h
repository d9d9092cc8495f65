// Rows of card_families.cpp: what products take of families of operators, where no CARD stands beside the operator.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ops/card.h"

namespace updraft {

/// The row of the family that an operator belongs to, by its name (aclnnInplaceRelu: of Relu); null: it has none.
const OpCard* family_card(std::string_view name);
/// The names that the rows list, for tests: "Relu", "InplaceNormal".
std::vector<std::string> family_members();

}  // namespace updraft
