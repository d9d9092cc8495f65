// Environment variables of CUDA, NCCL and PyTorch on GPUs, and what stands in their place on NPUs.
#pragma once
#include <string_view>

#include "migrate/finding.h"

namespace updraft::migrate::text {

struct Variable {
  std::string_view name;
  std::string_view replacement;  ///< empty: none, it is only to be known
  Confidence confidence;
  std::string_view en, zh;
};

/// The row of a variable, a general one for the rest of NCCL's; nullptr for any other name.
const Variable* variable(std::string_view name) noexcept;
/// Of a name of a variable.
bool is_name_byte(char c) noexcept;
/// Is `value`, written out in a script, one that the replacement takes? True where that is not known.
bool value_fits(const Variable& variable, std::string_view value);

}  // namespace updraft::migrate::text
