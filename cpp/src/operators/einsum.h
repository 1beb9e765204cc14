#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "latpred/graph.h"
#include "latpred/operators.h"

namespace latpred {

// An einsum equation with its ellipses spelled out: "...ij,jk" becomes "01ij,jk->01ik" for a first operand with four
// dimensions (digits stand for the ellipsis's dimensions).
struct Einsum {
  std::vector<std::string> operands;
  std::string output;
  std::map<char, std::int64_t> sizes;  // of each label; 1 gives way to any other size

  [[nodiscard]] Shape output_shape() const;
  // Products of the operands taken in pairs from the left, none for a single operand.
  [[nodiscard]] std::vector<Gemm> products() const;
};

// Throws ShapeError where equation and shapes do not fit.
[[nodiscard]] Einsum parse_einsum(const std::string& equation, const std::vector<Shape>& shapes);

}  // namespace latpred
