#include "readers/torch/aten.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "latpred/error.h"
#include "latpred/operators.h"
#include "latpred/shapes.h"
#include "readers/torch/aten_defaults.h"
#include "readers/torch/aten_operators.h"

namespace latpred::readers {
namespace {

AtenValue number(std::int64_t value) { return AtenInteger{.number = value}; }
AtenValue numbers(const std::vector<std::int64_t>& values) {
  AtenIntegers list;
  for (const std::int64_t value : values) list.push_back({.number = value});
  return list;
}

// A network in the making, as the reader of torch.export files makes it.
class Network {
 public:
  Network() : source_{.path = "net.pt2", .content = {}}, assembly_(source_, limits_, "pytorch", "test") {
    assembly_.program().folds_stored = false;
  }

  VariableId input(const Shape& shape, DType dtype = DType::float32) {
    return assembly_.input("x" + std::to_string(count_++), dtype, dimensions(shape));
  }
  VariableId weight(const Shape& shape) {
    return assembly_.stored("w" + std::to_string(count_++), DType::float32, shape);
  }

  // Calls `target`; its results have the sizes and types that a file would declare.
  std::vector<VariableId> call(std::string_view target, std::vector<AtenArgument> arguments,
                               const std::vector<Shape>& results, DType dtype = DType::float32) {
    AtenNode node{.target = target, .name = "node", .arguments = std::move(arguments), .outputs = {}};
    for (const Shape& shape : results) {
      node.outputs.push_back(assembly_.result("y" + std::to_string(count_++), dtype, dimensions(shape)));
    }
    lower_aten(assembly_, node);
    return node.outputs;
  }

  Graph graph(const std::vector<VariableId>& outputs, std::int64_t batch = kSavedBatch) {
    for (const VariableId output : outputs) assembly_.output(output);
    InputRequest request;
    request.batch = batch;
    return resolve(std::make_shared<const Program>(assembly_.program()), request);
  }

  Assembly& assembly() { return assembly_; }

 private:
  static std::vector<Dimension> dimensions(const Shape& shape) {
    std::vector<Dimension> result;
    for (const std::int64_t size : shape) result.push_back({.size = size, .symbol = {}});
    return result;
  }

  Source source_;
  ReaderLimits limits_;
  Assembly assembly_;
  int count_ = 0;
};

std::vector<std::string> operator_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.emplace_back(operator_row(node.op).name);
  return names;
}

using Names = std::vector<std::string>;

TEST(Aten, defaults_stand_for_what_the_file_leaves_out) {
  Network network;
  const VariableId x = network.input({1, 8, 32, 32});
  const auto y = network.call("aten.conv2d.default",
                              {{"input", AtenTensor{x}},
                               {"weight", AtenTensor{network.weight({16, 8, 3, 3})}},
                               {"bias", std::monostate()},
                               {"stride", numbers({2, 2})},
                               {"padding", numbers({1, 1})}},
                              {{1, 16, 16, 16}});
  const Graph graph = network.graph(y);
  ASSERT_EQ(graph.nodes.size(), 1U);
  EXPECT_EQ(graph.macs(), 16.0 * 16 * 16 * 8 * 9);
  EXPECT_EQ(graph.nodes[0].attributes.integer("group", 0), 1);
  EXPECT_TRUE(graph.warnings.empty());
}

TEST(Aten, padding_in_words) {
  Network network;
  const VariableId x = network.input({1, 8, 32, 32});
  const AtenArgument weight{"weight", AtenTensor{network.weight({16, 8, 4, 4})}};
  const auto same =
      network.call("aten.conv2d.padding", {{"input", AtenTensor{x}}, weight, {"padding", std::string_view("same")}},
                   {{1, 16, 32, 32}});
  const auto valid = network.call("aten.conv2d.padding", {{"input", AtenTensor{x}}, weight}, {{1, 16, 29, 29}});
  EXPECT_TRUE(network.graph({same[0], valid[0]}).warnings.empty());
}

TEST(Aten, an_image_without_batch_is_convolved_as_one_with) {
  Network network;
  const VariableId x = network.input({8, 32, 32});
  const auto y =
      network.call("aten.conv2d.default",
                   {{"input", AtenTensor{x}}, {"weight", AtenTensor{network.weight({16, 8, 3, 3})}}}, {{16, 30, 30}});
  const Graph graph = network.graph(y);
  EXPECT_EQ(operator_names(graph), (Names{"unsqueeze", "conv", "squeeze"}));
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{16, 30, 30}));
}

