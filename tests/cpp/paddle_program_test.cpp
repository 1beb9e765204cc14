#include "readers/paddle/paddle_program.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "latpred/error.h"
#include "latpred/shapes.h"
#include "message_of.h"
#include "onnx_writer.h"

namespace latpred::readers {
namespace {

using latpred::testing::message_of;
using latpred::testing::Proto;
using Sizes = std::vector<std::int64_t>;

constexpr int kFloat32 = 5;  // VarType.Type
constexpr int kInt64 = 3;

Proto variable(const std::string& name, const Sizes& sizes, bool is_weight, int dtype = kFloat32) {
  Proto tensor;
  tensor.varint(1, static_cast<std::uint64_t>(dtype));
  for (const std::int64_t size : sizes) tensor.varint(2, static_cast<std::uint64_t>(size));
  const Proto type = Proto().varint(1, 7).message(3, Proto().message(1, tensor));
  return Proto().bytes(1, name).message(2, type).varint(3, is_weight ? 1 : 0);
}

struct Argument {
  std::string parameter;
  std::vector<std::string> names;
};

Proto integer(const std::string& name, std::int64_t value) {
  return Proto().bytes(1, name).varint(2, 0).varint(3, static_cast<std::uint64_t>(value));
}

Proto integers(const std::string& name, const Sizes& values) {
  Proto result = Proto().bytes(1, name).varint(2, 3);
  for (const std::int64_t value : values) result.varint(6, static_cast<std::uint64_t>(value));
  return result;
}

Proto op(const std::string& type, const std::vector<Argument>& inputs, const std::vector<Argument>& outputs,
         const std::vector<Proto>& attributes = {}) {
  Proto result;
  const auto add = [&](int number, const Argument& argument) {
    Proto message = Proto().bytes(1, argument.parameter);
    for (const std::string& name : argument.names) message.bytes(2, name);
    result.message(number, message);
  };
  for (const Argument& input : inputs) add(1, input);
  for (const Argument& output : outputs) add(2, output);
  result.bytes(3, type);
  for (const Proto& attribute : attributes) result.message(4, attribute);
  return result;
}

Proto feed(const std::string& name) { return op("feed", {{"X", {"feed"}}}, {{"Out", {name}}}, {integer("col", 0)}); }
Proto fetch(const std::string& name) { return op("fetch", {{"X", {name}}}, {{"Out", {"fetch"}}}, {integer("col", 0)}); }

std::string file(const std::vector<Proto>& variables, const std::vector<Proto>& operators) {
  Proto block = Proto().varint(1, 0).varint(2, static_cast<std::uint64_t>(-1));
  for (const Proto& one : variables) block.message(3, one);
  for (const Proto& one : operators) block.message(4, one);
  return Proto().message(1, block).message(4, Proto().varint(1, 2'004'001)).text();
}

Program read(const std::string& content) { return read_paddle_program({"m.pdmodel", content}, {}); }

Graph graph_of(const std::string& content, std::int64_t batch) {
  return resolve(std::make_shared<const Program>(read(content)), {.batch = batch});
}

std::string refusal(const std::string& content) {
  return message_of<ModelFileError>([&] { (void)read(content); });
}

// mul + elementwise_add over [-1, 2, 2], as Paddle 1 wrote a dense layer.
std::string dense() {
  return file(
      {variable("x", {-1, 2, 2}, false), variable("w", {4, 3}, true), variable("b", {3}, true),
       variable("h", {-1, 3}, false), variable("y", {-1, 3}, false)},
      {feed("x"), op("mul", {{"X", {"x"}}, {"Y", {"w"}}}, {{"Out", {"h"}}}, {integer("x_num_col_dims", 1)}),
       op("elementwise_add", {{"X", {"h"}}, {"Y", {"b"}}}, {{"Out", {"y"}}}, {integer("axis", 1)}), fetch("y")});
}

TEST(PaddleProgram, ReadsADenseLayer) {
  const Program program = read(dense());
  EXPECT_EQ(program.source.format, "Paddle ProgramDesc");
  EXPECT_EQ(program.source.producer, "paddle 2.4.1");
  EXPECT_EQ(program.source.num_nodes, 2);
  const Graph graph = graph_of(dense(), 5);
  EXPECT_EQ(graph.macs(), 5 * 4 * 3);
  EXPECT_EQ(graph.num_parameters(), 15);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{5, 3}));
}

TEST(PaddleProgram, PutsABiasAtItsAxis) {
  const std::string content =
      file({variable("x", {-1, 3, 4, 5}, false), variable("b", {3}, true), variable("y", {-1, 3, 4, 5}, false)},
           {feed("x"), op("elementwise_add", {{"X", {"x"}}, {"Y", {"b"}}}, {{"Out", {"y"}}}, {integer("axis", 1)}),
            fetch("y")});
  const Graph graph = graph_of(content, 2);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{2, 3, 4, 5}));
  EXPECT_EQ(graph.num_parameters(), 3);
}

