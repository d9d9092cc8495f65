// Which rules a run is to have: by the command line, and by comments in the sources.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "migrate/finding.h"

namespace updraft::migrate::rules {

/// Ids or beginnings of ids: PT101, PT2, TX.
struct Selection {
  std::vector<std::string> select;  ///< empty: all
  std::vector<std::string> ignore;

  bool empty() const noexcept { return select.empty() && ignore.empty(); }
  bool has(std::string_view id) const noexcept;
};

/// Takes findings away that are not selected, and those on whose lines a comment says `updraft: keep[PT101, TX2]`.
/// Failures stay: they are no rule's.
void select(std::vector<Finding>& findings, std::string_view text, const Selection& selection);

}  // namespace updraft::migrate::rules
