// Refusals of arguments under the code of whoever asked for the work.
#pragma once
#include <string_view>
#include <utility>

#include "base/error.h"

namespace updraft {

/// Runs f. What an operator or a graph refuses of its arguments (161002) is thrown with another code, `before` in
/// front.
template <class F>
void recoded(int code, std::string_view before, F&& f) {
  try {
    std::forward<F>(f)();
  } catch (const Error& e) {
    if (e.code() != code::kAclnnParamInvalid) throw;
    throw Error(code, "{}{}", before, e.text());
  }
}

}  // namespace updraft
