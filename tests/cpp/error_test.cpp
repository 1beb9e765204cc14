#include "latpred/error.h"

#include <gtest/gtest.h>

namespace latpred {
namespace {

TEST(Error, carries_its_data) {
  const ModelFileError error("is damaged", {.path = "m.onnx", .offset = 17});
  EXPECT_STREQ(error.what(), "is damaged");
  EXPECT_EQ(error.data().path, "m.onnx");
  EXPECT_EQ(error.data().offset, 17);
  EXPECT_TRUE(error.data().valid.empty());
}

TEST(Error, gains_context_on_the_way_up) {
  try {
    try {
      throw ShapeError("3 channels, expected 4", {.node = "conv_3"});
    } catch (Error& error) {
      error.add_context("node 'conv_3' (conv)");
      error.add_context("'m.onnx'");
      throw;
    }
  } catch (const ShapeError& error) {  // the type survives
    EXPECT_STREQ(error.what(), "'m.onnx': node 'conv_3' (conv): 3 channels, expected 4");
    EXPECT_EQ(error.data().node, "conv_3");
  }
}

TEST(Error, is_a_standard_exception) {
  try {
    throw InvalidArgumentError("no");
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "no");
  }
}

}  // namespace
}  // namespace latpred