// What a name means changes where it is written again.
TEST(PaddleProgram, FollowsNamesThatAreWrittenTwice) {
  const std::string content =
      file({variable("x", {-1, 4}, false)}, {feed("x"), op("relu", {{"X", {"x"}}}, {{"Out", {"x"}}}),
                                             op("tanh", {{"X", {"x"}}}, {{"Out", {"x"}}}), fetch("x")});
  const Graph graph = graph_of(content, 1);
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.nodes[0].op, OperatorId::relu);
  EXPECT_EQ(graph.nodes[1].op, OperatorId::tanh);
}

// The input has been multiplied before: only the state's product remains.
TEST(PaddleProgram, CountsTheRecurrenceOfAGruOnly) {
  const std::string content = file(
      {variable("x", {-1, 12}, false), variable("w", {4, 12}, true), variable("b", {1, 12}, true),
       variable("h", {-1, 4}, false)},
      {feed("x"),
       op("gru", {{"Bias", {"b"}}, {"Input", {"x"}}, {"Weight", {"w"}}}, {{"BatchGate", {"g"}}, {"Hidden", {"h"}}}),
       fetch("h")});
  const Graph graph = graph_of(content, 7);
  EXPECT_EQ(graph.macs(), 7 * 4 * 12);
  EXPECT_EQ(graph.num_parameters(), 48 + 12);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{7, 4}));
  ASSERT_FALSE(graph.warnings.empty());
  EXPECT_NE(graph.warnings[0].find("laid end to end"), std::string::npos);
}

TEST(PaddleProgram, ReadsALookupWithItsOldTrailingDimension) {
  const std::string content =
      file({variable("ids", {-1, 1}, false, kInt64), variable("table", {100, 8}, true), variable("y", {-1, 8}, false)},
           {feed("ids"), op("lookup_table", {{"Ids", {"ids"}}, {"W", {"table"}}}, {{"Out", {"y"}}}), fetch("y")});
  const Graph graph = graph_of(content, 6);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{6, 8}));
  EXPECT_EQ(graph.num_parameters(), 800);
}

TEST(PaddleProgram, ReshapesByAListOfTensors) {
  const std::string content = file(
      {variable("x", {-1, 2, 3}, false), variable("s", {3}, false, 2), variable("n", {1}, false, 2),
       variable("y", {-1, 6}, false)},
      {feed("x"), op("shape", {{"Input", {"x"}}}, {{"Out", {"s"}}}),
       op("slice", {{"Input", {"s"}}}, {{"Out", {"n"}}},
          {integers("axes", {0}), integers("starts", {0}), integers("ends", {1}), integers("decrease_axis", {0})}),
       op("fill_constant", {}, {{"Out", {"six"}}}, {integers("shape", {1}), integer("dtype", 2), integer("value", 6)}),
       op("reshape2", {{"X", {"x"}}, {"ShapeTensor", {"n", "six"}}}, {{"Out", {"y"}}}, {integers("shape", {-1, 6})}),
       fetch("y")});
  EXPECT_EQ(graph_of(content, 4).tensors[graph_of(content, 4).outputs[0]].shape, (Shape{4, 6}));
}

TEST(PaddleProgram, RefusesWhatItCannotRead) {
  EXPECT_NE(
      refusal(file({variable("x", {4}, false)}, {feed("x"), op("while", {{"X", {"x"}}}, {{"Out", {"x"}}}), fetch("x")}))
          .find("control flow in a .pdmodel is not read"),
      std::string::npos);
  EXPECT_NE(refusal(file({variable("x", {4}, false)}, {feed("x"), op("relu_grad", {{"X", {"x"}}}, {{"Out", {"x"}}})}))
                .find("a program for training"),
            std::string::npos);
}

TEST(PaddleProgram, RefusesDamagedFiles) {
  const std::string whole = dense();
  int refused = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    try {
      (void)read(whole.substr(0, size));
    } catch (const ModelFileError& error) {
      EXPECT_EQ(error.data().path.empty() ? "m.pdmodel" : error.data().path, "m.pdmodel");
      ++refused;
    }
  }
  EXPECT_GE(refused, static_cast<int>(whole.size()) - 8);  // the version at the end may be missing
  EXPECT_NE(
      refusal(file({}, {op("relu", {{"X", {"x"}}}, {{"Out", {"y"}}}), fetch("y")})).find("nothing before it makes"),
      std::string::npos);
  EXPECT_NE(refusal(file({variable("w", {-1}, true)}, {op("relu", {{"X", {"w"}}}, {{"Out", {"y"}}}), fetch("y")}))
                .find("the weight 'w' has an open size"),
            std::string::npos);
  EXPECT_NE(refusal(file({variable("x", {-5}, false)}, {feed("x"), fetch("x")})).find("has the dimensions"),
            std::string::npos);
  EXPECT_NE(refusal(file({variable("x", {4}, false)}, {feed("x"), feed("x"), fetch("x")})).find("is fed twice"),
            std::string::npos);
}

}  // namespace
}  // namespace latpred::readers
