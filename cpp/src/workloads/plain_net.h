#pragma once

#include <ATen/core/TensorBody.h>

#include <vector>

#include "workloads/plain_net_sizes.h"
#include "workloads/weight_pool.h"

namespace latpred {

// A net that LibTorch runs: its input, and views of a pool as weights. Valid as long as the pool.
class PlainNet {
 public:
  // Throws InvalidArgumentError for sizes that make no net.
  PlainNet(const PlainNetSizes& sizes, std::int64_t batch, WeightPool& pool);

  [[nodiscard]] at::Tensor run() const;  // [batch, units] or [batch, channels, size, size]

  struct Layer {
    at::Tensor weight;
    at::Tensor bias;
  };
  [[nodiscard]] const std::vector<Layer>& layers() const { return layers_; }
  [[nodiscard]] const at::Tensor& input() const { return input_; }

 private:
  bool is_dense_;
  at::Tensor input_;
  std::vector<Layer> layers_;
};

}  // namespace latpred
