#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "latpred/graph.h"
#include "latpred/operators.h"

namespace latpred {

// Beyond any real attention or recurrent layer: keeps the arithmetic on hostile files from overflowing.
inline constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;

// Where a product's operands stand among the inputs.
struct Operands {
  std::size_t a = 0;
  std::size_t b = 1;
  std::optional<std::size_t> bias;
};
[[nodiscard]] Operands operands_of(OperatorId op);

// The tensor at `index`, or nullptr where it is absent.
[[nodiscard]] const Tensor* input_tensor(const Graph& graph, const Node& node, std::size_t index);
[[nodiscard]] const Tensor* output_tensor(const Graph& graph, const Node& node, std::size_t index);
[[nodiscard]] std::vector<const Shape*> input_shapes(const Graph& graph, const Node& node);

struct Convolution {
  std::int64_t groups = 1;
  std::int64_t in_channels = 0;
  std::int64_t out_channels = 0;
  Shape window;
  std::int64_t positions =
      0;  // places that the window is put to, whole batch: of the output, or of a transposed one's input
  bool is_transposed = false;

  [[nodiscard]] std::int64_t window_elements() const;
};
// Throws ShapeError where its filter has no known order. Nothing where `node` is none, or its tensors are missing.
[[nodiscard]] std::optional<Convolution> convolution_of(const Graph& graph, const Node& node);

// Every matrix product that one execution of `node` consists of; the sum of batch * m * n * k is its MACs.
[[nodiscard]] std::vector<Gemm> products_of(const Graph& graph, const Node& node);

}  // namespace latpred
