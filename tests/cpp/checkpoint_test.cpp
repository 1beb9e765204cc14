#include "latpred/checkpoint.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "checkpoint_writer.h"
#include "latpred/error.h"
#include "message_of.h"

namespace latpred {
namespace {

using testing::json_text;
using testing::manifest_text;
using testing::message_of;
using testing::write_checkpoint;
using testing::write_checkpoint_bytes;

std::string refusal(const std::string& path) {
  return message_of<CheckpointError>([&] { (void)read_checkpoint(path, "linear"); });
}

std::string changed(std::string text, std::string_view from, std::string_view to) {
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos);
  return text.replace(place, from.size(), to);
}

TEST(Checkpoint, GivesArraysAndManifest) {
  const std::string path =
      write_checkpoint("good", manifest_text("linear"), {{"a", {{2, 2}, {1, 2, 3, 4}}}, {"b", {{0}, {}}}});
  const Checkpoint checkpoint = read_checkpoint(path, "linear");
  EXPECT_EQ(checkpoint.array("a", {2, 2}), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_TRUE(checkpoint.array("b", {0}).empty());
  EXPECT_EQ(checkpoint.manifest.at("predictor").text(), "linear");
}

TEST(Checkpoint, NamesTheArrayThatDoesNotFit) {
  const std::string path = write_checkpoint("arrays", manifest_text("linear"), {{"a", {{2}, {1, 2}}}});
  const Checkpoint checkpoint = read_checkpoint(path, "linear");
  EXPECT_NE(message_of<CheckpointError>([&] { (void)checkpoint.array("c", {2}); }).find("has no array 'c'"),
            std::string::npos);
  EXPECT_NE(message_of<CheckpointError>([&] { (void)checkpoint.array("a", {3}); }).find("has shape [2], expected [3]"),
            std::string::npos);
}

TEST(Checkpoint, NamesWhatDiffersFromThisBuild) {
  const std::string good = manifest_text("linear");
  EXPECT_NE(refusal(write_checkpoint("version", changed(good, "\"format_version\": 1", "\"format_version\": 9")))
                .find("has format version 9, this build reads 1"),
            std::string::npos);
  EXPECT_NE(refusal(write_checkpoint("name", manifest_text("analytic")))
                .find("holds predictor 'analytic', expected 'linear'"),
            std::string::npos);
  EXPECT_NE(refusal(write_checkpoint("kind", changed(good, "\"conv_1x1\"", "\"conv_point\"")))
                .find("cost kind 2 is 'conv_point' in the file and 'conv_1x1' in this build"),
            std::string::npos);
  EXPECT_NE(refusal(write_checkpoint("arithmetic", changed(good, ", \"int8\"]", "]")))
                .find("arithmetic 4 is 'nothing' in the file and 'int8' in this build"),
            std::string::npos);
}

TEST(Checkpoint, RefusesBrokenFiles) {
  const std::string metadata = R"({"__metadata__": {"manifest": )" + json_text(manifest_text("linear")) + "}";
  EXPECT_NE(refusal("no/such/file").find("cannot be opened"), std::string::npos);
  EXPECT_NE(refusal(write_checkpoint_bytes("header", "{")).find("not valid JSON"), std::string::npos);
  EXPECT_NE(refusal(write_checkpoint_bytes("metadata", "{}")).find("'__metadata__' is missing"), std::string::npos);
  EXPECT_NE(refusal(write_checkpoint_bytes("dtype", metadata + R"(, "a": {"dtype": "F32"}})")).find("expected F64"),
            std::string::npos);
  const std::string entry = R"(, "a": {"dtype": "F64", "shape": [2], "data_offsets": )";
  for (const std::string_view offsets : {"[0, 16]", "[0, 8]", "[-8, 8]", "[8, 0]", "[0, 9223372036854775807]"}) {
    EXPECT_NE(refusal(write_checkpoint_bytes("offsets", metadata + entry + std::string(offsets) + "}}", "12345678"))
                  .find("array 'a'"),
              std::string::npos)
        << offsets;
  }
  const std::string huge = R"(, "a": {"dtype": "F64", "shape": [4294967296, 4294967296], "data_offsets": [0, 8]}})";
  EXPECT_NE(refusal(write_checkpoint_bytes("huge", metadata + huge, "12345678")).find("the file cannot hold"),
            std::string::npos);
  const std::string path = write_checkpoint("cut", manifest_text("linear"));
  std::filesystem::resize_file(path, 20);
  EXPECT_NE(refusal(path).find("has 20 bytes, too few for a header of"), std::string::npos);
  std::filesystem::resize_file(path, 3);
  EXPECT_NE(refusal(path).find("has 3 bytes"), std::string::npos);
}

}  // namespace
}  // namespace latpred
