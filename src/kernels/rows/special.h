// The rows of rows/special.inc by name.
#pragma once
#include "kernels/rows/row.h"

#define UPDRAFT_FAMILY special
#define UPDRAFT_ROWS "kernels/rows/special.inc"
#include "kernels/rows/declare.inc"
