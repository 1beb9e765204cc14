#include <gtest/gtest.h>

#include <algorithm>

#include "graph_maker.h"
#include "latpred/error.h"

namespace latpred::testing {
namespace {

using enum OperatorId;

const AttributeValue kYes = std::int64_t{1};

struct Counted {
  Cost cost;
  Gemm gemm;
};

// One node: its inputs are made by `inputs`, which gets the maker.
template <typename Inputs>
Counted count(OperatorId op, Inputs inputs, const std::vector<Shape>& outputs,
              const GraphMaker::Settings& settings = {}, const std::string& source = "") {
  GraphMaker maker;
  Graph graph = maker.build(maker.nodes(unknown, inputs(maker), outputs, settings));
  graph.nodes[0].op = op;
  graph.nodes[0].source_operator = source;
  return {cost_of(graph, graph.nodes[0]), gemm_of(graph, graph.nodes[0])};
}

void expect_gemm(const Gemm& gemm, double batch, double m, double n, double k) {
  EXPECT_EQ(gemm.batch, batch);
  EXPECT_EQ(gemm.m, m);
  EXPECT_EQ(gemm.n, n);
  EXPECT_EQ(gemm.k, k);
}

// ResNet's first convolution, by hand: 64 x 112 x 112 outputs of 3 x 7 x 7 products each.
TEST(Cost, convolution) {
  const auto inputs = [](GraphMaker& g) {
    return std::vector{g.input({1, 3, 224, 224}), g.weight({64, 3, 7, 7}), g.weight({64})};
  };
  const auto [cost, gemm] = count(conv, inputs, {{1, 64, 112, 112}});
  EXPECT_EQ(cost.macs, 118013952);
  EXPECT_EQ(cost.flops, 2.0 * 118013952 + 802816);  // and one addition of the bias for each output
  EXPECT_EQ(cost.bytes_in, 3 * 224 * 224 * 4);
  EXPECT_EQ(cost.bytes_out, 64 * 112 * 112 * 4);
  EXPECT_EQ(cost.weight_bytes, (64 * 3 * 7 * 7 + 64) * 4);
  expect_gemm(gemm, 1, 112 * 112, 64, 3 * 7 * 7);
}

TEST(Cost, grouped_convolution_counts_its_groups) {
  const auto inputs = [](GraphMaker& g) { return std::vector{g.input({2, 8, 10, 10}), g.weight({16, 2, 3, 3})}; };
  const auto [cost, gemm] = count(conv, inputs, {{2, 16, 8, 8}}, {{"group", std::int64_t{4}}});
  EXPECT_EQ(cost.macs, 2 * 16 * 64 * (2 * 9));
  EXPECT_EQ(cost.flops, 2 * cost.macs);
  expect_gemm(gemm, 4, 2 * 64, 4, 2 * 9);
}

// Every input position is multiplied with the whole window: 2 x 5 x 5 x 6 x 9.
TEST(Cost, transposed_convolution) {
  const auto inputs = [](GraphMaker& g) { return std::vector{g.input({1, 2, 5, 5}), g.weight({2, 6, 3, 3})}; };
  const auto [cost, gemm] = count(conv_transpose, inputs, {{1, 6, 11, 11}}, {{"strides", Shape{2, 2}}});
  EXPECT_EQ(cost.macs, 2 * 25 * 6 * 9);
  expect_gemm(gemm, 1, 25, 6 * 9, 2);
}

TEST(Cost, three_dimensional_and_causal_convolutions) {
  const auto cube = [](GraphMaker& g) { return std::vector{g.input({1, 2, 8, 9, 10}), g.weight({4, 2, 2, 3, 4})}; };
  EXPECT_EQ(count(conv, cube, {{1, 4, 7, 7, 7}}).cost.macs, 4 * 343 * 2 * 24);
  const auto causal = [](GraphMaker& g) { return std::vector{g.input({2, 8, 16}), g.weight({8, 1, 4})}; };
  EXPECT_EQ(count(causal_conv_with_state, causal, {{2, 8, 16}, {2, 8, 3}}).cost.macs, 2 * 8 * 16 * 4);
}

TEST(Cost, gemm_with_its_bias) {
  const auto inputs = [](GraphMaker& g) {
    return std::vector{g.input({8, 2048}), g.weight({1000, 2048}), g.weight({1000})};
  };
  const auto [cost, gemm] = count(OperatorId::gemm, inputs, {{8, 1000}}, {{"transB", kYes}});
  EXPECT_EQ(cost.macs, 8.0 * 2048 * 1000);
  EXPECT_EQ(cost.flops, 2 * cost.macs + 8000);
  expect_gemm(gemm, 1, 8, 1000, 2048);
}

TEST(Cost, products_of_batches) {
  const auto shared = [](GraphMaker& g) { return std::vector{g.input({4, 10, 64}), g.weight({64, 32})}; };
  expect_gemm(count(matmul, shared, {{4, 10, 32}}).gemm, 1, 40, 32, 64);
  const auto heads = [](GraphMaker& g) { return std::vector{g.input({2, 8, 10, 64}), g.input({2, 1, 64, 20})}; };
  const auto [cost, gemm] = count(matmul, heads, {{2, 8, 10, 20}});
  expect_gemm(gemm, 16, 10, 20, 64);
  EXPECT_EQ(cost.macs, 16 * 10 * 20 * 64);
  const auto vectors = [](GraphMaker& g) { return std::vector{g.input({64}), g.input({64})}; };
  expect_gemm(count(matmul, vectors, {Shape{}}).gemm, 1, 1, 1, 64);
  const auto inside = [](GraphMaker& g) { return std::vector{g.input({3, 2, 4}), g.input({4, 2, 5})}; };
  expect_gemm(count(fused_matmul, inside, {{2, 3, 5}}, {{"transBatchA", kYes}, {"transBatchB", kYes}}).gemm, 2, 3, 5,
              4);
  const auto dense = [](GraphMaker& g) { return std::vector{g.input({2, 7, 4}), g.weight({5, 4})}; };
  expect_gemm(count(linear, dense, {{2, 7, 5}}).gemm, 1, 14, 5, 4);
}

// 4-bit weights: [32, 2 blocks, 16 bytes] and a scale for each block.
TEST(Cost, weights_of_few_bits) {
  GraphMaker maker;
  const TensorId x = maker.input({9, 64});
  const TensorId w = maker.weight({32, 2, 16}, DType::uint8);
  const TensorId scales = maker.weight({64});
  const TensorId y =
      maker.node(matmul_nbits, {x, w, scales}, {9, 32}, {{"N", std::int64_t{32}}, {"K", std::int64_t{64}}});
  const Graph graph = maker.build({y});
  EXPECT_EQ(graph.nodes[0].cost.macs, 9 * 32 * 64);
  EXPECT_EQ(graph.nodes[0].cost.weight_bytes, 32 * 2 * 16 + 64 * 4);
}

TEST(Cost, einsum) {
  const auto inputs = [](GraphMaker& g) { return std::vector{g.input({2, 5, 8, 64}), g.input({2, 6, 8, 64})}; };
  const auto [cost, gemm] = count(einsum, inputs, {{2, 8, 5, 6}}, {{"equation", std::string("bqhd,bkhd->bhqk")}});
  expect_gemm(gemm, 16, 5, 6, 64);
  EXPECT_EQ(cost.macs, 16 * 5 * 6 * 64);
  const auto one = [](GraphMaker& g) { return std::vector{g.input({3, 4})}; };
  const Cost sum = count(einsum, one, {Shape{3}}, {{"equation", std::string("ij->i")}}).cost;
  EXPECT_EQ(sum.macs, 0);
  EXPECT_EQ(sum.flops, 12);
}

// Queries [2, 8 heads, 16, 64] against 16 + 48 keys: scores and values, each 2 x 8 x 16 x 64 x 64.
TEST(Cost, attention_counts_the_whole_key_length) {
  const auto inputs = [](GraphMaker& g) {
    return std::vector{g.input({2, 8, 16, 64}), g.input({2, 2, 16, 64}), g.input({2, 2, 16, 64}), kAbsent,
                       g.input({2, 2, 48, 64}), g.input({2, 2, 48, 64})};
  };
  const auto [cost, gemm] = count(attention, inputs, {{2, 8, 16, 64}, {2, 2, 64, 64}, {2, 2, 64, 64}});
  EXPECT_EQ(cost.macs, 2.0 * (2 * 8 * 16 * 64 * 64));
  EXPECT_EQ(cost.flops, 2 * cost.macs + 6.0 * (2 * 8 * 16 * 64));  // scale and softmax of each score
  expect_gemm(gemm, 16, 16, 64, 64);
}

TEST(Cost, contributed_attention_counts_its_projection) {
  const auto inputs = [](GraphMaker& g) {
    return std::vector{g.input({1, 10, 32}), g.weight({32, 96}), g.weight({96})};
  };
  const auto [cost, gemm] =
      count(attention, inputs, {{1, 10, 32}}, {{"num_heads", std::int64_t{4}}}, "com.microsoft::Attention");
  EXPECT_EQ(cost.macs, 10 * 32 * 96 + 2 * (4 * 10 * 10 * 8));
  expect_gemm(gemm, 1, 10, 96, 32);  // the largest product stands for the node
}

TEST(Cost, grouped_queries_read_the_cache_that_is_there) {
  const auto inputs = [](GraphMaker& g) {
    return std::vector{g.input({1, 1, 8 * 64}), g.input({1, 1, 2 * 64}), g.input({1, 1, 2 * 64}),
                       g.input({1, 2, 99, 64}), g.input({1, 2, 99, 64})};
  };
  GraphMaker::Settings settings{{"num_heads", std::int64_t{8}}, {"kv_num_heads", std::int64_t{2}}};
  const auto macs = [&] {
    return count(group_query_attention, inputs, {{1, 1, 512}, {1, 2, 100, 64}, {1, 2, 100, 64}}, settings).cost.macs;
  };
  EXPECT_EQ(macs(), 2 * 8 * 1 * 100 * 64);
  settings.emplace_back("local_window_size", std::int64_t{16});
  EXPECT_EQ(macs(), 2 * 8 * 1 * 16 * 64);
}

// Four gates of 20, input 10 and state 20, 7 steps of a batch of 3, both ways.
TEST(Cost, recurrent) {
  const auto inputs = [](GraphMaker& g) {
    return std::vector{g.input({7, 3, 10}), g.weight({2, 80, 10}), g.weight({2, 80, 20})};
  };
  const GraphMaker::Settings settings{{"hidden_size", std::int64_t{20}}, {"direction", std::string("bidirectional")}};
  const auto [cost, gemm] = count(lstm, inputs, {{7, 2, 3, 20}}, settings);
  EXPECT_EQ(cost.macs, 7 * 2 * 3 * 80 * 30);
  expect_gemm(gemm, 14, 3, 80, 30);
}

TEST(Cost, elementwise) {
  const auto two = [](GraphMaker& g) { return std::vector{g.input({2, 3}), g.input({3})}; };
  const Cost sum = count(add, two, {{2, 3}}).cost;
  EXPECT_EQ(sum.macs, 0);
  EXPECT_EQ(sum.flops, 6);
  EXPECT_EQ(sum.bytes_in, (6 + 3) * 4);
  EXPECT_EQ(sum.bytes_out, 6 * 4);
  const auto three = [](GraphMaker& g) { return std::vector{g.input({6}), g.input({6}), g.input({6})}; };
  EXPECT_EQ(count(OperatorId::sum, three, {Shape{6}}).cost.flops, 12);
  const auto one = [](GraphMaker& g) { return std::vector{g.input({6})}; };
  EXPECT_EQ(count(gelu, one, {Shape{6}}).cost.flops, 24);
  const auto twice = [](GraphMaker& g) {
    const TensorId x = g.input({6});
    return std::vector{x, x};
  };
  EXPECT_EQ(count(mul, twice, {Shape{6}}).cost.bytes_in, 24);  // read once
}

TEST(Cost, pools_and_reductions_count_what_they_fold) {
  const auto image = [](GraphMaker& g) { return std::vector{g.input({1, 4, 8, 8})}; };
  EXPECT_EQ(count(max_pool, image, {{1, 4, 4, 4}}, {{"kernel_shape", Shape{3, 3}}}).cost.flops, 64 * 9);
  EXPECT_EQ(count(global_average_pool, image, {{1, 4, 1, 1}}).cost.flops, 256);
  EXPECT_EQ(count(reduce_mean, image, {{1, 4, 1, 1}}).cost.flops, 256);
  EXPECT_EQ(count(softmax, image, {{1, 4, 8, 8}}).cost.flops, 5 * 256);
  EXPECT_EQ(count(resize, image, {{1, 4, 16, 16}}, {{"mode", std::string("nearest")}}).cost.flops, 0);
  EXPECT_EQ(count(resize, image, {{1, 4, 16, 16}}, {{"mode", std::string("linear")}}).cost.flops, 4 * 1024);
}

TEST(Cost, views_move_nothing) {
  const auto image = [](GraphMaker& g) { return std::vector{g.input({1, 4, 8, 8})}; };
  const Cost cost = count(reshape, image, {{1, 256}}).cost;
  EXPECT_EQ(cost.flops, 0);
  EXPECT_EQ(cost.bytes_in + cost.bytes_out, 0);
}

// Of a table of 50000 words only the ten that are asked for are read.
TEST(Cost, gather_reads_what_it_picks) {
  GraphMaker maker;
  const TensorId table = maker.weight({50000, 64});
  const TensorId ids = maker.input({10}, DType::int64);
  const Graph graph = maker.build({maker.node(gather, {table, ids}, {10, 64})});
  EXPECT_EQ(graph.nodes[0].cost.weight_bytes, 10 * 64 * 4);
  EXPECT_EQ(graph.nodes[0].cost.bytes_in, 10 * 8);
  EXPECT_EQ(graph.nodes[0].cost.bytes_out, 10 * 64 * 4);
}

TEST(Cost, classical_models_keep_weights_in_attributes) {
  const auto rows = [](GraphMaker& g) { return std::vector{g.input({6, 4})}; };
  const GraphMaker::Settings settings{{"coefficients", std::vector<double>(12, 0.5)}};
  EXPECT_EQ(count(linear_regressor, rows, {{6, 3}}, settings).cost.macs, 6 * 4 * 3);
}

TEST(Cost, hostile_sizes_are_refused) {
  GraphMaker maker;
  const TensorId a = maker.input({std::int64_t{1} << 58});
  const TensorId b = maker.input({std::int64_t{1} << 58});
  std::vector<TensorId> many(9, a);
  std::generate(many.begin(), many.end(), [&] { return maker.input({std::int64_t{1} << 58}); });
  EXPECT_NO_THROW((void)maker.node(add, {a, b}, {std::int64_t{1} << 58}));
  EXPECT_THROW((void)maker.node(OperatorId::sum, many, {std::int64_t{1} << 58}), ShapeError);
}

TEST(Cost, unknown_operators_count_as_memory_traffic) {
  const auto one = [](GraphMaker& g) { return std::vector{g.input({6})}; };
  const Cost cost = count(unknown, one, {Shape{6}}).cost;
  EXPECT_EQ(cost.macs, 0);
  EXPECT_EQ(cost.bytes_in + cost.bytes_out, 48);
}

}  // namespace
}  // namespace latpred::testing
