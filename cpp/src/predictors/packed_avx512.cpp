#if defined(__x86_64__)
#define LATPRED_LANES 16
#define LATPRED_TILE_ROWS 8
#define LATPRED_IS_SUPPORTED \
  __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")
#define LATPRED_KERNELS kAvx512Kernels
#define LATPRED_KERNELS_NAME "avx512"
#include "predictors/packed_loops.h"
#endif
