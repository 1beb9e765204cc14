#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "predictors/transformer_config.h"

namespace latpred {

// Where each parameter of a transformer lies in one array of all of them: the module's tensors are views of it, the
// packed loops and the optimiser see numbers.
struct TransformerLayout {
  explicit TransformerLayout(const TransformerConfig& config);

  struct Slot {
    std::string name;
    std::vector<std::int64_t> shape;  // of weights [outputs, inputs], as torch's linear layers
    std::int64_t offset = 0;

    [[nodiscard]] std::int64_t size() const;
  };
  // What a LayerNorm, a linear layer and a half of a block start at.
  struct Norm {
    std::int64_t gain, bias;
  };
  struct Linear {
    std::int64_t weight, bias;
  };
  struct Half {
    Norm before;
    Linear in;  // attention: queries, keys, values; feed-forward: to its width
    Linear out;
    Norm after;
  };
  struct Block {
    Half attention, feed_forward;
  };

  std::vector<Slot> slots;
  std::int64_t num_values = 0;   // parameters
  std::int64_t padded_size = 0;  // of the array: whole vectors
  Linear embedding{};
  std::int64_t positions = 0;  // [most_nodes, D] where they are learned
  std::vector<Block> blocks;
  Linear output{};

 private:
  std::int64_t add(const std::string& name, std::vector<std::int64_t> shape);
  Norm add_norm(const std::string& name, std::int64_t width);
  Linear add_linear(const std::string& name, std::int64_t outputs, std::int64_t inputs);
  Half add_half(const std::string& name, std::int64_t width, std::int64_t inner, std::int64_t back);
};

// [nodes, width]: sine and cosine of the place, each pair of columns slower (Vaswani et al. 2017, 3.5).
[[nodiscard]] std::vector<float> sinusoidal_positions(std::int64_t nodes, std::int64_t width);

}  // namespace latpred
