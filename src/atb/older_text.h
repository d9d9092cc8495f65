// A std::string of the ABI before C++11, which files of ours cannot name beside the newer one.
#pragma once
#include <string>

namespace updraft::atb_ops {

/// Makes one of `text` in the eight bytes at `place`.
void make_older_text(void* place, const char* text);
/// The text of the one there, which is gone afterwards.
std::string take_older_text(void* place);

}  // namespace updraft::atb_ops
