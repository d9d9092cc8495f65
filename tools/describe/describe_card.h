// What the products take of an operator's data types, for people and for tests.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "ops/op.h"

/// "f32 f16 bf16; indices: i64; not on 910, 310P", or that it is not known.
std::string card_column(const updraft::OpInfo& op, bool chinese);
/// {"910": {"self": ["f16", …] or null where it is not known, …}, "A2": …}; an empty list: the product lacks it.
nlohmann::ordered_json card_json(const updraft::OpInfo& op);
