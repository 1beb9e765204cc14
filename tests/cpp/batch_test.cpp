#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

#include "latpred/error.h"
#include "latpred/program_builder.h"
#include "latpred/shapes.h"
#include "message_of.h"

namespace latpred {
namespace {

// A network that was saved for a fixed batch: its inputs have numbers only.
Program fixed(ProgramBuilder& net, std::int64_t batch) {
  Program program = net.build();
  for (const VariableId id : program.main.inputs) program.variables[id].dimensions.front() = {batch, ""};
  return program;
}

Shape output_at(const Program& program, std::int64_t batch, std::size_t output = 0) {
  const Graph graph = resolve(std::make_shared<const Program>(program), {.batch = batch});
  return graph.tensors[graph.outputs[output]].shape;
}

// The result of reshaping [saved, sizes...] with a baked target, at `asked`.
Shape reshaped(std::int64_t saved, const Shape& sizes, const std::vector<Shape>& targets, std::int64_t asked) {
  ProgramBuilder net;
  auto x = net.input("x", sizes);
  for (const Shape& target : targets) x = net.apply(OperatorId::reshape, {x, net.constant(target)});
  net.output(x);
  return output_at(fixed(net, saved), asked);
}

TEST(Batch, BakedTargetsAreRescaled) {
  EXPECT_EQ(reshaped(1, {3, 4}, {{1, 12}}, 8), (Shape{8, 12}));
  EXPECT_EQ(reshaped(1, {3, 4}, {{1, -1}}, 8), (Shape{8, 12}));
  EXPECT_EQ(reshaped(2, {6, 4}, {{2, 6, 2, 2}}, 8), (Shape{8, 6, 2, 2}));     // heads
  EXPECT_EQ(reshaped(2, {6, 4}, {{12, 4}}, 8), (Shape{48, 4}));               // batch and tokens in one
  EXPECT_EQ(reshaped(2, {6, 4}, {{12, 4}, {2, 6, 4}}, 8), (Shape{8, 6, 4}));  // and back
  EXPECT_EQ(reshaped(1, {6, 4}, {{6, 4}, {1, 6, 4}}, 8), (Shape{8, 6, 4}));
  EXPECT_EQ(reshaped(5, {8, 5}, {{40, 5}, {40, 1, 5}}, 8), (Shape{64, 1, 5}));  // another 5 is not the batch
  EXPECT_EQ(reshaped(4, {3, 4}, {{4, 12}}, 1), (Shape{1, 12}));                 // smaller than saved
  EXPECT_EQ(reshaped(1, {3, 4}, {{0, 12}}, 8), (Shape{8, 12}));                 // nothing baked in
}

TEST(Batch, TimeMajorTargetsScaleTheBatchAndNotTheTime) {
  ProgramBuilder net;
  const auto x = net.input("x", {5, 6});
  const auto time_major = net.apply(OperatorId::transpose, {x}, {{"perm", Shape{1, 0, 2}}});
  const auto heads = net.apply(OperatorId::reshape, {time_major, net.constant({5, 2, 3, 2})});
  net.output(net.apply(OperatorId::transpose, {heads}, {{"perm", Shape{1, 0, 2, 3}}}));
  EXPECT_EQ(output_at(fixed(net, 2), 8), (Shape{8, 5, 3, 2}));
}

TEST(Batch, StepsAndBatchBecomeOneDimension) {
  // [batch, 6, 4] with the steps first, as PyTorch's attention leaves its heads, to [6 * batch, 16].
  const auto joined = [](std::int64_t saved) {
    ProgramBuilder net;
    const auto x = net.input("x", {6, 4, 4});
    const auto steps_first = net.apply(OperatorId::transpose, {x}, {{"perm", Shape{1, 0, 2, 3}}});
    net.output(net.apply(OperatorId::reshape, {steps_first, net.constant({6 * saved, 16})}));
    return output_at(fixed(net, saved), 8);
  };
  EXPECT_EQ(joined(2), (Shape{48, 16}));
  EXPECT_EQ(joined(1), (Shape{48, 16}));
}

TEST(Batch, StepsAndBatchPartAgain) {
  const auto parted = [](std::int64_t saved) {
    ProgramBuilder net;
    const auto x = net.input("x", {6, 4});
    const auto steps_first = net.apply(OperatorId::transpose, {x}, {{"perm", Shape{1, 0, 2}}});
    const auto joined = net.apply(OperatorId::reshape, {steps_first, net.constant({6 * saved, 4})});
    net.output(net.apply(OperatorId::reshape, {joined, net.constant({6, saved, 4})}));
    return output_at(fixed(net, saved), 8);
  };
  EXPECT_EQ(parted(2), (Shape{6, 8, 4}));
  EXPECT_EQ(parted(1), (Shape{6, 8, 4}));
}

TEST(Batch, StepsFirstLeavesTheBatchSecond) {
  ProgramBuilder net;
  const auto x = net.input("x", {1, 16});
  const auto weights = net.parameter({1, 32, 16});
  const auto recurrence = net.parameter({1, 32, 8});
  net.output(net.apply(OperatorId::lstm, {x, weights, recurrence}, {{"hidden_size", std::int64_t{8}}}));
  const Program program = fixed(net, 200);  // steps
  EXPECT_EQ(output_at(program, kSavedBatch), (Shape{200, 1, 1, 8}));
  EXPECT_EQ(output_at(program, 4), (Shape{200, 1, 4, 8}));
}

TEST(Batch, StepsFirstAreSeenBehindAnEmbedding) {
  ProgramBuilder net;
  const auto words = net.input("words", {1}, DType::int64);
  const auto x = net.apply(OperatorId::embedding, {net.parameter({100, 16}), words});
  const auto y = net.apply(OperatorId::relu, {net.apply(OperatorId::linear, {x, net.parameter({16, 16})})});
  const auto weights = net.parameter({1, 32, 16});
  const auto recurrence = net.parameter({1, 32, 8});
  net.output(net.apply(OperatorId::lstm, {y, weights, recurrence}, {{"hidden_size", std::int64_t{8}}}));
  EXPECT_EQ(output_at(fixed(net, 200), 4), (Shape{200, 1, 4, 8}));
  EXPECT_EQ(inputs_with_steps_first(net.build()), std::set<std::string>{"words"});
}

TEST(Batch, TheCallerSaysWhereItStands) {
  ProgramBuilder net;
  const auto x = net.input("x", {2, 8});
  net.output(net.apply(OperatorId::transpose, {x}, {{"perm", Shape{1, 0, 2}}}));
  const auto program = std::make_shared<const Program>(fixed(net, 20));  // steps, batch, size
  const InputRequest second{.batch = 6, .only = InputSize{.sizes = {20, 8}, .batch_position = 1}};
  const Graph graph = resolve(program, second);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{6, 20, 8}));
  const Graph larger = with_batch(graph, 9);
  EXPECT_EQ(larger.tensors[larger.outputs[0]].shape, (Shape{9, 20, 8}));

