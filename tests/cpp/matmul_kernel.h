#pragma once

#include "latpred/kernel.h"

namespace latpred::testing {

// [m, k] x [k, n] with the second as weight, all of elements of one size.
inline Kernel matmul_kernel(double m, double n, double k, Arithmetic arithmetic, double element_bytes) {
  Kernel kernel;
  kernel.kind = CostKind::matmul;
  kernel.arithmetic = arithmetic;
  kernel.gemm_batch = 1;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.macs = m * n * k;
  kernel.flops = 2 * kernel.macs;
  kernel.bytes_in = element_bytes * m * k;
  kernel.weight_bytes = element_bytes * k * n;
  kernel.bytes_out = element_bytes * m * n;
  return kernel;
}

}  // namespace latpred::testing
