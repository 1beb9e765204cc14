#include <gtest/gtest.h>

#include <memory>

#include "latpred/error.h"
#include "latpred/graph_text.h"
#include "latpred/shapes.h"
#include "message_of.h"

namespace latpred {
namespace {

// Programs with bodies, which ProgramBuilder does not make.
struct Maker {
  Program program;

  VariableId tensor(const std::string& name, const Shape& shape, DType dtype = DType::float32) {
    Variable variable{.name = name, .dtype = dtype, .has_shape = true};
    for (const std::int64_t size : shape) variable.dimensions.push_back({size, ""});
    program.variables.push_back(variable);
    return static_cast<VariableId>(program.variables.size() - 1);
  }
  VariableId result(const std::string& name) {
    program.variables.push_back({.name = name});
    return static_cast<VariableId>(program.variables.size() - 1);
  }
  VariableId input(const std::string& name, const Shape& shape, DType dtype = DType::float32) {
    const VariableId id = tensor(name, shape, dtype);
    program.main.inputs.push_back(id);
    return id;
  }
  VariableId constant(const std::vector<std::int64_t>& content, const Shape& shape, DType dtype = DType::int64) {
    const VariableId id = tensor("c" + std::to_string(program.variables.size()), shape, dtype);
    program.variables[id].is_stored = true;
    program.variables[id].value = std::make_shared<Value>(Value{.dtype = dtype, .shape = shape, .integers = content});
    return id;
  }
  VariableId apply(Block& block, OperatorId op, const std::vector<VariableId>& inputs,
                   const std::vector<std::pair<std::string, AttributeValue>>& settings = {}) {
    const VariableId output = result("t" + std::to_string(program.variables.size()));
    Statement statement{.op = op, .name = "n" + std::to_string(output), .inputs = inputs, .outputs = {output}};
    for (const auto& [name, value] : settings) statement.attributes.set(name, value);
    block.statements.push_back(statement);
    return output;
  }
  Graph graph() { return resolve(std::make_shared<const Program>(program), {.batch = kSavedBatch}); }
};

// if (condition) relu(x) else x @ x
Maker branches(VariableId (*condition)(Maker&)) {
  Maker maker;
  const VariableId x = maker.input("x", {4, 4});
  Statement statement{.op = OperatorId::conditional, .name = "if", .inputs = {condition(maker)}};
  Block then;
  then.outputs = {maker.apply(then, OperatorId::relu, {x})};
  Block otherwise;
  otherwise.outputs = {maker.apply(otherwise, OperatorId::matmul, {x, x})};
  statement.bodies = {then, otherwise};
  statement.outputs = {maker.result("y")};
  maker.program.main.statements.push_back(statement);
  maker.program.main.outputs = statement.outputs;
  return maker;
}

TEST(Control, AKnownConditionTakesItsBranch) {
  const Graph graph = branches([](Maker& maker) { return maker.constant({1}, {}, DType::boolean); }).graph();
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].op, OperatorId::relu);
  EXPECT_TRUE(graph.warnings.empty());
}

TEST(Control, AnUnknownConditionTakesTheCostlierBranchAndWarns) {
  const Graph graph = branches([](Maker& maker) { return maker.input("flag", {}, DType::boolean); }).graph();
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].op, OperatorId::matmul);
  ASSERT_EQ(graph.warnings.size(), 1U);
  EXPECT_NE(graph.warnings[0].find("costlier"), std::string::npos);
}

TEST(Control, ABranchThatDoesNotFitIsNotTaken) {
  Maker maker = branches([](Maker& maker) { return maker.input("flag", {}, DType::boolean); });
  maker.program.variables[maker.program.main.inputs[0]].dimensions[1].size = 3;  // [4, 3] @ [4, 3]
  const Graph graph = maker.graph();
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].op, OperatorId::relu);
  EXPECT_NE(graph.warnings.at(0).find("only branch that fits"), std::string::npos);
}

// for (turn...) { state = step(state) ; collect state }
Maker looped(VariableId (*count)(Maker&), VariableId (*step)(Maker&, Block&, VariableId turn, VariableId state)) {
  Maker maker;
  const VariableId x = maker.input("x", {2, 4});
  Block body;
  const VariableId turn = maker.result("turn");
  const VariableId go_on = maker.result("go_on");
  const VariableId state = maker.result("state");
  body.inputs = {turn, go_on, state};
  const VariableId next = step(maker, body, turn, state);
  body.outputs = {go_on, next, next};
  Statement statement{.op = OperatorId::loop, .name = "loop", .inputs = {count(maker), kAbsent, x}};
  statement.bodies = {body};
  statement.outputs = {maker.result("last"), maker.result("all")};
  maker.program.main.statements.push_back(statement);
  maker.program.main.outputs = statement.outputs;
  return maker;
}

VariableId relu_step(Maker& maker, Block& body, VariableId, VariableId state) {
  return maker.apply(body, OperatorId::relu, {state});
}

TEST(Control, AKnownTripCountRepeatsTheBody) {
  const Graph graph = looped([](Maker& maker) { return maker.constant({1000}, {}); }, relu_step).graph();
  EXPECT_EQ(graph.nodes.at(0).op, OperatorId::relu);
  EXPECT_EQ(graph.nodes.at(0).repeat, 1000);
  EXPECT_EQ(graph.tensors[graph.outputs.at(0)].shape, (Shape{2, 4}));
  EXPECT_EQ(graph.tensors[graph.outputs.at(1)].shape, (Shape{1000, 2, 4}));
  EXPECT_TRUE(graph.warnings.empty());
}