  InputRequest by_name{.batch = 6};
  by_name.by_name["x"] = {.sizes = {20, 2}, .batch_position = 2};
  EXPECT_EQ(resolve(program, by_name).tensors[0].shape, (Shape{20, 2, 6}));
  by_name.by_name["x"] = {.sizes = {20}, .batch_position = 1};
  EXPECT_EQ(testing::message_of<InvalidArgumentError>([&] { (void)resolve(program, by_name); }),
            "input 'x' is asked for with 2 sizes, the batch among them; the file declares 'x' [20, 2, 8] float32");
}

TEST(Batch, TheCallerSaysThatAnInputHasNone) {
  ProgramBuilder net;
  const auto x = net.input("x", {20, 20});
  const auto mask = net.input("mask", {20});
  net.output(net.apply(OperatorId::add, {x, mask}));
  const auto program = std::make_shared<const Program>(fixed(net, 20));  // [20, 20, 20] and, by chance, [20, 20]
  InputRequest request{.batch = 6};
  EXPECT_THROW((void)resolve(program, request), ShapeError);
  request.by_name["mask"] = {.sizes = {20, 20}, .batch_position = kNoBatch};
  const Graph graph = resolve(program, request);
  EXPECT_EQ(graph.tensors[0].shape, (Shape{6, 20, 20}));
  EXPECT_EQ(graph.tensors[1].shape, (Shape{20, 20}));
  request.by_name["mask"].sizes = {20};
  EXPECT_EQ(testing::message_of<InvalidArgumentError>([&] { (void)resolve(program, request); }),
            "input 'mask' is asked for with 1 sizes, the batch not among them; the file declares 'mask' [20, 20] "
            "float32");
}

