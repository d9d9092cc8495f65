// What an operator is, for tables, headers and profiles.
#pragma once
#include "device/task.h"

namespace updraft {

struct OpAbout {
  Unit unit;
  const char* summary;  ///< one line
  const char* summary_zh;
};

}  // namespace updraft
