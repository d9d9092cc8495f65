// The rows of rows/functions.inc by name.
#pragma once
#include "kernels/rows/row.h"

#define UPDRAFT_FAMILY functions
#define UPDRAFT_ROWS "kernels/rows/functions.inc"
#include "kernels/rows/declare.inc"
