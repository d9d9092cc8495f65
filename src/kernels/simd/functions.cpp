// The loops of rows/functions.inc.
#define UPDRAFT_FAMILY functions
#define UPDRAFT_ROWS "kernels/rows/functions.inc"
#include "kernels/simd/rows.inc"
