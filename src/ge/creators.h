// Types of operators that a client describes itself (OperatorCreatorRegister). The graph engine has no kernels of them:
// such an operator can be made and filled, and a graph that has one is refused by its name.
#pragma once
#include <functional>

#include "graph/operator.h"

namespace ge {

using Creator = std::function<Operator(const AscendString& name)>;

void add_creator(const char* type, Creator creator);
/// Empty where nobody registered the type.
Creator find_creator(const char* type);

}  // namespace ge
