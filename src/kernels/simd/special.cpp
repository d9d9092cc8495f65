// The loops of rows/special.inc.
#include "kernels/simd/erfc.h"

#define UPDRAFT_FAMILY special
#define UPDRAFT_ROWS "kernels/rows/special.inc"
#include "kernels/simd/rows.inc"
