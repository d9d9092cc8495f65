// Handles of the aclnn meta interface as observers see them (device/argument.h). The handles must be alive; a null one
// is an argument that is absent.
#pragma once
#include <vector>

#include "device/argument.h"
#include "ops/handles.h"

namespace updraft {

using Observed = std::vector<Argument>;

void observe_argument(Observed& to, const char* name, Direction direction, const aclTensor* tensor, int32_t item = -1);
/// Each element is an argument of its own; an empty list is one that is absent.
void observe_argument(Observed& to, const char* name, Direction direction, const aclTensorList* list);
void observe_argument(Observed& to, const char* name, const aclScalar* scalar, int32_t item = -1);
void observe_argument(Observed& to, const char* name, const aclScalarList* list);
void observe_argument(Observed& to, const char* name, const aclIntArray* array);
void observe_argument(Observed& to, const char* name, const aclFloatArray* array);
void observe_argument(Observed& to, const char* name, const aclBoolArray* array);
void observe_argument(Observed& to, const char* name, const char* text);
void observe_argument(Observed& to, const char* name, bool value);
void observe_argument(Observed& to, const char* name, int64_t value);
void observe_argument(Observed& to, const char* name, double value);
void observe_argument(Observed& to, const char* name, DType value);

}  // namespace updraft
