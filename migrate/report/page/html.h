// The result as one page that needs no network and no server: summary, what to do next, what does not work on which
// product, each file's changes beside their reasons; in English and 中文.
#pragma once
#include <string>

#include "migrate/finding.h"

namespace updraft::migrate::report {

/// What the page shows is data in it, which its script turns into text nodes: no source and no file name becomes
/// markup. A policy in the page forbids everything but its own script and style. Without scripts a summary stands
/// there.
std::string html(const ProjectResult& result);

}  // namespace updraft::migrate::report
