// The page of a migration (migration_report.html): its data, and the frame that page.css and page.js stand in.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "migrate/finding.h"
#include "migrate/report/diff.h"
#include "migrate/report/summary.h"

namespace updraft::migrate::report {

// The files of page/ as they were when the program was built (cmake/embed.cmake).

/// A file of page/ by its name ("page.js"); empty where there is none.
std::string_view embedded(std::string_view name);
std::span<const std::string_view> embedded_names();

// The result as one page that needs no network and no server: summary, what to do next, what does not work on which
// product, each file's changes beside their reasons; in English and 中文.

/// What the page shows is data in it, which its script turns into text nodes: no source and no file name becomes
/// markup. A policy in the page forbids everything but its own script and style. Without scripts a summary stands
/// there.
std::string html(const ProjectResult& result);

// What differs within a line.

/// A line in pieces: those at even places are as in the other line, those at odd places differ. Pieces may be empty.
using Pieces = std::vector<std::string_view>;

/// Compares word by word. Lines that have little in common are one piece each, with nothing marked.
std::pair<Pieces, Pieces> highlight(std::string_view before, std::string_view after);

/// The line with the bytes [begin, end) marked.
Pieces mark(std::string_view line, std::size_t begin, std::size_t end);

// What of a file is worth showing: changed lines and lines with findings, each with its findings, amid some context.

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

// What the page's script reads: page/page.js describes each member where it takes it.

/// JSON in which < > & are escapes, so that nothing in it ends a <script>.
std::string page_data(const ProjectResult& result, const Summary& summary);

/// The lines of a file that are worth showing; read when the file is opened. "[]" where its source is not at hand.
std::string page_excerpt(const FileResult& file);

}  // namespace updraft::migrate::report
