// What the page's script reads: page/page.js describes each member where it takes it.
#pragma once
#include <string>

#include "migrate/finding.h"
#include "migrate/report/summary.h"

namespace updraft::migrate::report {

/// JSON in which < > & are escapes, so that nothing in it ends a <script>.
std::string page_data(const ProjectResult& result, const Summary& summary);

/// The lines of a file that are worth showing; read when the file is opened. "[]" where its source is not at hand.
std::string page_excerpt(const FileResult& file);

}  // namespace updraft::migrate::report
