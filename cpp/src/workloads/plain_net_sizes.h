#pragma once

#include <cstdint>
#include <vector>

namespace latpred {

// A feed-forward net of dense layers, or a plain CNN of 3 x 3 convolutions (stride 1, padding 1), a ReLU between two
// layers.
struct PlainNetSizes {
  std::vector<std::int64_t> widths;  // [N] units, or channels, of the input and of each layer
  std::int64_t image_size = 0;       // height and width of the images; 0: dense layers
};

}  // namespace latpred