TEST(Batch, BesideAnInputWithoutOneVectorsHaveIt) {
  ProgramBuilder net;
  const auto tokens = net.input("tokens", {});  // [batch]
  const auto table = net.input("table", {20});
  net.output(net.apply(OperatorId::gather, {table, tokens}, {{"axis", std::int64_t{0}}}));
  InputRequest request{.batch = 6};
  request.by_name["table"] = {.sizes = {7, 20}, .batch_position = kNoBatch};
  Program program = net.build();
  program.variables[program.main.inputs[0]].dimensions = {{3, ""}};
  program.variables[program.main.inputs[0]].dtype = DType::int64;
  program.variables[program.main.inputs[1]].dimensions = {{7, ""}, {20, ""}};
  const Graph graph = resolve(std::make_shared<const Program>(program), request);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{6, 20}));
}

TEST(Batch, OfAnInputWithoutRankTheCallerSaysThatItHasNone) {
  ProgramBuilder net;
  net.output(net.apply(OperatorId::relu, {net.input("x", {8})}));
  Program program = net.build();
  program.variables[program.main.inputs[0]].has_shape = false;
  program.variables[program.main.inputs[0]].dimensions.clear();
  InputRequest request{.only = InputSize{.sizes = {20, 20}}};
  EXPECT_EQ(resolve(std::make_shared<const Program>(program), request).tensors[0].shape, (Shape{1, 20, 20}));
  request.only->batch_position = kNoBatch;
  EXPECT_EQ(resolve(std::make_shared<const Program>(program), request).tensors[0].shape, (Shape{20, 20}));
}

TEST(Batch, WhereTheCallerSaysItANameIsNoBatch) {
  ProgramBuilder net;
  const auto x = net.input("x", {2, 8});
  net.output(net.apply(OperatorId::relu, {x}));
  Program program = net.build();
  program.variables[program.main.inputs[0]].dimensions = {{kUnknownSize, "batch"}, {kUnknownSize, "n"}, {8, ""}};
  const InputRequest second{.batch = 6, .only = InputSize{.sizes = {20, 8}, .batch_position = 1}};
  const Graph graph = resolve(std::make_shared<const Program>(program), second);
  EXPECT_EQ(graph.tensors[graph.outputs[0]].shape, (Shape{20, 6, 8}));
}

TEST(Batch, AStateOfSeveralLayersHasItSecondToo) {
  ProgramBuilder net;
  const auto x = net.input("x", {1, 16});
  const auto states = net.input("states", {1, 8});  // [2 layers, 1, 8]
  const auto first =
      net.apply(OperatorId::slice, {states}, {{"starts", Shape{0}}, {"ends", Shape{1}}, {"axes", Shape{0}}});
  const auto weights = net.parameter({1, 8, 16});
  const auto recurrence = net.parameter({1, 8, 8});
  const auto bias = net.parameter({1, 16});
  net.output(net.apply(OperatorId::rnn, {x, weights, recurrence, bias, kAbsent, first}));
  Program program = net.build();
  program.variables[program.main.inputs[0]].dimensions.front() = {20, ""};
  program.variables[program.main.inputs[1]].dimensions.front() = {2, ""};
  EXPECT_EQ(output_at(program, 4), (Shape{20, 1, 4, 8}));
}

TEST(Batch, DamagedSlicesOfAStateAreRefused) {
  for (const bool has_input : {false, true}) {
    ProgramBuilder net;
    const auto x = net.input("x", {1, 16});
    const auto part = net.apply(OperatorId::slice, has_input ? std::vector{x} : std::vector<VariableId>{});
    const auto none = net.apply(OperatorId::rnn, {x, x, x, kAbsent, kAbsent, part});
    net.output(none);
    Program program = net.build();
    for (Statement& statement : program.main.statements) {
      if (statement.op == OperatorId::slice && has_input) statement.inputs.front() = part;  // of itself
    }
    EXPECT_THROW((void)output_at(program, 4), Error);
  }
}

TEST(Batch, TheDimensionThatSaysSoIsTheBatch) {
  const auto second_at_8 = [](std::vector<std::string> symbols, std::vector<std::int64_t> asked) {
    ProgramBuilder net;
    net.output(net.apply(OperatorId::relu, {net.input("x", {1024, 3})}));
    Program program = net.build();
    auto& dimensions = program.variables[program.main.inputs.front()].dimensions;
    for (std::size_t i = 0; i < symbols.size(); ++i) dimensions[i] = {kUnknownSize, symbols[i]};
    InputRequest request{.batch = 8};
    request.only = InputSize{.sizes = std::move(asked)};
    const Graph graph = resolve(std::make_shared<const Program>(program), request);
    return graph.tensors[graph.outputs.front()].shape;
  };
  EXPECT_EQ(second_at_8({"B", "N"}, {1024, 3}), (Shape{8, 1024, 3}));  // clouds of N points
  EXPECT_EQ(second_at_8({"T", "B"}, {35, 3}), (Shape{35, 8, 3}));
  EXPECT_EQ(second_at_8({"T", "batch"}, {35, 3}), (Shape{35, 8, 3}));
  EXPECT_EQ(second_at_8({"N"}, {1024, 3}), (Shape{8, 1024, 3}));
}

