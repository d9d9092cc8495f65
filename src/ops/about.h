// What an operator is, for tables, headers and profiles.
#pragma once
#include "device/task.h"

namespace updraft {

struct OpAbout {
  Unit unit;
  const char* summary;  ///< one line
  const char* summary_zh;
};

/// An argument list to call the operator with, as text (tools/describe/sample.h): "self=f32[N,M] dim=1". What it does
/// not name has the value that the operator's folder or the parameter's name suggests.
struct OpSample {
  const char* text;
};

}  // namespace updraft
