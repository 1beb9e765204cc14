#include "latpred/normalize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include "normalize/prune.h"
#include "normalized.h"

namespace latpred::testing {
namespace {

using Id = OperatorId;
using Settings = GraphMaker::Settings;

const Shape kShape{2, 3, 4};

TEST(Normalize, RulesHaveDifferentNames) {
  std::set<std::string_view> names;
  for (const NormalizationRule& rule : normalization_rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_FALSE(rule.description.empty());
  }
  EXPECT_GE(names.size(), 9U);
}

TEST(Normalize, ReadersRememberAConversionThatGoes) {
  GraphMaker net;
  const auto x = net.input(kShape);
  const auto converted = net.node(Id::identity, {x}, kShape, {{"converts", Shape{0}}});
  const auto same = net.node(Id::flatten, {converted}, kShape);
  const Graph graph = normalize(net.build({net.node(Id::add, {x, same}, kShape), net.node(Id::exp, {x}, kShape)}));
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.nodes[0].attributes.integers("converts", {}), Shape{1});
  EXPECT_FALSE(graph.nodes[1].attributes.has("converts"));
}

TEST(Normalize, LeavesWhatItDoesNotKnow) {
  GraphMaker net;
  const auto x = net.input(kShape);
  EXPECT_EQ(left_of(net, {net.node(Id::exp, {net.node(Id::sqrt, {x}, kShape)}, kShape)}), (Names{"sqrt", "exp"}));
}

struct NoOperation {
  Id op;
  Settings settings = {};
  std::vector<std::int64_t> parameter = {};  // input 1, where there is one
};

TEST(Normalize, DropsWhatDoesNothing) {
  const std::vector<NoOperation> cases{
      {Id::identity},
      {Id::dropout},
      {Id::cast, {{"to", std::int64_t{1}}}},
      {Id::reshape, {}, {2, 3, 4}},
      {Id::flatten},
      {Id::squeeze},
      {Id::expand, {}, {1, 3, 4}},
      {Id::slice, {{"starts", Shape{0}}, {"ends", Shape{3}}, {"axes", Shape{1}}}},
      {Id::pad, {}, {0, 0, 0, 0, 0, 0}},
      {Id::tile, {}, {1, 1, 1}},
      {Id::transpose, {{"perm", Shape{0, 1, 2}}}},
      {Id::concat, {{"axis", std::int64_t{1}}}},
      {Id::sum},
      {Id::max},
      {Id::split},
  };
  for (const NoOperation& row : cases) {
    SCOPED_TRACE(operator_row(row.op).name);
    GraphMaker net;
    std::vector<TensorId> inputs{net.node(Id::exp, {net.input(kShape)}, kShape)};
    if (!row.parameter.empty()) inputs.push_back(net.integers(row.parameter));
    const auto y = net.node(row.op, inputs, kShape, row.settings);
    EXPECT_EQ(left_of(net, {net.node(Id::sqrt, {y}, kShape)}), (Names{"exp", "sqrt"}));
  }
}

TEST(Normalize, KeepsWhatOnlyLooksLikeNothing) {
  const std::vector<NoOperation> cases{
      {Id::slice, {{"starts", Shape{-1}}, {"ends", Shape{-9}}, {"axes", Shape{1}}, {"steps", Shape{-1}}}},
      {Id::pad, {}, {0, 1, 0, 0, -1, 0}},
      {Id::pad},  // nobody knows
      {Id::relu},
      {Id::roll},
  };
  for (const NoOperation& row : cases) {
    SCOPED_TRACE(operator_row(row.op).name);
    GraphMaker net;
    std::vector<TensorId> inputs{net.input(kShape)};
    if (!row.parameter.empty()) inputs.push_back(net.integers(row.parameter));
    EXPECT_EQ(left_of(net, {net.node(row.op, inputs, kShape, row.settings)}).size(), 1U);
  }
  GraphMaker square;
  const auto x = square.input({2, 3, 3});
  EXPECT_EQ(left_of(square, {square.node(Id::transpose, {x}, {2, 3, 3}, {{"perm", Shape{0, 2, 1}}})}).size(), 1U);
  GraphMaker half;
  const auto y = half.node(Id::cast, {half.input(kShape)}, kShape, {}, DType::float16);
  EXPECT_EQ(left_of(half, {y}).size(), 1U);
}

TEST(Normalize, TransposesOfSingleElementsAreNothing) {
  GraphMaker net;
  const auto x = net.node(Id::exp, {net.input({1, 1, 3})}, {1, 1, 3});
  EXPECT_EQ(left_of(net, {net.node(Id::transpose, {x}, {1, 1, 3}, {{"perm", Shape{1, 0, 2}}})}), (Names{"exp"}));
}

TEST(Normalize, KeepsMasksThatAreRead) {
  GraphMaker net;
  const auto y = net.nodes(Id::dropout, {net.input(kShape)}, {kShape, kShape});
  EXPECT_EQ(left_of(net, {net.node(Id::add, y, kShape)}), (Names{"dropout", "add"}));
}

TEST(Normalize, KeepsTheNamesOfOutputs) {
  {
    GraphMaker net;  // the identity's output is the graph's: exp gets its name
    const auto x = net.node(Id::exp, {net.input(kShape)}, kShape);
    EXPECT_EQ(left_of(net, {net.node(Id::identity, {x}, kShape)}), (Names{"exp"}));
  }
  {
    GraphMaker net;  // an input cannot be renamed
    EXPECT_EQ(left_of(net, {net.node(Id::identity, {net.input(kShape)}, kShape)}), (Names{"identity"}));
  }
  {
    GraphMaker net;  // both are outputs
    const auto x = net.node(Id::exp, {net.input(kShape)}, kShape);
    EXPECT_EQ(left_of(net, {x, net.node(Id::identity, {x}, kShape)}), (Names{"exp", "identity"}));
  }
  {
    GraphMaker net;  // two names for one tensor: only one can take its place
    const auto x = net.node(Id::exp, {net.input(kShape)}, kShape);
    const auto y = net.node(Id::identity, {x}, kShape);
    EXPECT_EQ(left_of(net, {y, net.node(Id::identity, {x}, kShape)}), (Names{"exp", "identity"}));
  }
}

TEST(Normalize, ChainsOfNothing) {
  GraphMaker net;
  auto x = net.input(kShape);
  for (int i = 0; i < 1000; ++i) x = net.node(Id::identity, {x}, kShape);
  EXPECT_EQ(left_of(net, {net.node(Id::relu, {x}, kShape)}), (Names{"relu"}));
}

Graph from(GraphMaker& net, TensorId output, const std::string& framework) {
  Graph graph = net.build({output});
  auto program = std::make_shared<Program>();
  program->source.framework = framework;
  graph.program = program;
  return graph;
}

TEST(Normalize, LeavesWhatIsExecutedAsWritten) {
  for (const std::string framework : {"pytorch", "builder", "onnx", "tensorflow"}) {
    SCOPED_TRACE(framework);
    GraphMaker net;
    const auto x = net.node(Id::identity, {net.input(kShape)}, kShape);
    const auto y = net.node(Id::mul, {x, net.node(Id::sigmoid, {x}, kShape)}, kShape);
    const auto z = net.node(Id::pad, {y, net.integers({0, 0, 0, 0, 0, 0})}, kShape);
    const bool as_written = framework == "pytorch" || framework == "builder";
    EXPECT_EQ(operators_of(normalized(from(net, z, framework))),
              as_written ? (Names{"sigmoid", "mul", "pad"}) : (Names{"silu"}));
  }
}

TEST(Normalize, KeepsCopiesThatAreExecuted) {
  for (const std::string attribute : {"copy", "contiguous"}) {
    for (const std::string framework : {"pytorch", "keras"}) {
      GraphMaker net;
      const auto x = net.node(Id::exp, {net.input(kShape)}, kShape);
      const auto y = net.node(Id::identity, {x}, kShape, {{attribute, std::int64_t{1}}});
      EXPECT_EQ(normalized(from(net, y, framework)).nodes.size(), framework == "pytorch" ? 2U : 1U);
    }
  }
}

TEST(Normalize, TransposesOfTransposes) {
  {
    GraphMaker net;
    const auto x = net.input({2, 3, 4, 5});
    const auto y = net.node(Id::transpose, {x}, {2, 4, 5, 3}, {{"perm", Shape{0, 2, 3, 1}}});
    const auto z = net.node(Id::transpose, {y}, {2, 3, 4, 5}, {{"perm", Shape{0, 3, 1, 2}}});
    EXPECT_EQ(left_of(net, {net.node(Id::relu, {z}, {2, 3, 4, 5})}), (Names{"relu"}));
  }
  {
    GraphMaker net;
    const auto x = net.input({2, 3, 4, 5});
    const auto y = net.node(Id::transpose, {x}, {2, 4, 5, 3}, {{"perm", Shape{0, 2, 3, 1}}});
    const auto z = net.node(Id::transpose, {y}, {3, 2, 4, 5}, {{"perm", Shape{3, 0, 1, 2}}});
    const Graph graph = normalized(net.build({z}));
    ASSERT_EQ(graph.nodes.size(), 1U);
    EXPECT_EQ(graph.nodes[0].attributes.integers("perm"), (Shape{1, 0, 2, 3}));
  }
  {
    GraphMaker net;  // the first one is read elsewhere too
    const auto x = net.input({2, 3, 4, 5});
    const auto y = net.node(Id::transpose, {x}, {2, 4, 5, 3}, {{"perm", Shape{0, 2, 3, 1}}});
    const auto z = net.node(Id::transpose, {y}, {3, 2, 4, 5}, {{"perm", Shape{3, 0, 1, 2}}});
    EXPECT_EQ(left_of(net, {z, net.node(Id::relu, {y}, {2, 4, 5, 3})}).size(), 3U);
  }
}

// An NHWC image, turned for what `add_body` puts in, and turned back.
template <typename Body>
Graph turned(Body add_body, const Shape& result) {
  GraphMaker net;
  const auto x = net.input({2, 8, 8, 3});
  const auto first = net.node(Id::transpose, {x}, {2, 3, 8, 8}, {{"perm", Shape{0, 3, 1, 2}}});
  const auto y = add_body(net, first);
  const Shape last{result[0], result[2], result[3], result[1]};
  return normalized(net.build({net.node(Id::transpose, {y}, last, {{"perm", Shape{0, 2, 3, 1}}})}));
}

TEST(Normalize, TurnedConvolution) {
  const auto body = [](GraphMaker& net, TensorId x) {
    return net.node(Id::conv, {x, net.weight({16, 3, 3, 3})}, {2, 16, 6, 6});
  };
  const Graph graph = turned(body, {2, 16, 6, 6});
  ASSERT_EQ(operators_of(graph), (Names{"conv"}));
  EXPECT_EQ(graph.nodes[0].attributes.integer("channels_last", 0), 1);
  EXPECT_EQ(graph.nodes[0].cost.macs, 2.0 * 36 * 16 * 27);
}

TEST(Normalize, TurnedBlock) {
  const auto body = [](GraphMaker& net, TensorId x) {
    const Shape shape{2, 16, 8, 8};
    const auto y = net.node(Id::conv, {x, net.weight({16, 3, 1, 1})}, shape);
    const auto z =
        net.node(Id::batch_norm, {y, net.weight({16}), net.weight({16}), net.weight({16}), net.weight({16})}, shape);
    const auto gate = net.node(Id::relu, {z}, shape);
    return net.node(Id::max_pool, {net.node(Id::add, {y, gate}, shape)}, {2, 16, 4, 4},
                    {{"kernel_shape", Shape{2, 2}}, {"strides", Shape{2, 2}}});
  };
  EXPECT_EQ(operators_of(turned(body, {2, 16, 4, 4})), (Names{"conv", "batch_norm", "relu", "add", "max_pool"}));
}

TEST(Normalize, KeepsTurnsThatSomethingNeeds) {
  const auto softmax = [](GraphMaker& net, TensorId x) {
    return net.node(Id::softmax, {x}, {2, 3, 8, 8}, {{"axis", std::int64_t{1}}});
  };
  EXPECT_EQ(turned(softmax, {2, 3, 8, 8}).nodes.size(), 3U);
  const auto other_operand = [](GraphMaker& net, TensorId x) {
    return net.node(Id::add, {x, net.input({2, 3, 8, 8})}, {2, 3, 8, 8});
  };
  EXPECT_EQ(turned(other_operand, {2, 3, 8, 8}).nodes.size(), 3U);
  const auto per_channel = [](GraphMaker& net, TensorId x) {
    return net.node(Id::mul, {x, net.weight({3, 1, 1})}, {2, 3, 8, 8});
  };
  EXPECT_EQ(turned(per_channel, {2, 3, 8, 8}).nodes.size(), 3U);
  GraphMaker net;  // never turned back
  const auto x = net.node(Id::transpose, {net.input({2, 8, 8, 3})}, {2, 3, 8, 8}, {{"perm", Shape{0, 3, 1, 2}}});
  EXPECT_EQ(left_of(net, {net.node(Id::conv, {x, net.weight({4, 3, 1, 1})}, {2, 4, 8, 8})}).size(), 2U);
}

// Every dimension has the same size, so that any operator fits behind any other.
Graph random_graph(unsigned seed) {
  constexpr std::int64_t kSize = 4;
  const Shape shape(4, kSize);
  std::mt19937 random(seed);
  const auto below = [&](std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
  };
  GraphMaker net;
  std::vector<TensorId> made{net.input(shape), net.input(shape)};
  const auto any = [&] { return made[made.size() - 1 - below(std::min<std::size_t>(made.size(), 4))]; };
  const std::vector<double> numbers{0.5, 1, 2, 3, 6, 1.702, 1.41421356, 0.044715};
  const std::vector<Shape> orders{{0, 2, 3, 1}, {0, 3, 1, 2}, {0, 1, 3, 2}, {0, 2, 1, 3}};
  for (std::size_t count = 5 + below(40); count > 0; --count) {
    const TensorId x = any();
    switch (below(13)) {
      case 0:
        made.push_back(net.node(Id::identity, {x}, shape));
        break;
      case 1:
      case 2:
        made.push_back(net.node(Id::transpose, {x}, shape, {{"perm", orders[below(orders.size())]}}));
        break;
      case 3:
        made.push_back(net.node(Id::sigmoid, {x}, shape));
        break;
      case 4:
        made.push_back(net.node(below(2) == 0 ? Id::mul : Id::add, {x, any()}, shape));
        break;
      case 5:
        made.push_back(
            net.node(below(2) == 0 ? Id::mul : Id::add, {x, net.number(numbers[below(numbers.size())])}, shape));
        break;
      case 6:
        made.push_back(net.node(Id::softmax, {x}, shape, {{"axis", std::int64_t{-1}}}));
        break;
      case 7:
        made.push_back(net.node(Id::matmul, {x, any()}, shape));
        break;
      case 8:
        made.push_back(net.node(Id::conv, {x, net.weight({kSize, kSize, 1, 1})}, shape));
        break;
      case 9:
        made.push_back(net.node(
            Id::dequantize_linear,
            {net.node(Id::quantize_linear, {x, net.number(0.1)}, shape, {}, DType::int8), net.number(0.1)}, shape));
        break;
      case 10:
        made.push_back(net.node(Id::mul, {x, net.node(Id::sigmoid, {x}, shape)}, shape));
        break;
      case 11: {
        const auto k = net.node(Id::transpose, {any()}, shape, {{"perm", orders[2]}});
        const auto p = net.node(Id::softmax, {net.node(Id::matmul, {x, k}, shape)}, shape);
        made.push_back(net.node(Id::matmul, {p, any()}, shape));
        break;
      }
      default: {
        const auto scaled = net.node(Id::mul, {x, net.weight({kSize, 1, 1})}, shape);
        made.push_back(net.node(Id::add, {scaled, net.weight({kSize, 1, 1})}, shape));
      }
    }
  }
  std::vector<TensorId> outputs{made.back()};
  if (below(2) == 0) outputs.push_back(any());
  if (outputs.back() == outputs.front()) outputs.resize(1);
  Graph graph = net.build(outputs);
  prune(graph);  // as resolve does
  return graph;
}

TEST(Normalize, RandomGraphsKeepTheirProducts) {
  std::size_t num_before = 0;
  std::size_t num_after = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    const Graph before = random_graph(seed);
    const Graph after = normalized(before);
    num_before += before.nodes.size();
    num_after += after.nodes.size();
    // Twice is once.
    EXPECT_EQ(normalized(after).macs(), after.macs());
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_LT(num_after, num_before);
}

}  // namespace
}  // namespace latpred::testing
