// The loops of rows/activation.inc.
#define UPDRAFT_FAMILY activation
#define UPDRAFT_ROWS "kernels/rows/activation.inc"
#include "kernels/simd/rows.inc"
