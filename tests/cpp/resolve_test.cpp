#include <gtest/gtest.h>

#include <memory>

#include "latpred/error.h"
#include "latpred/program_builder.h"
#include "latpred/shapes.h"
#include "message_of.h"

namespace latpred {
namespace {

using testing::message_of;

Graph resolved(Program program, InputRequest request = {}) {
  return resolve(std::make_shared<const Program>(std::move(program)), request);
}

VariableId add(Program& program, Variable variable) {
  program.variables.push_back(std::move(variable));
  return static_cast<VariableId>(program.variables.size() - 1);
}

TEST(Resolve, CountsAConvolution) {
  ProgramBuilder net;
  const auto x = net.input("data", {3, 224, 224});
  net.output(net.apply(OperatorId::conv, {x, net.parameter({64, 3, 7, 7})},
                       {{"strides", Shape{2, 2}}, {"pads", Shape{3, 3, 3, 3}}}));
  const Graph graph = resolved(net.build(), {.batch = 4});
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{4, 64, 112, 112}));
  EXPECT_EQ(graph.macs(), 4.0 * 64 * 112 * 112 * 3 * 7 * 7);
  EXPECT_EQ(graph.num_parameters(), 64 * 3 * 7 * 7);
  EXPECT_EQ(with_batch(graph, 8).macs(), 2 * graph.macs());
}

TEST(Resolve, FoldsShapeArithmeticAndStoredContent) {
  ProgramBuilder net;
  const auto x = net.input("data", {3, 4});
  const auto sizes = net.apply(OperatorId::shape, {x});
  const auto leading = net.apply(OperatorId::gather, {sizes, net.constant({0})});
  const auto target = net.apply(OperatorId::concat, {leading, net.constant({-1})}, {{"axis", std::int64_t{0}}});
  const auto flat = net.apply(OperatorId::reshape, {x, target});
  const auto weight = net.apply(OperatorId::transpose, {net.parameter({5, 12})});
  net.output(net.apply(OperatorId::matmul, {flat, weight}));
  const Graph graph = resolved(net.build(), {.batch = 2});
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.nodes[0].op, OperatorId::reshape);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{2, 5}));
  EXPECT_EQ(graph.num_parameters(), 60);
}

TEST(Resolve, ContentComputedFromInputSizesIsNoWeight) {
  ProgramBuilder net;
  const auto x = net.input("data", {16});
  const auto zeros = net.apply(OperatorId::constant_of_shape, {net.apply(OperatorId::shape, {x})});
  net.output(net.apply(OperatorId::add, {x, zeros}));
  const Graph graph = resolved(net.build(), {.batch = 512});  // 8192 elements: too many to be folded as values
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.num_parameters(), 0);
}

TEST(Resolve, DequantizedWeightsCountAsStored) {
  ProgramBuilder net;
  const auto x = net.input("data", {8});
  const auto weight = net.apply(OperatorId::dequantize_linear, {net.parameter({8, 8}, DType::int8), net.parameter({})});
  net.output(net.apply(OperatorId::matmul, {x, weight}));
  const Graph graph = resolved(net.build());
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.weight_bytes(), 64);
}

TEST(Resolve, RandomNumbersAreNotFolded) {
  ProgramBuilder net;
  const auto x = net.input("data", {4});
  const auto noise = net.apply(OperatorId::random_normal, {}, {{"shape", Shape{1, 4}}});
  net.output(net.apply(OperatorId::add, {x, noise}));
  EXPECT_EQ(resolved(net.build()).nodes.size(), 2U);
}

TEST(Resolve, DropsWhatNothingReads) {
  ProgramBuilder net;
  const auto x = net.input("data", {4, 4});
  const auto parts = net.apply_many(OperatorId::split, {x}, {{"axis", std::int64_t{1}}}, 2);
  (void)net.apply(OperatorId::relu, {parts[1]});
  net.output(net.apply(OperatorId::relu, {parts[0]}));
  const Graph graph = resolved(net.build());
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.nodes[0].outputs[1], kAbsent);
  EXPECT_NO_THROW(check(graph));
}

TEST(Resolve, ListsOperatorsWithoutARule) {
  ProgramBuilder net;
  auto x = net.input("data", {4});
  for (int i = 0; i < 3; ++i) x = net.apply(OperatorId::unknown, {x});
  net.output(net.apply(OperatorId::relu, {x}));
  Program program = net.build();
  for (Statement& statement : program.main.statements) statement.source_operator = "com.acme::Foo";
  const std::string message = message_of<UnsupportedOperatorError>([&] { (void)resolved(program); });
  EXPECT_NE(message.find("1 unsupported operator: com.acme::Foo (x3, first 'n0')"), std::string::npos) << message;
  // Declared sizes help where they hold.
  for (Statement& statement : program.main.statements) {
    Variable& output = program.variables[statement.outputs[0]];
    output.has_shape = true;
    output.dtype = DType::float32;
    output.dimensions = {{kUnknownSize, "batch"}, {4, ""}};
  }
  const Graph graph = resolved(program, {.batch = 8});
  EXPECT_EQ(graph.nodes.size(), 4U);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{8, 4}));
}

