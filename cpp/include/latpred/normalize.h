#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "latpred/graph.h"

namespace latpred {

// The same network with less of its file's handwriting: operators that do nothing are gone, what one framework splits
// and another has whole is whole, quantised operands are read as such. Shapes, names of inputs and outputs and the
// multiply-accumulates stay. `resolve` has called it already.
[[nodiscard]] Graph normalize(Graph graph);

struct NormalizationRule {
  std::string_view name;
  std::string_view description;
  bool for_executed;  // also where the file lists what is executed, operator by operator
};
[[nodiscard]] const std::vector<NormalizationRule>& normalization_rules();

}  // namespace latpred
