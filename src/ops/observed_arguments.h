// The arguments of a call of an operator as observers see them (device/argument.h).
#pragma once
#include <vector>

#include "device/argument.h"
#include "ops/parameter.h"

namespace updraft {

struct OpInfo;

/// Adds every argument of the call, in the order of the parameters: an absent one too, a list as one for each element,
/// an empty list as one that is absent. The values must be alive.
void observe_arguments(std::vector<Argument>& to, const OpInfo& info, const Value* values);

}  // namespace updraft
