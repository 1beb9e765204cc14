#include "readers/tflite/tflite.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "flat_writer.h"
#include "latpred/error.h"
#include "latpred/graph.h"
#include "latpred/shapes.h"
#include "message_of.h"

namespace latpred::readers {
namespace {

using namespace latpred::testing;
using Sizes = std::vector<std::int32_t>;

// Types and operators of the schema.
constexpr std::int8_t kFloat32 = 0;
constexpr std::int8_t kInt32 = 2;
constexpr std::int32_t kAdd = 0;
constexpr std::int32_t kReshape = 22;
constexpr std::int32_t kRelu = 19;
constexpr std::int32_t kSvdf = 27;
constexpr std::int32_t kCall = 31;
constexpr std::int32_t kCustom = 32;
constexpr std::int32_t kPad = 34;
constexpr std::int32_t kSequenceLstm = 44;
constexpr std::int32_t kStridedSlice = 45;
constexpr std::int32_t kIf = 118;

// One subgraph in the making.
struct Part {
  std::vector<Flat> tensors;
  std::vector<Flat> operators;
  Sizes inputs;
  Sizes outputs;

  std::int32_t tensor(const Sizes& shape, std::int8_t type = kFloat32, std::uint32_t buffer = 0) {
    const auto index = static_cast<std::int32_t>(tensors.size());
    tensors.push_back(Flat()
                          .numbers(0, shape)
                          .number(1, type)
                          .number(2, buffer)
                          .text(3, "t" + std::to_string(index))
                          .number(8, std::uint8_t{1}));
    return index;
  }
  void apply(std::uint32_t code, const Sizes& from, const Sizes& to, const Flat& options = {}) {
    operators.push_back(Flat().number(0, code).numbers(1, from).numbers(2, to).table(4, options));
  }
  [[nodiscard]] Flat table() const {
    return Flat().tables(0, tensors).numbers(1, inputs).numbers(2, outputs).tables(3, operators);
  }
};

struct Lite {
  std::vector<Flat> codes;
  std::vector<Flat> buffers{Flat()};
  std::vector<Part> parts{Part()};
  std::uint32_t version = 3;