TEST(Aten, names_in_place_and_unknown_ones) {
  Network network;
  const VariableId x = network.input({2, 8});
  const auto y = network.call("aten.relu_.default", {{"self", AtenTensor{x}}}, {{2, 8}});
  const auto z = network.call("mine.fancy.default", {{"a", AtenTensor{y[0]}}}, {{2, 5}});
  const Graph graph = network.graph(z);
  EXPECT_EQ(operator_names(graph), (Names{"relu", "unknown"}));
  EXPECT_EQ(graph.nodes[1].source_operator, "mine.fancy.default");
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{2, 5}));
}

// b = x * 2; view = b[:, 1:]; view += w; return b: the sum must not be lost, as nothing reads its result.
TEST(Aten, a_write_into_a_view_changes_its_base) {
  Network network;
  const VariableId x = network.input({2, 8});
  const auto b = network.call("aten.mul.Tensor", {{"self", AtenTensor{x}}, {"other", 2.0}}, {{2, 8}});
  const auto view = network.call("aten.slice.Tensor",
                                 {{"self", AtenTensor{b[0]}}, {"dim", number(1)}, {"start", number(1)}}, {{2, 7}});
  (void)network.call("aten.add_.Tensor", {{"self", AtenTensor{view[0]}}, {"other", AtenTensor{network.weight({7})}}},
                     {{2, 7}});
  const auto y = network.call("aten.neg.default", {{"self", AtenTensor{b[0]}}}, {{2, 8}});
  EXPECT_EQ(operator_names(network.graph(y)), (Names{"mul", "slice", "add", "identity", "neg"}));
}

TEST(Aten, a_write_in_place_is_what_its_name_means_from_then_on) {
  Network network;
  const VariableId x = network.input({2, 8});
  const auto b = network.call("aten.mul.Tensor", {{"self", AtenTensor{x}}, {"other", 2.0}}, {{2, 8}});
  (void)network.call("aten.fill_.Scalar", {{"self", AtenTensor{b[0]}}, {"value", 0.0}}, {{2, 8}});
  EXPECT_EQ(operator_names(network.graph({b[0]})), (Names{"constant_of_shape"}));
}

// Writes before anything was made, as only a hostile file has them, end.
TEST(Aten, versions_close_no_circle) {
  Network network;
  Assembly& assembly = network.assembly();
  const VariableId a = network.input({1});
  const VariableId b = network.input({1});
  assembly.replace(a, b);
  assembly.replace(b, a);
  EXPECT_EQ(assembly.current(a), b);
}

TEST(Aten, kernels_on_known_content_stay) {
  Network network;
  const auto steps = network.call("aten.arange.default", {{"end", number(16)}}, {{16}}, DType::int64);
  const auto y = network.call(
      "aten.add.Tensor", {{"self", AtenTensor{steps[0]}}, {"other", AtenTensor{network.input({2, 16})}}}, {{2, 16}});
  EXPECT_EQ(operator_names(network.graph(y)), (Names{"range", "add"}));
}

TEST(Aten, shapes_of_others_follow_the_batch) {
  Network network;
  const VariableId x = network.input({1, 4, 6});
  const VariableId like = network.input({1, 24});
  const auto y =
      network.call("aten.view_as.default", {{"self", AtenTensor{x}}, {"other", AtenTensor{like}}}, {{1, 24}});
  const auto z =
      network.call("aten.new_zeros.default", {{"self", AtenTensor{x}}, {"size", numbers({1, 24})}}, {{1, 24}});
  const auto sum =
      network.call("aten.add.Tensor", {{"self", AtenTensor{y[0]}}, {"other", AtenTensor{z[0]}}}, {{1, 24}});
  const Graph graph = network.graph(sum, 8);
  for (const Node& node : graph.nodes) {
    EXPECT_EQ(graph.tensors[node.outputs[0]].shape, (Shape{8, 24})) << operator_row(node.op).name;
  }
  EXPECT_EQ(graph.nodes.size(), 3U);
}

