// Environment variables of CUDA, NCCL and PyTorch on GPUs, and what stands in their place on NPUs: data/variables.tsv.
// One table for Python sources (rules/pytorch/environment.yaml), scripts, configurations and notebooks.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/support/language.h"

namespace updraft::migrate {

struct Variable {
  std::string_view name;         ///< of the row: NCCL_* for those of NCCL that have none of their own
  std::string_view replacement;  ///< empty: none, it is only to be known
  Confidence confidence = Confidence::Review;
  Bilingual note;
};

std::optional<Variable> lookup_variable(std::string_view name);
std::vector<Variable> known_variables();

/// "ASCEND_RT_VISIBLE_DEVICES: NOTE", or "NAME: NOTE" where nothing replaces it
std::string sentence(const Variable& known, std::string_view name, Language language);

/// Is `value`, written out in a source, one that the replacement takes? True where that is not known.
bool value_fits(const Variable& variable, std::string_view value);

}  // namespace updraft::migrate
