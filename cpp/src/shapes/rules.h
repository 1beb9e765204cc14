#pragma once

#include <vector>

#include "shapes/rule.h"

namespace latpred::shapes {

// The rule tables, one for each family file. The engine itself takes the control family (bodies and sequences).
[[nodiscard]] const std::vector<RuleRow>& attention_rules();
[[nodiscard]] const std::vector<RuleRow>& classical_rules();
[[nodiscard]] const std::vector<RuleRow>& concat_rules();
[[nodiscard]] const std::vector<RuleRow>& convolution_rules();
[[nodiscard]] const std::vector<RuleRow>& creation_rules();
[[nodiscard]] const std::vector<RuleRow>& detection_rules();
[[nodiscard]] const std::vector<RuleRow>& elementwise_rules();
[[nodiscard]] const std::vector<RuleRow>& index_rules();
[[nodiscard]] const std::vector<RuleRow>& loss_rules();
[[nodiscard]] const std::vector<RuleRow>& matmul_rules();
[[nodiscard]] const std::vector<RuleRow>& normalization_rules();
[[nodiscard]] const std::vector<RuleRow>& pooling_rules();
[[nodiscard]] const std::vector<RuleRow>& position_rules();
[[nodiscard]] const std::vector<RuleRow>& quantization_rules();
[[nodiscard]] const std::vector<RuleRow>& recurrent_rules();
[[nodiscard]] const std::vector<RuleRow>& reduction_rules();
[[nodiscard]] const std::vector<RuleRow>& reshape_rules();
[[nodiscard]] const std::vector<RuleRow>& resize_rules();
[[nodiscard]] const std::vector<RuleRow>& signal_rules();
[[nodiscard]] const std::vector<RuleRow>& slice_rules();
[[nodiscard]] const std::vector<RuleRow>& softmax_rules();
[[nodiscard]] const std::vector<RuleRow>& text_rules();

}  // namespace latpred::shapes
