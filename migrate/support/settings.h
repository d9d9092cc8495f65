// Settings and environment variables that mean a GPU, by name and value: one table for Python, configurations, command
// lines and the environment.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"
#include "migrate/support/table.h"

namespace updraft::migrate {

// Settings that mean a GPU, by name and value (data/settings.tsv): one table for Python, configurations, command lines
// and the environment.

/// What the value of a setting is.
enum class Holds : std::uint8_t { Other, Device, Backend };

struct Setting {
  std::string_view rule, replacement, where;
  Category category = Category::Note;
  Bilingual note;  ///< {} stands for the value
};

/// Lower case, _ for -, without leading dashes and pluses and without what stands before the last dot.
std::string plain_setting(std::string_view name);

/// What a setting holds by its plain name.
Holds holds(std::string_view plain_name) noexcept;
/// Whether the table has anything but devices and backends under a plain name.
bool is_setting(std::string_view plain_name) noexcept;
/// The rows for a name and a value, other than devices and backends; `where` of it is for the caller to look at.
std::vector<Setting> lookup_setting(std::string_view plain_name, std::string_view value);
/// The row's sentence for a value.
Text sentence(const Setting& setting, std::string_view value);
/// Names that tell by themselves that a text has something to do with a setting: load_in_8bit, not optim.
std::vector<std::string> telling_settings();

// Environment variables of CUDA, NCCL and PyTorch on GPUs, and what stands in their place on NPUs: data/variables.tsv.
// One table for Python sources (rules/pytorch/environment.yaml), scripts, configurations and notebooks.

struct Variable {
  std::string_view name;         ///< of the row: NCCL_* for those of NCCL that have none of their own
  std::string_view replacement;  ///< empty: none, it is only to be known
  Confidence confidence = Confidence::Review;
  Bilingual note;
};

std::optional<Variable> lookup_variable(std::string_view name);
std::vector<Variable> known_variables();

/// "ASCEND_RT_VISIBLE_DEVICES: NOTE", or "NAME: NOTE" where nothing replaces it
Text sentence(const Variable& known, std::string_view name);

/// Is `value`, written out in a source, one that the replacement takes? True where that is not known.
bool value_fits(const Variable& variable, std::string_view value);

}  // namespace updraft::migrate
