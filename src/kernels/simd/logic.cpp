// The loops of rows/logic.inc.
#define UPDRAFT_FAMILY logic
#define UPDRAFT_ROWS "kernels/rows/logic.inc"
#include "kernels/simd/rows.inc"
