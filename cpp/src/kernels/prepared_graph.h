#pragma once

#include <optional>
#include <vector>

#include "inductor_plan.h"
#include "latpred/graph.h"
#include "latpred/operators.h"
#include "latpred/precision.h"
#include "latpred/runtime.h"
#include "latpred/storage.h"
#include "latpred/views.h"
#include "memory_readers.h"
#include "repeated.h"

namespace latpred {

// What is known of a graph under a runtime and a precision before its first kernel is made.
struct PreparedGraph {
  const Graph& graph;
  const Runtime& runtime;
  bool gets_channels_last;      // PyTorch gets its images in that memory format
  std::vector<CostKind> kinds;  // [nodes] reshapes that have to copy are copies
  Storage storage;
  ViewInfo views;
  std::vector<bool> channels_last;  // [tensors] of PyTorch's memory format; empty elsewhere
  std::vector<int> num_uses;        // [tensors] as a node's input, views among them, or as a result
  MemoryReaders readers;
  Repeated repeated;                 // of a code generator; others store everything
  std::optional<InductorPlan> plan;  // of a code generator

  [[nodiscard]] bool is_long_concatenation(NodeId position) const {
    return plan && plan->nodes[position].is_long_concatenation;
  }
  // Whether no kernel writes what it makes.
  [[nodiscard]] bool makes_unstored(NodeId position) const {
    const std::vector<TensorId>& made = graph.nodes[position].outputs;
    return !made.empty() && repeated.is_unstored(made[0]);
  }
};

// `graph` and `runtime` must outlive the result.
[[nodiscard]] PreparedGraph prepare(const Graph& graph, const Runtime& runtime, const Precision& precision);

}  // namespace latpred
