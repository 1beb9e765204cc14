#include <gtest/gtest.h>

#include "latpred/error.h"
#include "message_of.h"
#include "onnx_writer.h"
#include "readers/onnx/onnx.h"

// Bodies of control flow and model-local functions.
namespace latpred::readers {
namespace {

using namespace latpred::testing;
using Names = std::vector<std::string>;

Program read(const Proto& content, const ReaderLimits& limits = {}) {
  return read_onnx({"m.onnx", content.text()}, limits);
}
std::string refusal(const Proto& content, const ReaderLimits& limits = {}) {
  return message_of<ModelFileError>([&] { static_cast<void>(read(content, limits)); });
}
Names names(const Program& program, const std::vector<VariableId>& ids) {
  Names result;
  for (const VariableId id : ids) {
    result.push_back(id == kAbsent ? "-" : program.variables.at(static_cast<std::size_t>(id)).name);
  }
  return result;
}

Proto branch(const std::string& op, const std::string& input, const std::string& output) {
  return graph({.nodes = {node(op, {input}, {output})}, .outputs = {value_info(output)}});
}

struct FunctionParts {
  std::string name;
  Names inputs;
  Names outputs;
  std::vector<Proto> nodes;
  std::vector<Proto> default_attributes = {};
  std::string domain = "local";
};
Proto function(const FunctionParts& parts) {
  Proto result = Proto().bytes(1, parts.name);
  for (const std::string& input : parts.inputs) result.bytes(4, input);
  for (const std::string& output : parts.outputs) result.bytes(5, output);
  for (const Proto& part : parts.nodes) result.message(7, part);
  result.message(9, opset(17)).bytes(10, parts.domain);
  for (const Proto& attribute : parts.default_attributes) result.message(11, attribute);
  return result;
}
Proto call(const std::string& name, const Names& inputs, const Names& outputs,
           const std::vector<Proto>& attributes = {}) {
  return node(name, inputs, outputs, attributes, "local", "call");
}
GraphParts around(std::vector<Proto> nodes) {
  return {.nodes = std::move(nodes), .inputs = {value_info("x")}, .outputs = {value_info("y")}};
}

TEST(OnnxBodies, IfSeesTheGraphAroundIt) {
  GraphParts parts =
      around({node("Tanh", {"x"}, {"h"}), node("If", {"x"}, {"y"},
                                               {graph_attribute("else_branch", branch("Tanh", "x", "b")),
                                                graph_attribute("then_branch", branch("Relu", "h", "a"))})});
  const Program program = read(model(parts));
  const Statement& conditional = program.main.statements.at(1);
  EXPECT_EQ(conditional.op, OperatorId::conditional);
  ASSERT_EQ(conditional.bodies.size(), 2U);
  EXPECT_EQ(conditional.bodies[0].statements.at(0).op, OperatorId::relu);  // then comes first
  EXPECT_EQ(conditional.bodies[0].statements.at(0).inputs, program.main.statements.at(0).outputs);
  EXPECT_EQ(conditional.bodies[1].statements.at(0).inputs, program.main.inputs);
  EXPECT_EQ(program.source.num_nodes, 2);
}

TEST(OnnxBodies, WhatABodyReadsComesBeforeIt) {
  GraphParts parts = around({node("If", {"x"}, {"y"},
                                  {graph_attribute("then_branch", branch("Relu", "h", "a")),
                                   graph_attribute("else_branch", branch("Tanh", "x", "b"))}),
                             node("Tanh", {"x"}, {"h"})});
  const Program program = read(model(parts));
  EXPECT_EQ(program.main.statements.at(0).op, OperatorId::tanh);
  EXPECT_EQ(program.main.statements.at(1).op, OperatorId::conditional);
}

TEST(OnnxBodies, LoopBodyHasInputsAndWeightsOfItsOwn) {
  const Proto body = graph({.nodes = {node("Add", {"carried", "w"}, {"next"}),
                                      node("Constant", {}, {"c"}, {integer_attribute("value_int", 1)})},
                            .initializers = {tensor("w", kFloat, {4})},
                            .inputs = {value_info("i", Shape{}), value_info("go", Shape{}), value_info("carried")},
                            .outputs = {value_info("go", Shape{}), value_info("next")}});
  const Program program = read(model(around({node("Loop", {"x", "", "x"}, {"y"}, {graph_attribute("body", body)})})));
  const Block& block = program.main.statements.at(0).bodies.at(0);
  EXPECT_EQ(names(program, block.inputs), (Names{"i", "go", "carried"}));
  EXPECT_EQ(names(program, block.outputs), (Names{"go", "next"}));
  EXPECT_EQ(block.statements.size(), 1U);
}

TEST(OnnxBodies, IfNeedsBothBranches) {
  EXPECT_EQ(refusal(model(around(
                {node("If", {"x"}, {"y"}, {graph_attribute("then_branch", branch("Relu", "x", "a"))}, "", "choice")}))),
            "'m.onnx': node 'choice' (If) needs then_branch and else_branch");
}

TEST(OnnxBodies, DepthHasALimit) {
  Proto inner = branch("Relu", "x", "r");
  for (int i = 0; i < 70; ++i) {
    inner = graph({.nodes = {node("Loop", {"x", "", "x"}, {"r"}, {graph_attribute("body", inner)})},
                   .outputs = {value_info("r")}});
  }
  const Proto content = model(around({node("Loop", {"x", "", "x"}, {"y"}, {graph_attribute("body", inner)})}));
  EXPECT_EQ(refusal(content), "'m.onnx': graphs and function calls are nested deeper than 64 (max_depth)");
  EXPECT_NO_THROW(static_cast<void>(read(content, {.max_depth = 100})));
}

TEST(OnnxFunctions, ArePutInPlaceOfTheirCalls) {
  const Proto local = function({.name = "Block",
                                .inputs = {"a", "bias"},
                                .outputs = {"out"},
                                .nodes = {node("Relu", {"a"}, {"h"}, {}, "", "act"), node("Tanh", {"h"}, {"out"})}});
  const Program program =
      read(model(around({call("Block", {"x"}, {"m"}), call("Block", {"m"}, {"y"})})).message(25, local));
  ASSERT_EQ(program.main.statements.size(), 4U);
  EXPECT_EQ(program.main.statements[0].name, "call/act");
  EXPECT_EQ(names(program, program.main.statements[0].outputs), Names{"call/h"});
  EXPECT_EQ(names(program, program.main.statements[1].outputs), Names{"m"});
  EXPECT_EQ(program.main.statements[2].inputs, program.main.statements[1].outputs);
  EXPECT_EQ(program.source.operator_counts.at("local::Block"), 2);
}

TEST(OnnxFunctions, TakeAttributesFromTheCallOrTheirDefault) {
  const Proto inner =
      function({.name = "Inner",
                .inputs = {"a"},
                .outputs = {"out"},
                .nodes = {node("Concat", {"a", "a"}, {"out"}, {reference_attribute("axis", "where", 2)})},
                .default_attributes = {integer_attribute("where", 7)}});
  const Proto outer = function({.name = "Outer",
                                .inputs = {"a"},
                                .outputs = {"out"},
                                .nodes = {call("Inner", {"a"}, {"out"}, {reference_attribute("where", "at", 2)})}});
  const auto axis = [&](const std::vector<Proto>& attributes) {
    const Program program =
        read(model(around({call("Outer", {"x"}, {"y"}, attributes)})).message(25, inner).message(25, outer));
    return program.main.statements.at(0).attributes.integer("axis", -1);
  };
  EXPECT_EQ(axis({integer_attribute("at", 3)}), 3);
  EXPECT_EQ(axis({}), 7);
}

TEST(OnnxFunctions, InputsThatAreLeftOutStayAbsent) {
  const Proto local = function({.name = "F",
                                .inputs = {"a", "low", "high"},
                                .outputs = {"out"},
                                .nodes = {node("Clip", {"a", "low", "high"}, {"out"})}});
  const Program program = read(model(around({call("F", {"x", ""}, {"y"})})).message(25, local));
  EXPECT_EQ(names(program, program.main.statements.at(0).inputs), (Names{"x", "-", "-"}));
}

TEST(OnnxFunctions, AnInputHandedOnIsAnIdentity) {
  const Proto local = function({.name = "F", .inputs = {"a"}, .outputs = {"a"}, .nodes = {}});
  const Program program = read(model(around({call("F", {"x"}, {"y"})})).message(25, local));
  ASSERT_EQ(program.main.statements.size(), 1U);
  EXPECT_EQ(program.main.statements[0].op, OperatorId::identity);
  EXPECT_EQ(program.main.statements[0].inputs, program.main.inputs);
  EXPECT_EQ(program.main.statements[0].outputs, program.main.outputs);
}

TEST(OnnxFunctions, ConstantsInThemAreStored) {
  const Proto local = function({.name = "F",
                                .inputs = {"a"},
                                .outputs = {"c"},
                                .nodes = {node("Constant", {}, {"c"}, {reference_attribute("value_int", "n", 2)})}});
  const Program program =
      read(model(around({call("F", {"x"}, {"y"}, {integer_attribute("n", 9)})})).message(25, local));
  EXPECT_TRUE(program.main.statements.empty());
  const Variable& constant = program.variables.at(static_cast<std::size_t>(program.main.outputs.at(0)));
  EXPECT_TRUE(constant.is_stored);
  EXPECT_EQ(constant.value->integers, Shape{9});
}

TEST(OnnxFunctions, BodiesInThemSeeTheirNames) {
  const Proto local = function(
      {.name = "F",
       .inputs = {"a"},
       .outputs = {"out"},
       .nodes = {node("Tanh", {"a"}, {"h"}), node("If", {"a"}, {"out"},
                                                  {graph_attribute("then_branch", branch("Relu", "h", "p")),
                                                   graph_attribute("else_branch", branch("Relu", "a", "q"))})}});
  const Program program = read(model(around({call("F", {"x"}, {"y"})})).message(25, local));
  const Statement& conditional = program.main.statements.at(1);
  EXPECT_EQ(names(program, conditional.bodies.at(0).statements.at(0).inputs), Names{"call/h"});
  EXPECT_EQ(names(program, conditional.bodies.at(1).statements.at(0).inputs), Names{"x"});
}

TEST(OnnxFunctions, KnownOperatorsStayWholeAndOverloadsAreToldApart) {
  const Proto gelu =
      function({.name = "Gelu", .inputs = {"a"}, .outputs = {"o"}, .nodes = {node("Erf", {"a"}, {"o"})}, .domain = ""});
  EXPECT_EQ(read(model(around({node("Gelu", {"x"}, {"y"})})).message(25, gelu)).main.statements.at(0).op,
            OperatorId::gelu);
  const auto overload = [](const std::string& op, const std::string& name) {
    return function({.name = "F", .inputs = {"a"}, .outputs = {"o"}, .nodes = {node(op, {"a"}, {"o"})}})
        .bytes(13, name);
  };
  const Proto second = call("F", {"x"}, {"y"}).bytes(8, "two");
  EXPECT_EQ(read(model(around({second})).message(25, overload("Relu", "one")).message(25, overload("Tanh", "two")))
                .main.statements.at(0)
                .op,
            OperatorId::tanh);
}

TEST(OnnxFunctionsRefuse, RecursionAndExplosion) {
  const Proto recursive =
      function({.name = "F", .inputs = {"a"}, .outputs = {"o"}, .nodes = {call("F", {"a"}, {"o"})}});
  EXPECT_EQ(refusal(model(around({call("F", {"x"}, {"y"})})).message(25, recursive)),
            "'m.onnx': function 'local::F' calls itself; ONNX allows no recursion");
  // Thirty functions, each calling the next one twice: a thousand million nodes in a small file.
  Proto content = model(around({call("F0", {"x"}, {"y"})}));
  for (int i = 0; i < 30; ++i) {
    const std::string next = "F" + std::to_string(i + 1);
    content.message(25, function({.name = "F" + std::to_string(i),
                                  .inputs = {"a"},
                                  .outputs = {"o"},
                                  .nodes = {call(next, {"a"}, {"h"}), call(next, {"h"}, {"o"})}}));
  }
  content.message(25,
                  function({.name = "F30", .inputs = {"a"}, .outputs = {"o"}, .nodes = {node("Relu", {"a"}, {"o"})}}));
  EXPECT_EQ(refusal(content, {.max_nodes = 10'000}),
            "'m.onnx': graph has more than 10 000 nodes with its bodies and functions, limit 10 000 (max_nodes)");
}

TEST(OnnxFunctionsRefuse, CallsThatDoNotFit) {
  const Proto local = function({.name = "F", .inputs = {"a"}, .outputs = {"o"}, .nodes = {node("Relu", {"a"}, {"o"})}});
  EXPECT_EQ(refusal(model(around({call("F", {"x", "x"}, {"y"})})).message(25, local)),
            "'m.onnx': node 'call' gives function 'local::F' 2 inputs and 1 outputs; it has 1 and 1");
  const Proto hollow = function({.name = "F", .inputs = {"a"}, .outputs = {"o"}, .nodes = {}});
  EXPECT_EQ(refusal(model(around({call("F", {"x"}, {"y"})})).message(25, hollow)),
            "'m.onnx': output 'o' of function 'local::F' is made by no node");
  EXPECT_EQ(refusal(model(relu_parts()).message(25, local).message(25, local)).substr(0, 50),
            "'m.onnx': function 'local::F' is defined twice, th");
}

}  // namespace
}  // namespace latpred::readers
