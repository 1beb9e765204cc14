#define LATPRED_LANES 4
#define LATPRED_TILE_ROWS 4
#define LATPRED_IS_SUPPORTED true
#define LATPRED_KERNELS kPortableKernels
#define LATPRED_KERNELS_NAME "portable"
#include "predictors/packed_loops.h"
