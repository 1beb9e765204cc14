#include "readers/tensorflow/tensorflow.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "latpred/error.h"
#include "latpred/shapes.h"
#include "message_of.h"
#include "readers/tensorflow/tensorflow_defaults.h"
#include "readers/tensorflow/tensorflow_operators.h"
#include "tensorflow_writer.h"

namespace latpred::readers {
namespace {

namespace tf = latpred::testing::tf;
using latpred::testing::message_of;
using latpred::testing::Proto;
using namespace latpred::testing::tf;

Program read(const Proto& content, const ReaderLimits& limits = {}) {
  return read_tensorflow({"m.pb", content.text()}, limits);
}
Graph resolved(const Proto& content, std::int64_t batch = 2) {
  return resolve(std::make_shared<const Program>(read(content)), {.batch = batch});
}
std::string refusal(const Proto& content, const ReaderLimits& limits = {}) {
  return message_of<ModelFileError>([&] { static_cast<void>(read(content, limits)); });
}
void expect_words(const std::string& message, const std::vector<std::string>& words) {
  for (const std::string& word : words) EXPECT_NE(message.find(word), std::string::npos) << word << " in " << message;
}
Shape output_of(const Graph& graph, std::size_t index = 0) {
  return graph.tensors[static_cast<std::size_t>(graph.outputs.at(index))].shape;
}

const Proto kImage = placeholder("image", {-1, 8, 8, 4});

TEST(TensorFlow, ReadsAFrozenGraphWithDefaultsLeftOut) {
  // Out of order, as files are; the convolution says nothing of its layout.
  const Graph graph = resolved(tf::graph({
      node("relu", "Relu6", {"conv"}, {}),
      node("conv", "Conv2D", {"image", "filter", "^other"},
           {{"padding", text("SAME")}, {"strides", integers({1, 2, 2, 1})}}),
      kImage,
      weight("filter", {3, 3, 4, 16}),
      node("other", "NoOp"),
      node("left_behind", "Identity", {"filter"}),
  }));
  ASSERT_EQ(graph.nodes.size(), 2U);
  ASSERT_EQ(graph.outputs.size(), 1U);
  EXPECT_EQ(output_of(graph), (Shape{2, 4, 4, 16}));
  EXPECT_EQ(graph.macs(), 2.0 * 4 * 4 * 16 * 3 * 3 * 4);
  EXPECT_EQ(graph.num_parameters(), 3 * 3 * 4 * 16);
  EXPECT_EQ(graph.tensors[static_cast<std::size_t>(graph.inputs[0])].name, "image");
}

TEST(TensorFlow, PadsExplicitlyAndInGroups) {
  const Graph graph = resolved(tf::graph({
      kImage,
      weight("filter", {3, 3, 2, 6}),
      node("conv", "Conv2D", {"image", "filter"},
           {{"padding", text("EXPLICIT")},
            {"strides", integers({1, 1, 1, 1})},
            {"explicit_paddings", integers({0, 0, 1, 2, 0, 3, 0, 0})}}),
  }));
  EXPECT_EQ(output_of(graph), (Shape{2, 9, 9, 6}));
  EXPECT_EQ(graph.macs(), 2.0 * 9 * 9 * 6 * 3 * 3 * 2);
}

// Every mask of x[...]: NumPy gives these shapes for an array of [2, 8, 8, 4].
TEST(TensorFlow, SlicesAsPythonDoes) {
  struct Case {
    std::vector<std::int64_t> begin, end, strides;
    int begin_mask, end_mask, ellipsis, fresh, shrink;
    Shape expected;
  };
  const std::vector<Case> cases{
      {{0, 1}, {0, 7}, {1, 1}, 1, 1, 0, 0, 0, {2, 6, 8, 4}},              // x[:, 1:7]
      {{0, -1}, {0, 0}, {1, 1}, 0, 0, 1, 0, 2, {2, 8, 8}},                // x[..., -1]
      {{0, 2, 0}, {0, 3, 0}, {1, 1, 1}, 4, 4, 1, 0, 2, {2, 8, 4}},        // x[..., 2, :]
      {{0, 0, 0}, {0, 0, 0}, {1, 1, 1}, 5, 5, 0, 2, 0, {2, 1, 8, 8, 4}},  // x[:, newaxis, :]
      {{0, 0}, {0, 0}, {1, 1}, 0, 0, 1, 2, 0, {2, 8, 8, 4, 1}},           // x[..., newaxis]
      {{0, 0}, {0, 0}, {1, -2}, 3, 3, 0, 0, 0, {2, 4, 8, 4}},             // x[:, ::-2]
      {{1}, {2}, {1}, 0, 0, 0, 0, 1, {8, 8, 4}},                          // x[1]
  };
  for (const Case& one : cases) {
    const Graph graph = resolved(tf::graph({
        kImage,
        numbers("begin", one.begin),
        numbers("end", one.end),
        numbers("strides", one.strides),
        node("cut", "StridedSlice", {"image", "begin", "end", "strides"},
             {{"begin_mask", integer(one.begin_mask)},
              {"end_mask", integer(one.end_mask)},
              {"ellipsis_mask", integer(one.ellipsis)},
              {"new_axis_mask", integer(one.fresh)},
              {"shrink_axis_mask", integer(one.shrink)}}),
        node("result", "Relu", {"cut"}),
    }));
    EXPECT_EQ(output_of(graph), one.expected);
  }
}

// The bounds come from the image's own sizes.
TEST(TensorFlow, FollowsShapeArithmetic) {
  const Graph graph = resolved(tf::graph({
      kImage,
      node("shape", "Shape", {"image"}),
      numbers("zero", {0}),
      numbers("one", {1}),
      node("batch", "StridedSlice", {"shape", "zero", "one", "one"}, {{"shrink_axis_mask", integer(1)}}),
      number("rest", -1),
      node("target", "Pack", {"batch", "rest"}),
      node("flat", "Reshape", {"image", "target"}),
      number("axis", 1),
      node("parts", "Split", {"axis", "flat"}, {{"num_split", integer(4)}}),
      node("result", "AddV2", {"parts:1", "parts:3"}),
  }));
  EXPECT_EQ(output_of(graph), (Shape{2, 64}));
}

Proto served(const Proto& graph, std::string_view output = "call:0", std::string_view key = "serving_default") {
  return saved_model({meta_graph(graph, {tf::signature(key, {tensor_info("x", "image:0", {-1, 8, 8, 4})},
                                                       {tensor_info("y", output, {-1, 8, 8, 4})})})});
}

Proto call(std::string_view name, std::string_view callee, const std::vector<std::string>& inputs) {
  return node(name, "StatefulPartitionedCall", inputs, {{"f", tf::function(callee)}});
}

TEST(TensorFlow, InlinesFunctionsAndCountsAVariableOnce) {
  const Proto inner = library_function("inner", {"x", "w"}, {{"y", "b:output:0"}},
                                       {node("r", "ReadVariableOp", {"w"}), node("b", "BiasAdd", {"x", "r:value:0"})});
  const Proto outer =
      library_function("outer", {"a", "w"}, {{"y", "second:output:0"}},
                       {call("first", "inner", {"a", "w"}), call("second", "inner", {"first:output:0", "w"})});
  const Graph graph = resolved(served(
      tf::graph({kImage, tf::variable("w", {4}), tf::variable("w_again", {4}), call("call", "outer", {"image", "w"})},
                {inner, outer})));
  EXPECT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.num_parameters(), 4);
  EXPECT_EQ(graph.tensors[static_cast<std::size_t>(graph.inputs[0])].name, "x");
  EXPECT_EQ(graph.tensors[static_cast<std::size_t>(graph.outputs[0])].name, "y");
}

// Sum of x over three turns, gathered into a list: while_v2 as TensorFlow writes it.
TEST(TensorFlow, CountsTheTurnsOfALoop) {
  const Proto condition =
      library_function("cond", {"i", "n", "list", "w"}, {{"r", "less:z:0"}}, {node("less", "Less", {"i", "n"})});
  const Proto body = library_function(
      "body", {"i", "n", "list", "w"}, {{"i1", "next:z:0"}, {"n1", "n"}, {"l1", "put:output_handle:0"}, {"w1", "w"}},
      {number("one", 1), node("next", "AddV2", {"i", "one:output:0"}), node("read", "ReadVariableOp", {"w"}),
       weight("row", {5, 8}), node("product", "MatMul", {"row:output:0", "read:value:0"}),
       node("put", "TensorListSetItem", {"list", "i", "product:product:0"})});
  const Proto outer = library_function(
      "outer", {"x", "w"}, {{"y", "stack:tensor:0"}},
      {number("start", 0), number("turns", 3), node("empty", "TensorListReserve", {"start:output:0", "turns:output:0"}),
       node("loop", "While", {"start:output:0", "turns:output:0", "empty:handle:0", "w"},
            {{"cond", tf::function("cond")}, {"body", tf::function("body")}}),
       node("stack", "TensorListStack", {"loop:output:2", "start:output:0"})});
  const Graph graph = resolved(served(
      tf::graph({kImage, tf::variable("w", {8, 2}), call("call", "outer", {"image", "w"})}, {condition, body, outer})));
  EXPECT_EQ(output_of(graph), (Shape{3, 5, 2}));
}

TEST(TensorFlow, JoinsABatchNormThatIsWrittenOut) {
  const Proto epsilon = node(
      "epsilon", "Const", {},
      {{"dtype", type(kFloat)}, {"value", Proto().message(8, tf::tensor(kFloat, {}, Proto().float32(5, 0.001F)))}});
  const std::vector<Proto> parameters{kImage,
                                      weight("gamma", {4}),
                                      weight("beta", {4}),
                                      weight("mean", {4}),
                                      weight("variance", {4}),
                                      epsilon,
                                      node("sum", "AddV2", {"variance", "epsilon"}),
                                      node("inverse", "Rsqrt", {"sum"}),
                                      node("factor", "Mul", {"inverse", "gamma"})};
  std::vector<Proto> keras = parameters;
  for (const Proto& one : {node("scaled", "Mul", {"image", "factor"}), node("moved", "Mul", {"mean", "factor"}),
                           node("shift", "Sub", {"beta", "moved"}), node("result", "AddV2", {"scaled", "shift"})}) {
    keras.push_back(one);
  }
  std::vector<Proto> torch = parameters;
  for (const Proto& one : {node("centred", "Sub", {"image", "mean"}), node("scaled", "Mul", {"centred", "factor"}),
                           node("result", "AddV2", {"scaled", "beta"})}) {
    torch.push_back(one);
  }
  for (const auto& nodes : {keras, torch}) {
    const Graph graph = resolved(tf::graph(nodes));
    ASSERT_EQ(graph.nodes.size(), 1U);
    EXPECT_EQ(graph.nodes[0].op, OperatorId::batch_norm);
    EXPECT_EQ(graph.num_parameters(), 8);
    EXPECT_EQ(graph.num_statistics(), 8);
    EXPECT_FLOAT_EQ(static_cast<float>(graph.nodes[0].attributes.real("epsilon", 0)), 0.001F);
  }
}

TEST(TensorFlow, RefusesWhatNoFileMayHold) {
  struct Case {
    const char* name;
    Proto content;
    std::vector<std::string> words;
  };
  const Proto relu = node("y", "Relu", {"image"});
  const Proto calls_itself = library_function("f", {"x"}, {{"y", "again:output:0"}}, {call("again", "f", {"x"})});
  const std::vector<Case> cases{
      {"no nodes", tf::graph({}).bytes(4, ""), {"no nodes"}},
      {"cycle",
       tf::graph({node("a", "Relu", {"b"}), node("b", "Relu", {"a"}), node("c", "Relu", {"b"})}),
       {"cycle", "'a'", "'b'"}},
      {"dangling", tf::graph({kImage, node("y", "Relu", {"nowhere"})}), {"'y'", "'nowhere'"}},
      {"twice", tf::graph({kImage, relu, relu}), {"two nodes are called 'y'"}},
      {"bad result name", tf::graph({kImage, node("y", "Relu", {"image:two"})}), {"image:two"}},
      {"result out of range", tf::graph({kImage, relu, node("z", "Relu", {"y:3"})}), {"result 3", "'y'"}},
      {"negative size", tf::graph({weight("w", {-5, 2}), node("y", "Relu", {"w"})}), {"-5"}},
      {"huge size",
       tf::graph({weight("w", {std::int64_t{1} << 62, std::int64_t{1} << 62}), node("y", "Relu", {"w"})}),
       {"more elements"}},
      {"content too long",
       tf::graph(
           {node("w", "Const", {}, {{"value", Proto().message(8, tf::tensor(kInt32, {1}, int32_content({1, 2, 3})))}}),
            node("y", "Relu", {"w"})}),
       {"damaged", "more than its 1"}},
      {"packed content too short",
       tf::graph(
           {node("w", "Const", {}, {{"value", Proto().message(8, tf::tensor(kInt32, {4}, Proto().bytes(4, "abc")))}}),
            node("y", "Relu", {"w"})}),
       {"damaged", "16 bytes, holds 3"}},
      {"missing input", tf::graph({kImage, node("y", "BiasAdd", {"image"})}), {"input 1 is missing"}},
      {"missing attribute",
       tf::graph({kImage, weight("w", {1, 1, 4, 4}), node("y", "Conv2D", {"image", "w"})}),
       {"'padding'", "no default"}},
      {"recursion", served(tf::graph({kImage, call("call", "f", {"image"})}, {calls_itself})), {"'f'", "calls itself"}},
      {"unknown function", served(tf::graph({kImage, call("call", "g", {"image"})})), {"'g'", "does not hold"}},
      {"schema", saved_model({}, 7), {"schema version 7"}},
      {"no graph", saved_model({}), {"holds no graph"}},
      {"no signature", saved_model({meta_graph(tf::graph({kImage, relu}), {})}), {"no signature"}},
      {"signatures to choose from",
       saved_model({meta_graph(tf::graph({kImage, relu}), {tf::signature("a", {}, {}), tf::signature("b", {}, {})})}),
       {"'a'", "'b'", "serving_default"}},
      {"dangling signature", served(tf::graph({kImage, relu}), "nowhere:0"), {"'nowhere:0'"}},
      {"only results without a value", tf::graph({kImage}), {"no result"}},
      {"variable without sizes",
       served(tf::graph(
           {kImage, node("w", "VarHandleOp", {}, {{"dtype", type(kFloat)}}), node("call", "BiasAdd", {"image", "w"})})),
       {"sizes the file does not say"}},
      {"axis from data",
       tf::graph({kImage, placeholder("axis", {2}), node("y", "Transpose", {"image", "axis"})}),
       {"'y'", "order", "while the network runs"}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    expect_words(refusal(one.content), one.words);
  }
}

TEST(TensorFlow, StopsAtItsLimits) {
  // Each function calls the next one twice: 2^20 nodes from 20 functions.
  std::vector<Proto> functions;
  for (int i = 0; i < 20; ++i) {
    const std::string next = "f" + std::to_string(i + 1);
    functions.push_back(library_function("f" + std::to_string(i), {"x"}, {{"y", "b:output:0"}},
                                         {call("a", next, {"x"}), call("b", next, {"a:output:0"})}));
  }
  functions.push_back(library_function("f20", {"x"}, {{"y", "r:activations:0"}}, {node("r", "Relu", {"x"})}));
  const Proto content = served(tf::graph({kImage, call("call", "f0", {"image"})}, functions));
  expect_words(refusal(content, {.max_nodes = 1000}), {"max_nodes", "1 000"});
  expect_words(refusal(content, {.max_depth = 5}), {"max_depth"});
}

TEST(TensorFlow, RefusesEveryTruncation) {
  const std::string whole =
      served(tf::graph({kImage, tf::variable("w", {4}), node("call", "BiasAdd", {"image", "w"})})).text();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    try {
      static_cast<void>(read_tensorflow({"m.pb", std::string_view(whole).substr(0, size)}, {}));
      ADD_FAILURE() << "accepted " << size << " of " << whole.size() << " bytes";
    } catch (const ModelFileError&) {
    }
  }
}

TEST(TensorFlow, OperatorsHaveOneRowEachAndTheirDefaults) {
  std::size_t count = 0;
  for (const auto table : {tensorflow::layer_rows, tensorflow::arithmetic_rows, tensorflow::array_rows}) {
    for (const tensorflow::OperatorRow& row : table()) {
      EXPECT_EQ(tensorflow::operator_row(row.name), &row) << row.name << " stands in two tables";
      EXPECT_NE(tensorflow::registry_row(row.name), nullptr)
          << row.name << ": run tools/fixtures/make_tensorflow_defaults.py";
      ++count;
    }
  }
  EXPECT_GT(count, 150U);
  const tensorflow::RegistryRow* const conv = tensorflow::registry_row("Conv2D");
  ASSERT_NE(conv, nullptr);
  EXPECT_EQ(tensorflow::default_of(*conv, "data_format"), "NHWC");
  EXPECT_EQ(tensorflow::default_of(*conv, "dilations"), "1,1,1,1");
  EXPECT_EQ(tensorflow::default_of(*conv, "padding"), std::nullopt);
}

}  // namespace
}  // namespace latpred::readers
