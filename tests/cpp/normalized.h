#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph_maker.h"
#include "latpred/error.h"
#include "latpred/normalize.h"

namespace latpred::testing {

// The operators of `graph` in order.
inline std::vector<std::string> operators_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.emplace_back(operator_row(node.op).name);
  return names;
}

// normalize(), which must keep what it promises: sizes, the multiply-accumulates, the outputs' names.
inline Graph normalized(const Graph& graph) {
  const Graph result = normalize(graph);
  EXPECT_NO_THROW(check(result));
  EXPECT_EQ(result.macs(), graph.macs());
  EXPECT_EQ(result.inputs.size(), graph.inputs.size());
  EXPECT_EQ(result.outputs.size(), graph.outputs.size());
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const Tensor& before = graph.tensors[graph.outputs[i]];
    const Tensor& after = result.tensors[result.outputs[i]];
    EXPECT_EQ(after.name, before.name);
    EXPECT_EQ(after.shape, before.shape);
    EXPECT_EQ(after.dtype, before.dtype);
  }
  for (const Node& node : result.nodes) {
    const Cost counted = cost_of(result, node);
    EXPECT_EQ(node.cost.macs, counted.macs) << node.name;
    EXPECT_EQ(node.cost.flops, counted.flops) << node.name;
    EXPECT_EQ(node.cost.bytes_in, counted.bytes_in) << node.name;
    EXPECT_EQ(node.cost.bytes_out, counted.bytes_out) << node.name;
    EXPECT_EQ(node.cost.weight_bytes, counted.weight_bytes) << node.name;
  }
  return result;
}

// What is left of the operators behind `outputs`.
inline std::vector<std::string> left_of(GraphMaker& net, const std::vector<TensorId>& outputs) {
  return operators_of(normalized(net.build(outputs)));
}

using Names = std::vector<std::string>;

}  // namespace latpred::testing
