#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "latpred/graph.h"
#include "latpred/operator_id.h"

namespace latpred {

// What a kernel behaves like on the hardware: the unit in which efficiency is fitted. Append only, as operators are.
enum class CostKind : std::uint8_t {
  view = 0,  // moves no data: no kernel
  conv = 1,  // k x k, dense
  conv_1x1 = 2,
  conv_grouped = 3,
  conv_depthwise = 4,
  matmul = 5,        // one product
  batch_matmul = 6,  // many of one size
  attention = 7,
  batch_norm = 8,
  layer_norm = 9,
  group_norm = 10,
  softmax = 11,
  unary = 12,
  binary = 13,
  pool = 14,
  reduce = 15,
  copy = 16,
  cast = 17,
  concat = 18,
  index = 19,
  resize = 20,
  recurrent = 21,
  other = 22,
};
inline constexpr std::size_t kNumCostKinds = 23;
[[nodiscard]] std::string_view cost_kind_name(CostKind kind);

struct Operator {
  OperatorId id;
  std::string_view name;
  std::string_view family;   // the shape rules' file
  CostKind kind;             // cost_kind() refines `conv` and `matmul`
  double flops_per_element;  // element-wise operations for each output element; macs are counted apart
};

[[nodiscard]] const std::vector<Operator>& operators();
[[nodiscard]] const Operator& operator_row(OperatorId id);
// Throws InvalidArgumentError with the nearest name.
[[nodiscard]] const Operator& operator_row(std::string_view name);

// The row's kind, with convolutions told apart by window and groups, products by their number.
[[nodiscard]] CostKind cost_kind(const Graph& graph, const Node& node);

// Counts one execution of `node`, whose tensors have their shapes.
[[nodiscard]] Cost cost_of(const Graph& graph, const Node& node);

// The node as matrix products: gemm_batch independent [m, k] x [k, n]; all zero where it is none.
struct Gemm {
  double batch = 0;
  double m = 0;
  double n = 0;
  double k = 0;
};
[[nodiscard]] Gemm gemm_of(const Graph& graph, const Node& node);

}  // namespace latpred