TEST(Batch, EveryInputMayNameItsBatch) {
  for (const auto& [first, second] : std::vector<std::pair<std::string, std::string>>{
           {"batch_a", "batch_b"}, {"a_dynamic_axes_1", "b_dynamic_axes_1"}}) {
    ProgramBuilder net;
    net.output(net.apply(OperatorId::add, {net.input("a", {4}), net.input("b", {4})}));
    Program program = net.build();
    program.variables[program.main.inputs[0]].dimensions.front() = {kUnknownSize, first};
    program.variables[program.main.inputs[1]].dimensions.front() = {kUnknownSize, second};
    EXPECT_EQ(output_at(program, 8), (Shape{8, 4})) << first;
  }
}

TEST(Batch, OfVectorsAloneTheLengthIsTheBatch) {
  ProgramBuilder net;
  net.output(net.apply(OperatorId::add, {net.input("user", {}), net.input("item", {})}));
  EXPECT_EQ(output_at(fixed(net, 64), kSavedBatch), (Shape{64}));
  EXPECT_EQ(output_at(fixed(net, 64), 8), (Shape{8}));
}

TEST(Batch, WhatCannotBeRightIsRefused) {
  ProgramBuilder net;
  const auto x = net.input("x", {4, 4});
  // Cuts the batch itself: the first of two samples.
  const auto first = net.apply(OperatorId::slice, {x}, {{"starts", Shape{0}}, {"ends", Shape{2}}, {"axes", Shape{0}}});
  net.output(net.apply(OperatorId::relu, {first}));
  const std::string message = testing::message_of<ShapeError>([&] { (void)output_at(fixed(net, 2), 8); });
  EXPECT_NE(message.find("input 'x' is fixed at batch 2"), std::string::npos) << message;
  EXPECT_NE(message.find("re-export with a dynamic batch dimension"), std::string::npos) << message;
  EXPECT_EQ(output_at(fixed(net, 2), 2), (Shape{2, 4, 4}));
}

TEST(Batch, ARefusalNamesTheNode) {
  ProgramBuilder net;
  const auto x = net.input("x", {4});
  net.output(net.apply(OperatorId::concat, {x, net.parameter({2, 3})}, {{"axis", std::int64_t{1}}}));
  const std::string message = testing::message_of<ShapeError>([&] { (void)output_at(fixed(net, 2), 8); });
  EXPECT_NE(message.find("'n0' bakes it in"), std::string::npos) << message;
}

TEST(Batch, AllInputsWithTheSameLeadingSizeScaleTogether) {
  ProgramBuilder net;
  const auto a = net.input("a", {4});
  const auto b = net.input("b", {4});
  net.output(net.apply(OperatorId::add, {a, b}));
  EXPECT_EQ(output_at(fixed(net, 2), 8), (Shape{8, 4}));
}

TEST(Batch, SavedBatchIsWhatTheFileSays) {
  ProgramBuilder net;
  net.output(net.apply(OperatorId::relu, {net.input("x", {4})}));
  EXPECT_EQ(output_at(fixed(net, 3), kSavedBatch), (Shape{3, 4}));
  EXPECT_EQ(output_at(net.build(), kSavedBatch), (Shape{1, 4}));
}

TEST(Batch, ASymbolicFileMeansWhatItSays) {
  ProgramBuilder net;
  net.output(net.apply(OperatorId::reshape, {net.input("x", {4}), net.constant({1, -1})}));
  EXPECT_EQ(output_at(net.build(), 8), (Shape{1, 32}));
  ProgramBuilder baked;  // at batch 8 this target can only be rescaled
  baked.output(baked.apply(OperatorId::reshape, {baked.input("x", {4}), baked.constant({1, 2, 2})}));
  EXPECT_EQ(output_at(baked.build(), 8), (Shape{8, 2, 2}));
}

}  // namespace
}  // namespace latpred