TEST(Control, NoTurnsGiveWhatCameIn) {
  const Graph graph = looped([](Maker& maker) { return maker.constant({0}, {}); }, relu_step).graph();
  EXPECT_EQ(graph.outputs.at(0), graph.inputs.at(0));
  EXPECT_EQ(graph.tensors[graph.outputs.at(1)].shape, (Shape{0, 2, 4}));
}

TEST(Control, AnUnknownTripCountIsPredictedForOneIteration) {
  const Graph graph = looped([](Maker& maker) { return maker.input("n", {}, DType::int64); }, relu_step).graph();
  EXPECT_EQ(graph.nodes.at(0).repeat, 1);
  ASSERT_EQ(graph.warnings.size(), 1U);
  EXPECT_NE(graph.warnings[0].find("control flow: predicted for one iteration"), std::string::npos);
}

TEST(Control, SizesThatChangeFromTurnToTurnAreUnrolled) {
  Maker maker = looped([](Maker& maker) { return maker.constant({3}, {}); },
                       [](Maker& maker, Block& body, VariableId, VariableId state) {
                         return maker.apply(body, OperatorId::concat, {state, state}, {{"axis", std::int64_t{0}}});
                       });
  maker.program.main.statements[0].bodies[0].outputs.pop_back();
  maker.program.main.statements[0].outputs.pop_back();
  maker.program.main.outputs.pop_back();
  const Graph graph = maker.graph();
  EXPECT_EQ(graph.nodes.size(), 3U);
  EXPECT_EQ(graph.tensors[graph.outputs.at(0)].shape, (Shape{16, 4}));
  EXPECT_NO_THROW(check(graph));
}

TEST(Control, TooManyChangingTurnsAreRefused) {
  Maker maker = looped([](Maker& maker) { return maker.constant({100}, {}); },
                       [](Maker& maker, Block& body, VariableId, VariableId state) {
                         return maker.apply(body, OperatorId::concat, {state, state}, {{"axis", std::int64_t{1}}});
                       });
  (void)testing::message_of<ShapeError>([&] { (void)maker.graph(); });
}

TEST(Control, ScanRunsOncePerStep) {
  Maker maker;
  const VariableId initial = maker.input("initial", {2});
  const VariableId x = maker.input("x", {7, 2});
  Block body;
  const VariableId state = maker.result("state");
  const VariableId step = maker.result("step");
  body.inputs = {state, step};
  const VariableId sum = maker.apply(body, OperatorId::add, {state, step});
  body.outputs = {sum, sum};
  Statement statement{.op = OperatorId::scan, .name = "scan", .inputs = {initial, x}};
  statement.attributes.set("num_scan_inputs", std::int64_t{1});
  statement.bodies = {body};
  statement.outputs = {maker.result("last"), maker.result("sums")};
  maker.program.main.statements.push_back(statement);
  maker.program.main.outputs = statement.outputs;
  const Graph graph = maker.graph();
  EXPECT_EQ(graph.tensors[graph.outputs.at(0)].shape, (Shape{2}));
  EXPECT_EQ(graph.tensors[graph.outputs.at(1)].shape, (Shape{7, 2}));
  std::int64_t additions = 0;
  for (const Node& node : graph.nodes) additions += node.op == OperatorId::add ? node.repeat : 0;
  EXPECT_EQ(additions, 7);
}

TEST(Control, SequencesVanishFromTheGraph) {
  Maker maker;
  Block& main = maker.program.main;
  const VariableId x = maker.input("x", {6, 4});
  const VariableId parts = maker.apply(main, OperatorId::split_to_sequence, {x, maker.constant({2}, {})});
  const VariableId second = maker.apply(main, OperatorId::sequence_at, {parts, maker.constant({1}, {})});
  const VariableId more = maker.apply(main, OperatorId::sequence_insert, {parts, second});
  const VariableId count = maker.apply(main, OperatorId::sequence_length, {more});
  const VariableId joined = maker.apply(main, OperatorId::concat_from_sequence, {more}, {{"axis", std::int64_t{1}}});
  main.outputs = {joined, count};
  const Graph graph = maker.graph();
  ASSERT_EQ(graph.nodes.size(), 2U) << to_text(graph);
  EXPECT_EQ(graph.nodes[0].op, OperatorId::split);
  EXPECT_EQ(graph.nodes[1].op, OperatorId::concat);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{2, 16}));
}

TEST(Control, EndlessNestingIsRefused) {
  Maker maker;
  const VariableId flag = maker.input("flag", {}, DType::boolean);
  Block block;
  block.outputs = {maker.apply(block, OperatorId::identity, {flag})};
  const VariableId yes = maker.constant({1}, {}, DType::boolean);
  for (int depth = 0; depth < 100; ++depth) {
    Statement statement{.op = OperatorId::conditional, .name = "if", .inputs = {yes}};
    statement.outputs = {maker.result("y" + std::to_string(depth))};
    statement.bodies = {std::move(block), Block{.outputs = {flag}}};
    block = Block{.outputs = statement.outputs};
    block.statements.push_back(std::move(statement));
  }
  maker.program.main.statements = block.statements;
  maker.program.main.outputs = block.outputs;
  EXPECT_NE(testing::message_of<ShapeError>([&] { (void)maker.graph(); }).find("nested deeper"), std::string::npos);
}

}  // namespace
}  // namespace latpred