TEST(Aten, layers_of_an_lstm) {
  Network network;
  const VariableId x = network.input({2, 10, 16});
  const VariableId h = network.input({4, 2, 32});
  const VariableId c = network.input({4, 2, 32});
  AtenTensors params;
  for (const std::int64_t width : {16, 16, 64, 64}) {
    for (const Shape& shape : {Shape{128, width}, Shape{128, 32}, Shape{128}, Shape{128}}) {
      params.push_back({network.weight(shape)});
    }
  }
  const auto y = network.call("aten.lstm.input",
                              {{"input", AtenTensor{x}},
                               {"hx", AtenTensors{{h}, {c}}},
                               {"params", params},
                               {"has_biases", true},
                               {"num_layers", number(2)},
                               {"dropout", 0.0},
                               {"train", false},
                               {"bidirectional", true},
                               {"batch_first", true}},
                              {{2, 10, 64}, {4, 2, 32}, {4, 2, 32}});
  const Graph graph = network.graph(y);
  EXPECT_TRUE(graph.warnings.empty()) << graph.warnings[0];
  EXPECT_EQ(graph.macs(), 2.0 * 10 * 2 * 128 * ((16 + 32) + (64 + 32)));
  EXPECT_EQ(graph.num_parameters(), 2 * 128 * (16 + 32 + 2) + 2 * 128 * (64 + 32 + 2));
}

// One row for each way in which arguments become inputs and attributes: sizes as torch has them.
struct Case {
  std::string_view target;
  std::vector<Shape> inputs;  // of self, other, ..
  std::vector<AtenArgument> rest;
  std::vector<Shape> results;
};

