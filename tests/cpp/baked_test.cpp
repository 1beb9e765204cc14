#include "shapes/baked.h"

#include <gtest/gtest.h>

#include <memory>

#include "latpred/error.h"
#include "latpred/shapes.h"
#include "message_of.h"

namespace latpred {
namespace {

using testing::message_of;

// A network saved at fixed sizes.
class Network {
 public:
  VariableId input(const Shape& shape) {
    const VariableId id = add({.name = "x", .dtype = DType::float32, .has_shape = true});
    for (const std::int64_t size : shape) program_.variables.back().dimensions.push_back({.size = size, .symbol = {}});
    program_.main.inputs.push_back(id);
    return id;
  }
  VariableId apply(OperatorId op, std::vector<VariableId> inputs, const std::string& name, const std::string& attribute,
                   const Shape& value) {
    const VariableId id = add({.name = name});
    Statement statement{.op = op, .source_operator = name, .name = name, .inputs = std::move(inputs), .outputs = {id}};
    if (!attribute.empty()) statement.attributes.set(attribute, value);
    program_.main.statements.push_back(std::move(statement));
    return id;
  }
  // Another attribute of the last statement.
  void set(const std::string& attribute, AttributeValue value) {
    program_.main.statements.back().attributes.set(attribute, std::move(value));
  }
  VariableId stored(const Shape& shape) {
    const VariableId id = add({.name = "weight", .dtype = DType::float32, .is_stored = true, .has_shape = true});
    for (const std::int64_t size : shape) program_.variables.back().dimensions.push_back({.size = size, .symbol = {}});
    return id;
  }
  // `input` through the branch taken of a conditional, which is `length` operators long.
  VariableId branch(VariableId input, int length) {
    const VariableId condition = add({.name = "condition", .dtype = DType::boolean, .is_stored = true});
    program_.variables.back().value =
        std::make_shared<const Value>(Value{.dtype = DType::boolean, .shape = {}, .integers = {1}, .reals = {}});
    Block body;
    for (int i = 0; i < length; ++i) {
      const VariableId id = add({.name = "in_body"});
      body.statements.push_back({.op = OperatorId::relu, .name = "relu", .inputs = {input}, .outputs = {id}});
      input = id;
    }
    body.outputs = {input};
    const VariableId result = apply(OperatorId::conditional, {condition}, "branch", "", {});
    program_.main.statements.back().bodies = {body, body};
    return result;
  }
  Graph at(VariableId output, std::int64_t batch) {
    program_.main.outputs = {output};
    program_.folds_stored = false;
    return resolve(std::make_shared<const Program>(program_), {.batch = batch});
  }

 private:
  VariableId add(Variable variable) {
    program_.variables.push_back(std::move(variable));
    return static_cast<VariableId>(program_.variables.size() - 1);
  }

