#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace latpred {

// Mean loss of a batch's residuals, which are 0 where a target is missing, over the `count` that are known.
struct GraphLossRow {
  const char* name;
  at::Tensor (*mean)(const at::Tensor& residual, const at::Tensor& count);
};
[[nodiscard]] const GraphLossRow& graph_loss_row(const std::string& name);
[[nodiscard]] std::vector<std::string> graph_loss_names();

}  // namespace latpred
