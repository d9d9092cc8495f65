// What of a file is worth showing: changed lines and lines with findings, each with its findings, amid some context.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "migrate/finding.h"
#include "migrate/report/diff/line_changes.h"
#include "migrate/report/diff/lines.h"

namespace updraft::migrate::report {

/// Lines that belong together: unchanged ones (without findings or with some), or what became what.
struct Passage {
  LineChange lines{};
  bool changed = false;
  std::vector<std::size_t> findings;  ///< indices in FileResult::findings
};

/// Passages that follow each other without a gap.
using Block = std::vector<Passage>;

/// Nothing for a file without texts. Every finding is in one passage.
std::vector<Block> excerpt(const FileResult& file, const Lines& before, const Lines& after, std::uint32_t context = 3);

}  // namespace updraft::migrate::report