  Program program_;
};

const Shape& output_shape(const Graph& graph) {
  return graph.tensors[static_cast<std::size_t>(graph.outputs[0])].shape;
}

TEST(Baked, EnlargesTensorsMadeFromNothing) {
  Network net;
  const auto x = net.input({2, 5});
  const auto zeros = net.apply(OperatorId::constant_of_shape, {}, "zeros", "shape", {2, 5});
  const auto sum = net.apply(OperatorId::add, {x, zeros}, "sum", "", {});
  EXPECT_EQ(output_shape(net.at(sum, 2)), (Shape{2, 5}));
  EXPECT_EQ(output_shape(net.at(sum, 8)), (Shape{8, 5}));
}

// A 1 broadcasts against any batch: it is taken for the batch, and said so.
TEST(Baked, TakesAFirstSizeOfOneForTheBatch) {
  Network net;
  const auto x = net.input({1, 5});
  const auto zeros = net.apply(OperatorId::constant_of_shape, {}, "zeros", "shape", {1, 5});
  net.set("may_hold_batch", std::int64_t{1});
  const auto wide = net.apply(OperatorId::exp, {zeros}, "wide", "", {});
  const auto sum = net.apply(OperatorId::add, {x, wide}, "sum", "", {});
  const Graph graph = net.at(sum, 8);
  for (const Node& node : graph.nodes) {
    EXPECT_EQ(graph.tensors[static_cast<std::size_t>(node.outputs[0])].shape, (Shape{8, 5})) << node.name;
  }
  EXPECT_EQ(graph.warnings,
            (std::vector<std::string>{"node 'zeros' (zeros): its first size 1 is taken for the batch; re-export with a "
                                      "dynamic batch dimension if it is another size"}));
}

// [2, 5] fits [1, 5] by broadcasting, at a batch of 1 and no other.
TEST(Baked, IsNotFooledByABatchOfOne) {
  Network net;
  const auto x = net.input({2, 5});
  const auto zeros = net.apply(OperatorId::constant_of_shape, {}, "zeros", "shape", {2, 5});
  const auto sum = net.apply(OperatorId::add, {x, zeros}, "sum", "", {});
  EXPECT_EQ(output_shape(net.at(sum, 1)), (Shape{1, 5}));
}

TEST(Baked, RefusesWhatFitsABatchOfOneOnly) {
  Network net;
  const auto x = net.input({2, 5});
  const auto fixed = net.apply(OperatorId::add, {x, net.stored({2, 5})}, "fixed", "", {});
  const auto mean = net.apply(OperatorId::reduce_mean, {fixed}, "mean", "axes", {0});
  EXPECT_EQ(message_of<ShapeError>([&] { (void)net.at(mean, 1); }),
            "input 'x' is fixed at batch 2 and 'fixed' bakes it in; re-export with a dynamic batch dimension");
}

TEST(Baked, EnlargesRepetitions) {
  Network net;
  const auto x = net.input({1, 4, 5});
  const auto tokens = net.apply(OperatorId::tile, {net.stored({1, 1, 5})}, "tokens", "repeats", {1, 1, 1});
  const auto joined = net.apply(OperatorId::concat, {x, tokens}, "joined", "", {});
  net.set("axis", std::int64_t{1});
  EXPECT_EQ(output_shape(net.at(joined, 8)), (Shape{8, 5, 5}));
}

// Queries [4, 1, 5] repeated over the batch of 1, which turns to the front afterwards.
TEST(Baked, EnlargesWhatIsRepeatedInTheMiddle) {
  Network net;
  const auto x = net.input({1, 5, 7});
  const auto queries = net.apply(OperatorId::tile, {net.stored({4, 1, 5})}, "queries", "repeats", {1, 1, 1});
  const auto turned = net.apply(OperatorId::transpose, {queries}, "turned", "perm", {1, 0, 2});
  const auto joined = net.apply(
      OperatorId::concat, {turned, net.apply(OperatorId::transpose, {x}, "keys", "perm", {0, 2, 1})}, "joined", "", {});
  net.set("axis", std::int64_t{1});
  EXPECT_EQ(output_shape(net.at(joined, 8)), (Shape{8, 11, 5}));
}

// Both dimensions of 2 may be the batch: the second is the one that fits.
TEST(Baked, FindsTheDimensionThatFits) {
  Network net;
  const auto x = net.input({2, 2, 5});
  const auto turned = net.apply(OperatorId::transpose, {x}, "turned", "perm", {1, 0, 2});
  const auto first = net.apply(OperatorId::constant_of_shape, {}, "first", "shape", {2, 2, 5});
  const auto second = net.apply(OperatorId::constant_of_shape, {}, "second", "shape", {2, 2, 1});
  const auto sum = net.apply(OperatorId::add, {turned, first}, "sum", "", {});
  const auto product = net.apply(OperatorId::mul, {sum, second}, "product", "", {});
  const Graph graph = net.at(product, 8);
  EXPECT_EQ(output_shape(graph), (Shape{2, 8, 5}));
  for (const Node& node : graph.nodes) {
    const Shape& made = graph.tensors[static_cast<std::size_t>(node.outputs[0])].shape;
    EXPECT_EQ(made[1], 8) << node.name;
  }
}

TEST(Baked, EnlargesWhatRepeatsStoredContent) {
  Network net;
  const auto x = net.input({2, 5});
  const auto rows = net.apply(OperatorId::expand, {net.stored({1, 5})}, "rows", "shape", {2, 5});
  const auto sum = net.apply(OperatorId::add, {x, rows}, "sum", "", {});
  EXPECT_EQ(output_shape(net.at(sum, 8)), (Shape{8, 5}));
}

// expand(1, -1) of one row does nothing at batch 1: code says so where the size is the batch.
TEST(Baked, TakesAnIdleExpansionForTheBatch) {
  Network net;
  const auto x = net.input({1, 5});
  const auto rows = net.apply(OperatorId::expand, {net.stored({1, 5})}, "rows", "shape", {1, 5});
  const auto wide = net.apply(OperatorId::exp, {rows}, "wide", "", {});
  const auto sum = net.apply(OperatorId::add, {x, wide}, "sum", "", {});
  const Graph graph = net.at(sum, 8);
  for (const Node& node : graph.nodes) {
    EXPECT_EQ(graph.tensors[static_cast<std::size_t>(node.outputs[0])].shape, (Shape{8, 5})) << node.name;
  }
}

TEST(Baked, RefusesWhatNothingMakesFit) {
  Network net;
  const auto x = net.input({2, 5});
  const auto sum = net.apply(OperatorId::add, {x, net.stored({2, 5})}, "sum", "", {});
  EXPECT_EQ(message_of<ShapeError>([&] { (void)net.at(sum, 8); }),
            "input 'x' is fixed at batch 2 and 'sum' bakes it in (node 'sum' (sum): shapes [8, 5] and [2, 5] do not "
            "broadcast); re-export with a dynamic batch dimension");
}

// Many tensors that could be the batch and a network that never fits: the search gives up soon.
TEST(Baked, BoundsItsSearch) {
  Network net;
  const auto x = net.input({2, 2, 2, 2, 5});
  VariableId zeros = net.apply(OperatorId::constant_of_shape, {}, "zeros", "shape", {2, 2, 2, 2, 5});
  for (int i = 0; i < 200; ++i) {
    const std::string name = std::to_string(i);
    const auto more = net.apply(OperatorId::constant_of_shape, {}, "more" + name, "shape", {2, 2, 2, 2, 5});
    zeros = net.apply(OperatorId::add, {zeros, more}, "sum" + name, "", {});
  }
  const auto with_weight = net.apply(OperatorId::add, {zeros, net.stored({2, 2, 2, 2, 5})}, "with_weight", "", {});
  const auto sum = net.apply(OperatorId::add, {x, with_weight}, "sum", "", {});
  EXPECT_THROW((void)net.at(sum, 8), ShapeError);
}

// Eight tensors to enlarge, one more with every walk: too many walks where each has a long body on its way.
TEST(Baked, BoundsTheWalksThroughBodies) {
  const auto resolved = [](int length) {
    Network net;
    VariableId sum = net.branch(net.input({2, 5}), length);
    for (int i = 0; i < 8; ++i) {
      const std::string name = std::to_string(i);
      const auto zeros = net.apply(OperatorId::constant_of_shape, {}, "zeros" + name, "shape", {2, 5});
      sum = net.apply(OperatorId::add, {sum, zeros}, "sum" + name, "", {});
    }
    return net.at(sum, 8);
  };
  EXPECT_EQ(output_shape(resolved(10)), (Shape{8, 5}));
  EXPECT_THROW((void)resolved(30'000), ShapeError);
}

}  // namespace
}  // namespace latpred
