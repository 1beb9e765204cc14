#if defined(__x86_64__)
#define LATPRED_LANES 8
#define LATPRED_TILE_ROWS 4
#define LATPRED_IS_SUPPORTED __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
#define LATPRED_KERNELS kAvx2Kernels
#define LATPRED_KERNELS_NAME "avx2"
#include "predictors/packed_loops.h"
#endif
