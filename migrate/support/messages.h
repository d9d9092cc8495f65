// The sentences that a user reads of a finding: data/messages.tsv.
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "migrate/finding.h"
#include "migrate/support/table.h"

namespace updraft::migrate::support {

/// What stands in a sentence in the place of {0}: the same in both languages, or in each its own.
struct Part {
  Part(std::string_view both) : text{std::string(both), std::string(both)} {}
  Part(const std::string& both) : text{both, both} {}
  Part(const char* both) : text{both, both} {}
  Part(Bilingual each) : text{std::string(each.en), std::string(each.zh)} {}
  Part(Text each) : text(std::move(each)) {}
  Text text;
};

/// Whether the table has a sentence under this key.
bool has_message(std::string_view key);
/// A sentence as it stands in the table. Throws Error where the table does not have it.
Bilingual message(std::string_view key);
/// A sentence with its parts.
Text told(std::string_view key, std::initializer_list<Part> parts = {});

}  // namespace updraft::migrate::support
