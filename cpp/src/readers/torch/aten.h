#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "latpred/dtype.h"
#include "latpred/program.h"
#include "readers/assembly.h"

namespace latpred::readers {

// An integer that a node is given: a number, or in a file with symbolic sizes the int64 scalar [] that computes it.
struct AtenInteger {
  std::int64_t number = 0;
  VariableId variable = kAbsent;

  [[nodiscard]] bool is_number() const { return variable == kAbsent; }
};
[[nodiscard]] inline AtenInteger aten_integer(std::int64_t number) { return {.number = number}; }

// A tensor argument; kAbsent where an optional one of a list is None.
struct AtenTensor {
  VariableId variable = kAbsent;
};

using AtenTensors = std::vector<AtenTensor>;
using AtenIntegers = std::vector<AtenInteger>;

// What one argument holds. monostate: None. Devices and unions that no size depends on come as text; layouts and
// memory formats as the numbers of torch's export schema. A symbolic float or boolean comes as the scalar tensor []
// that computes it.
using AtenValue = std::variant<std::monostate, bool, AtenInteger, double, std::string_view, DType, AtenTensor,
                               AtenTensors, AtenIntegers, std::vector<double>, std::vector<bool>>;

// Under the name that the operator's schema has for it, positional ones too. What equals the schema's default may be
// left out.
struct AtenArgument {
  std::string_view name;
  AtenValue value;
};

// One call of an ATen operator as torch.export writes it. Views point into the document that is being read.
struct AtenNode {
  std::string_view target;  // "aten.conv2d.default", "transformers.grouped_mm_fallback.default": without "torch.ops."
  std::string_view name;    // the graph's own name of the node: "conv2d_3"
  std::vector<AtenArgument> arguments;  // in the file's order
  // One for each tensor that it gives, lists flattened (`split`, `unbind`, ...); made by Assembly::result with the type
  // and sizes that the file declares, so that an operator without a rule still has them.
  std::vector<VariableId> outputs;

  // nullptr where the argument is left out: the schema's default holds.
  [[nodiscard]] const AtenValue* find(std::string_view argument) const {
    for (const AtenArgument& one : arguments) {
      if (one.name == argument) return &one.value;
    }
    return nullptr;
  }
};

// Appends the statements that `node` means: one for what PyTorch launches as one operator. A target without a row
// becomes OperatorId::unknown with all its tensors as inputs. The caller keeps for itself what is no tensor operator:
// sym_size, `_operator.*`, `math.*` and the higher-order operators (cond, while_loop, scan, ...).
void lower_aten(Assembly& assembly, const AtenNode& node);

}  // namespace latpred::readers
