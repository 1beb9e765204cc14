#pragma once

#include <vector>

#include "latpred/graph.h"
#include "latpred/kernel.h"
#include "latpred/runtime.h"

namespace latpred {

// Whether PyTorch has no fused kernel for this attention: those take [batch, heads, tokens, size] alone, and keys and
// values with as many heads as the queries unless enable_gqa is set (ATen: check_batch_size_and_num_heads_dense).
[[nodiscard]] bool is_composed(const Graph& graph, const Node& node);

struct ComposedAttention {
  int activation_bits = 0;  // of queries, keys and values as they come in
  bool copies_query = false;
  bool copies_key = false;
  bool copies_value = false;
};

// Of the attention `node` whose tensors have these strides.
[[nodiscard]] ComposedAttention composed_of(const Graph& graph, const Node& node, const std::vector<Shape>& strides,
                                            int activation_bits);

// The kernels of an attention that is composed of single operators, in order: those of torch 2.5 and later, which
// computes in float32 whatever came in. The first product stands for the node: it is the one with a member.
[[nodiscard]] std::vector<Kernel> compose_attention(const Graph& graph, NodeId position, const Runtime& runtime,
                                                    const ComposedAttention& attention);

}  // namespace latpred