  Part& main() { return parts.front(); }
  std::uint32_t code(std::int32_t builtin, const std::string& custom = "") {
    codes.push_back(Flat().number(3, builtin).text(1, custom));
    return static_cast<std::uint32_t>(codes.size() - 1);
  }
  // A buffer of whole numbers, and its tensor in the main part.
  std::int32_t integers(const Sizes& values) {
    std::vector<std::uint8_t> bytes(values.size() * sizeof(std::int32_t));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    buffers.push_back(Flat().numbers(0, bytes));
    return main().tensor({static_cast<std::int32_t>(values.size())}, kInt32,
                         static_cast<std::uint32_t>(buffers.size() - 1));
  }
  [[nodiscard]] std::string file() const {
    std::vector<Flat> tables;
    for (const Part& part : parts) tables.push_back(part.table());
    return Flat()
        .number(0, version)
        .tables(1, codes)
        .tables(2, tables)
        .text(3, "tests")
        .tables(4, buffers)
        .file("TFL3");
  }
};

Program read(const std::string& content, const ReaderLimits& limits = {}) {
  return read_tflite({"m.tflite", content}, limits);
}

Graph graph_of(const Lite& model, std::int64_t batch = kSavedBatch) {
  InputRequest request;
  request.batch = batch;
  return resolve(std::make_shared<const Program>(read(model.file())), request);
}

std::string refusal(const Lite& model, const ReaderLimits& limits = {}) {
  return message_of<ModelFileError>([&] { (void)read(model.file(), limits); });
}

// x -> `builtin` -> y, both of these shapes.
Lite one_operator(std::int32_t builtin, const Sizes& shape, const Flat& options = {}) {
  Lite model;
  Part& main = model.main();
  main.inputs = {main.tensor(shape)};
  main.outputs = {main.tensor(shape)};
  main.apply(model.code(builtin), main.inputs, main.outputs, options);
  return model;
}

Shape output_shape(const Graph& graph) { return graph.tensors[static_cast<std::size_t>(graph.outputs[0])].shape; }

TEST(Tflite, ReadsAnOperator) {
  const Program program = read(one_operator(kRelu, {2, 3}).file());
  EXPECT_EQ(program.source.format, "TensorFlow Lite schema 3");
  EXPECT_EQ(program.source.producer, "tests");
  EXPECT_EQ(program.source.framework, "tensorflow");
  ASSERT_EQ(program.main.statements.size(), 1U);
  EXPECT_EQ(program.main.statements[0].op, OperatorId::relu);
  EXPECT_EQ(program.main.statements[0].source_operator, "RELU");
  EXPECT_EQ(program.main.statements[0].name, "relu_0");
}

TEST(Tflite, FusedActivationsFollowTheirOperator) {
  struct Row {
    std::int8_t code;
    OperatorId op;
  };
  for (const auto& [code, op] :
       {Row{1, OperatorId::relu}, Row{2, OperatorId::clip}, Row{3, OperatorId::clip}, Row{4, OperatorId::tanh}}) {
    Lite model = one_operator(kAdd, {2, 3}, Flat().number(0, code));
    model.main().operators.clear();
    model.main().apply(0, {0, 0}, {1}, Flat().number(0, code));
    const Program program = read(model.file());
    ASSERT_EQ(program.main.statements.size(), 2U);
    EXPECT_EQ(program.main.statements[0].op, OperatorId::add);
    EXPECT_EQ(program.main.statements[1].op, op);
    EXPECT_EQ(program.source.num_nodes, 1);
  }
  Lite model = one_operator(kAdd, {2, 3});
  model.main().operators.clear();
  model.main().apply(0, {0, 0}, {1}, Flat().number(0, std::int8_t{9}));
  EXPECT_EQ(refusal(model), "'m.tflite': operator 'add_0' (ADD) has the unknown activation 9");
}

// Gates' matrices [cells, inputs] and [cells, cells] in inputs 1 to 8, biases in 12 to 15.
TEST(Tflite, SequenceLstmCountsItsProducts) {
  Lite model;
  Part& main = model.main();
  main.inputs = {main.tensor({2, 5, 3})};
  Sizes from = main.inputs;
  for (int gate = 0; gate < 4; ++gate) from.push_back(main.tensor({7, 3}));
  for (int gate = 0; gate < 4; ++gate) from.push_back(main.tensor({7, 7}));
  from.insert(from.end(), {-1, -1, -1});
  for (int gate = 0; gate < 4; ++gate) from.push_back(main.tensor({7}));
  from.insert(from.end(), {-1, -1, main.tensor({2, 7}), main.tensor({2, 7}), -1, -1, -1, -1});
  main.outputs = {main.tensor({2, 5, 7})};
  main.apply(model.code(kSequenceLstm), from, main.outputs);
  const Graph graph = graph_of(model);
  EXPECT_EQ(output_shape(graph), (Shape{2, 5, 7}));
  EXPECT_EQ(graph.macs(), 2.0 * 5 * 4 * 7 * (3 + 7));
  EXPECT_EQ(graph.num_parameters(), 4 * 7 * (3 + 7 + 1));
  EXPECT_TRUE(graph.warnings.empty());
  EXPECT_EQ(output_shape(graph_of(model, 8)), (Shape{8, 5, 7}));
}

TEST(Tflite, LstmWithAProjectionIsNamed) {
  Lite model;
  Part& main = model.main();
  main.inputs = {main.tensor({2, 5, 3})};
  Sizes from = main.inputs;
  for (int weight = 0; weight < 16; ++weight) from.push_back(main.tensor({7, 3}));
  main.outputs = {main.tensor({2, 5, 4})};
  main.apply(model.code(kSequenceLstm), from, main.outputs);
  const Graph graph = graph_of(model);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].op, OperatorId::unknown);
  EXPECT_EQ(graph.nodes[0].source_operator, "UNIDIRECTIONAL_SEQUENCE_LSTM");
}

TEST(Tflite, SvdfHasTheSizesOfItsUnits) {
  Lite model;
  Part& main = model.main();
  main.inputs = {main.tensor({1, 10})};
  Sizes from = main.inputs;
  for (const Sizes& shape : {Sizes{8, 10}, Sizes{8, 6}, Sizes{4}, Sizes{1, 48}}) from.push_back(main.tensor(shape));
  main.outputs = {main.tensor({1, 4})};
  main.apply(model.code(kSvdf), from, main.outputs, Flat().number(0, std::int32_t{2}).number(1, std::int8_t{1}));
  const Graph graph = graph_of(model);
  EXPECT_EQ(output_shape(graph), (Shape{1, 4}));
  EXPECT_TRUE(graph.warnings.empty());
  EXPECT_EQ(graph.nodes.back().op, OperatorId::relu);
  EXPECT_EQ(output_shape(graph_of(model, 3)), (Shape{3, 4}));
}

