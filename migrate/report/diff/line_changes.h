// Which lines of a text became which of another.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "migrate/finding.h"
#include "migrate/report/diff/lines.h"

namespace updraft::migrate::report {

/// Lines [old_begin, old_end) became [new_begin, new_end), counted from 0. Between two changes stand equal lines.
struct LineChange {
  std::uint32_t old_begin, old_end, new_begin, new_end;

  bool operator==(const LineChange&) const = default;
};

/// With the edits that made `after` the cost is that of reading both texts once. Without them, or where they do not
/// give `after`, lines are compared (Myers' O(ND), ended where texts have next to nothing in common).
std::vector<LineChange> line_changes(const Lines& before, const Lines& after, std::span<const Edit> edits = {});

/// The edits of all applied findings of the file, by position, each once.
std::vector<Edit> applied_edits(const FileResult& file);

/// An edit and where its text begins in the edited file.
struct Placed {
  Edit edit;
  std::size_t after;
};
/// The edits with their places in `after`; empty where they do not make `after` of `before`.
std::vector<Placed> place(std::string_view before, std::string_view after, std::span<const Edit> edits);

}  // namespace updraft::migrate::report
