#include "shapes/rules.h"

namespace latpred::shapes {
namespace {

using RuleTable = const std::vector<RuleRow>& (*)();

// A new family: its file, its line in rules.h, its line here.
constexpr RuleTable kTables[] = {
    attention_rules,   classical_rules,    concat_rules,    convolution_rules, creation_rules,      detection_rules,
    elementwise_rules, index_rules,        loss_rules,      matmul_rules,      normalization_rules, pooling_rules,
    position_rules,    quantization_rules, recurrent_rules, reduction_rules,   reshape_rules,       resize_rules,
    signal_rules,      slice_rules,        softmax_rules,   text_rules,
};

}  // namespace

Rule find_rule(OperatorId op) {
  static const std::vector<Rule> by_id = [] {
    std::vector<Rule> rules(operators().size());
    for (const RuleTable table : kTables) {
      for (const RuleRow& row : table()) rules[static_cast<std::size_t>(row.op)] = row.rule;
    }
    return rules;
  }();
  const auto index = static_cast<std::size_t>(op);
  return index < by_id.size() ? by_id[index] : nullptr;
}

}  // namespace latpred::shapes
