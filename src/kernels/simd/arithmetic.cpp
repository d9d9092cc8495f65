// The loops of rows/arithmetic.inc.
#define UPDRAFT_FAMILY arithmetic
#define UPDRAFT_ROWS "kernels/rows/arithmetic.inc"
#include "kernels/simd/rows.inc"
