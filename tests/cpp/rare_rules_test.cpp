#include <gtest/gtest.h>

#include "derive.h"

// Detection, losses, strings and the machine-learning domain: rarely met, a few cases each.
namespace latpred::testing {
namespace {

using enum OperatorId;

AttributeValue number(std::int64_t value) { return value; }

TEST(Detection, boxes_are_bounded_by_what_is_asked_for) {
  const Derived some = derive(non_max_suppression, {{2, 100, 4}, {2, 5, 100}, Operand::scalar(10)});
  EXPECT_EQ(some.shape(), (Shape{2 * 5 * 10, 3}));
  EXPECT_EQ(some.dtype(), DType::int64);
  ASSERT_EQ(some.warnings.size(), 1U);
  EXPECT_NE(some.warnings[0].find("the upper bound 100 is taken"), std::string::npos);
  EXPECT_EQ(derive(non_max_suppression, {{2, 100, 4}, {2, 5, 100}, Operand::scalar(1000)}).shape(), (Shape{1000, 3}));
  EXPECT_EQ(derive(non_max_suppression, {{2, 100, 4}, {2, 5, 100}, Operand({}, DType::int64)}).shape(),
            (Shape{1000, 3}));
  check_refused({{"scores", non_max_suppression, {{2, 100, 4}, {2, 5, 99}}, {}, {"[2, 5, 99]"}}});
}

TEST(Loss, shapes) {
  const Settings none{{"reduction", std::string("none")}};
  check_cases({
      {"reduced", negative_log_likelihood_loss, {{3, 5, 6}, {3, 6}}, {}, {Shape{}}},
      {"for each label", softmax_cross_entropy_loss, {{3, 5, 6}, {3, 6}}, none, {{3, 6}, {3, 5, 6}}},
  });
  check_refused({{"labels", negative_log_likelihood_loss, {{3, 5, 6}, {3, 5}}, {}, {"[3, 5]", "[3, 5, 6]"}}});
}

TEST(TextRules, shapes) {
  const Operand strings({2, 3}, DType::string);
  check_cases({
      {"concat", string_concat, {strings, Operand({3}, DType::string)}, {}, {{2, 3}}},
      {"split", string_split, {strings}, {{"maxsplit", number(4)}}, {{2, 3, 5}, {2, 3}}},
      {"match", regex_full_match, {strings}, {}, {{2, 3}}},
      {"n-grams", tf_idf_vectorizer, {strings}, {{"ngram_indexes", Shape{0, 7, 3}}}, {{2, 8}}},
      {"n-grams of one row",
       tf_idf_vectorizer,
       {Operand({3}, DType::string)},
       {{"ngram_indexes", Shape{0, 7}}},
       {Shape{8}}},
  });
  EXPECT_EQ(derive(regex_full_match, {strings}).dtype(), DType::boolean);
  EXPECT_EQ(derive(string_normalizer, {strings}, {{"stopwords", std::vector<std::string>{"the"}}}).warnings.size(), 1U);
  EXPECT_TRUE(derive(string_normalizer, {strings}).warnings.empty());
  check_refused({
      {"split", string_split, {strings}, {}, {"depends on the data", "'maxsplit'"}},
      {"image", image_decoder, {Operand({99}, DType::uint8)}, {}, {"decode it before"}},
  });
}

TEST(Classical, shapes) {
  const std::vector<double> twelve(12, 0.5);
  check_cases({
      {"pick columns", array_feature_extractor, {{5, 4}, Operand::integers({0, 2})}, {}, {{5, 2}}},
      {"pick from one row", array_feature_extractor, {Operand({4}), Operand::integers({0, 2})}, {}, {{1, 2}}},
      {"classifier",
       linear_classifier,
       {{5, 4}},
       {{"coefficients", twelve}, {"classlabels_ints", Shape{0, 1, 2}}},
       {Shape{5}, {5, 3}}},
      {"regressor", linear_regressor, {{5, 4}}, {{"coefficients", twelve}, {"targets", number(3)}}, {{5, 3}}},
      {"one hot", one_hot_encoder, {{5, 4}}, {{"cats_int64s", Shape{1, 2, 3}}}, {{5, 4, 3}}},
      {"pairs of classes",
       svm_classifier,
       {{5, 4}},
       {{"vectors_per_class", Shape{1, 1, 1, 1}}, {"classlabels_ints", Shape{0, 1, 2, 3}}},
       {Shape{5}, {5, 6}}},
      {"trees", tree_ensemble, {{5, 4}}, {{"n_targets", number(2)}}, {{5, 2}}},
      {"tree classifier",
       tree_ensemble_classifier,
       {{5, 4}},
       {{"classlabels_int64s", Shape{0, 1, 2}}},
       {Shape{5}, {5, 3}}},
      {"join features", feature_vectorizer, {{5, 4}, {5, 2}}, {{"inputdimensions", Shape{4, 2}}}, {{5, 6}}},
      {"normaliser", normalizer, {{5, 4}}, {}, {{5, 4}}},
  });
}

TEST(Classical, labels) {
  const Settings to_names{{"keys_int64s", Shape{1}}, {"values_strings", std::vector<std::string>{"cat"}}};
  EXPECT_EQ(derive(label_encoder, {Operand({5}, DType::int64)}, to_names).dtype(), DType::string);
  const Settings to_tensor{{"values_tensor_dtype", std::int64_t{5}}};
  EXPECT_EQ(derive(label_encoder, {Operand({5}, DType::string)}, to_tensor).dtype(), DType::int16);
  const Settings to_numbers{{"values_floats", std::vector<double>{1}}};
  EXPECT_EQ(derive(label_encoder, {Operand({5}, DType::string)}, to_numbers).dtype(), DType::float32);
  const Settings named{{"classlabels_strings", std::vector<std::string>{"a", "b"}},
                       {"coefficients", std::vector<double>(4, 1)}};
  const Derived classes = derive(linear_classifier, {{5, 4}}, named, 2);
  EXPECT_EQ(classes.dtype(0), DType::string);
  EXPECT_EQ(classes.shape(1), (Shape{5, 2}));
}

TEST(OtherFrameworks, shapes) {
  const Operand ids({5, 7}, DType::int64);
  check_cases({
      {"select", select, {{2, 3, 4}}, {{"axis", number(-2)}, {"index", number(-1)}}, {{2, 4}}},
      {"windows",
       sliding_window,
       {{2, 9}},
       {{"axis", number(1)}, {"size", number(3)}, {"step", number(2)}},
       {{2, 4, 3}}},
      {"strided", as_strided, {{6}}, {{"size", Shape{2, 3}}, {"stride", Shape{1, 2}}}, {{2, 3}}},
      {"columns", im2col, {{2, 3, 8, 8}}, {{"kernel_shape", Shape{2, 2}}, {"strides", Shape{2, 2}}}, {{2, 12, 16}}},
      {"to batch",
       space_to_batch,
       {{1, 4, 6, 3}},
       {{"block_shape", Shape{2, 2}}, {"paddings", Shape{0, 0, 1, 1}}},
       {{4, 2, 4, 3}}},
      {"from batch",
       batch_to_space,
       {{4, 2, 4, 3}},
       {{"block_shape", Shape{2, 2}}, {"crops", Shape{0, 0, 1, 1}}},
       {{1, 4, 6, 3}}},
      {"index in the middle", index, {{2, 3, 4}, Operand::absent(), ids}, {}, {{2, 5, 7, 4}}},
      {"indices with a gap",
       index,
       {{2, 3, 4}, Operand({5}, DType::int64), Operand::absent(), Operand({5}, DType::int64)},
       {},
       {{5, 3}}},
      {"bags", embedding_bag, {{10, 6}, Operand({8}, DType::int64), Operand({3}, DType::int64)}, {}, {{3, 6}}},
      {"groups", grouped_matmul, {{32, 8}, {4, 8, 16}, Operand({4}, DType::int32)}, {}, {{32, 16}}},
      {"distances", pairwise_distance, {{2, 5, 3}, {7, 3}}, {}, {{2, 5, 7}}},
      {"variance", reduce_variance, {{2, 3}}, {{"axes", Shape{1}}, {"keepdims", number(0)}}, {Shape{2}, Shape{2}}},
      {"repeats", repeat_interleave, {{2, 3}, Operand::integers({1, 0, 4})}, {{"axis", number(1)}}, {{2, 5}}},
      {"half", glu, {{2, 6}}, {}, {{2, 3}}},
      {"path", crf_decoding, {{9, 5}, {7, 5}}, {}, {{9, 1}}},
  });
  EXPECT_EQ(derive(index, {{2, 3}, Operand({2, 3}, DType::boolean)}).shape(), (Shape{6}));
  EXPECT_EQ(derive(index, {{2, 3}, Operand({2, 3}, DType::boolean)}).warnings.size(), 1U);
  EXPECT_EQ(derive(reduce_any, {{2, 3}}).dtype(), DType::boolean);
  check_refused({
      {"select", select, {{2, 3}}, {{"axis", number(1)}, {"index", number(3)}}, {"index 3 is outside"}},
      {"windows", sliding_window, {{2, 3}}, {{"axis", number(1)}, {"size", number(9)}}, {"windows of 9"}},
      {"groups", grouped_matmul, {{32, 8}, {4, 9, 16}}, {}, {"[32, 8]", "[4, 9, 16]"}},
      {"half", glu, {{2, 5}}, {}, {"must be even"}},
      {"indices", index, {Operand({2}), ids, ids}, {}, {"more indices"}},
  });
}

// Every operator but those that the engine takes itself has a rule, or is listed here.
TEST(Rules, every_operator_has_one) {
  for (const Operator& row : operators()) {
    if (row.family == "generic" || row.family == "control") continue;
    EXPECT_NE(shapes::find_rule(row.id), nullptr) << row.name;
  }
}

}  // namespace
}  // namespace latpred::testing
