#include "readers/keras/keras.h"

#include <gtest/gtest.h>

#include <memory>

#include "latpred/error.h"
#include "latpred/graph.h"
#include "latpred/shapes.h"
#include "latpred/text.h"
#include "message_of.h"

namespace latpred::readers {
namespace {

using namespace latpred::testing;

// A layer as Keras 3 writes it; `config` and `more` are the members of their objects.
std::string layer(const std::string& class_name, const std::string& config, const std::string& more = "",
                  const std::string& module = "keras.layers") {
  return concat(R"({"module":")", module, R"(","class_name":")", class_name, R"(","config":{)", config, "}",
                more.empty() ? "" : ",", more, "}");
}

std::string input_layer(const std::string& shape, const std::string& name = "x", const std::string& more = "") {
  return layer("InputLayer", concat(R"("name":")", name, R"(","batch_shape":)", shape, more),
               concat(R"("name":")", name, R"(","inbound_nodes":[])"));
}

std::string sequential(const std::string& shape, const std::vector<std::string>& layers) {
  return layer("Sequential", concat(R"("name":"s","layers":[)", input_layer(shape), ",", join(layers, ","), "]"), "",
               "keras");
}

std::string tensor(const std::string& name, int call = 0, int index = 0) {
  return concat(R"({"class_name":"__keras_tensor__","config":{"shape":[null],"dtype":"float32","keras_history":[")",
                name, R"(",)", call, ",", index, "]}}");
}

// A layer of a functional network, called once on `arguments`.
std::string node(const std::string& class_name, const std::string& name, const std::string& config,
                 const std::string& arguments, const std::string& module = "keras.layers") {
  return layer(class_name, concat(R"("name":")", name, "\"", config.empty() ? "" : ",", config),
               concat(R"("name":")", name, R"(","inbound_nodes":[{"args":[)", arguments, R"(],"kwargs":{}}])"), module);
}

std::string functional(const std::vector<std::string>& layers, const std::string& inputs, const std::string& outputs) {
  return layer("Functional",
               concat(R"("name":"f","layers":[)", join(layers, ","), R"(],"input_layers":)", inputs,
                      R"(,"output_layers":)", outputs),
               "", "keras.src.models.functional");
}

Program read(const std::string& config, const ReaderLimits& limits = {}) {
  return read_keras_config({"m.json", config}, limits);
}
Graph graph(const std::string& config, std::int64_t batch = 1) {
  return resolve(std::make_shared<const Program>(read(config)), {.batch = batch, .only = {}, .by_name = {}});
}
template <typename ErrorType = ModelFileError>
std::string refusal(const std::string& config, const ReaderLimits& limits = {}) {
  return message_of<ErrorType>([&] { static_cast<void>(read(config, limits)); });
}
Shape output_shape(const Graph& graph, std::size_t index = 0) {
  return graph.tensors.at(static_cast<std::size_t>(graph.outputs.at(index))).shape;
}

struct LayerCase {
  std::string name;
  std::string shape;  // of the input
  std::string layer;
  Shape output;  // at batch 2
  std::int64_t parameters = 0;
  std::int64_t statistics = 0;
  double macs = 0;
};

