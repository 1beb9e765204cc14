#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "latpred/graph.h"
#include "latpred/operators.h"

namespace latpred {

// What an attention operator multiplies, whichever of its many input layouts it came in.
struct AttentionSizes {
  std::int64_t batch = 1;
  std::int64_t q_heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t q_length = 0;
  std::int64_t new_length = 0;   // keys that come with this call
  std::int64_t past_length = 0;  // keys of the cache
  std::int64_t window = 0;       // of keys that one query looks at; 0: all
  std::int64_t head_size = 0;
  std::int64_t value_size = 0;  // of one head
  Gemm projection;              // of the input to queries, keys and values; zeros where the operator has none
  bool has_bias = false;        // added to queries, keys and values
  bool has_mask = false;        // added to every score

  [[nodiscard]] std::int64_t kv_length() const { return past_length + new_length; }
  [[nodiscard]] std::int64_t attended_length() const {
    return window > 0 ? std::min(window, kv_length()) : kv_length();
  }
};

// `inputs`: nullptr where absent. Throws ShapeError naming the sizes that do not fit.
[[nodiscard]] AttentionSizes attention_sizes(OperatorId op, std::string_view source_operator,
                                             const Attributes& attributes, const std::vector<const Shape*>& inputs);

}  // namespace latpred
