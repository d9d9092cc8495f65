// msFmkTranspltlog.txt: the run as a log, one line for each thing that happened.
#pragma once
#include <string>

#include "migrate/finding.h"
#include "migrate/report/language.h"

namespace updraft::migrate::report {

std::string log(const ProjectResult& result, Language language = Language::en);

}  // namespace updraft::migrate::report
