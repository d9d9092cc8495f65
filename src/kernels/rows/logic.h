// The rows of rows/logic.inc by name.
#pragma once
#include "kernels/rows/row.h"

#define UPDRAFT_FAMILY logic
#define UPDRAFT_ROWS "kernels/rows/logic.inc"
#include "kernels/rows/declare.inc"
