#include <gtest/gtest.h>

#include "derive.h"

namespace latpred::testing {
namespace {

using enum OperatorId;

TEST(Normalization, shapes) {
  const Operand channels({8});
  check_cases({
      {"batch norm", batch_norm, {{2, 8, 5, 5}, channels, channels, channels, channels}, {}, {{2, 8, 5, 5}}},
      {"batch norm in training",
       batch_norm,
       {{2, 8, 5, 5}, channels, channels, channels, channels},
       {{"training_mode", std::int64_t{1}}},
       {{2, 8, 5, 5}, Shape{8}, Shape{8}}},
      {"layer norm with statistics",
       layer_norm,
       {{2, 3, 8}, channels, channels},
       {},
       {{2, 3, 8}, {2, 3, 1}, {2, 3, 1}}},
      {"layer norm from an axis on",
       layer_norm,
       {{2, 3, 8}, {3, 8}},
       {{"axis", std::int64_t{1}}},
       {{2, 3, 8}, {2, 1, 1}}},
      {"rms norm", rms_norm, {{2, 3, 8}, channels}, {{"axis", std::int64_t{-1}}}, {{2, 3, 8}}},
      {"skip",
       skip_layer_norm,
       {{2, 3, 8}, {2, 3, 8}, channels, channels, channels},
       {},
       {{2, 3, 8}, {2, 3, 1}, {2, 3, 1}, {2, 3, 8}}},
      {"skip that broadcasts", skip_rms_norm, {{2, 3, 8}, {3, 8}, channels}, {}, {{2, 3, 8}}},
      {"embedding",
       embed_layer_norm,
       {{2, 7}, {2, 7}, {100, 8}, {64, 8}, {2, 8}, channels, channels},
       {},
       {{2, 7, 8}, Shape{2}, {2, 7, 8}}},
      {"group norm", group_norm, {{2, 8, 5, 5}, channels, channels}, {{"num_groups", std::int64_t{4}}}, {{2, 8, 5, 5}}},
      {"instance norm", instance_norm, {{2, 8, 5}, channels, channels}, {}, {{2, 8, 5}}},
      {"lrn", lrn, {{2, 8, 5, 5}}, {{"size", std::int64_t{5}}}, {{2, 8, 5, 5}}},
      {"softmax", softmax, {{2, 3, 8}}, {{"axis", std::int64_t{1}}}, {{2, 3, 8}}},
  });
  EXPECT_EQ(derive(layer_norm, {Operand({2, 8}, DType::float16), channels}, {}, 2).dtype(1), DType::float32);
}

TEST(Normalization, refusals) {
  check_refused({
      {"scale",
       batch_norm,
       {{2, 8, 5, 5}, Operand({7}), Operand({8}), Operand({8}), Operand({8})},
       {},
       {"input 1 [7]", "8 channels"}},
      {"layer norm", layer_norm, {{2, 3, 8}, Operand({7})}, {}, {"input 1 [7]", "[8]"}},
      {"axis", layer_norm, {{2, 3, 8}, Operand({8})}, {{"axis", std::int64_t{3}}}, {"axis 3", "3 dimensions"}},
      {"groups", group_norm, {{2, 8, 5, 5}}, {{"num_groups", std::int64_t{3}}}, {"8 channels", "3 groups"}},
      {"skip", skip_layer_norm, {{2, 3, 8}, {2, 4, 8}, Operand({8})}, {}, {"[2, 4, 8]", "[2, 3, 8]"}},
      {"softmax axis", softmax, {{2, 3}}, {{"axis", std::int64_t{2}}}, {"axis 2"}},
  });
}

}  // namespace
}  // namespace latpred::testing
