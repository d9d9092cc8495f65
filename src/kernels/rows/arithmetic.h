// The rows of rows/arithmetic.inc by name.
#pragma once
#include "kernels/rows/row.h"

#define UPDRAFT_FAMILY arithmetic
#define UPDRAFT_ROWS "kernels/rows/arithmetic.inc"
#include "kernels/rows/declare.inc"
