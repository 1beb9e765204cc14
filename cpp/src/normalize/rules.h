#pragma once

#include "normalize/rewriter.h"

namespace latpred {

// The rules of normalize.cpp's table, each in the file of its subject.

// no_operations.cpp. `drop_copies` takes what changes nothing but is a copy where it is executed as written.
void drop_views(Rewriter& rewriter);
void drop_copies(Rewriter& rewriter);

// transposes.cpp
void join_transposes(Rewriter& rewriter);
void turn_images(Rewriter& rewriter);

// quantization.cpp
void fold_quantization(Rewriter& rewriter);

// activations.cpp
void recognize_activations(Rewriter& rewriter);

// norms.cpp
void recognize_layer_norm(Rewriter& rewriter);

// channels.cpp
void join_biases(Rewriter& rewriter);
void recognize_batch_norm(Rewriter& rewriter);

// attention.cpp
void recognize_attention(Rewriter& rewriter);

}  // namespace latpred
