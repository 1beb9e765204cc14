#include "readers/onnx/onnx.h"

#include <gtest/gtest.h>

#include "latpred/error.h"
#include "message_of.h"
#include "onnx_writer.h"

namespace latpred::readers {
namespace {

using namespace latpred::testing;

Program read(const Proto& content, const ReaderLimits& limits = {}) {
  return read_onnx({"m.onnx", content.text()}, limits);
}
Program read(const GraphParts& parts, std::int64_t version = 17) { return read(model(parts, version)); }
std::string refusal(const Proto& content, const ReaderLimits& limits = {}) {
  return message_of<ModelFileError>([&] { static_cast<void>(read(content, limits)); });
}
std::string refusal(const GraphParts& parts) { return refusal(model(parts)); }

const Variable& variable(const Program& program, VariableId id) {
  return program.variables.at(static_cast<std::size_t>(id));
}
// The variable called `name`; fails the test where it is not there.
const Variable& variable(const Program& program, const std::string& name) {
  for (const Variable& candidate : program.variables) {
    if (candidate.name == name) return candidate;
  }
  throw std::runtime_error("no variable " + name);
}
std::vector<std::string> names(const Program& program, const std::vector<VariableId>& ids) {
  std::vector<std::string> result;
  for (const VariableId id : ids) result.push_back(id == kAbsent ? "-" : variable(program, id).name);
  return result;
}
using Names = std::vector<std::string>;

TEST(Onnx, ReadsAGraph) {
  GraphParts parts = relu_parts();
  parts.nodes = {node("Conv", {"x", "w"}, {"c"}, {integers_attribute("strides", {2, 2}), integer_attribute("group", 1)},
                      "", "conv_1"),
                 node("Clip", {"c", "", "top"}, {"y"}, {real_attribute("unused", 1.5F)})};
  parts.initializers = {tensor("w", kFloat, {8, 3, 3, 3}),
                        tensor("top", kFloat, {}).bytes(9, Proto().raw(6.0F).text())};
  const Program program = read(parts);
  EXPECT_EQ(program.source.format, "ONNX IR 8, opset 17");
  EXPECT_EQ(program.source.producer, "test");
  EXPECT_EQ(program.source.num_nodes, 2);
  EXPECT_EQ(program.source.operator_counts, (std::map<std::string, std::int64_t>{{"Clip", 1}, {"Conv", 1}}));
  ASSERT_EQ(program.main.statements.size(), 2U);
  const Statement& conv = program.main.statements[0];
  EXPECT_EQ(conv.op, OperatorId::conv);
  EXPECT_EQ(conv.source_operator, "Conv");
  EXPECT_EQ(conv.name, "conv_1");
  EXPECT_EQ(names(program, conv.inputs), (Names{"x", "w"}));
  EXPECT_EQ(conv.attributes.integers("strides"), (Shape{2, 2}));
  EXPECT_EQ(conv.attributes.integer("group", 0), 1);
  const Statement& clip = program.main.statements[1];
  EXPECT_EQ(clip.name, "y");  // nodes without a name go by their first result
  EXPECT_EQ(names(program, clip.inputs), (Names{"c", "-", "top"}));
  EXPECT_EQ(clip.attributes.real("unused", 0), 1.5);
  EXPECT_EQ(names(program, program.main.inputs), Names{"x"});
  EXPECT_EQ(names(program, program.main.outputs), Names{"y"});
  EXPECT_TRUE(variable(program, "w").is_stored);
  EXPECT_EQ(variable(program, "w").dimensions.size(), 4U);
  EXPECT_EQ(variable(program, "w").value, nullptr);
  EXPECT_EQ(variable(program, "top").value->reals, std::vector<double>{6});
}

TEST(Onnx, InitializersListedAsInputsAreNoInputs) {
  GraphParts parts = relu_parts();
  parts.initializers = {tensor("w", kFloat, {4})};
  parts.inputs.insert(parts.inputs.begin(), value_info("w", {4}));
  const Program program = read(parts);
  EXPECT_EQ(names(program, program.main.inputs), Names{"x"});
  EXPECT_TRUE(variable(program, "w").is_stored);
}

TEST(Onnx, DimensionsMayBeSymbolsUnknownOrMissing) {
  GraphParts parts = relu_parts();
  parts.inputs = {value_info("x", tensor_type(kFloat, {0, -1, -2, 0, 7}, "batch"))};
  parts.outputs = {value_info("y", Proto().message(1, Proto().varint(1, kFloat)))};
  const Program program = read(parts);
  const std::vector<Dimension>& dimensions = variable(program, "x").dimensions;
  ASSERT_EQ(dimensions.size(), 5U);
  EXPECT_EQ(dimensions[0].symbol, "batch");
  for (const std::size_t i : {0U, 1U, 2U}) EXPECT_EQ(dimensions[i].size, kUnknownSize);
  EXPECT_EQ(dimensions[3].size, 0);  // empty or unknown: the shape engine tells by what is asked
  EXPECT_EQ(dimensions[4].size, 7);
  EXPECT_FALSE(variable(program, "y").has_shape);
  EXPECT_EQ(variable(program, "y").dtype, DType::float32);
}

TEST(Onnx, DeclaredShapesOfIntermediatesAreKept) {
  GraphParts parts = relu_parts();
  parts.nodes = {node("Relu", {"x"}, {"h"}), node("Relu", {"h"}, {"y"})};
  parts.value_infos = {value_info("h", {1, 4}), value_info("of_a_node_that_is_gone", {1})};
  EXPECT_EQ(variable(read(parts), "h").dimensions.at(1).size, 4);
}

TEST(Onnx, ConstantNodesBecomeStoredVariables) {
  GraphParts parts = relu_parts();
  parts.nodes = {
      node("Constant", {}, {"tensor"}, {tensor_attribute("value", int64_tensor("", {3, -1}))}),
      node("Constant", {}, {"integer"}, {integer_attribute("value_int", 5)}),
      node("Constant", {}, {"integers"}, {integers_attribute("value_ints", {1, 2, 3})}),
      node("Constant", {}, {"real"}, {real_attribute("value_float", 0.5F)}),
      node("Constant", {}, {"text"}, {text_attribute("value_string", "hello")}),
      node("Relu", {"x"}, {"y"}),
  };
  const Program program = read(parts);
  EXPECT_EQ(program.main.statements.size(), 1U);
  EXPECT_EQ(program.source.num_nodes, 6);
  EXPECT_EQ(variable(program, "tensor").value->integers, (Shape{3, -1}));
  EXPECT_EQ(variable(program, "integer").value->integers, Shape{5});
  EXPECT_TRUE(variable(program, "integer").dimensions.empty());
  EXPECT_EQ(variable(program, "integers").dimensions.at(0).size, 3);
  EXPECT_EQ(variable(program, "real").value->reals, std::vector<double>{0.5});
  EXPECT_EQ(variable(program, "text").dtype, DType::string);
  for (const char* name : {"tensor", "integer", "integers", "real", "text"}) {
    EXPECT_TRUE(variable(program, name).is_stored) << name;
  }
}

TEST(Onnx, LongIntegerListsAreDataOfKnownSize) {
  GraphParts parts = relu_parts();
  const std::vector<std::int64_t> long_list(kMaxFoldedElements + 1, 7);
  parts.nodes = {node("Constant", {}, {"c"}, {integers_attribute("value_ints", long_list)}),
                 node("Relu", {"x"}, {"y"}, {integers_attribute("table", long_list)})};
  const Program program = read(parts);
  EXPECT_EQ(variable(program, "c").dimensions.at(0).size, kMaxFoldedElements + 1);
  EXPECT_EQ(variable(program, "c").value, nullptr);
  EXPECT_FALSE(program.main.statements[0].attributes.has("table"));
}

TEST(Onnx, TensorAttributesAreListsWithTheirType) {
  GraphParts parts = relu_parts();
  parts.nodes = {node("ConstantOfShape", {"x"}, {"y"}, {tensor_attribute("value", int64_tensor("", {3}))})};
  const Attributes attributes = read(parts).main.statements.at(0).attributes;
  EXPECT_EQ(attributes.integers("value"), Shape{3});
  EXPECT_EQ(attributes.integer("value_dtype", 0), kInt64);
}

TEST(Onnx, AttributesOfFilesThatDoNotStateTheirKind) {
  GraphParts parts = relu_parts();
  parts.nodes = {node("Relu", {"x"}, {"y"},
                      {Proto().bytes(1, "i").varint(3, 4), Proto().bytes(1, "f").float32(2, 2),
                       Proto().bytes(1, "list").varint(8, 1).varint(8, 2)})};
  const Attributes attributes = read(parts).main.statements.at(0).attributes;
  EXPECT_EQ(attributes.integer("i", 0), 4);
  EXPECT_EQ(attributes.real("f", 0), 2);
  EXPECT_EQ(attributes.integers("list"), (Shape{1, 2}));
}

TEST(Onnx, DomainsTellOperatorsApart) {
  GraphParts parts = relu_parts();
  parts.nodes = {node("Gelu", {"x"}, {"a"}, {}, "com.microsoft"), node("Relu", {"a"}, {"b"}, {}, "ai.onnx"),
                 node("Foo", {"b"}, {"y"}, {integer_attribute("k", 1)}, "com.acme")};
  const Program program = read(model(parts).message(8, opset(1, "com.microsoft")));
  EXPECT_EQ(program.source.format, "ONNX IR 8, opset 17, com.microsoft 1");
  const std::vector<Statement>& statements = program.main.statements;
  EXPECT_EQ(statements[0].op, OperatorId::gelu);
  EXPECT_EQ(statements[0].source_operator, "com.microsoft::Gelu");
  EXPECT_EQ(statements[1].op, OperatorId::relu);
  EXPECT_EQ(statements[1].source_operator, "Relu");
  EXPECT_EQ(statements[2].op, OperatorId::unknown);
  EXPECT_EQ(statements[2].source_operator, "com.acme::Foo");
  EXPECT_EQ(program.source.operator_counts.at("com.acme::Foo"), 1);
}

TEST(Onnx, NodesAreSortedAndCyclesRefused) {
  GraphParts parts = relu_parts();
  parts.nodes = {node("Relu", {"b"}, {"y"}), node("Relu", {"a"}, {"b"}), node("Relu", {"x"}, {"a"})};
  const Program program = read(parts);
  Names order;
  for (const Statement& statement : program.main.statements) order.push_back(statement.name);
  EXPECT_EQ(order, (Names{"a", "b", "y"}));
  parts.nodes = {node("Add", {"x", "b"}, {"a"}, {}, "", "first"), node("Relu", {"a"}, {"b"}, {}, "", "second"),
                 node("Relu", {"b"}, {"y"})};
  EXPECT_EQ(refusal(parts),
            "'m.onnx': the graph has a cycle: node 'second' reads 'a', which node 'first' makes from its result");
}

TEST(Onnx, ALongChainInReverseOrderIsSorted) {
  GraphParts parts = relu_parts();
  constexpr int kLength = 50'000;
  parts.nodes.clear();
  for (int i = kLength; i > 0; --i) {
    parts.nodes.push_back(
        node("Relu", {i == 1 ? "x" : "t" + std::to_string(i - 1)}, {i == kLength ? "y" : "t" + std::to_string(i)}));
  }
  const Program program = read(parts);
  EXPECT_EQ(program.main.statements.front().name, "t1");
  EXPECT_EQ(program.main.statements.back().name, "y");
}

TEST(Onnx, NewerOpsetIsReadWithAWarning) {
  const Program program = read(relu_parts(), 99);
  ASSERT_EQ(program.warnings.size(), 1U);
  EXPECT_EQ(program.warnings[0],
            "the file uses opset 99, newer than 28, the newest known to this version; operators are read as of opset "
            "28");
}

TEST(Onnx, TrainingGraphsAreReadWithAWarning) {
  GraphParts parts = relu_parts();
  parts.nodes = {node("BatchNormalization", {"x", "x", "x", "x", "x"}, {"y"}, {integer_attribute("training_mode", 1)})};
  EXPECT_EQ(read(parts).warnings,
            std::vector<std::string>{"the graph was saved in training mode; inference is predicted"});
  EXPECT_EQ(read(model(relu_parts()).bytes(20, "")).warnings,
            std::vector<std::string>{"the file holds training information, which is left out: inference is predicted"});
}

TEST(Onnx, OldFilesWithoutOpsetAreOfTheFirst) {
  const Program program = read(Proto().varint(1, 2).message(7, graph(relu_parts())));
  EXPECT_EQ(program.source.format, "ONNX IR 2, opset 1");
}

TEST(Onnx, SequencesAndOptionalsAreReadAsTheirTensors) {
  GraphParts parts = relu_parts();
  const Proto type = tensor_type(kFloat, {2, 3});
  parts.inputs.push_back(value_info("list", Proto().message(4, Proto().message(1, type))));
  parts.inputs.push_back(value_info("maybe", Proto().message(9, Proto().message(1, type))));
  const Program program = read(parts);
  EXPECT_TRUE(variable(program, "list").is_sequence);
  EXPECT_FALSE(variable(program, "maybe").is_sequence);
  EXPECT_EQ(variable(program, "maybe").dimensions.size(), 2U);
}

// Bad input.

TEST(OnnxRefuses, ModelsWithoutGraphOrVersions) {
  EXPECT_EQ(refusal(Proto().varint(1, 8).message(8, opset(17))),
            "'m.onnx': the ONNX model has no graph; save it again from the tool that made it");
  EXPECT_EQ(
      refusal(Proto().varint(1, 8).message(7, graph(relu_parts()))),
      "'m.onnx': the ONNX model states no operator versions (opset_import); save it again from the tool that made "
      "it");
  EXPECT_EQ(refusal(Proto().varint(1, 8).message(7, graph(relu_parts())).message(8, opset(1, "com.acme"))),
            "'m.onnx': node '' (Relu) is of ONNX's own domain, of which the file states no version (opset_import)");
}

TEST(OnnxRefuses, InputsThatNothingMakes) {
  GraphParts parts = relu_parts();
  parts.nodes = {node("Add", {"x", "nowhere"}, {"y"}, {}, "", "sum")};
  EXPECT_EQ(refusal(parts), "'m.onnx': node 'sum' (Add) at byte 12 reads 'nowhere', which nothing in the file makes");
}

TEST(OnnxRefuses, OutputsThatNothingMakes) {
  GraphParts parts = relu_parts();
  parts.outputs.push_back(value_info("z"));
  EXPECT_EQ(refusal(parts), "'m.onnx': output 'z' of the graph is made by no node");
}

TEST(OnnxRefuses, NamesMadeTwice) {
  GraphParts parts = relu_parts();
  parts.nodes.push_back(node("Tanh", {"x"}, {"y"}, {}, "", "again"));
  EXPECT_EQ(refusal(parts), "'m.onnx': 'y' is made twice: node 'again' (Tanh) at byte 26 is not its first source");
  parts = relu_parts();
  parts.inputs.push_back(value_info("x"));
  EXPECT_EQ(refusal(parts), "'m.onnx': input 'x' is listed twice, the second time at byte 47");
  parts = relu_parts();
  parts.initializers = {tensor("w", kFloat, {1}), tensor("w", kFloat, {2})};
  EXPECT_EQ(refusal(parts), "'m.onnx': initializer 'w' is stored twice, the second time at byte 35");
}

TEST(OnnxRefuses, MapInputs) {
  GraphParts parts = relu_parts();
  parts.inputs.push_back(value_info("m", Proto().bytes(5, "")));
  EXPECT_EQ(refusal(parts),
            "'m.onnx': input 'm' is a map; networks of tensors are read: give its parts as inputs of their own");
}

TEST(OnnxRefuses, SparseTensors) {
  GraphParts parts = relu_parts();
  EXPECT_EQ(refusal(Proto().varint(1, 8).message(7, graph(parts).bytes(15, "")).message(8, opset(17))),
            "'m.onnx': the graph holds 1 sparse initializers, which are not read; store them as dense tensors");
  parts.nodes.push_back(node("Constant", {}, {"c"}, {Proto().bytes(1, "sparse_value").bytes(22, "").varint(20, 11)}));
  EXPECT_EQ(refusal(parts), "'m.onnx': constant 'c' is sparse, which is not read; store it as a dense tensor");
}

TEST(OnnxRefuses, ConstantsWithoutValueAndNodesWithoutOperator) {
  GraphParts parts = relu_parts();
  parts.nodes.push_back(node("Constant", {}, {"c"}));
  EXPECT_EQ(refusal(parts), "'m.onnx': constant 'c' at byte 26 has no value");
  parts = relu_parts();
  parts.nodes.push_back(node("", {}, {"c"}, {}, "", "odd"));
  EXPECT_EQ(refusal(parts), "'m.onnx' is damaged: node 'odd' at byte 26 names no operator");
}

TEST(OnnxRefuses, MoreNodesThanTheLimit) {
  GraphParts parts = relu_parts();
  for (int i = 0; i < 1200; ++i) parts.nodes.push_back(node("Relu", {"x"}, {"t" + std::to_string(i)}));
  EXPECT_EQ(refusal(model(parts), {.max_nodes = 1000}), "'m.onnx': graph has 1 201 nodes, limit 1 000 (max_nodes)");
}

TEST(OnnxRefuses, MoreAttributesThanAnyOperatorHas) {
  GraphParts parts = relu_parts();
  const std::vector<Proto> attributes(1025, integer_attribute("k", 1));
  parts.nodes = {node("Relu", {"x"}, {"y"}, attributes)};
  EXPECT_EQ(refusal(parts), "'m.onnx': 'Relu' at byte 14 has 1 025 attributes, limit 1 024");
}

TEST(OnnxRefuses, NamesThatAreNoText) {
  GraphParts parts = relu_parts();
  parts.nodes.push_back(node("Relu", {"x"}, {"\xff"}));
  EXPECT_EQ(refusal(parts), "'m.onnx' is damaged: the text of field 2 at byte 29 is not UTF-8");
}

}  // namespace
}  // namespace latpred::readers
