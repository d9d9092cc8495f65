// updraft migrate --explain ID, --list-rules, --check-rules FILE
#pragma once

namespace updraft::migrate {

struct Arguments;

/// The exit status, or -1 where none of them was asked for.
int explain(const Arguments& arguments);

}  // namespace updraft::migrate