TEST(Tflite, StridedSlicesOfEveryForm) {
  struct Row {
    Sizes begin, end, strides;
    std::int32_t begin_mask, end_mask, ellipsis, new_axis, shrink;
    Sizes result;
  };
  const std::vector<Row> rows{
      {{0, 1}, {0, 3}, {1, 1}, 1, 1, 0, 0, 0, {4, 2, 6}},              // x[:, 1:3]
      {{0, 0}, {0, 0}, {1, 2}, 3, 3, 0, 0, 0, {4, 3, 6}},              // x[:, ::2]
      {{0, -1}, {0, 0}, {1, 1}, 1, 1, 0, 0, 2, {4, 6}},                // x[:, -1]
      {{0, 2}, {0, 3}, {1, 1}, 0, 0, 1, 0, 2, {4, 5}},                 // x[..., 2]
      {{0, 0, 1}, {0, 0, 4}, {1, 1, 1}, 0, 0, 1, 2, 0, {4, 5, 1, 3}},  // x[..., None, 1:4]
      {{0, -1}, {0, -4}, {1, -1}, 1, 1, 0, 0, 0, {4, 3, 6}},           // x[:, -1:-4:-1]
      {{0, 0}, {4, 5}, {1, 1}, 0, 0, 0, 0, 0, {4, 5, 6}},              // all of it
  };
  for (const Row& row : rows) {
    Lite model;
    const std::int32_t x = model.main().tensor({4, 5, 6});
    const Sizes from{x, model.integers(row.begin), model.integers(row.end), model.integers(row.strides)};
    Part& main = model.main();
    main.inputs = {x};
    main.outputs = {main.tensor(row.result)};
    const Flat options = Flat()
                             .number(0, row.begin_mask)
                             .number(1, row.end_mask)
                             .number(2, row.ellipsis)
                             .number(3, row.new_axis)
                             .number(4, row.shrink);
    main.apply(model.code(kStridedSlice), from, main.outputs, options);
    const Graph graph = graph_of(model);
    EXPECT_EQ(output_shape(graph), Shape(row.result.begin(), row.result.end()));
    EXPECT_TRUE(graph.warnings.empty());
    Shape grown(row.result.begin(), row.result.end());
    grown[0] = 8;
    EXPECT_EQ(output_shape(graph_of(model, 8)), grown);
  }
}

TEST(Tflite, SlicesNeedAsManyEndsAsStarts) {
  Lite model;
  const std::int32_t x = model.main().tensor({4, 5});
  const Sizes from{x, model.integers({0, 0}), model.integers({1}), model.integers({1, 1})};
  model.main().apply(model.code(kStridedSlice), from, {model.main().tensor({1, 1})});
  EXPECT_EQ(refusal(model), "'m.tflite': operator 'strided_slice_0' (STRIDED_SLICE) has 2 starts and 1 ends");
}

TEST(Tflite, OperatorsOfOthersAreNamed) {
  for (const auto& [custom, name] : {std::pair("FlexErf", "flex::Erf"), std::pair("MyOp", "custom::MyOp")}) {
    Lite model = one_operator(kRelu, {2, 3});
    model.codes.clear();
    model.code(kCustom, custom);
    const Graph graph = graph_of(model);
    EXPECT_EQ(graph.nodes[0].op, OperatorId::unknown);
    EXPECT_EQ(graph.nodes[0].source_operator, name);
    EXPECT_EQ(output_shape(graph), (Shape{2, 3}));
  }
}

// A branch that calls the part that it stands in.
TEST(Tflite, APartThatCallsItselfIsRefused) {
  Lite model;
  Part& main = model.main();
  main.inputs = {main.tensor({2, 3})};
  main.outputs = {main.tensor({2, 3})};
  main.apply(model.code(kCall), main.inputs, main.outputs, Flat().number(0, std::uint32_t{0}));
  EXPECT_EQ(refusal(model), "'m.tflite': subgraph 0 calls itself");
}

