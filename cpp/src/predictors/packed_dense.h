#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "predictors/aligned_floats.h"
#include "predictors/packed_kernels.h"

namespace latpred {

// Where each parameter of a dense network lies in one array. Sizes are padded to what the loops want; a padded unit has
// no weights, gives 0 and gets no gradient, so that it stays so.
struct DenseLayout {
  DenseLayout(std::int64_t num_features, std::int64_t hidden_layers, std::int64_t width);

  struct Layer {
    std::int64_t inputs, outputs, padded_inputs, padded_outputs;
    std::int64_t weight;  // [padded_outputs, padded_inputs], as torch's linear layers
    std::int64_t bias;    // [padded_outputs]
  };
  std::vector<Layer> hidden;       // first to last, at least one
  std::int64_t output_weight = 0;  // [padded width]
  std::int64_t output_bias = 0;    // [1]
  std::int64_t num_values = 0;     // parameters, without padding
  std::int64_t padded_size = 0;    // of the array

  [[nodiscard]] std::int64_t row_size() const { return hidden.front().padded_inputs; }
  [[nodiscard]] const Layer& last() const { return hidden.back(); }
};

// Hidden layers with rectifiers and one number for each row, with the gradient by hand. Its weights are views of the
// caller's array. Plain numbers, no torch.
class PackedDense {
 public:
  explicit PackedDense(const DenseLayout& layout, const PackedKernels& kernels = fastest_packed_kernels());

  // Looks at `parameters` [padded_size] until the next call: once after each change of them.
  void set_parameters(std::span<const float> parameters);

  // What a forward pass leaves for the backward pass.
  class Workspace {
    friend class PackedDense;
    std::vector<AlignedFloats> values_;  // the rows, then what each layer gives
    AlignedFloats gradient_, next_gradient_;
  };
  // Room for `rows` rows, [rows, row_size()], padded columns zero.
  [[nodiscard]] float* rows(std::int64_t rows, Workspace& workspace) const;

  // One number for each of the rows that were put there.
  void forward(Workspace& workspace, std::span<float> outputs) const;
  // The gradient of the rows of the last forward pass, written over `gradient` [padded_size].
  void backward(Workspace& workspace, std::span<const float> d_outputs, std::span<float> gradient) const;

  [[nodiscard]] const DenseLayout& layout() const { return layout_; }
  [[nodiscard]] const PackedKernels& kernels() const { return kernels_; }

 private:
  DenseLayout layout_;
  const PackedKernels& kernels_;
  const float* parameters_ = nullptr;
  std::vector<AlignedFloats> turned_;  // weights as [padded_inputs, padded_outputs]
};

}  // namespace latpred
