#pragma once

#include "latpred/program.h"

namespace latpred::readers {

// Batch norms that a framework has written out as arithmetic become one operator again, with scale, bias, mean and
// variance as its inputs, so that they count as what they are:
//
//   x * (scale * rsqrt(variance + epsilon)) + (bias - mean * (scale * rsqrt(variance + epsilon)))   Keras 3, TensorFlow
//   (x - mean) * (scale * rsqrt(variance + epsilon)) + bias                                         Keras 3, PyTorch
//
// The statistics must be stored: from x itself the same arithmetic is a layer norm. Scale and bias may be missing.
void join_batch_norms(Program& program);

}  // namespace latpred::readers
