#pragma once

#include <torch/nn/module.h>

#include <cstdint>
#include <vector>

namespace latpred {

// A multi-layer perceptron that gives one number for each row of features.
//
// It takes and gives numbers as they are: columns are brought to mean 0 and deviation 1 inside, by buffers that are
// saved with the weights, so that whoever loads it cannot forget them.
class Mlp : public torch::nn::Module {
 public:
  // Weights are drawn from `generator` alone: torch's global one, which the user may have seeded, is left as it was.
  Mlp(std::int64_t num_features, const std::vector<std::int64_t>& hidden, at::Generator generator);

  // Takes mean and deviation of the columns and of the targets from the rows that it will be trained on.
  void set_scale(const at::Tensor& features /* [N, F] */, const at::Tensor& targets /* [N] */);

  [[nodiscard]] at::Tensor forward(const at::Tensor& features /* [N, F] */) const;         // [N]
  [[nodiscard]] at::Tensor forward_scaled(const at::Tensor& features /* [N, F] */) const;  // [N], as trained
  [[nodiscard]] at::Tensor scale_targets(const at::Tensor& targets /* [N] */) const;       // [N]
  [[nodiscard]] std::int64_t num_features() const { return feature_mean_.numel(); }

 private:
  struct Layer {
    at::Tensor weight;  // [H, inputs]
    at::Tensor bias;    // [H]
  };
  std::vector<Layer> layers_;
  at::Tensor feature_mean_;       // [F]
  at::Tensor feature_deviation_;  // [F]
  at::Tensor target_mean_;        // []
  at::Tensor target_deviation_;   // []
};

}  // namespace latpred