TEST(Resolve, StoredSizesAreOnlyChecked) {
  ProgramBuilder net;
  const auto x = net.input("data", {4});
  const auto y = net.apply(OperatorId::relu, {x});
  net.output(y);
  Program program = net.build();
  program.variables[y].has_shape = true;
  program.variables[y].dimensions = {{kUnknownSize, "batch"}, {5, ""}};
  const Graph graph = resolved(program);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{1, 4}));
  ASSERT_EQ(graph.warnings.size(), 1U);
  EXPECT_NE(graph.warnings[0].find("[1, 5]"), std::string::npos);
  EXPECT_NE(graph.warnings[0].find("[1, 4]"), std::string::npos);
}

TEST(Resolve, NamesTheNodeOfAnError) {
  ProgramBuilder net;
  const auto x = net.input("data", {4});
  net.output(net.apply(OperatorId::add, {x, net.parameter({3})}));
  try {
    (void)resolved(net.build());
    FAIL() << "shapes that do not fit were accepted";
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.data().node, "n0");
    EXPECT_NE(std::string(error.what()).find("node 'n0' (add)"), std::string::npos) << error.what();
  }
}

TEST(Resolve, RefusesSizesThatOverflow) {
  ProgramBuilder net;
  const auto x = net.input("data", {std::int64_t{1} << 40, std::int64_t{1} << 40});
  net.output(net.apply(OperatorId::relu, {x}));
  EXPECT_NE(message_of<ShapeError>([&] { (void)resolved(net.build()); }).find("2^62"), std::string::npos);
}

// Inputs.

Program two_inputs() {
  Program program;
  const auto image = add(program, {.name = "image",
                                   .dtype = DType::float32,
                                   .has_shape = true,
                                   .dimensions = {{kUnknownSize, "batch"}, {3, ""}, {kUnknownSize, "h"}}});
  const auto ids = add(program, {.name = "ids",
                                 .dtype = DType::int64,
                                 .has_shape = true,
                                 .dimensions = {{kUnknownSize, "batch"}, {kUnknownSize, "h"}}});
  const auto a = add(program, {.name = "a"});
  const auto b = add(program, {.name = "b"});
  program.main.inputs = {image, ids};
  program.main.statements = {{.op = OperatorId::relu, .name = "ra", .inputs = {image}, .outputs = {a}},
                             {.op = OperatorId::identity, .name = "rb", .inputs = {ids}, .outputs = {b}}};
  program.main.outputs = {a, b};
  return program;
}

TEST(Inputs, OneSymbolIsOneSizeEverywhere) {
  const Graph graph = resolved(two_inputs(), {.batch = 2, .by_name = {{"ids", {.sizes = {7}}}}});
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{2, 3, 7}));
  EXPECT_EQ(graph.tensors[graph.outputs[1]].shape, (Shape{2, 7}));
}

TEST(Inputs, OpenSizesListTheInputsAndTheForm) {
  const std::string message = message_of<InvalidArgumentError>([] { (void)resolved(two_inputs()); });
  for (const char* const part : {"'image' [batch, 3, h] float32", "'ids' [batch, h] int64", "\"ids\": \"128:int64\""}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
}

TEST(Inputs, RefusesWhatDoesNotFit) {
  const auto refusal = [](InputRequest request) {
    return message_of<InvalidArgumentError>([&] { (void)resolved(two_inputs(), request); });
  };
  EXPECT_NE(refusal({.by_name = {{"imge", {.sizes = {3, 7}}}}}).find("did you mean 'image'?"), std::string::npos);
  EXPECT_NE(refusal({.by_name = {{"image", {.sizes = {4, 7}}}}}).find("[4, 7] does not match 'image' [batch, 3, h]"),
            std::string::npos);
  EXPECT_NE(refusal({.only = InputSize{.sizes = {3, 7}}}).find("2 inputs"), std::string::npos);
  EXPECT_NE(refusal({.by_name = {{"ids", {.sizes = {7}, .dtype = DType::float32}}}}).find("int64"), std::string::npos);
  EXPECT_NE(refusal({.by_name = {{"ids", {.sizes = {7}}}, {"image", {.sizes = {3, 8}}}}}).find("both 8 and 7"),
            std::string::npos);
  EXPECT_NE(refusal({.batch = -1}).find("batch must be an integer >= 1"), std::string::npos);
}

}  // namespace
}  // namespace latpred
