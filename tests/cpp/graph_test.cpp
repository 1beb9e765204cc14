#include "latpred/graph.h"

#include <gtest/gtest.h>

#include <memory>

#include "latpred/error.h"
#include "latpred/program.h"
#include "message_of.h"

namespace latpred {
namespace {

// x -> conv(w) -> relu -> add(conv's output): two nodes read what the first makes.
Graph small_graph() {
  Graph graph;
  graph.tensors = {{"x", DType::float32, {1, 3, 8, 8}, TensorKind::input},
                   {"w", DType::float32, {4, 3, 3, 3}, TensorKind::parameter},
                   {"c", DType::float32, {1, 4, 6, 6}},
                   {"r", DType::float32, {1, 4, 6, 6}},
                   {"y", DType::float32, {1, 4, 6, 6}}};
  graph.nodes = {{.name = "conv", .op = OperatorId::conv, .inputs = {0, 1}, .outputs = {2}},
                 {.name = "relu", .op = OperatorId::relu, .inputs = {2}, .outputs = {3}},
                 {.name = "add", .op = OperatorId::add, .inputs = {2, 3}, .outputs = {4}}};
  graph.nodes[0].attributes.set("strides", Shape{1, 1});
  graph.nodes[0].attributes.set("group", std::int64_t{1});
  graph.inputs = {0};
  graph.outputs = {4};
  return graph;
}

TEST(Graph, hash_ignores_names_and_content) {
  const Graph graph = small_graph();
  Graph renamed = graph;
  for (Tensor& tensor : renamed.tensors) tensor.name += "_b";
  for (Node& node : renamed.nodes) {
    node.name += "_b";
    node.source_operator = "Whatever";
  }
  EXPECT_EQ(renamed.hash(), graph.hash());
  EXPECT_EQ(small_graph().hash(), graph.hash());
}

TEST(Graph, hash_ignores_the_order_of_tensors_and_attributes) {
  Graph graph = small_graph();
  const std::uint64_t before = graph.hash();
  std::swap(graph.tensors[2], graph.tensors[4]);
  for (Node& node : graph.nodes) {
    for (auto* ids : {&node.inputs, &node.outputs}) {
      for (TensorId& id : *ids) id = id == 2 ? 4 : id == 4 ? 2 : id;
    }
  }
  graph.outputs = {2};
  Attributes reversed;
  reversed.set("group", std::int64_t{1});
  reversed.set("strides", Shape{1, 1});
  graph.nodes[0].attributes = reversed;
  graph.tensors.push_back({"unused", DType::int64, {7}, TensorKind::constant});
  EXPECT_EQ(graph.hash(), before);
}

TEST(Graph, hash_tells_networks_apart) {
  const std::uint64_t before = small_graph().hash();
  const auto changed = [&](auto change) {
    Graph graph = small_graph();
    change(graph);
    return graph.hash() != before;
  };
  EXPECT_TRUE(changed([](Graph& g) { g.tensors[0].shape[0] = 2; }));  // the batch
  EXPECT_TRUE(changed([](Graph& g) { g.tensors[1].shape[0] = 8; }));
  EXPECT_TRUE(changed([](Graph& g) { g.tensors[0].dtype = DType::float16; }));
  EXPECT_TRUE(changed([](Graph& g) { g.nodes[1].op = OperatorId::gelu; }));
  EXPECT_TRUE(changed([](Graph& g) { g.nodes[0].attributes.set("strides", Shape{2, 2}); }));
  EXPECT_TRUE(changed([](Graph& g) { g.nodes[0].attributes.set("dilations", Shape{1, 1}); }));
  EXPECT_TRUE(changed([](Graph& g) { g.nodes[2].inputs = {3, 2}; }));
  EXPECT_TRUE(changed([](Graph& g) { g.nodes[0].repeat = 2; }));
  EXPECT_TRUE(changed([](Graph& g) { g.outputs = {3}; }));
  EXPECT_TRUE(changed([](Graph& g) { g.nodes[2].inputs = {2, kAbsent}; }));
  EXPECT_TRUE(changed([](Graph& g) { g.tensors[1].kind = TensorKind::constant; }));
}

TEST(Graph, hash_tells_memory_formats_apart) {
  Graph graph = small_graph();
  const std::uint64_t before = graph.hash();
  Program program;
  graph.program = std::make_shared<const Program>(program);
  EXPECT_EQ(graph.hash(), before);
  const Graph last = with_channels_last(graph);
  EXPECT_TRUE(last.channels_last());
  EXPECT_NE(last.hash(), before);
  EXPECT_EQ(with_channels_last(last).program, last.program);
  EXPECT_FALSE(graph.channels_last());
  EXPECT_THROW(static_cast<void>(with_channels_last(small_graph())), InvalidArgumentError);
}

TEST(Graph, hash_is_the_same_on_every_machine) { EXPECT_EQ(Graph{}.hash(), 0xcbf29ce484222325ULL); }

TEST(Graph, hash_tells_unknown_operators_apart) {
  Graph graph = small_graph();
  graph.nodes[1].op = OperatorId::unknown;
  graph.nodes[1].source_operator = "A";
  const std::uint64_t a = graph.hash();
  graph.nodes[1].source_operator = "B";
  EXPECT_NE(graph.hash(), a);
}

TEST(Graph, adjacency_is_sorted_with_each_pair_once) {
  using Edges = std::vector<std::pair<NodeId, NodeId>>;
  EXPECT_EQ(small_graph().adjacency(), (Edges{{0, 1}, {0, 2}, {1, 2}}));
  Graph graph = small_graph();
  graph.nodes[2].inputs = {3, 3};
  EXPECT_EQ(graph.adjacency(), (Edges{{0, 1}, {1, 2}}));
  EXPECT_TRUE(Graph{}.adjacency().empty());
}

TEST(Graph, sums) {
  Graph graph = small_graph();
  graph.tensors.push_back({"mean", DType::float32, {4}, TensorKind::statistic});
  graph.tensors.push_back({"unread", DType::float32, {1000}, TensorKind::parameter});
  graph.nodes[1].inputs.push_back(5);
  graph.nodes[2].inputs.push_back(1);  // a shared weight counts once
  graph.nodes[0].cost = {.macs = 100, .flops = 210};
  graph.nodes[1].cost = {.macs = 0, .flops = 5};
  graph.nodes[1].repeat = 3;
  EXPECT_EQ(graph.macs(), 100);
  EXPECT_EQ(graph.flops(), 225);
  EXPECT_EQ(graph.num_parameters(), 108);
  EXPECT_EQ(graph.num_statistics(), 4);
  EXPECT_EQ(graph.weight_bytes(), (108 + 4) * 4);
}

TEST(Graph, tensors_know_their_size) {
  EXPECT_EQ((Tensor{"x", DType::float16, {2, 3}}).size_bytes(), 12);
  EXPECT_EQ((Tensor{"x", DType::int4, {3}}).size_bytes(), 2);
  EXPECT_EQ((Tensor{"x", DType::float32, {}}).num_elements(), 1);
  EXPECT_EQ((Tensor{"x", DType::float32, {0, 5}}).size_bytes(), 0);
  const Tensor huge{"x", DType::float32, {std::int64_t{1} << 40, std::int64_t{1} << 40}};
  EXPECT_THROW((void)huge.num_elements(), ShapeError);
}

TEST(Graph, check_names_the_first_fault) {
  const auto fault = [](auto change) {
    Graph graph = small_graph();
    change(graph);
    return testing::message_of<ShapeError>([&] { check(graph); });
  };
  EXPECT_NO_THROW(check(small_graph()));
  EXPECT_EQ(fault([](Graph& g) { std::swap(g.nodes[0], g.nodes[1]); }),
            "node 'relu': reads 'c' before anything makes it");
  EXPECT_EQ(fault([](Graph& g) { g.nodes[2].outputs = {3}; }), "node 'add': makes 'r', which exists already");
  EXPECT_EQ(fault([](Graph& g) { g.nodes[2].outputs = {1}; }), "node 'add': makes 'w', which exists already");
  EXPECT_EQ(fault([](Graph& g) { g.nodes[1].inputs = {9}; }), "node 'relu': input id 9 is out of range");
  EXPECT_EQ(fault([](Graph& g) { g.nodes[1].outputs = {-7}; }), "node 'relu': output id -7 is out of range");
  EXPECT_EQ(fault([](Graph& g) { g.tensors[3].shape = {1, -1}; }), "tensor 'r' has a negative size: [1, -1]");
}

TEST(Graph, is_in_place_by_the_mark_of_pytorch) {
  EXPECT_TRUE(is_in_place("aten.add_.Tensor"));
  EXPECT_TRUE(is_in_place("aten::relu_"));
  EXPECT_FALSE(is_in_place("aten.__and__.Tensor"));
  EXPECT_FALSE(is_in_place("aten.add.Tensor"));
  EXPECT_FALSE(is_in_place("Relu"));
  EXPECT_FALSE(is_in_place("aten."));
  EXPECT_FALSE(is_in_place(""));
}

TEST(Graph, check_covers_inputs_and_outputs) {
  Graph graph = small_graph();
  graph.outputs = {12};
  EXPECT_THROW(check(graph), ShapeError);
  graph = small_graph();
  graph.inputs = {-1};
  EXPECT_THROW(check(graph), ShapeError);
  graph = small_graph();
  graph.nodes.pop_back();  // nothing makes the output any more
  EXPECT_THROW(check(graph), ShapeError);
}

}  // namespace
}  // namespace latpred
