// Why atc does not do what it was asked: a code that scripts look for, a sentence, and what to do.
#pragma once
#include <fmt/format.h>

#include <string>

#include "base/error.h"

namespace updraft::atc {

/// E10001 for values, E10005 for true or false, E10007 for what is missing, E19010 for ONNX operators and EZ3003 for
/// graph operators that there are not.
class Refusal : public Error {
 public:
  Refusal(std::string code, std::string text, std::string solution)
      : Error(code::kAclInvalidParam, std::move(text)), name(std::move(code)), solution(std::move(solution)) {}

  std::string name;
  std::string solution;
};

/// A value that an option cannot have.
inline Refusal invalid(const std::string& option, const std::string& value, const std::string& reason,
                       std::string solution) {
  return {"E10001", fmt::format("Value [{}] for parameter [--{}] is invalid. Reason: {}.", value, option, reason),
          std::move(solution)};
}
inline Refusal missing(const std::string& option, const std::string& wanted) {
  return {"E10007", fmt::format("[--{}] is required. The value must be {}.", option, wanted),
          fmt::format("Add --{}=…; atc --help lists the options.", option)};
}

}  // namespace updraft::atc
