// A compile option with a value that it cannot have.
#pragma once
#include <string>

#include "base/error.h"

namespace updraft::graph {

class OptionError : public Error {
 public:
  OptionError(std::string option, std::string value, std::string reason)
      : Error(code::kAclInvalidParam, "{} is {}, {}", option, value, reason),
        option(std::move(option)),
        value(std::move(value)),
        reason(std::move(reason)) {}

  std::string option, value, reason;
};

}  // namespace updraft::graph