TEST(Aten, sizes) {
  const std::string_view names[] = {"self", "other"};
  const std::vector<Case> cases{
      {"aten.rsub.Scalar", {{2, 3}}, {{"other", 1.0}}, {{2, 3}}},
      {"aten.add.Tensor", {{2, 3}, {3}}, {{"alpha", 2.0}}, {{2, 3}}},
      {"aten.clamp.default", {{2, 3}}, {{"min", std::monostate()}, {"max", 1.0}}, {{2, 3}}},
      {"aten.hardtanh_.default", {{2, 3}}, {}, {{2, 3}}},
      {"aten.flatten.using_ints", {{2, 3, 4, 5}}, {{"start_dim", number(1)}, {"end_dim", number(2)}}, {{2, 12, 5}}},
      {"aten.flatten.using_ints", {{2, 3, 4, 5}}, {{"start_dim", number(2)}}, {{2, 3, 20}}},
      {"aten.unflatten.int", {{2, 12, 5}}, {{"dim", number(1)}, {"sizes", numbers({3, -1})}}, {{2, 3, 4, 5}}},
      {"aten.squeeze.dim", {{2, 3}}, {{"dim", number(1)}}, {{2, 3}}},
      {"aten.squeeze.dims", {{2, 1, 3, 1}}, {{"dim", numbers({1, 2, 3})}}, {{2, 3}}},
      {"aten.squeeze.default", {{2, 1, 3}}, {}, {{2, 3}}},
      {"aten.transpose.int", {{2, 3, 4}}, {{"dim0", number(-1)}, {"dim1", number(0)}}, {{4, 3, 2}}},
      {"aten.t.default", {{2, 3}}, {}, {{3, 2}}},
      {"aten.movedim.intlist", {{2, 3, 4}}, {{"source", numbers({0})}, {"destination", numbers({-1})}}, {{3, 4, 2}}},
      {"aten.select.int", {{2, 3, 4}}, {{"dim", number(1)}, {"index", number(-1)}}, {{2, 4}}},
      {"aten.narrow.default", {{2, 9}}, {{"dim", number(1)}, {"start", number(2)}, {"length", number(3)}}, {{2, 3}}},
      {"aten.split.Tensor", {{2, 9}}, {{"split_size", number(4)}, {"dim", number(1)}}, {{2, 4}, {2, 4}, {2, 1}}},
      {"aten.chunk.default", {{2, 9}}, {{"chunks", number(4)}, {"dim", number(1)}}, {{2, 3}, {2, 3}, {2, 3}}},
      {"aten.tensor_split.indices",
       {{2, 9}},
       {{"indices", numbers({2, 5})}, {"dim", number(1)}},
       {{2, 2}, {2, 3}, {2, 4}}},
      {"aten.unbind.int", {{2, 3}}, {}, {Shape{3}, Shape{3}}},
      {"aten.unfold.default",
       {{2, 9}},
       {{"dimension", number(1)}, {"size", number(3)}, {"step", number(2)}},
       {{2, 4, 3}}},
      {"aten.pad.default", {{2, 3, 4}}, {{"pad", numbers({1, 2, 3, 4})}}, {{2, 10, 7}}},
      {"aten.repeat.default", {{2, 3}}, {{"repeats", numbers({4, 1, 2})}}, {{4, 2, 6}}},
      {"aten.tile.default", {{2, 3}}, {{"dims", numbers({2})}}, {{2, 6}}},
      {"aten.expand.default", {{2, 1, 3}}, {{"size", numbers({-1, 4, -1})}}, {{2, 4, 3}}},
      {"aten.diff.default", {{2, 9}}, {{"n", number(2)}}, {{2, 7}}},
      {"aten.mean.dim", {{2, 3, 4}}, {{"dim", numbers({-1, 1})}}, {Shape{2}}},
      {"aten.mean.default", {{2, 3, 4}}, {}, {Shape{}}},
      {"aten.max.dim", {{2, 3, 4}}, {{"dim", number(1)}, {"keepdim", true}}, {{2, 1, 4}, {2, 1, 4}}},
      {"aten.var_mean.correction", {{2, 3, 4}}, {{"dim", numbers({1})}}, {{2, 4}, {2, 4}}},
      {"aten.linalg_vector_norm.default", {{2, 3}}, {{"dim", numbers({1})}, {"keepdim", true}}, {{2, 1}}},
      {"aten.argmax.default", {{2, 3}}, {}, {Shape{}}},
      {"aten.topk.default", {{2, 9}}, {{"k", number(3)}}, {{2, 3}, {2, 3}}},
      {"aten.sort.default", {{2, 9}}, {}, {{2, 9}, {2, 9}}},
      {"aten.argsort.default", {{2, 9}}, {}, {{2, 9}}},
      {"aten.glu.default", {{2, 8}}, {}, {{2, 4}}},
      {"aten.max_pool2d.default", {{2, 3, 9, 9}}, {{"kernel_size", numbers({3, 3})}}, {{2, 3, 3, 3}}},
      {"aten.max_pool2d_with_indices.default",
       {{2, 3, 9, 9}},
       {{"kernel_size", numbers({3})}, {"stride", numbers({2})}},
       {{2, 3, 4, 4}, {2, 3, 4, 4}}},
      {"aten.adaptive_avg_pool2d.default", {{2, 3, 9, 9}}, {{"output_size", numbers({1, 1})}}, {{2, 3, 1, 1}}},
      {"aten.im2col.default",
       {{2, 3, 8, 8}},
       {{"kernel_size", numbers({2, 2})},
        {"dilation", numbers({1, 1})},
        {"padding", numbers({0, 0})},
        {"stride", numbers({2, 2})}},
       {{2, 12, 16}}},
      {"aten.pixel_shuffle.default", {{2, 12, 4, 4}}, {{"upscale_factor", number(2)}}, {{2, 3, 8, 8}}},
      {"aten.fft_rfft2.default", {{2, 8, 8}}, {}, {{2, 8, 5}}},
      {"aten.fft_irfft.default", {{2, 5}}, {}, {{2, 8}}},
      {"aten.stft.default", {{2, 400}}, {{"n_fft", number(100)}, {"return_complex", true}}, {{2, 51, 13}}},
      {"aten.one_hot.default", {{2, 3}}, {{"num_classes", number(7)}}, {{2, 3, 7}}},
      {"aten.bmm.default", {{2, 3, 4}}, {}, {}},
      {"aten.outer.default", {Shape{3}}, {}, {}},
  };
  for (const Case& row : cases) {
    SCOPED_TRACE(row.target);
    if (row.results.empty()) {
      Network network;
      const VariableId x = network.input(row.inputs[0]);
      EXPECT_THROW((void)network.call(row.target, {{"self", AtenTensor{x}}}, {{1}}), ModelFileError);
      continue;
    }
    Network network;
    std::vector<AtenArgument> arguments;
    for (std::size_t i = 0; i < row.inputs.size(); ++i) {
      arguments.push_back({names[i], AtenTensor{network.input(row.inputs[i])}});
    }
    arguments.insert(arguments.end(), row.rest.begin(), row.rest.end());
    const auto outputs = network.call(row.target, arguments, row.results);
    try {
      const Graph graph = network.graph(outputs);
      ASSERT_EQ(graph.outputs.size(), row.results.size());
      for (std::size_t i = 0; i < row.results.size(); ++i) {
        EXPECT_EQ(graph.tensors[graph.outputs[i]].shape, row.results[i]) << "result " << i;
      }
      EXPECT_TRUE(graph.warnings.empty()) << graph.warnings[0];
    } catch (const Error& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

TEST(Aten, arguments_of_another_kind_are_refused) {
  Network network;
  const VariableId x = network.input({2, 3});
  const auto message = [&](std::string_view target, std::vector<AtenArgument> arguments) -> std::string {
    try {
      (void)network.call(target, std::move(arguments), {{2, 3}});
    } catch (const ModelFileError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message("aten.softmax.int", {{"self", AtenTensor{x}}}).find("has no 'dim'"), std::string::npos);
  EXPECT_NE(message("aten.softmax.int", {{"self", AtenTensor{x}}, {"dim", number(7)}}).find("dimension 7 is outside"),
            std::string::npos);
  EXPECT_NE(message("aten.relu.default", {}).find("has no tensor"), std::string::npos);
  EXPECT_NE(message("aten.view.default", {{"self", AtenTensor{x}}, {"size", std::string_view("2")}})
                .find("'size' must be a list of integers"),
            std::string::npos);
}

TEST(AtenTable, every_row_can_be_found) {
  for (const char* target : {"aten.relu_.default", "aten.__and__.Tensor", "aten.max.dim", "aten.max.other",
                             "transformers.grouped_mm_fallback.default", "aten.view.dtype"}) {
    EXPECT_NE(aten_row(target), nullptr) << target;
  }
  EXPECT_EQ(aten_row("aten.max.other")->op, OperatorId::max);
  EXPECT_EQ(aten_row("aten.max.dim")->op, OperatorId::reduce_max);
  EXPECT_EQ(aten_row("aten.view.dtype")->op, OperatorId::bit_cast);
  EXPECT_EQ(aten_row("aten.something_else.default"), nullptr);
  EXPECT_EQ(aten_row(""), nullptr);
}

TEST(AtenTable, defaults_are_sorted_and_found) {
  const auto rows = aten_defaults();
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_LT(std::pair(rows[i - 1].target, rows[i - 1].argument), std::pair(rows[i].target, rows[i].argument));
  }
  EXPECT_EQ(std::get<std::int64_t>(*aten_default("aten.conv2d.default", "groups")), 1);
  EXPECT_EQ(std::get<std::string_view>(*aten_default("aten.conv2d.padding", "padding")), "valid");
  EXPECT_EQ(aten_default("aten.conv2d.default", "input"), nullptr);
  EXPECT_EQ(std::get<std::int64_t>(*aten_default("aten.elu_.default", "alpha")), 1);
}

}  // namespace
}  // namespace latpred::readers
