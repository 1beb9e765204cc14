#include "readers/onnx/onnx_versions.h"

#include <gtest/gtest.h>

#include "latpred/error.h"
#include "message_of.h"
#include "onnx_writer.h"
#include "readers/onnx/onnx.h"

namespace latpred::readers {
namespace {

using namespace latpred::testing;

// The single statement of a graph of one node, written in `version`.
Statement statement(const Proto& node, std::int64_t version) {
  GraphParts parts;
  parts.nodes = {node};
  parts.inputs = {value_info("x"), value_info("s")};
  parts.outputs = {value_info("y")};
  return read_onnx({"m.onnx", model(parts, version).text()}, {}).main.statements.at(0);
}

TEST(OnnxVersions, SoftmaxBefore13WorksOnAxisOne) {
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    EXPECT_EQ(statement(node(op, {"x"}, {"y"}), 12).attributes.integer("axis", -1), 1) << op;
    EXPECT_FALSE(statement(node(op, {"x"}, {"y"}), 13).attributes.has("axis")) << op;
    EXPECT_EQ(statement(node(op, {"x"}, {"y"}, {integer_attribute("axis", 2)}), 11).attributes.integer("axis", -1), 2);
  }
}

TEST(OnnxVersions, BatchNormalizationWithMoreOutputsTrains) {
  const Proto inference = node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y"});
  const Proto training = node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y", "m", "v"});
  EXPECT_FALSE(statement(inference, 9).attributes.has("training_mode"));
  EXPECT_EQ(statement(training, 9).attributes.integer("training_mode", 0), 1);
  EXPECT_FALSE(statement(training, 14).attributes.has("training_mode"));
}

TEST(OnnxVersions, CastNamesItsTypeBefore6) {
  EXPECT_EQ(statement(node("Cast", {"x"}, {"y"}, {text_attribute("to", "INT64")}), 1).attributes.integer("to", 0), 7);
  EXPECT_EQ(
      message_of<ModelFileError>([] { statement(node("Cast", {"x"}, {"y"}, {text_attribute("to", "LONG")}), 1); }),
      "'m.onnx': node 'y' (Cast) casts to 'LONG', which is no element type");
}

TEST(OnnxVersions, ResizeTakesScalesAtTheirLaterInput) {
  const Statement resize = statement(node("Resize", {"x", "s"}, {"y"}), 10);
  ASSERT_EQ(resize.inputs.size(), 3U);
  EXPECT_EQ(resize.inputs[1], kAbsent);
  EXPECT_EQ(resize.attributes.text("coordinate_transformation_mode", ""), "asymmetric");
  EXPECT_EQ(statement(node("Resize", {"x", "s"}, {"y"}), 11).inputs.size(), 2U);
}

TEST(OnnxVersions, UpsampleAndPadOfTheFirstVersion) {
  const Statement upsample = statement(
      node("Upsample", {"x"}, {"y"}, {real_attribute("height_scale", 2), real_attribute("width_scale", 3)}), 1);
  EXPECT_EQ(upsample.attributes.reals("scales"), (std::vector<double>{1, 1, 2, 3}));
  const Statement pad = statement(node("Pad", {"x"}, {"y"}, {integers_attribute("paddings", {0, 1, 0, 1})}), 1);
  EXPECT_EQ(pad.attributes.integers("pads"), (Shape{0, 1, 0, 1}));
  EXPECT_FALSE(pad.attributes.has("paddings"));
}

TEST(OnnxVersions, OtherChanges) {
  EXPECT_EQ(statement(node("Concat", {"x", "s"}, {"y"}), 1).attributes.integer("axis", 0), 1);
  EXPECT_EQ(statement(node("DFT", {"x"}, {"y"}), 17).attributes.integer("axis", 0), 1);
  EXPECT_EQ(statement(node("LpPool", {"x"}, {"y"}, {real_attribute("p", 3)}), 1).attributes.integer("p", 0), 3);
  EXPECT_FALSE(statement(node("Relu", {"x"}, {"y"}, {integers_attribute("consumed_inputs", {0})}), 1)
                   .attributes.has("consumed_inputs"));
  EXPECT_EQ(message_of<ModelFileError>([] { statement(node("Tile", {"x", "s", "s"}, {"y"}), 1); }),
            "'m.onnx': node 'y' is Tile of opset 1 to 5, which repeats one axis only and is not read; convert the file "
            "with onnx.version_converter");
}

}  // namespace
}  // namespace latpred::readers