TEST(Keras, LayersHaveKerasSizesAndWeights) {
  const std::vector<LayerCase> cases{
      {"dense on the last axis", "[null,5,4]", layer("Dense", R"("name":"d","units":3)"), {2, 5, 3}, 15, 0, 120},
      {"no bias", "[null,4]", layer("Dense", R"("name":"d","units":3,"use_bias":false)"), {2, 3}, 12, 0, 24},
      {"same padding",
       "[null,7,7,3]",
       layer("Conv2D", R"("name":"c","filters":4,"kernel_size":[3,3],"strides":[2,2],"padding":"same")"),
       {2, 4, 4, 4},
       112,
       0,
       2 * 16 * 4 * 27},
      {"groups",
       "[null,7,7,4]",
       layer("Conv2D", R"("name":"c","filters":6,"kernel_size":3,"groups":2)"),
       {2, 5, 5, 6},
       6 * 2 * 9 + 6,
       0,
       2 * 25 * 6 * 18},
      {"channels first",
       "[null,3,7,7]",
       layer("Conv2D", R"("name":"c","filters":4,"kernel_size":[3,3],"data_format":"channels_first")"),
       {2, 4, 5, 5},
       112,
       0,
       2 * 25 * 4 * 27},
      {"causal",
       "[null,9,2]",
       layer("Conv1D", R"("name":"c","filters":4,"kernel_size":[3],"dilation_rate":[2],"padding":"causal")"),
       {2, 9, 4},
       28,
       0,
       2 * 9 * 4 * 6},
      {"depthwise",
       "[null,7,7,3]",
       layer("DepthwiseConv2D", R"("name":"c","kernel_size":[3,3],"depth_multiplier":2)"),
       {2, 5, 5, 6},
       60,
       0,
       2 * 25 * 6 * 9},
      {"separable",
       "[null,7,7,3]",
       layer("SeparableConv2D", R"("name":"c","filters":8,"kernel_size":[3,3])"),
       {2, 5, 5, 8},
       27 + 24 + 8,
       0,
       2 * 25 * (3 * 9 + 3 * 8)},
      {"transposed, valid",
       "[null,5,5,3]",
       layer("Conv2DTranspose", R"("name":"c","filters":2,"kernel_size":[2,2],"strides":[3,3])"),
       {2, 15, 15, 2},
       26,
       0,
       2 * 25 * 3 * 2 * 4},
      {"transposed, same",
       "[null,5,5,3]",
       layer("Conv2DTranspose", R"("name":"c","filters":2,"kernel_size":[3,3],"strides":[2,2],"padding":"same")"),
       {2, 10, 10, 2},
       56,
       0,
       2 * 25 * 3 * 2 * 9},
      {"batch norm", "[null,5,5,3]", layer("BatchNormalization", R"("name":"b","axis":-1)"), {2, 5, 5, 3}, 6, 6},
      {"batch norm without scale",
       "[null,6]",
       layer("BatchNormalization", R"("name":"b","axis":[1],"scale":false)"),
       {2, 6},
       6,
       12},
      {"layer norm over two axes",
       "[null,5,4]",
       layer("LayerNormalization", R"("name":"l","axis":[1,2])"),
       {2, 5, 4},
       40,
       0},
      {"group norm", "[null,5,6]", layer("GroupNormalization", R"("name":"g","groups":3,"axis":-1)"), {2, 5, 6}, 12, 0},
      {"pool", "[null,7,7,3]", layer("MaxPooling2D", R"("name":"p","pool_size":[2,2],"padding":"same")"), {2, 4, 4, 3}},
      {"global pool", "[null,7,7,3]", layer("GlobalAveragePooling2D", R"("name":"p")"), {2, 3}},
      {"global pool, kept",
       "[null,3,7,7]",
       layer("GlobalMaxPooling2D", R"("name":"p","keepdims":true,"data_format":"channels_first")"),
       {2, 3, 1, 1}},
      {"flatten", "[null,7,3]", layer("Flatten", R"("name":"f")"), {2, 21}},
      {"reshape", "[null,12]", layer("Reshape", R"("name":"r","target_shape":[-1,3])"), {2, 4, 3}},
      {"permute", "[null,4,5]", layer("Permute", R"("name":"r","dims":[2,1])"), {2, 5, 4}},
      {"repeat", "[null,4]", layer("RepeatVector", R"("name":"r","n":3)"), {2, 3, 4}},
      {"zero padding", "[null,4,5,2]", layer("ZeroPadding2D", R"("name":"z","padding":[[1,2],[3,4]])"), {2, 7, 12, 2}},
      {"cropping", "[null,9,2]", layer("Cropping1D", R"("name":"z","cropping":[2,3])"), {2, 4, 2}},
      {"upsampling", "[null,4,5,2]", layer("UpSampling2D", R"("name":"z","size":[2,3])"), {2, 8, 15, 2}},
      {"resizing", "[null,4,5,2]", layer("Resizing", R"("name":"z","height":6,"width":3)"), {2, 6, 3, 2}},
      {"embedding", "[null,4]", layer("Embedding", R"("name":"e","input_dim":50,"output_dim":8)"), {2, 4, 8}, 400},
      {"lstm",
       "[null,6,4]",
       layer("LSTM", R"("name":"l","units":5,"return_sequences":true)"),
       {2, 6, 5},
       200,
       0,
       2 * 6 * (80 + 100)},
      {"gru with two biases",
       "[null,6,4]",
       layer("GRU", R"("name":"l","units":5,"reset_after":true)"),
       {2, 5},
       60 + 75 + 30,
       0,
       2 * 6 * (60 + 75)},
      {"both directions",
       "[null,6,4]",
       layer("Bidirectional",
             concat(R"("name":"b","merge_mode":"concat","layer":)", layer("SimpleRNN", R"("name":"r","units":5)"))),
       {2, 10},
       2 * (20 + 25 + 5),
       0,
       2 * 2 * 6 * (20 + 25)},
      {"each step",
       "[null,6,4,3]",
       layer("TimeDistributed",
             concat(R"("name":"t","layer":)", layer("Conv1D", R"("name":"c","filters":2,"kernel_size":2)"))),
       {2, 6, 3, 2},
       14,
       0,
       2 * 6 * 3 * 12},
      {"slopes", "[null,4,4,3]", layer("PReLU", R"("name":"p","shared_axes":[1,2])"), {2, 4, 4, 3}, 3},
      {"equation",
       "[null,6,4]",
       layer("EinsumDense", R"("name":"e","equation":"abc,cd->abd","output_shape":[null,5],"bias_axes":"d")"),
       {2, 6, 5},
       25,
       0,
       2 * 6 * 20},
      {"equation with dots",
       "[null,3,6,4]",
       layer("EinsumDense", R"("name":"e","equation":"...x,xy->...y","output_shape":5)"),
       {2, 3, 6, 5},
       20,
       0,
       2 * 3 * 6 * 20},
      {"dropout is nothing", "[null,4]", layer("Dropout", R"("name":"d","rate":0.5)"), {2, 4}},
  };
  for (const LayerCase& row : cases) {
    SCOPED_TRACE(row.name);
    try {
      const Graph found = graph(sequential(row.shape, {row.layer}), 2);
      EXPECT_EQ(output_shape(found), row.output);
      EXPECT_EQ(found.num_parameters(), row.parameters);
      EXPECT_EQ(found.num_statistics(), row.statistics);
      EXPECT_EQ(found.macs(), row.macs);
      EXPECT_TRUE(found.warnings.empty());
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(Keras, AttentionHasItsProjections) {
  const Graph found = graph(functional({input_layer("[null,6,16]"),
                                        node("MultiHeadAttention", "m", R"("num_heads":2,"key_dim":4,"value_dim":3)",
                                             tensor("x") + "," + tensor("x"))},
                                       R"([["x",0,0]])", R"([["m",0,0]])"),
                            2);
  EXPECT_EQ(output_shape(found), (Shape{2, 6, 16}));
  EXPECT_EQ(found.num_parameters(), 2 * (16 * 8 + 8) + (16 * 6 + 6) + (6 * 16 + 16));
  const double projections = 2 * 6 * (2 * 16 * 8 + 16 * 6 + 6 * 16);
  EXPECT_EQ(found.macs(), projections + 2 * 2 * 6 * 6 * (4 + 3));
}

TEST(Keras, ASharedLayerHasItsWeightsOnce) {
  const std::string twice = concat(R"("name":"d","inbound_nodes":[{"args":[)", tensor("x"),
                                   R"(],"kwargs":{}},{"args":[)", tensor("d"), R"(],"kwargs":{}}])");
  const Graph found = graph(functional({input_layer("[null,4]"), layer("Dense", R"("name":"d","units":4)", twice)},
                                       R"([["x",0,0]])", R"([["d",1,0]])"));
  EXPECT_EQ(found.num_parameters(), 20);
  EXPECT_EQ(found.macs(), 32);
}

TEST(Keras, NetworksAreLayersToo) {
  const std::string inner = functional({input_layer("[null,4]", "i"), node("Dense", "d", R"("units":4)", tensor("i"))},
                                       R"([["i",0,0]])", R"([["d",0,0]])");
  const std::string called =
      inner.substr(0, inner.size() - 1) + concat(R"(,"name":"f","inbound_nodes":[{"args":[)", tensor("x"),
                                                 R"(],"kwargs":{}},{"args":[)", tensor("f"), R"(],"kwargs":{}}]})");
  // Where outputs are listed, a functional network counts the call it was born with.
  const Graph found =
      graph(functional({input_layer("[null,4]"), called}, R"([["x",0,0]])", R"({"b":["f",2,0],"a":["f",1,0]})"));
  EXPECT_EQ(found.num_parameters(), 20);
  EXPECT_EQ(found.macs(), 32);
  EXPECT_EQ(found.outputs.size(), 2U);  // in the order of their keys
  EXPECT_EQ(found.tensors.at(static_cast<std::size_t>(found.outputs[0])).name, "f/d/bias_add");
}

TEST(Keras, ReadsOperationsOnTensors) {
  const std::string slices =
      concat("[", tensor("x"), R"(,[{"class_name":"__slice__","config":{"start":null,"stop":null,"step":null}},)",
             R"(-1,null,{"class_name":"__slice__","config":{"start":1,"stop":null,"step":2}}]])");
  const std::string item = node("GetItem", "g", "", slices.substr(1, slices.size() - 2), "keras.src.ops.numpy");
  const std::string sum = node("Add", "a", "", tensor("g") + ",2.5", "keras.src.ops.numpy");
  const Graph found = graph(functional({input_layer("[null,5,8]"), item, sum}, R"([["x",0,0]])", R"([["a",0,0]])"), 3);
  EXPECT_EQ(output_shape(found), (Shape{3, 1, 4}));
}

TEST(Keras, ReadsTheOlderFormOfCalls) {
  const auto older = [](const std::string& class_name, const std::string& name, const std::string& config,
                        const std::string& calls) {
    return concat(R"({"class_name":")", class_name, R"(","config":{"name":")", name, R"(","trainable":true)", config,
                  R"(},"name":")", name, R"(","inbound_nodes":)", calls, "}");
  };
  const std::string config =
      concat(R"({"class_name":"Model","config":{"name":"m","layers":[)",
             older("InputLayer", "x", R"(,"batch_input_shape":[null,4])", "[]"), ",",
             older("Dense", "d", R"(,"units":4)", R"([[["x",0,0,{}]]])"), ",",
             older("Concatenate", "c", R"(,"axis":-1)", R"([[["x",0,0,{}],["d",0,0,{}]]])"), ",",
             older("TFOpLambda", "o", R"(,"function":"math.multiply")", R"([["c",0,0,{"y":["c",0,0],"name":null}]])"),
             R"(],"input_layers":[["x",0,0]],"output_layers":[["o",0,0]]}})");
  const Graph found = graph(config, 2);
  EXPECT_EQ(output_shape(found), (Shape{2, 8}));
  EXPECT_EQ(found.num_parameters(), 20);
}

TEST(Keras, MixedPrecisionCastsItsInputs) {
  const Graph found = graph(sequential(
      "[null,4]",
      {layer(
          "Dense",
          R"("name":"d","units":3,"dtype":{"module":"keras","class_name":"DTypePolicy","config":{"name":"mixed_float16"}})")}));
  EXPECT_EQ(found.tensors.at(static_cast<std::size_t>(found.outputs[0])).dtype, DType::float16);
  EXPECT_EQ(found.nodes.front().op, OperatorId::cast);
}

TEST(Keras, WarnsWhereTheDeclaredSizesAreWrong) {
  std::string end = tensor("d");
  end.replace(end.find("[null]"), 6, "[null,9]");
  const Graph found = graph(
      functional({input_layer("[null,4]"), node("Dense", "d", R"("units":3)", tensor("x")), node("ReLU", "r", "", end)},
                 R"([["x",0,0]])", R"([["r",0,0]])"));
  ASSERT_EQ(found.warnings.size(), 1U);
  EXPECT_NE(found.warnings[0].find("[1, 9]"), std::string::npos);
}

struct Refusal {
  std::string name;
  std::string config;
  std::string words;
};

TEST(Keras, RefusesWhatContradictsItself) {
  const std::string ends = R"([["x",0,0]])";
  const std::string dense = node("Dense", "d", R"("units":3)", tensor("x"));
  std::string deep = "0";
  for (int i = 0; i < 400; ++i) deep = "[" + deep + "]";
  std::string nested = layer("ReLU", R"("name":"r")");
  for (int i = 0; i < 70; ++i) {
    nested = layer("SpectralNormalization", concat(R"("name":"t","layer":)", nested));
  }
  const std::vector<Refusal> cases{
      {"no JSON", "{", "not valid JSON"},
      {"no class", "{}", "'class_name' is missing"},
      {"depth of JSON", deep, "arrays and objects inside one another"},
      {"depth of layers", sequential("[null,4]", {nested}), "inside one another"},
      {"never built", layer("Sequential", R"("name":"s","layers":[])"), "model.build(input_shape)"},
      {"unknown tensor", functional({input_layer("[null,4]"), node("ReLU", "r", "", tensor("gone"))}, ends, ends),
       "no such layer"},
      {"unknown call", functional({input_layer("[null,4]"), dense, node("ReLU", "r", "", tensor("d", 7))}, ends, ends),
       "is called 1 times"},
      {"unknown result",
       functional({input_layer("[null,4]"), dense, node("ReLU", "r", "", tensor("d", 0, 5))}, ends, ends), "result 5"},
      {"cycle",
       functional({input_layer("[null,4]"), node("Add", "a", "", concat("[", tensor("x"), ",", tensor("b"), "]")),
                   node("ReLU", "b", "", tensor("a"))},
                  ends, ends),
       "the layers form a cycle"},
      {"itself", functional({input_layer("[null,4]"), node("ReLU", "b", "", tensor("b"))}, ends, ends), "cycle"},
      {"two of a name", functional({input_layer("[null,4]"), dense, dense}, ends, ends),
       "two layers have the name 'd'"},
      {"no input", functional({dense}, R"([["d",0,0]])", ends), "is listed as an input, but is none"},
      {"huge", sequential("[null,4]", {layer("Dense", R"("name":"d","units":9223372036854775807)")}), "from 1 to 2^31"},
      {"more than huge", sequential("[null,4]", {layer("Dense", R"("name":"d","units":9223372036854775808)")}),
       "layer 'd' (Dense)"},
      {"negative", sequential("[null,4]", {layer("Dense", R"("name":"d","units":-1)")}), "from 1 to 2^31, found -1"},
      {"negative input", sequential("[null,-4]", {layer("ReLU", R"("name":"r")")}), "an input has a size of -4"},
      {"open features", sequential("[null,null]", {layer("Dense", R"("name":"d","units":1)")}),
       "is open, and the sizes of its weights follow from it"},
      {"wrong rank", sequential("[null,4]", {layer("Conv2D", R"("name":"c","filters":1,"kernel_size":1)")}),
       "has 2 dimensions, expected 4"},
      {"lambda", sequential("[null,4]", {layer("Lambda", R"("name":"code")")}),
       "Python code in the file, which is never run"},
      {"two weights for one",
       functional(
           {input_layer("[null,4]"), layer("Dense", R"("name":"d","units":3)",
                                           concat(R"("name":"d","inbound_nodes":[{"args":[)", tensor("x"),
                                                  R"(],"kwargs":{}},{"args":[)", tensor("d"), R"(],"kwargs":{}}])"))},
           ends, ends),
       "in one call and"},
  };
  for (const Refusal& row : cases) {
    SCOPED_TRACE(row.name);
    const std::string message = refusal(row.config);
    EXPECT_NE(message.find(row.words), std::string::npos) << message;
    EXPECT_TRUE(message.starts_with("'m.json'")) << message;
  }
}

TEST(Keras, LeavesToKerasWhatOnlyItKnows) {
  const std::vector<Refusal> cases{
      {"custom", sequential("[null,4]", {layer("Dense", R"("name":"mine")", "", "acme.layers")}),
       "layer 'mine' (Dense): its class is none of Keras's own"},
      {"function", sequential("[null,4]", {layer("Activation", R"("name":"a","activation":"sillu")")}),
       "did you mean 'silu'?"},
      {"quantised",
       sequential(
           "[null,4]",
           {layer("Dense",
                  R"("name":"d","units":1,"dtype":{"class_name":"QuantizedDTypePolicy","config":{"name":"int8"}})")}),
       "precision policy"},
      {"subclass", layer("MyModel", R"("units":3)"), "whose code and not its config"},
  };
  for (const Refusal& row : cases) {
    SCOPED_TRACE(row.name);
    const std::string message = refusal<UnsupportedOperatorError>(row.config);
    EXPECT_NE(message.find(row.words), std::string::npos) << message;
  }
}

TEST(Keras, CallsThatMultiplyEnd) {
  // Each network calls the one inside twice: 2^20 calls, without an operator in them.
  std::string inner = layer("Identity", R"("name":"n")");
  for (int level = 0; level < 20; ++level) {
    const std::string called =
        inner.substr(0, inner.size() - 1) + concat(R"(,"name":"n","inbound_nodes":[{"args":[)", tensor("x"),
                                                   R"(],"kwargs":{}},{"args":[)", tensor("n"), R"(],"kwargs":{}}]})");
    inner = layer("Functional",
                  concat(R"("name":"n","layers":[)", input_layer("[null,4]"), ",", called,
                         R"(],"input_layers":[["x",0,0]],"output_layers":[["n",)", level == 0 ? 1 : 2, ",0]]"),
                  "", "keras.src.models.functional");
  }
  const std::string message = refusal(inner, {.max_nodes = 1000});
  EXPECT_NE(message.find("max_nodes"), std::string::npos) << message;
}

}  // namespace
}  // namespace latpred::readers
