// Attention and norms in the forms in which files write them down.

#include <gtest/gtest.h>

#include "normalized.h"

namespace latpred::testing {
namespace {

using Id = OperatorId;

const Shape kQueries{2, 4, 10, 16};
const Shape kKeys{2, 4, 12, 16};
const Shape kTurned{2, 4, 16, 12};
const Shape kScores{2, 4, 10, 12};

// One attention, written as its switches say.
struct Written {
  bool scaled_scores = true;
  bool scaled_operands = false;
  bool mask = false;
  bool condition = false;
  bool guard = false;
  bool casts = false;
  bool turned_by_product = false;  // no transpose of its own
  bool heads_in_transpose = false;
  std::int64_t axis = -1;
  bool scores_are_read = false;
  bool turned_key_is_read = false;
  bool second_mask = false;
};

Graph written(const Written& how) {
  GraphMaker net;
  auto q = net.input(kQueries);
  auto v = net.input(kKeys);
  TensorId k = kAbsent;
  Shape key_shape = kTurned;
  if (how.turned_by_product) {
    k = net.input(kKeys);
    key_shape = kKeys;
  } else if (how.heads_in_transpose) {
    k = net.node(Id::transpose, {net.input({2, 12, 4, 16})}, kTurned, {{"perm", Shape{0, 2, 3, 1}}});
  } else {
    k = net.node(Id::transpose, {net.input(kKeys)}, kTurned, {{"perm", Shape{0, 1, 3, 2}}});
  }
  std::vector<TensorId> outputs;
  if (how.turned_key_is_read) outputs.push_back(net.node(Id::relu, {k}, kTurned));
  if (how.scaled_operands) {
    q = net.node(Id::mul, {q, net.number(0.5)}, kQueries);
    k = net.node(Id::mul, {net.number(0.5), k}, key_shape);
  }
  GraphMaker::Settings settings;
  if (how.turned_by_product) settings.emplace_back("transB", std::int64_t{1});
  auto s = net.node(Id::matmul, {q, k}, kScores, settings);
  if (how.scaled_scores) s = net.node(Id::div, {s, net.number(4)}, kScores);
  if (how.mask) s = net.node(Id::add, {net.input({2, 1, 1, 12}), s}, kScores);
  if (how.second_mask) s = net.node(Id::add, {s, net.weight({4, 10, 12})}, kScores);
  if (how.condition) s = net.node(Id::where, {net.input({1, 1, 10, 12}), s, net.number(-1e9)}, kScores);
  if (how.casts) s = net.node(Id::cast, {s}, kScores, {}, DType::float16);
  auto p = net.node(Id::softmax, {s}, kScores, {{"axis", how.axis}}, how.casts ? DType::float16 : DType::float32);
  if (how.scores_are_read) outputs.push_back(net.node(Id::relu, {p}, kScores));
  if (how.guard) {
    const auto is_nan = net.node(Id::is_nan, {p}, kScores, {}, DType::boolean);
    p = net.node(Id::where, {is_nan, net.number(0), p}, kScores);
  }
  if (how.casts) p = net.node(Id::cast, {p}, kScores);
  outputs.push_back(net.node(Id::matmul, {p, v}, kQueries));
  return net.build(outputs);
}

TEST(NormalizeAttention, Forms) {
  const std::vector<Written> forms{
      {},
      {.scaled_scores = false},
      {.scaled_scores = false, .scaled_operands = true},
      {.mask = true},
      {.condition = true},
      {.guard = true},
      {.casts = true},
      {.turned_by_product = true},
      {.scaled_operands = true, .turned_by_product = true},
      {.axis = 3},
  };
  for (std::size_t i = 0; i < forms.size(); ++i) {
    SCOPED_TRACE(i);
    const Graph before = written(forms[i]);
    const Graph graph = normalized(before);
    ASSERT_EQ(operators_of(graph), (Names{"scaled_dot_product_attention"}));
    const Node& node = graph.nodes[0];
    EXPECT_EQ(node.name, before.nodes.back().name);
    EXPECT_EQ(graph.tensors[node.inputs[0]].shape, kQueries);
    EXPECT_EQ(graph.tensors[node.inputs[1]].shape, kKeys);
    EXPECT_EQ(graph.tensors[node.inputs[2]].shape, kKeys);
    EXPECT_EQ(node.inputs.size(), forms[i].mask || forms[i].condition ? 4U : 3U);
    EXPECT_EQ(graph.macs(), 2.0 * 4 * 10 * 12 * 16 * 2);
  }
}

TEST(NormalizeAttention, TheKeysTransposeKeepsTheHeads) {
  const Graph graph = normalized(written({.heads_in_transpose = true}));
  ASSERT_EQ(operators_of(graph), (Names{"transpose", "scaled_dot_product_attention"}));
  EXPECT_EQ(graph.nodes[0].attributes.integers("perm"), (Shape{0, 2, 1, 3}));
  EXPECT_EQ(graph.tensors[graph.nodes[0].outputs[0]].shape, kKeys);
}

TEST(NormalizeAttention, AKeyThatIsReadElsewhereStays) {
  const Graph graph = normalized(written({.turned_key_is_read = true}));
  EXPECT_EQ(operators_of(graph), (Names{"transpose", "relu", "scaled_dot_product_attention"}));
}

TEST(NormalizeAttention, NearMisses) {
  const std::vector<Written> forms{
      {.axis = 1},
      {.scores_are_read = true},
      {.mask = true, .second_mask = true},
      {.mask = true, .condition = true},
      {.heads_in_transpose = true, .turned_key_is_read = true},
  };
  for (std::size_t i = 0; i < forms.size(); ++i) {
    SCOPED_TRACE(i);
    const Graph before = written(forms[i]);
    EXPECT_EQ(operators_of(normalized(before)), operators_of(before));
  }
}

TEST(NormalizeAttention, SharedKeysAreLeft) {
  GraphMaker net;  // one key for all heads: products are broadcast
  const auto k = net.node(Id::transpose, {net.input({2, 1, 12, 16})}, {2, 1, 16, 12}, {{"perm", Shape{0, 1, 3, 2}}});
  const auto s = net.node(Id::matmul, {net.input(kQueries), k}, kScores);
  const auto p = net.node(Id::softmax, {s}, kScores, {{"axis", std::int64_t{-1}}});
  EXPECT_EQ(left_of(net, {net.node(Id::matmul, {p, net.input({2, 1, 12, 16})}, kQueries)}).size(), 4U);
}

const Shape kRows{2, 5, 8};
const Shape kMeans{2, 5, 1};
const GraphMaker::Settings kLast{{"axes", Shape{-1}}, {"keepdims", std::int64_t{1}}};

struct NormWritten {
  bool second_difference = false;
  bool as_product = false;  // d * d, and * (1 / deviation)
  bool weight = true;
  bool bias = true;
  Shape weight_shape{8};
  GraphMaker::Settings axes = kLast;
  bool centered = true;
  bool mean_is_read = false;
};

Graph written(const NormWritten& how) {
  GraphMaker net;
  const auto x = net.input(kRows);
  const Shape mean_shape = how.axes[0].second == AttributeValue(Shape{-1}) ? kMeans : Shape{2, 1, 8};
  std::vector<TensorId> outputs;
  TensorId d = x;
  TensorId squared = x;
  if (how.centered) {
    const auto mean = net.node(Id::reduce_mean, {x}, mean_shape, how.axes);
    if (how.mean_is_read) outputs.push_back(net.node(Id::relu, {mean}, mean_shape));
    d = net.node(Id::sub, {x, mean}, kRows);
    squared = how.second_difference ? net.node(Id::sub, {x, mean}, kRows) : d;
  }
  const auto square = how.as_product ? net.node(Id::mul, {squared, squared}, kRows)
                                     : net.node(Id::pow, {squared, net.number(2)}, kRows);
  const auto variance = net.node(Id::reduce_mean, {square}, mean_shape, how.axes);
  const auto sum = net.node(Id::add, {variance, net.number(1e-5)}, mean_shape);
  TensorId y = kAbsent;
  if (how.as_product) {
    y = net.node(Id::mul, {d, net.node(Id::rsqrt, {sum}, mean_shape)}, kRows);
  } else {
    y = net.node(Id::div, {d, net.node(Id::sqrt, {sum}, mean_shape)}, kRows);
  }
  if (how.weight) y = net.node(Id::mul, {y, net.weight(how.weight_shape)}, kRows);
  if (how.bias) y = net.node(Id::add, {net.weight({8}), y}, kRows);
  outputs.push_back(y);
  return net.build(outputs);
}

TEST(NormalizeNorms, LayerNorm) {
  for (const NormWritten& how :
       std::vector<NormWritten>{{}, {.second_difference = true}, {.as_product = true}, {.weight_shape = {1, 1, 8}}}) {
    const Graph graph = normalized(written(how));
    ASSERT_EQ(operators_of(graph), (Names{"layer_norm"}));
    EXPECT_EQ(graph.nodes[0].inputs.size(), 3U);
    EXPECT_EQ(graph.num_parameters(), 16);
    EXPECT_EQ(graph.nodes[0].attributes.integer("axis", 0), -1);
  }
  EXPECT_EQ(operators_of(normalized(written({.weight = false, .bias = false}))), (Names{"layer_norm"}));
  EXPECT_EQ(operators_of(normalized(written({.bias = false}))), (Names{"layer_norm"}));
}

TEST(NormalizeNorms, RmsNorm) {
  const NormWritten how{.as_product = true, .bias = false, .centered = false};
  const Graph graph = normalized(written(how));
  ASSERT_EQ(operators_of(graph), (Names{"rms_norm"}));
  EXPECT_EQ(graph.num_parameters(), 8);
}

TEST(NormalizeNorms, NearMisses) {
  const GraphMaker::Settings middle{{"axes", Shape{1}}, {"keepdims", std::int64_t{1}}};
  for (const NormWritten& how : std::vector<NormWritten>{{.axes = middle}, {.mean_is_read = true}}) {
    const Graph before = written(how);
    EXPECT_EQ(operators_of(normalized(before)), operators_of(before));
  }
  // A weight for each row is none of a norm's: it stays behind it.
  const Graph graph = normalized(written({.bias = false, .weight_shape = {5, 1}}));
  EXPECT_EQ(operators_of(graph), (Names{"layer_norm", "mul"}));
}

// x * s + (beta - mean * s), s = gamma * rsqrt(variance + epsilon).
Graph tensorflow_norm(bool same_mean) {
  GraphMaker net;
  const auto x = net.node(Id::exp, {net.input(kRows)}, kRows);
  const auto mean = net.node(Id::reduce_mean, {x}, kMeans, kLast);
  const auto square = net.node(Id::squared_difference, {x, mean}, kRows);
  const auto variance = net.node(Id::reduce_mean, {square}, kMeans, kLast);
  const auto sum = net.node(Id::add, {variance, net.number(1e-3)}, kMeans);
  const auto s = net.node(Id::mul, {net.node(Id::rsqrt, {sum}, kMeans), net.weight({8})}, kRows);
  const auto scaled = net.node(Id::mul, {x, s}, kRows);
  const auto shift = same_mean ? mean : net.node(Id::reduce_max, {x}, kMeans, kLast);
  const auto offset = net.node(Id::sub, {net.weight({8}), net.node(Id::mul, {shift, s}, kRows)}, kRows);
  return net.build({net.node(Id::add, {scaled, offset}, kRows)});
}

TEST(NormalizeNorms, TensorFlowsLayerNorm) {
  const Graph graph = normalized(tensorflow_norm(true));
  EXPECT_EQ(operators_of(graph), (Names{"exp", "layer_norm"}));
  EXPECT_EQ(graph.num_parameters(), 16);
  EXPECT_EQ(normalized(tensorflow_norm(false)).nodes.size(), tensorflow_norm(false).nodes.size());
}

TEST(NormalizeNorms, BatchNormBehindAConvolution) {
  const auto build = [](const Shape& scale, const Shape& bias, bool last, Id first) {
    GraphMaker net;
    const Shape shape = last ? Shape{2, 8, 8, 4} : Shape{2, 4, 8, 8};
    GraphMaker::Settings settings;
    if (last) settings = {{"channels_last", std::int64_t{1}}, {"filter", std::string("HWIO")}};
    const auto weight = net.weight(last ? Shape{1, 1, 3, 4} : Shape{4, 3, 1, 1});
    auto x = net.input(last ? Shape{2, 8, 8, 3} : Shape{2, 3, 8, 8});
    x = first == Id::conv ? net.node(Id::conv, {x, weight}, shape, settings)
                          : net.node(first, {net.input(shape)}, shape);
    x = net.node(Id::mul, {x, net.weight(scale)}, shape);
    return normalized(net.build({net.node(Id::add, {net.weight(bias), x}, shape)}));
  };
  const Graph graph = build({1, 4, 1, 1}, {4, 1, 1}, false, Id::conv);
  EXPECT_EQ(operators_of(graph), (Names{"conv", "batch_norm"}));
  EXPECT_EQ(graph.num_parameters(), 12 + 8);
  EXPECT_EQ(operators_of(build({4}, {1, 1, 1, 4}, true, Id::conv)), (Names{"conv", "batch_norm"}));
  EXPECT_EQ(operators_of(build({8}, {4, 1, 1}, false, Id::conv)), (Names{"conv", "mul", "add"}));
  EXPECT_EQ(operators_of(build({4, 1, 1}, {1}, false, Id::conv)), (Names{"conv", "mul", "add"}));
  EXPECT_EQ(operators_of(build({4, 1, 1}, {4, 1, 1}, false, Id::relu)), (Names{"relu", "mul", "add"}));
}

}  // namespace
}  // namespace latpred::testing
