// The rows of rows/activation.inc by name.
#pragma once
#include "kernels/rows/row.h"

#define UPDRAFT_FAMILY activation
#define UPDRAFT_ROWS "kernels/rows/activation.inc"
#include "kernels/rows/declare.inc"
