#include <gtest/gtest.h>

#include "derive.h"

namespace latpred::testing {
namespace {

using enum OperatorId;

constexpr const char* kContributed = "com.microsoft::Attention";

AttributeValue number(std::int64_t value) { return value; }

TEST(Attention, shapes) {
  const Operand none = Operand::absent();
  check_cases({
      {"four dimensions", attention, {{2, 8, 16, 64}, {2, 8, 20, 64}, {2, 8, 20, 32}}, {}, {{2, 8, 16, 32}}},
      {"grouped queries and a cache",
       attention,
       {{2, 8, 16, 64}, {2, 2, 16, 64}, {2, 2, 16, 32}, none, {2, 2, 48, 64}, {2, 2, 48, 32}},
       {},
       {{2, 8, 16, 32}, {2, 2, 64, 64}, {2, 2, 64, 32}, {2, 8, 16, 64}}},
      {"three dimensions",
       attention,
       {{2, 16, 512}, {2, 20, 128}, {2, 20, 64}},
       {{"q_num_heads", number(8)}, {"kv_num_heads", number(2)}},
       {{2, 16, 256}, {2, 2, 20, 64}, {2, 2, 20, 32}}},
      {"contributed",
       attention,
       {{2, 10, 32}, {32, 96}, {96}},
       {{"num_heads", number(4)}},
       {{2, 10, 32}, {2, 2, 4, 10, 8}},
       kContributed},
      {"contributed with a cache",
       attention,
       {{2, 1, 32}, {32, 96}, {96}, none, {2, 2, 4, 9, 8}},
       {{"num_heads", number(4)}},
       {{2, 1, 32}, {2, 2, 4, 10, 8}},
       kContributed},
      {"contributed, values of another width",
       attention,
       {{2, 10, 32}, {32, 80}, {80}},
       {{"num_heads", number(4)}, {"qkv_hidden_sizes", Shape{32, 32, 16}}},
       {{2, 10, 16}},
       kContributed},
      {"multi-head",
       multi_head_attention,
       {{2, 10, 32}, {2, 12, 32}, {2, 12, 64}},
       {{"num_heads", number(4)}},
       {{2, 10, 64}, {2, 4, 12, 8}, {2, 4, 12, 16}}},
      {"multi-head, packed", multi_head_attention, {{2, 10, 4, 3, 8}}, {{"num_heads", number(4)}}, {{2, 10, 32}}},
      {"multi-head, keys and values packed",
       multi_head_attention,
       {{2, 10, 32}, {2, 12, 4, 2, 8}},
       {{"num_heads", number(4)}},
       {{2, 10, 32}}},
      {"grouped queries",
       group_query_attention,
       {{1, 1, 512}, {1, 1, 128}, {1, 1, 128}, {1, 2, 99, 64}, {1, 2, 99, 64}},
       {{"num_heads", number(8)}, {"kv_num_heads", number(2)}},
       {{1, 1, 512}, {1, 2, 100, 64}, {1, 2, 100, 64}}},
      {"grouped queries in one tensor",
       group_query_attention,
       {{1, 5, 768}, none, none},
       {{"num_heads", number(8)}, {"kv_num_heads", number(2)}},
       {{1, 5, 512}, {1, 2, 5, 64}}},
      {"grouped queries into a buffer",
       group_query_attention,
       {{1, 1, 512}, {1, 1, 128}, {1, 1, 128}, {1, 2, 1024, 64}, {1, 2, 1024, 64}, {1}, Operand::scalar(100)},
       {{"num_heads", number(8)}, {"kv_num_heads", number(2)}},
       {{1, 1, 512}, {1, 2, 1024, 64}}},
      {"packed", packed_attention, {{30, 32}, {32, 96}, {96}, {4, 10}, {5}}, {{"num_heads", number(4)}}, {{30, 32}}},
      {"linear",
       linear_attention,
       {{2, 7, 64}, {2, 7, 32}, {2, 7, 48}},
       {{"q_num_heads", number(4)}, {"kv_num_heads", number(2)}},
       {{2, 7, 96}, {2, 2, 16, 24}}},
      {"flex", flex_attention, {{2, 8, 16, 64}, {2, 2, 20, 64}, {2, 2, 20, 32}}, {}, {{2, 8, 16, 32}}},
      {"torch's", scaled_dot_product_attention, {{5, 16, 64}, {5, 20, 64}, {5, 20, 32}}, {}, {{5, 16, 32}}},
      {"rotary", rotary_embedding, {{2, 8, 16, 64}, {16, 32}, {16, 32}}, {}, {{2, 8, 16, 64}}},
  });
}

TEST(Attention, refusals) {
  check_refused({
      {"heads", attention, {{2, 6, 16, 64}, {2, 4, 16, 64}, {2, 4, 16, 64}}, {}, {"6 query heads", "4 key"}},
      {"no head count", attention, {{2, 16, 64}, {2, 16, 64}, {2, 16, 64}}, {}, {"'q_num_heads'", "got 0"}},
      {"head size",
       multi_head_attention,
       {{2, 10, 30}, {2, 12, 30}, {2, 12, 30}},
       {{"num_heads", number(4)}},
       {"30", "4 heads"}},
      {"no key", multi_head_attention, {{2, 10, 32}}, {{"num_heads", number(4)}}, {"key", "missing"}},
      {"rank", flex_attention, {{2, 16, 64}, {2, 16, 64}, {2, 16, 64}}, {}, {"4 dimensions"}},
      {"rotary", rotary_embedding, {{16, 64}}, {}, {"3 or 4 dimensions"}},
  });
}

}  // namespace
}  // namespace latpred::testing
