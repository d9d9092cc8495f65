// Edits on a text.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"

namespace updraft::migrate::source {

/// The text with the edits of all applied findings; every other byte as it was. Findings whose edits meet those of an
/// earlier one (by position, then by confidence) lose: they are marked as not applied.
std::string apply(std::string_view text, std::vector<Finding>& findings);

}  // namespace updraft::migrate::source