TEST(Tflite, CallsThatMultiplyEndAtTheLimit) {
  Lite model = one_operator(kCall, {2, 3}, Flat().number(0, std::uint32_t{1}));
  for (std::uint32_t depth = 1; depth < 40; ++depth) {
    Part part;
    part.inputs = {part.tensor({2, 3})};
    part.outputs = {part.tensor({2, 3})};
    const Flat options = Flat().number(0, std::uint32_t{depth + 1});
    part.apply(depth == 39 ? model.code(kRelu) : 0, part.inputs, part.outputs, options);
    part.apply(depth == 39 ? model.code(kRelu) : 0, part.inputs, part.outputs, options);
    model.parts.push_back(part);
  }
  const std::string message = refusal(model, {.max_nodes = 10'000});
  EXPECT_TRUE(message.find("limit 10 000 (max_nodes)") != std::string::npos ||
              message.find("far larger than the file") != std::string::npos)
      << message;
}

TEST(Tflite, BranchesReadTheirInputs) {
  Lite model;
  Part& main = model.main();
  main.inputs = {main.tensor({}, 6), main.tensor({2, 3})};
  main.outputs = {main.tensor({2, 3})};
  main.apply(model.code(kIf), {0, 1}, {2}, Flat().number(0, std::int32_t{1}).number(1, std::int32_t{1}));
  Part branch;
  branch.inputs = {branch.tensor({2, 3})};
  branch.outputs = {branch.tensor({2, 3})};
  branch.apply(model.code(kRelu), branch.inputs, branch.outputs);
  model.parts.push_back(branch);
  const Graph graph = graph_of(model);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.nodes[0].op, OperatorId::relu);
}

TEST(Tflite, RefusesWhatDoesNotFit) {
  Lite newer = one_operator(kRelu, {2, 3});
  newer.version = 4;
  EXPECT_EQ(refusal(newer), "'m.tflite': is of TensorFlow Lite schema 4; this version reads schema 3");

  Lite dangling = one_operator(kRelu, {2, 3});
  dangling.main().apply(0, {99}, {1});
  EXPECT_EQ(refusal(dangling), "'m.tflite' is damaged: tensor 99 is named, subgraph 0 has 2");

  Lite setting = one_operator(kPad, {2, 3});
  setting.main().operators.clear();
  setting.main().apply(0, {0, 99}, {1});
  EXPECT_EQ(refusal(setting), "'m.tflite' is damaged: tensor 99 is named, subgraph 0 has 2");

  Lite code = one_operator(kRelu, {2, 3});
  code.main().apply(7, {0}, {1});
  EXPECT_EQ(refusal(code), "'m.tflite' is damaged: an operator has code 7 of 1");

  Lite type = one_operator(kRelu, {2, 3});
  type.main().tensors[0].number(1, std::int8_t{77});
  EXPECT_EQ(refusal(type), "'m.tflite': tensor 't0' has the unknown element type 77");

  Lite negative = one_operator(kRelu, {2, -7});
  EXPECT_EQ(refusal(negative), "'m.tflite' is damaged: tensor 't0' has a dimension of -7");

  Lite buffer = one_operator(kRelu, {2, 3});
  buffer.main().apply(0, {buffer.main().tensor({4}, kFloat32, 50)}, {1});
  EXPECT_EQ(refusal(buffer), "'m.tflite' is damaged: entry 50 of a list of 1 is asked for");

  Lite input = one_operator(kRelu, {2, 3});
  input.main().operators.clear();
  input.main().apply(0, {-1}, {1});
  EXPECT_EQ(refusal(input), "'m.tflite': operator 'relu_0' (RELU) lacks its input 0");

  EXPECT_EQ(refusal(one_operator(kRelu, {2, 3}), {.max_nodes = 0}),
            "'m.tflite': the network has more than 0 nodes, limit 0 (max_nodes)");
}

// Sizes whose product no number holds are an error of shapes, not of arithmetic.
TEST(Tflite, HugeSizes) {
  const std::int32_t most = std::numeric_limits<std::int32_t>::max();
  EXPECT_THROW((void)graph_of(one_operator(kRelu, {most, most, most})), ShapeError);
}

TEST(Tflite, ReadingBeforeWritingIsNoticed) {
  Lite model;
  Part& main = model.main();
  main.inputs = {main.tensor({2, 3})};
  const std::int32_t middle = main.tensor({2, 3});
  main.outputs = {main.tensor({2, 3})};
  const std::uint32_t relu = model.code(kRelu);
  main.apply(relu, {middle}, main.outputs);
  main.apply(relu, main.inputs, {middle});
  EXPECT_NE(message_of<ShapeError>([&] { (void)graph_of(model); }).find("before anything makes it"), std::string::npos);
}

TEST(Tflite, EveryCutIsNoticed) {
  Lite model = one_operator(kReshape, {2, 3});
  const std::string content = model.file();
  for (std::size_t size = 0; size < content.size(); ++size) {
    try {
      (void)read(content.substr(0, size));
    } catch (const ModelFileError& error) {
      EXPECT_FALSE(std::string(error.what()).empty());
    }
  }
}

}  // namespace
}  // namespace latpred::readers
